//! proptest strategies for frames: sound ones of every shape the builder knows, and broken ones.
//!
//! It promises that [`frame`] gives only frames [`super::problems`] accepts, and that [`hostile`]
//! gives bytes that mostly look like frames and are not. Payloads are short: length is the business
//! of each test. Strategies that others are made of are boxed: nested in each other they would not
//! fit the stack of a test's thread.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{
    Checksum, Ethernet, Extension, FrameBuilder, Geneve, Gre, Ipv4, Ipv6, Tcp, Udp, Vlan, Vxlan,
    address_v6,
};
use crate::layers::is_tunnel_port;
use crate::tcp::TcpFlags;

/// An IPv4 header of a whole datagram, with options now and then.
pub fn ipv4() -> impl Strategy<Value = Ipv4> {
    let options = prop_oneof![3 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..40)];
    (any::<(u8, u16, bool, u8)>(), any::<([u8; 4], [u8; 4])>(), options).prop_map(
        |((tos, id, dont_fragment, ttl), (src, dst), options)| Ipv4 {
            tos,
            id,
            dont_fragment,
            ttl,
            src,
            dst,
            options,
            ..Ipv4::default()
        },
    )
}

/// An IPv6 header of a whole datagram, with extension headers now and then.
pub fn ipv6() -> impl Strategy<Value = Ipv6> {
    let extensions = prop_oneof![3 => Just(Vec::new()), 1 => vec(extension(), 1..4)];
    (any::<(u8, u32, u8)>(), any::<([u8; 16], [u8; 16])>(), extensions).prop_map(
        |((traffic_class, flow_label, hop_limit), (src, dst), extensions)| Ipv6 {
            traffic_class,
            flow_label,
            hop_limit,
            src,
            dst,
            extensions,
            ..Ipv6::default()
        },
    )
}

/// An extension header a whole datagram may have.
pub fn extension() -> impl Strategy<Value = Extension> {
    let addresses = vec(any::<u16>().prop_map(address_v6), 1..4);
    prop_oneof![
        Just(Extension::HopByHop(vec![5, 2, 0, 0])),
        Just(Extension::Jumbo),
        Just(Extension::Destination(vec![1, 4, 0, 0, 0, 0])),
        any::<[u8; 16]>().prop_map(Extension::HomeAddress),
        (prop_oneof![Just(0u8), Just(2), Just(4), any::<u8>()], 0u8..3, addresses).prop_map(
            |(kind, left, addresses)| {
                // Of other types nobody knows the final destination.
                let left = if matches!(kind, 0 | 2 | 4) { left } else { 0 };
                Extension::Routing { kind, left, addresses }
            }
        ),
        any::<u32>().prop_map(|id| Extension::Fragment { offset: 0, more: false, id }),
        (0u8..8).prop_map(Extension::Authentication),
        Just(Extension::Other(135, vec![0; 6])),
    ]
}

/// A TCP header with any flags, and options now and then.
pub fn tcp() -> impl Strategy<Value = Tcp> {
    let options = prop_oneof![
        2 => Just(Vec::new()),
        2 => any::<(u32, u32)>().prop_map(|(value, echo)| Tcp::timestamps(value, echo)),
        1 => vec(any::<u8>(), 0..40),
    ];
    (any::<(u16, u16)>(), any::<(u32, u32)>(), any::<(u16, u16, u16)>(), options).prop_map(
        |((src_port, dst_port), (seq, ack), (flags, window, urgent), options)| Tcp {
            src_port,
            dst_port,
            seq,
            ack,
            flags: TcpFlags::from_bits(flags),
            window,
            urgent,
            options,
            ..Tcp::default()
        },
    )
}

/// A UDP header with a checksum, to no port that means a tunnel.
pub fn udp() -> impl Strategy<Value = Udp> {
    any::<(u16, u16)>().prop_map(|(src_port, dst_port)| {
        let dst_port = if is_tunnel_port(dst_port) { 53 } else { dst_port };
        Udp { src_port, dst_port, ..Udp::default() }
    })
}

