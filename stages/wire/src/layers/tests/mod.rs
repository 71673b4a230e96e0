//! The walk on frames whose answer is known: literal offsets first, then one case a rule.
//! `properties` has the rest.

mod edges;
mod properties;
mod tunnels;

use super::*;
use crate::testing::{Extension, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vlan, Vxlan, address_v6};

fn walk(builder: &FrameBuilder) -> Layers {
    let frame = builder.build();
    layers(&frame, frame.len() as u32)
}

/// The only level of a frame without a tunnel.
fn level(builder: &FrameBuilder) -> Level {
    let found = walk(builder);
    assert_eq!((found.count, found.deeper), (1, false));
    found.levels[0]
}

fn bytes(from: u32, to: u32) -> Coverage {
    Coverage::Bytes { from, to, length: to - from }
}

#[test]
fn tcp_over_ipv4() {
    let found =
        level(&FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).payload(b"hi"));
    let expected = Level {
        l3: 14,
        l4: 34,
        payload: 54,
        pseudo_src: 26,
        pseudo_dst: 30,
        end: 56,
        limit: 56,
        l4_end: 56,
        l3_kind: L3::V4,
        l4_kind: L4::Tcp,
        ..Level::default()
    };
    assert_eq!(found, expected);
    assert_eq!(found.coverage(), bytes(34, 56));
}

#[test]
fn udp_over_ipv6() {
    let found =
        level(&FrameBuilder::new().ipv6(Ipv6::default()).udp(Udp::default()).payload(b"hi"));
    let expected = Level {
        l3: 14,
        l4: 54,
        payload: 62,
        pseudo_src: 22,
        pseudo_dst: 38,
        end: 64,
        limit: 64,
        l4_end: 64,
        l3_kind: L3::V6,
        l4_kind: L4::Udp,
        ..Level::default()
    };
    assert_eq!(found, expected);
    assert_eq!(found.coverage(), bytes(54, 64));
}

#[test]
fn ipv4_and_tcp_options() {
    let ipv4 = Ipv4 { options: vec![1; 7], ..Ipv4::default() };
    let tcp = Tcp { options: Tcp::timestamps(1, 2), ..Tcp::default() };
    let found = level(&FrameBuilder::new().ipv4(ipv4).tcp(tcp).payload(b"hi"));
    assert!(found.options && !found.unusual_pseudo && !found.malformed);
    assert_eq!((found.l3, found.l4, found.payload, found.end), (14, 42, 74, 76));
}

#[test]
fn tags_of_every_type_and_snap_between() {
    let mut builder = FrameBuilder::new();
    for tag_type in [0x88a8, 0x8100, 0x9100] {
        builder = builder.vlan_with(Vlan { tag_type, ..Vlan::default() });
    }
    let builder = builder.snap().ipv4(Ipv4::default()).udp(Udp::default());
    let found = walk(&builder);
    assert_eq!((found.vlans, found.levels[0].l3), (3, 14 + 12 + 8));
    assert_eq!(found.levels[0].l4_kind, L4::Udp);
}

#[test]
fn a_trailer_is_outside_the_datagram() {
    let builder = FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default());
    let found = level(&builder.pad_to(60));
    assert_eq!((found.payload, found.end, found.limit), (54, 54, 54));
    assert_eq!(found.coverage(), bytes(34, 54));
}

#[test]
fn vxlan_has_two_levels() {
    let builder = FrameBuilder::new()
        .vlan(7)
        .ipv4(Ipv4::default())
        .udp(Udp::vxlan())
        .vxlan(Vxlan::default())
        .ethernet(Default::default())
        .vlan(8)
        .ipv6(Ipv6::default())
        .tcp(Tcp::default())
        .payload(b"hi");
    let found = walk(&builder);
    assert_eq!((found.count, found.deeper, found.vlans), (2, false, 1));
    let [outer, inner] = found.levels;
    assert_eq!((outer.l3, outer.l4, outer.payload, outer.end), (18, 38, 46, 134));
    assert_eq!((inner.l2, inner.l3, inner.l4, inner.payload), (54, 72, 112, 132));
    assert_eq!((inner.l3_kind, inner.l4_kind, inner.end), (L3::V6, L4::Tcp, 134));
    assert_eq!((found.outer(), found.innermost()), (Some(&outer), Some(&inner)));
}

#[test]
fn three_levels_keep_the_innermost_two() {
    let inner = FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).build();
    let tunnel = |udp: Udp, payload: &[u8]| {
        let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).vxlan(Vxlan::default());
        outer.payload(payload).build()
    };
    let frame = tunnel(Udp::vxlan(), &tunnel(Udp { dst_port: 8472, ..Udp::default() }, &inner));
    let found = layers(&frame, frame.len() as u32);
    assert_eq!((found.count, found.deeper), (2, true));
    assert_eq!((found.levels[0].l2, found.levels[1].l2), (50, 100));
    assert_eq!((found.levels[0].l4_kind, found.levels[1].l4_kind), (L4::Udp, L4::Tcp));
}

