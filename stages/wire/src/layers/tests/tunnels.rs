//! From one level to the next: literal offsets of each kind, and headers that lead nowhere.

use super::{bytes, level, walk};
use crate::layers::is_tunnel_port;
use crate::testing::{
    Checksum, FrameBuilder, Geneve, Gre, Ipv4, Ipv6, Tcp, Udp, Vxlan, describe, strategies,
};
use crate::{Coverage, L3, L4, Level, Tunnel, layers};
use proptest::prelude::*;

fn outer() -> FrameBuilder {
    FrameBuilder::new().ipv4(Ipv4::default())
}

fn inner() -> FrameBuilder {
    FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).payload(b"hi")
}

fn packet_v6() -> FrameBuilder {
    FrameBuilder::bare().ipv6(Ipv6::default()).tcp(Tcp::default()).payload(b"hi")
}

/// Both levels of a frame, and the kind of tunnel between them.
fn two(builder: &FrameBuilder) -> ([Level; 2], Tunnel) {
    let found = walk(builder);
    assert_eq!((found.count, found.deeper), (2, false));
    (found.levels, found.tunnel)
}

#[test]
fn a_frame_in_geneve_behind_its_options() {
    let geneve = Geneve { options: vec![0xa5; 10], ..Geneve::default() };
    let ([outer, inner], tunnel) = two(&outer().udp(Udp::geneve()).geneve(geneve).inside(inner()));
    assert_eq!(tunnel, Tunnel::Geneve);
    assert_eq!((outer.l4, outer.payload, outer.l4_kind), (34, 42, L4::Udp));
    // 8 bytes of header and 12 of options.
    assert_eq!((inner.l2, inner.l3, inner.l4, inner.payload), (62, 76, 96, 116));
    assert_eq!((inner.l4_kind, inner.coverage()), (L4::Tcp, bytes(96, 118)));
}

#[test]
fn a_packet_without_ethernet_in_every_tunnel_that_may_have_one() {
    let gpe = Vxlan { flags: 0x0c, next_protocol: 2, ..Vxlan::default() };
    let to = |dst_port| Udp { dst_port, ..Udp::vxlan() };
    let key = Gre { key: Some(7), ..Gre::default() };
    // (frame up to the inner packet, kind, its first byte)
    let cases = [
        (outer().udp(Udp::geneve()).geneve(Geneve::default()), Tunnel::Geneve, 50),
        (outer().udp(to(4790)).vxlan(gpe.clone()), Tunnel::VxlanGpe, 50),
        (outer().udp(to(4789)).vxlan(gpe), Tunnel::VxlanGpe, 50),
        (outer().gre(Gre::default()), Tunnel::Gre, 38),
        (outer().gre(key), Tunnel::Gre, 42),
        (outer(), Tunnel::Ip, 34),
    ];
    for (builder, kind, at) in cases {
        let ([outer, inner], tunnel) = two(&builder.inside(packet_v6()));
        assert_eq!(tunnel, kind);
        assert_eq!((inner.l2, inner.l3, inner.l4), (at, at, at + 40), "{kind:?}");
        assert_eq!((inner.l3_kind, inner.l4_kind), (L3::V6, L4::Tcp), "{kind:?}");
        assert_eq!((inner.end, inner.end), (u32::from(at) + 62, outer.end), "{kind:?}");
        assert_eq!(inner.coverage(), bytes(u32::from(at) + 40, u32::from(at) + 62), "{kind:?}");
    }
}

#[test]
fn gre_with_every_optional_field() {
    let gre = |fields: u32| Gre {
        checksum: (fields & 1 != 0).then_some(Checksum::Right),
        key: (fields & 2 != 0).then_some(9),
        sequence: (fields & 4 != 0).then_some(8),
        ..Gre::default()
    };
    for fields in 0..8_u32 {
        let start = 38 + 4 * fields.count_ones() as u16;
        let ([outer, inner], tunnel) = two(&outer().gre(gre(fields)).inside(inner()));
        assert_eq!((outer.l4, outer.l4_kind, outer.payload), (34, L4::Gre, start));
        assert_eq!((inner.l2, inner.l3, tunnel), (start, start + 14, Tunnel::Gre));
        assert_eq!(outer.coverage(), bytes(34, outer.end));
    }
}

#[test]
fn erspan_of_three_types_is_gre_with_a_header_more() {
    let gre = |protocol, sequence| Gre { protocol: Some(protocol), sequence, ..Gre::default() };
    let mut long = [0; 20];
    long[11] = 1;
    // (GRE header, ERSPAN header, first byte of the frame)
    let cases: [(Gre, &[u8], u16); 4] = [
        (gre(0x88be, None), &[], 38),
        (gre(0x88be, Some(1)), &[0x10; 8], 50),
        (gre(0x22eb, Some(1)), &[0; 12], 54),
        (gre(0x22eb, Some(1)), &long, 62),
    ];
    for (gre, header, at) in cases {
        let ([_, inner], tunnel) = two(&outer().gre(gre).bytes(header).inside(inner()));
        assert_eq!((inner.l2, inner.l3, tunnel), (at, at + 14, Tunnel::Erspan));
    }
}

