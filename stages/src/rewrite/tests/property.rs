//! Any fields of any frame in any state: what comes out was built so, or is wrong by the same difference.

use super::{Net, Shape, Top, put_off, stage, through};
use crate::config::Mac;
use crate::fixture::{chained, received};
use crate::rewrite::Rewrite;
use corelane_runtime::packet::{Csum, Known, Meta, Packet};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{Checksum, FrameBuilder, Vlan, slow_sum, strategies};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is set.
#[derive(Clone, Debug, Default)]
struct Fields {
    eth_src: Option<[u8; 6]>,
    eth_dst: Option<[u8; 6]>,
    vlan: Option<u16>,
    pcp: Option<u8>,
    src: Option<IpAddr>,
    dst: Option<IpAddr>,
    dscp: Option<u8>,
    ecn: Option<u8>,
    ttl: Option<u8>,
    sport: Option<u16>,
    dport: Option<u16>,
}

impl Fields {
    /// As they are written in a description.
    fn text(&self) -> String {
        let mac = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
        let mut text = String::new();
        let mut key = |name: &str, value: Option<String>| {
            text.extend(value.map(|value| format!("{name}: {value}, ")));
        };
        key("eth_src", self.eth_src.map(|v| format!("\"{}\"", mac(v))));
        key("eth_dst", self.eth_dst.map(|v| format!("\"{}\"", mac(v))));
        key("vlan", self.vlan.map(|v| v.to_string()));
        key("pcp", self.pcp.map(|v| v.to_string()));
        key("src", self.src.map(|v| format!("\"{v}\"")));
        key("dst", self.dst.map(|v| format!("\"{v}\"")));
        key("dscp", self.dscp.map(|v| v.to_string()));
        key("ecn", self.ecn.map(|v| v.to_string()));
        key("ttl", self.ttl.map(|v| v.to_string()));
        key("sport", self.sport.map(|v| v.to_string()));
        key("dport", self.dport.map(|v| v.to_string()));
        format!("({text})")
    }

    /// The frame with these fields.
    fn set(&self, shape: &mut Shape) {
        shape.ethernet.src = self.eth_src.unwrap_or(shape.ethernet.src);
        shape.ethernet.dst = self.eth_dst.unwrap_or(shape.ethernet.dst);
        if let Some(tag) = &mut shape.tag {
            let vid = self.vlan.unwrap_or(tag.tci & 0xfff);
            let pcp = self.pcp.map_or(tag.tci >> 13, u16::from);
            tag.tci = pcp << 13 | tag.tci & 0x1000 | vid;
        }
        let class = |old: u8| self.dscp.unwrap_or(old >> 2) << 2 | self.ecn.unwrap_or(old & 3);
        match &mut shape.net {
            Net::V4(ip) => {
                ip.tos = class(ip.tos);
                ip.ttl = self.ttl.unwrap_or(ip.ttl);
                if let Some(IpAddr::V4(address)) = self.src {
                    ip.src = address.octets();
                }
                if let Some(IpAddr::V4(address)) = self.dst {
                    ip.dst = address.octets();
                }
            }
            Net::V6(ip) => {
                ip.traffic_class = class(ip.traffic_class);
                ip.hop_limit = self.ttl.unwrap_or(ip.hop_limit);
                if let Some(IpAddr::V6(address)) = self.src {
                    ip.src = address.octets();
                }
                if let Some(IpAddr::V6(address)) = self.dst {
                    ip.dst = address.octets();
                }
            }
        }
        let (src, dst) = match &mut shape.top {
            Top::Tcp(tcp) => (&mut tcp.src_port, &mut tcp.dst_port),
            Top::Udp(udp) => (&mut udp.src_port, &mut udp.dst_port),
        };
        *src = self.sport.unwrap_or(*src);
        *dst = self.dport.unwrap_or(*dst);
    }
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
    ]
}