#[test]
fn what_is_not_vxlan_is_not_entered() {
    let inner = FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).build();
    let outer = |udp: Udp, vxlan: Vxlan, ipv4: Ipv4| {
        walk(&FrameBuilder::new().ipv4(ipv4).udp(udp).vxlan(vxlan).payload(&inner)).count
    };
    let more = Ipv4 { more_fragments: true, ..Ipv4::default() };
    let no_vni = Vxlan { flags: 0xf7, ..Vxlan::default() };
    let other_port = Udp { dst_port: 4790, ..Udp::default() };
    let too_short = Udp { length: Some(8 + 8 + 13), ..Udp::vxlan() };
    assert_eq!(outer(Udp::vxlan(), Vxlan::default(), Ipv4::default()), 2);
    assert_eq!(outer(Udp::vxlan(), Vxlan::default(), more), 1);
    assert_eq!(outer(Udp::vxlan(), no_vni, Ipv4::default()), 1);
    assert_eq!(outer(other_port, Vxlan::default(), Ipv4::default()), 1);
    assert_eq!(outer(too_short, Vxlan::default(), Ipv4::default()), 1);
}

#[test]
fn other_protocols_stop_the_walk_without_blame() {
    for ethertype in [0x0806, 0x8847, 0x8864, 0x88b5, 1501] {
        let ethernet =
            crate::testing::Ethernet { ethertype: Some(ethertype), ..Default::default() };
        let found = level(&FrameBuilder::with(ethernet).payload(&[0x45; 60]));
        let expected = Level { l3: 14, end: 74, limit: 74, l4_end: 74, ..Level::default() };
        assert_eq!(found, expected, "ethertype {ethertype:04x}");
        assert_eq!(found.coverage(), Coverage::None);
    }
    // LLC that is not SNAP, and LLC too short to be.
    for (llc, end) in [(&[0x42, 0x42, 3, 0, 0, 0, 0, 0][..], 22), (&[0xaa, 0xaa, 3], 17)] {
        let ethernet = crate::testing::Ethernet { ethertype: Some(38), ..Default::default() };
        let found = level(&FrameBuilder::with(ethernet).payload(llc));
        let expected = Level { l3: 14, end, limit: end, l4_end: end, ..Level::default() };
        assert_eq!(found, expected);
    }
    let esp = Ipv4 { protocol: Some(50), ..Ipv4::default() };
    let found = level(&FrameBuilder::new().ipv4(esp).payload(&[0; 40]));
    assert_eq!((found.l4, found.l4_kind, found.payload), (34, L4::Other(50), 0));
    assert_eq!((found.malformed, found.coverage()), (false, Coverage::None));
}

#[test]
fn extension_headers_of_every_kind_are_passed() {
    let extensions = vec![
        Extension::HopByHop(vec![5, 2, 0, 0]),
        Extension::Destination(vec![1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        Extension::Routing { kind: 0, left: 0, addresses: vec![address_v6(9)] },
        Extension::Fragment { offset: 0, more: false, id: 5 },
        Extension::Authentication(3),
        Extension::Other(135, vec![0; 14]),
        Extension::Other(139, Vec::new()),
        Extension::Other(140, Vec::new()),
    ];
    let ipv6 = Ipv6 { extensions, ..Ipv6::default() };
    let found = level(&FrameBuilder::new().ipv6(ipv6).tcp(Tcp::default()).payload(b"hi"));
    let passed = 8 + 16 + 24 + 8 + 24 + 16 + 8 + 8;
    assert_eq!((found.l4, found.l4_kind), (54 + passed, L4::Tcp));
    assert!(found.options && !found.unusual_pseudo && !found.malformed);
    assert_eq!(found.fragment, Fragment::Atomic);
    assert_eq!(found.coverage(), bytes(u32::from(found.l4), found.end));
}

#[test]
fn addresses_of_the_pseudo_header_move() {
    let addresses = vec![address_v6(7), address_v6(8)];
    // Extension header at 54, addresses of a routing header at 62 and 78.
    for (kind, left, dst, unusual) in
        [(0, 1, 78, true), (2, 2, 78, true), (4, 1, 62, true), (0, 0, 38, false), (3, 1, 38, false)]
    {
        let routing = Extension::Routing { kind, left, addresses: addresses.clone() };
        let ipv6 = Ipv6 { extensions: vec![routing], ..Ipv6::default() };
        let found = level(&FrameBuilder::new().ipv6(ipv6).tcp(Tcp::default()));
        assert_eq!((found.pseudo_src, found.pseudo_dst), (22, dst), "type {kind}, left {left}");
        assert_eq!(found.unusual_pseudo, unusual, "type {kind}, left {left}");
    }
    let extensions = vec![Extension::HomeAddress(address_v6(6))];
    let found = level(&FrameBuilder::new().ipv6(Ipv6 { extensions, ..Ipv6::default() }));
    assert_eq!((found.pseudo_src, found.pseudo_dst), (60, 38));
    assert!(found.unusual_pseudo);
}

#[test]
fn authentication_header_over_ipv4() {
    let mut header = vec![6, 4];
    header.extend([0; 22]);
    let ipv4 = Ipv4 { protocol: Some(51), ..Ipv4::default() };
    let found = level(&FrameBuilder::new().ipv4(ipv4).bytes(&header).tcp(Tcp::default()));
    assert_eq!((found.l4, found.l4_kind, found.options), (58, L4::Tcp, true));
    assert_eq!(found.coverage(), bytes(58, 78));
}

#[test]
fn levels_stay_small() {
    // They are copied into the meta of every packet.
    assert!(size_of::<Level>() <= 36 && size_of::<Layers>() <= 76);
}