/// Bytes with a bias towards those that carry in a sum or vanish from it.
pub fn payload(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => vec(any::<u8>(), 0..max),
        1 => vec(prop_oneof![Just(0u8), Just(0xff)], 0..max),
    ]
}

/// Ethernet up to the IP header: any tags, SNAP now and then, IPv4 or IPv6.
fn network(builder: FrameBuilder) -> BoxedStrategy<FrameBuilder> {
    let tag_type = prop_oneof![Just(0x8100u16), Just(0x88a8), Just(0x9100)];
    let tags = prop_oneof![2 => Just(Vec::new()), 1 => vec((tag_type, any::<u16>()), 1..4)];
    let ip = prop_oneof![ipv4().prop_map(Ok), ipv6().prop_map(Err)];
    (tags, prop::bool::weighted(0.1), ip)
        .prop_map(move |(tags, snap, ip)| {
            let mut builder = builder.clone();
            for (tag_type, tci) in tags {
                builder = builder.vlan_with(Vlan { tag_type, tci, ethertype: None });
            }
            builder = if snap { builder.snap() } else { builder };
            match ip {
                Ok(ipv4) => builder.ipv4(ipv4),
                Err(ipv6) => builder.ipv6(ipv6),
            }
        })
        .boxed()
}

/// TCP or UDP with a payload behind an IP header.
fn transport(builder: FrameBuilder) -> BoxedStrategy<FrameBuilder> {
    let l4 = prop_oneof![2 => tcp().prop_map(Ok), 1 => udp().prop_map(Err)];
    (l4, payload(200))
        .prop_map(move |(l4, payload)| {
            let builder = match l4 {
                Ok(tcp) => builder.clone().tcp(tcp),
                Err(udp) => builder.clone().udp(udp),
            };
            builder.payload(&payload)
        })
        .boxed()
}

/// A sound frame without a tunnel: TCP or UDP with a payload, padded to Ethernet's minimum now and
/// then.
pub fn plain_frame() -> BoxedStrategy<FrameBuilder> {
    let pad_to = prop_oneof![2 => Just(0usize), 1 => Just(60)];
    (network(FrameBuilder::new()).prop_flat_map(transport), pad_to)
        .prop_map(|(builder, pad_to)| builder.pad_to(pad_to))
        .boxed()
}

/// A sound packet without Ethernet header and tunnel.
pub fn bare_packet() -> BoxedStrategy<FrameBuilder> {
    let ip = prop_oneof![
        ipv4().prop_map(|ip| FrameBuilder::bare().ipv4(ip)),
        ipv6().prop_map(|ip| FrameBuilder::bare().ipv6(ip)),
    ];
    ip.prop_flat_map(transport).boxed()
}

/// What is around an inner frame or packet.
#[derive(Clone, Debug)]
enum Around {
    Vxlan(Udp, Vxlan),
    Geneve(Udp, Geneve),
    Gre(Gre),
    Nothing,
}

impl Around {
    fn put(self, outer: FrameBuilder) -> FrameBuilder {
        match self {
            Around::Vxlan(udp, vxlan) => outer.udp(udp).vxlan(vxlan),
            Around::Geneve(udp, geneve) => outer.udp(udp).geneve(geneve),
            Around::Gre(gre) => outer.gre(gre),
            Around::Nothing => outer,
        }
    }
}

/// A UDP header to a tunnel's port, with a checksum or without.
fn tunnel_udp(port: u16) -> impl Strategy<Value = Udp> {
    let checksum = prop_oneof![Just(Checksum::Value(0)), Just(Checksum::Right)];
    (any::<u16>(), checksum).prop_map(move |(src_port, checksum)| Udp {
        src_port,
        dst_port: port,
        checksum,
        ..Udp::default()
    })
}