fn fields() -> impl Strategy<Value = Fields> {
    let some = |chance| prop::option::weighted(chance, Just(()));
    let link = (any::<([u8; 6], [u8; 6])>(), 0..4095_u16, 0..8_u8);
    let ip = (address(), address(), 0..64_u8, 0..4_u8, 1..=u8::MAX);
    let set = vec(some(0.4), 11);
    let fields = (link, ip, any::<(u16, u16)>(), set).prop_map(
        |(((eth_src, eth_dst), vlan, pcp), (src, dst, dscp, ecn, ttl), (sport, dport), set)| {
            Fields {
                eth_src: set[0].map(|()| eth_src),
                eth_dst: set[1].map(|()| eth_dst),
                vlan: set[2].map(|()| vlan),
                pcp: set[3].map(|()| pcp),
                src: set[4].map(|()| src),
                dst: set[5].map(|()| dst),
                dscp: set[6].map(|()| dscp),
                ecn: set[7].map(|()| ecn),
                ttl: set[8].map(|()| ttl),
                sport: set[9].map(|()| sport),
                dport: set[10].map(|()| dport),
            }
        },
    );
    // A stage that sets nothing is refused, and so is one that sets a TTL of 0.
    fields.prop_filter("it sets something", |fields| fields.text() != "()")
}

fn shape() -> impl Strategy<Value = Shape> {
    let net =
        prop_oneof![strategies::ipv4().prop_map(Net::V4), strategies::ipv6().prop_map(Net::V6)];
    let top =
        prop_oneof![strategies::tcp().prop_map(Top::Tcp), strategies::udp().prop_map(Top::Udp)];
    let tag = prop::option::of(any::<u16>().prop_map(|tci| Vlan { tci, ..Vlan::default() }));
    let inner = prop::option::weighted(0.3, strategies::plain_frame().prop_map(|f| f.build()));
    let trailer = prop_oneof![2 => Just(Vec::new()), 1 => vec(any::<u8>(), 1..9)];
    let parts = (strategies::ethernet(), tag, net, top, strategies::payload(200), inner, trailer);
    parts.prop_map(|(ethernet, tag, net, mut top, payload, inner, trailer)| {
        let tunnel = matches!(top, Top::Udp(_)) && inner.is_some();
        if let (Top::Udp(udp), true) = (&mut top, tunnel) {
            udp.dst_port = 4789;
        }
        let payload = if tunnel { inner.unwrap_or_default() } else { payload };
        Shape { ethernet, tag, net, top, payload, tunnel, trailer }
    })
}

/// What is known of a packet after it was rewritten, and its bytes.
fn rewritten(fields: &Fields, make: impl Fn(&mut Harness) -> Packet) -> (Meta, Vec<u8>) {
    let mut harness = stage::<Rewrite>(&fields.text());
    let packet = make(&mut harness);
    let packet = through(&mut harness, packet);
    (*packet.meta(), harness.unpack(packet))
}

/// How wrong the field at `at` is, given the right one.
fn error(frame: &[u8], right: &[u8], at: usize) -> u32 {
    let word = |frame: &[u8]| u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    (word(frame) + 0xffff - word(right) % 0xffff) % 0xffff
}

/// Where the checksum above the outermost IP header is.
fn field_at(frame: &[u8]) -> usize {
    let level = corelane_wire::layers(frame, frame.len() as u32).levels()[0];
    let tcp = level.l4_kind == corelane_wire::L4::Tcp;
    usize::from(level.l4) + if tcp { 16 } else { 6 }
}