#[test]
fn headers_that_lead_nowhere() {
    let gre = |more_flags| Gre { more_flags, ..Gre::default() };
    let protocol = |protocol| Gre { protocol: Some(protocol), ..Gre::default() };
    let geneve = |geneve| outer().udp(Udp::geneve()).geneve(geneve);
    let plain = Geneve::default;
    let gpe = |next_protocol| Vxlan { flags: 0x0c, next_protocol, ..Vxlan::default() };
    let gpe_port = Udp { dst_port: 4790, ..Udp::vxlan() };
    let more = Ipv4 { more_fragments: true, ..Ipv4::default() };
    let first = FrameBuilder::new().ipv4(more);
    let cases = [
        ("source route", outer().gre(gre(0x4000))),
        ("PPTP", outer().gre(gre(0x2001))),
        ("GRE of MPLS", outer().gre(protocol(0x8847))),
        ("fragment of GRE", first.clone().gre(Gre::default())),
        ("fragment of IP in IP", first.inside(FrameBuilder::bare().ipv4(Ipv4::default()))),
        ("version 1", geneve(Geneve { version: 1, ..plain() })),
        ("control message", geneve(Geneve { control: true, ..plain() })),
        ("Geneve of ARP", geneve(Geneve { protocol: Some(0x0806), ..plain() })),
        ("NSH", outer().udp(gpe_port.clone()).vxlan(gpe(4))),
        ("GPE without a next protocol", outer().udp(gpe_port).vxlan(Vxlan::default())),
        ("NSH on the usual port", outer().udp(Udp::vxlan()).vxlan(gpe(4))),
    ];
    for (name, builder) in cases {
        let found = level(&builder.payload(&inner().build()));
        assert!(!found.malformed && !found.incomplete, "{name}");
    }
    // A GRE header nobody can read has no payload, and covers nothing.
    for flags in [0x4000, 0x0001] {
        let found = level(&outer().gre(gre(flags)).payload(&[0; 30]));
        assert_eq!((found.l4_kind, found.payload), (L4::Gre, 0));
        assert_eq!(found.coverage(), Coverage::None);
    }
}

#[test]
fn what_does_not_fit_is_not_entered() {
    let inner = packet_v6().build();
    for len in [0, 39] {
        let found = level(
            &outer().gre(Gre { protocol: Some(0x86dd), ..Gre::default() }).payload(&inner[..len]),
        );
        assert_eq!((found.malformed, found.payload), (false, 38), "{len} bytes");
    }
    // Options longer than the datagram: a Geneve header that is not all there.
    let geneve = Geneve { options: vec![0; 80], ..Geneve::default() };
    let mut frame = outer().udp(Udp::geneve()).geneve(geneve).build();
    frame[42] = 0x3f;
    assert_eq!(layers(&frame, frame.len() as u32).count, 1);
    // A GRE header that does not fit is malformed, as any L4 header.
    for (len, expected) in [(3, Coverage::Short), (7, Coverage::Short), (8, bytes(34, 42))] {
        let ip = Ipv4 { protocol: Some(47), ..Ipv4::default() };
        let header = &[0x80, 0, 0x65, 0x58, 0, 0, 0, 0][..len];
        let found = level(&FrameBuilder::new().ipv4(ip).payload(header));
        assert_eq!((found.malformed, found.coverage()), (len < 8, expected), "{len} bytes");
    }
}

#[test]
fn a_prefix_that_ends_in_the_tunnel_marks_the_outer_level_only() {
    let frame = outer().gre(Gre { key: Some(1), ..Gre::default() }).inside(packet_v6()).build();
    let at = |prefix: usize| layers(&frame[..prefix], frame.len() as u32);
    for prefix in 37..82 {
        let found = at(prefix);
        assert_eq!((found.count, found.levels[0].incomplete), (1, true), "prefix {prefix}");
        let coverage = if prefix < 42 { Coverage::Incomplete } else { bytes(34, 104) };
        assert_eq!(found.levels[0].coverage(), coverage, "prefix {prefix}");
    }
    let found = at(82);
    assert_eq!((found.count, found.levels[0].incomplete), (2, false));
    assert!(found.levels[1].incomplete);
}

#[test]
fn ip_in_ip_without_end_is_bounded() {
    let mut builder = FrameBuilder::bare().ipv4(Ipv4::default());
    for _ in 0..200 {
        builder = FrameBuilder::bare().ipv4(Ipv4::default()).inside(builder);
    }
    let found = walk(&FrameBuilder::new().inside(builder));
    assert!(found.deeper && found.levels.iter().any(|level| level.incomplete));
}

#[test]
fn the_ports_looked_into() {
    let ports: Vec<u16> = (0..=u16::MAX).filter(|&port| is_tunnel_port(port)).collect();
    assert_eq!(ports, [4789, 4790, 6081, 8472]);
}

/// Offsets of the IP and L4 headers of every level, outer first, by the independent dissector.
fn dissected(frame: &[u8]) -> Vec<(u16, u16)> {
    let mut found: Vec<(u16, u16)> = Vec::new();
    for line in describe(frame).lines() {
        let mut words = line.split_whitespace();
        let at: u16 = words.next().and_then(|at| at.parse().ok()).expect("an offset");
        match words.next() {
            Some("ipv4" | "ipv6") if words.next() != Some("extension") => found.push((at, 0)),
            Some("tcp" | "udp" | "gre") => found.last_mut().expect("an IP header").1 = at,
            _ => {}
        }
    }
    // In IP in IP the next header is what IP carries.
    for index in 1..found.len() {
        if found[index - 1].1 == 0 {
            found[index - 1].1 = found[index].0;
        }
    }
    found
}

proptest! {
    #[test]
    fn offsets_are_those_of_the_dissector(builder in strategies::frame()) {
        let frame = builder.build();
        let found = layers(&frame, frame.len() as u32);
        let ours: Vec<_> = found.levels().iter().map(|level| (level.l3, level.l4)).collect();
        let all = dissected(&frame);
        prop_assert_eq!(found.deeper, all.len() > 2);
        prop_assert_eq!(&ours[..], &all[all.len().saturating_sub(2)..], "{}", describe(&frame));
        prop_assert!(found.levels().iter().all(|level| !level.malformed && !level.incomplete));
        prop_assert_eq!(found.tunnel != Tunnel::None, all.len() > 1);
    }
}