fn vxlan_around(frame: bool) -> BoxedStrategy<Around> {
    let vni = 0u32..1 << 24;
    let ports = if frame { vec![4789, 8472, 4790] } else { vec![4790, 4789] };
    let udp = prop::sample::select(ports).prop_flat_map(tunnel_udp);
    (udp, vni)
        .prop_map(move |(udp, vni)| {
            // Without a frame inside somebody has to say what is: the caller, by the next protocol.
            let gpe = !frame || udp.dst_port == 4790;
            let (flags, next_protocol) = if gpe { (0x0c, 3) } else { (0x08, 0) };
            Around::Vxlan(udp, Vxlan { flags, next_protocol, vni })
        })
        .boxed()
}

fn geneve_around() -> BoxedStrategy<Around> {
    let options = prop_oneof![Just(Vec::new()), vec(any::<u8>(), 0..252)];
    (tunnel_udp(6081), 0u32..1 << 24, any::<bool>(), options)
        .prop_map(|(udp, vni, critical, options)| {
            Around::Geneve(udp, Geneve { vni, critical, options, ..Geneve::default() })
        })
        .boxed()
}

fn gre_around() -> BoxedStrategy<Around> {
    any::<(bool, Option<u32>, Option<u32>)>()
        .prop_map(|(sum, key, sequence)| {
            let checksum = sum.then_some(Checksum::Right);
            Around::Gre(Gre { checksum, key, sequence, ..Gre::default() })
        })
        .boxed()
}

/// A sound frame in a tunnel of any kind that the walk follows: an inner frame, or an inner packet
/// without Ethernet.
pub fn tunnelled() -> BoxedStrategy<FrameBuilder> {
    let outer = || network(FrameBuilder::new());
    let of_frame = prop_oneof![2 => vxlan_around(true), 1 => geneve_around(), 1 => gre_around()];
    let frame = (outer(), of_frame, plain_frame())
        .prop_map(|(outer, around, inner)| around.put(outer).payload(&inner.build()));
    let of_packet = prop_oneof![
        1 => vxlan_around(false),
        2 => geneve_around(),
        2 => gre_around(),
        1 => Just(Around::Nothing),
    ];
    let packet = (outer(), of_packet, bare_packet()).prop_map(|(outer, mut around, inner)| {
        if let Around::Vxlan(_, vxlan) = &mut around {
            vxlan.next_protocol = if inner.build()[0] >> 4 == 4 { 1 } else { 2 };
        }
        around.put(outer).inside(inner)
    });
    prop_oneof![frame, packet].boxed()
}

/// A sound frame, in a tunnel now and then, and in two of them.
pub fn frame() -> impl Strategy<Value = FrameBuilder> {
    let twice = (network(FrameBuilder::new()), vxlan_around(true), tunnelled())
        .prop_map(|(outer, around, inner)| around.put(outer).payload(&inner.build()));
    prop_oneof![12 => plain_frame(), 4 => tunnelled(), 1 => twice]
}

/// Sound frames with bytes overwritten, cut short or grown, and bytes that never were a frame.
pub fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let start =
        prop_oneof![4 => frame().prop_map(|frame| frame.build()), 1 => vec(any::<u8>(), 0..200)];
    let edits = vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let cut = prop::option::weighted(0.3, any::<prop::sample::Index>());
    (start, edits, cut).prop_map(|(mut bytes, edits, cut)| {
        for (at, value) in edits {
            // Headers are where the decisions are: three of four edits go to the first 140 bytes.
            let span = if value % 4 == 0 { bytes.len() } else { bytes.len().min(140) };
            if span > 0 {
                bytes[at.index(span)] = value;
            }
        }
        let len = cut.map_or(bytes.len(), |cut| cut.index(bytes.len() + 1));
        bytes.truncate(len);
        bytes
    })
}

/// Ethernet headers with any addresses.
pub fn ethernet() -> impl Strategy<Value = Ethernet> {
    any::<([u8; 6], [u8; 6])>().prop_map(|(dst, src)| Ethernet { dst, src, ethertype: None })
}