proptest! {
    #[test]
    fn right_stays_right_whatever_is_known(
        shape in shape(), fields in fields(), state in 0..3_usize, cuts in vec(1..200_usize, 0..3),
    ) {
        let mut after = shape.clone();
        fields.set(&mut after);
        let state = [Csum::Unknown, Csum::Good, Csum::Bad][state];
        let (meta, bytes) = rewritten(&fields, |harness| {
            let mut packet = received(harness, &shape.build(), &cuts);
            let meta = packet.meta_mut();
            meta.l4[0] = state;
            meta.l3[0] = if meta.layers.levels[0].l3_kind == corelane_runtime::packet::L3::V4 { state } else { Csum::Unknown };
            packet
        });
        prop_assert_eq!(meta.l4[0], state);
        prop_assert_eq!(bytes, after.build());
    }

    #[test]
    fn what_is_put_off_is_put_off_for_what_it_is_now(shape in shape(), fields in fields(), told in any::<bool>()) {
        let mut before = shape;
        *before.checksum() = Checksum::Partial;
        let mut after = before.clone();
        fields.set(&mut after);
        let frame = before.build();
        // A seed that is right by chance is a checksum as well as a seed, and nobody can tell.
        let mut right = before.clone();
        *right.checksum() = Checksum::Right;
        prop_assume!(told || right.build() != frame);
        let (_, bytes) = rewritten(&fields, |harness| {
            let packet = received(harness, &frame, &[]);
            if told { put_off(packet) } else { packet }
        });
        prop_assert_eq!(bytes, after.build());
    }

    #[test]
    fn wrong_stays_wrong_by_as_much(shape in shape(), fields in fields(), wrong in any::<u16>(), bad in any::<bool>()) {
        let (mut before, mut right) = (shape.clone(), shape);
        *right.checksum() = Checksum::Right;
        *before.checksum() = Checksum::Value(wrong);
        let (mut after, frame) = (right.clone(), before.build());
        fields.set(&mut after);
        let at = field_at(&frame);
        let mut seeded = right.clone();
        *seeded.checksum() = Checksum::Partial;
        let udp = matches!(before.top, Top::Udp(_));
        prop_assume!(seeded.build() != frame && !(udp && wrong == 0));
        let (_, bytes) = rewritten(&fields, |harness| {
            let mut packet = received(harness, &frame, &[]);
            packet.meta_mut().l4[0] = if bad { Csum::Bad } else { Csum::Unknown };
            packet
        });
        let (found, expected) = (bytes, after.build());
        prop_assert_eq!(error(&found, &expected, at), error(&frame, &right.build(), at));
        let mut mended = found;
        mended[at..at + 2].copy_from_slice(&expected[at..at + 2]);
        prop_assert_eq!(mended, expected);
    }

    #[test]
    fn a_udp_checksum_of_zero_stays_zero(shape in shape(), fields in fields()) {
        let mut before = shape;
        prop_assume!(matches!(before.top, Top::Udp(_)));
        *before.checksum() = Checksum::Value(0);
        let mut after = before.clone();
        fields.set(&mut after);
        let (_, bytes) = rewritten(&fields, |harness| received(harness, &before.build(), &[]));
        prop_assert_eq!(bytes, after.build());
    }

    #[test]
    fn a_sum_that_a_device_knows_stays_true(shape in shape(), fields in fields(), from in 0..3_usize) {
        let frame = shape.build();
        let (meta, bytes) = rewritten(&fields, |harness| {
            let mut packet = received(harness, &frame, &[]);
            let level = packet.meta().layers.levels[0];
            let from = [14, level.l3, level.l4][from];
            let end = frame.len() - usize::from(packet.meta().trailer);
            packet.meta_mut().set_known(Known { from, sum: slow_sum(&[&frame[from.into()..end]]) });
            packet
        });
        let (known, trailer, after) = (meta.known(), meta.trailer, bytes);
        let known = known.expect("it is kept");
        let now = slow_sum(&[&after[usize::from(known.from)..after.len() - usize::from(trailer)]]);
        prop_assert_eq!(known.sum % 0xffff, now % 0xffff);
    }

    #[test]
    fn any_bytes_in_any_pieces_are_taken(
        frame in strategies::hostile(), fields in fields(), cuts in vec(0..150_usize, 0..4),
    ) {
        let mut harness = stage::<Rewrite>(&fields.text());
        let packet = received(&mut harness, &frame, &cuts);
        let packet = through(&mut harness, packet);
        prop_assert_eq!(packet.len() as usize, frame.len());
        harness.release([packet]);
        let raw = chained(&mut harness, &frame, &cuts);
        let raw = through(&mut harness, raw);
        harness.release([raw]);
        harness.finish();
    }

    #[test]
    fn what_others_see_is_not_written(shape in shape(), fields in fields(), copied in 0..80_u32) {
        let mut harness = stage::<Rewrite>(&fields.text());
        let frame = shape.build();
        let packet = received(&mut harness, &frame, &[]);
        let copy = packet.share(copied, u32::MAX, &mut harness.buffers).expect("buffers");
        let packet = through(&mut harness, packet);
        let mut after = shape;
        fields.set(&mut after);
        prop_assert_eq!(harness.unpack(copy), frame);
        prop_assert_eq!(harness.unpack(packet), after.build());
    }
}

#[test]
fn the_outermost_of_three_levels_is_rewritten() {
    let inner = Shape::plain(false, false).build();
    let nested = |payload: &[u8], port: u16| {
        let mut shape = Shape::plain(false, true);
        if let Top::Udp(udp) = &mut shape.top {
            udp.dst_port = 4789;
            udp.src_port = port;
        }
        Shape { payload: payload.to_vec(), tunnel: true, ..shape }
    };
    let middle = nested(&inner, 1).build();
    for outer in [nested(&middle, 2), nested(&nested(&middle, 2).build(), 3)] {
        let fields = Fields {
            src: Some([10, 9, 8, 7].into()),
            sport: Some(77),
            ttl: Some(3),
            ..Fields::default()
        };
        let mut after = outer.clone();
        fields.set(&mut after);
        let (_, bytes) = rewritten(&fields, |harness| received(harness, &outer.build(), &[]));
        assert_eq!(bytes, after.build());
    }
}

#[test]
fn icmpv6_covers_the_addresses() {
    let shape = Shape::plain(true, true);
    let Net::V6(ip) = shape.net else { unreachable!() };
    let sums = |src: [u8; 16], icmp: &[u8]| {
        let pseudo =
            corelane_wire::testing::slow_pseudo_header(&src, &ip.dst, icmp.len() as u32, 58);
        !slow_sum(&[&pseudo, icmp])
    };
    let build = |src: [u8; 16]| {
        let mut icmp = vec![128, 0, 0, 0, 1, 2, 3, 4, 9, 9];
        let sum = sums(src, &icmp);
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        let ip = corelane_wire::testing::Ipv6 { src, next_header: Some(58), ..ip.clone() };
        FrameBuilder::new().ipv6(ip).bytes(&icmp).build()
    };
    let src = "2001:db8::99".parse::<Ipv6Addr>().expect("an address");
    let fields = Fields { src: Some(src.into()), ..Fields::default() };
    let (_, bytes) = rewritten(&fields, |harness| received(harness, &build(ip.src), &[]));
    assert_eq!(bytes, build(src.octets()));
}

#[test]
fn every_mistake_is_told_at_its_key() {
    use corelane_runtime::stage::{Args, Declared};
    for (text, key) in [
        ("(vlan: 4095)", "vlan"),
        ("(pcp: 8)", "pcp"),
        ("(dscp: 64)", "dscp"),
        ("(ecn: 4)", "ecn"),
        ("(src: \"10.0.0\")", "src"),
        ("(eth_dst: \"02:00\")", "eth_dst"),
        ("(sport: 65536)", "sport"),
    ] {
        let errors = Rewrite::spec().configure(Args { text }).err().expect("a mistake");
        assert_eq!(errors[0].key.as_deref(), Some(key), "{text}: {errors:?}");
    }
    assert_eq!(Mac::parse("02:00:00:00:00:01"), Some(Mac([2, 0, 0, 0, 0, 1])));
}
