//! Lengths that lie, fragments, headers that do not fit, prefixes that end early, nesting without
//! end.

use super::{bytes, level, walk};
use crate::testing::{Ethernet, Extension, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan};
use crate::{Coverage, Fragment, L3, L4, Level, layers};

fn tcp4(ipv4: Ipv4) -> FrameBuilder {
    FrameBuilder::new().ipv4(ipv4).tcp(Tcp::default()).payload(b"0123456789")
}

fn udp4(udp: Udp) -> FrameBuilder {
    FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload(b"0123456789")
}

#[test]
fn zero_length_ends_with_the_frame() {
    let found = level(&tcp4(Ipv4 { total_length: Some(0), ..Ipv4::default() }));
    assert!(found.zero_length && !found.overrun && !found.malformed);
    assert_eq!((found.end, found.coverage()), (64, bytes(34, 64)));
    let ipv6 = Ipv6 { payload_length: Some(0), ..Ipv6::default() };
    let found = level(&FrameBuilder::new().ipv6(ipv6).tcp(Tcp::default()).payload(b"x"));
    assert!(found.zero_length && !found.jumbo);
    assert_eq!((found.end, found.coverage()), (75, bytes(54, 75)));
}

#[test]
fn no_next_header_with_length_zero_is_empty() {
    let ipv6 = Ipv6 { next_header: Some(59), ..Ipv6::default() };
    let found = level(&FrameBuilder::new().ipv6(ipv6).pad_to(60));
    assert!(!found.zero_length && !found.malformed);
    assert_eq!((found.end, found.l4_kind), (54, L4::Other(59)));
}

#[test]
fn a_jumbo_option_is_honoured_where_the_length_is_zero() {
    let jumbo = || Ipv6 { extensions: vec![Extension::Jumbo], ..Ipv6::default() };
    let large = FrameBuilder::new().ipv6(jumbo()).tcp(Tcp::default()).payload_len(80_000);
    let found = level(&large.trailer(b"trailer"));
    assert!(found.jumbo && !found.zero_length && found.options);
    assert_eq!((found.l4, found.end), (62, 82 + 80_000));
    assert_eq!(found.coverage(), bytes(62, 82 + 80_000));
    let small = Ipv6 { payload_length: Some(30), ..jumbo() };
    let found = level(&FrameBuilder::new().ipv6(small).tcp(Tcp::default()).payload_len(100));
    assert!(!found.jumbo);
    assert_eq!(found.end, 54 + 30);
}

#[test]
fn a_datagram_longer_than_its_frame_overruns() {
    let found = level(&tcp4(Ipv4 { total_length: Some(51), ..Ipv4::default() }));
    assert!(found.overrun && !found.malformed);
    assert_eq!((found.end, found.limit, found.l4_end), (65, 64, 65));
    assert_eq!(found.coverage(), Coverage::Overrun);
}

#[test]
fn an_inner_datagram_ends_with_the_outer_one() {
    let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::vxlan()).vxlan(Vxlan::default());
    let inner = tcp4(Ipv4 { total_length: Some(60), ..Ipv4::default() }).build();
    let found = walk(&outer.payload(&inner).trailer(&[0; 100]));
    let [outer, inner] = found.levels;
    assert!(!outer.overrun && inner.overrun);
    assert_eq!((outer.end, inner.limit, inner.end), (114, 114, 124));
}

#[test]
fn udp_has_a_length_of_its_own() {
    let length = |length: u16| Udp { length: Some(length), ..Udp::default() };
    // (UDP length, end of its data, coverage) of a datagram from 34 to 52.
    let cases = [
        (18, 52, bytes(34, 52)),
        (12, 46, bytes(34, 46)),
        (8, 42, bytes(34, 42)),
        (0, 52, bytes(34, 52)),
        (7, 41, Coverage::BadLength),
        (19, 53, Coverage::BadLength),
    ];
    for (value, end, coverage) in cases {
        let found = level(&udp4(length(value)));
        assert_eq!((found.l4_end, found.coverage()), (end, coverage), "length {value}");
        assert_eq!(found.malformed, coverage == Coverage::BadLength, "length {value}");
        assert_eq!(found.payload, 42, "length {value}");
    }
    // In a datagram that overruns, a longer UDP length is no lie.
    let ipv4 = Ipv4 { total_length: Some(100), ..Ipv4::default() };
    for (value, coverage) in
        [(80, Coverage::Overrun), (18, bytes(34, 52)), (0, bytes(34, 52)), (7, Coverage::BadLength)]
    {
        let builder = FrameBuilder::new().ipv4(ipv4.clone()).udp(length(value)).payload(&[0; 10]);
        let found = level(&builder);
        assert_eq!(found.coverage(), coverage, "length {value}");
        assert_eq!(found.malformed, value == 7, "length {value}");
    }
}

#[test]
fn udp_lite_covers_part_and_counts_all() {
    let ipv4 = Ipv4 { protocol: Some(136), ..Ipv4::default() };
    let lite = |coverage: u16| {
        let udp = Udp { length: Some(coverage), ..Udp::default() };
        level(&FrameBuilder::new().ipv4(ipv4.clone()).udp(udp).payload(b"0123456789"))
    };
    let covered = |to| Coverage::Bytes { from: 34, to, length: 18 };
    assert_eq!(lite(8).coverage(), covered(42));
    assert_eq!(lite(0).coverage(), covered(52));
    assert_eq!(lite(7).coverage(), Coverage::BadLength);
    assert_eq!(lite(19).coverage(), Coverage::BadLength);
}

#[test]
fn ipv4_fragments() {
    let first = level(&tcp4(Ipv4 { more_fragments: true, ..Ipv4::default() }));
    assert_eq!((first.fragment, first.l4_kind, first.payload), (Fragment::First, L4::Tcp, 54));
    assert_eq!(first.coverage(), Coverage::Fragment);
    for more_fragments in [false, true] {
        let later = Ipv4 { fragment_offset: 8, more_fragments, ..Ipv4::default() };
        let later = level(&tcp4(later));
        assert_eq!((later.fragment, later.l4_kind, later.l4), (Fragment::Later, L4::None, 0));
        assert_eq!((later.coverage(), later.end), (Coverage::None, 64));
    }
    let ipv4 = Ipv4 { more_fragments: true, ..Ipv4::default() };
    let udp = Udp { length: Some(3000), ..Udp::default() };
    let found = level(&FrameBuilder::new().ipv4(ipv4).udp(udp).payload(&[0; 10]));
    assert_eq!((found.malformed, found.coverage()), (false, Coverage::Fragment));
}

#[test]
fn ipv6_fragments() {
    let fragment = |parts: &[(u16, bool)]| {
        let header = |&(offset, more): &(u16, bool)| Extension::Fragment { offset, more, id: 1 };
        let extensions = parts.iter().map(header).collect();
        let ipv6 = Ipv6 { extensions, ..Ipv6::default() };
        level(&FrameBuilder::new().ipv6(ipv6).tcp(Tcp::default()))
    };
    assert_eq!(fragment(&[(0, false)]).fragment, Fragment::Atomic);
    assert_eq!(fragment(&[(0, true)]).fragment, Fragment::First);
    assert_eq!(fragment(&[(0, true), (0, false)]).fragment, Fragment::First);
    let later = fragment(&[(8, false)]);
    assert_eq!((later.fragment, later.l4_kind), (Fragment::Later, L4::None));
    // What follows a later fragment's header is payload, even if it says "fragment header".
    assert_eq!(fragment(&[(8, true), (0, false)]).fragment, Fragment::Later);
}

#[test]
fn impossible_headers_are_malformed() {
    let bad = |offset: usize, value: u8| {
        let mut frame = tcp4(Ipv4::default()).build();
        frame[offset] = value;
        layers(&frame, frame.len() as u32).levels[0]
    };
    let version = bad(14, 0x65);
    assert!(version.malformed && version.l3_kind == L3::None && version.l3 == 14);
    let ihl = bad(14, 0x44);
    assert!(ihl.malformed && ihl.l3_kind == L3::None);
    // A header sum can still be taken where only the total length is impossible.
    let total_length = bad(17, 19);
    assert!(total_length.malformed && total_length.l3_kind == L3::V4);
    assert_eq!((total_length.l4_kind, total_length.coverage()), (L4::None, Coverage::None));
    for data_offset in [0x40, 0xf0] {
        let tcp = bad(46, data_offset);
        assert!(tcp.malformed && tcp.payload == 0);
        assert_eq!((tcp.l4_kind, tcp.coverage()), (L4::Tcp, bytes(34, 64)));
    }
}

#[test]
fn l4_headers_that_do_not_fit_are_short() {
    for (protocol, len) in [(6, 20), (17, 8), (136, 8), (1, 4), (58, 4), (132, 12)] {
        let of = |len| {
            let ipv4 = Ipv4 { protocol: Some(protocol), ..Ipv4::default() };
            level(&FrameBuilder::new().ipv4(ipv4).payload(&vec![0x50; len]).trailer(&[0; 20]))
        };
        let short = of(len - 1);
        assert!(short.malformed && short.payload == 0, "protocol {protocol}");
        assert_eq!((short.l4, short.coverage()), (34, Coverage::Short), "protocol {protocol}");
        assert_ne!(of(len).coverage(), Coverage::Short, "protocol {protocol}");
    }
}

#[test]
fn a_chain_beyond_the_datagram_is_malformed() {
    let ipv6 = |payload_length| Ipv6 {
        extensions: vec![Extension::HopByHop(vec![1, 0])],
        payload_length: Some(payload_length),
        ..Ipv6::default()
    };
    let found = level(&FrameBuilder::new().ipv6(ipv6(7)).tcp(Tcp::default()));
    assert!(found.malformed);
    assert_eq!((found.l3_kind, found.l4_kind, found.end), (L3::V6, L4::None, 61));
    let cut = FrameBuilder::new().ipv6(ipv6(100)).build();
    let found = layers(&cut[..60], 60).levels[0];
    assert!(found.malformed && found.overrun && !found.incomplete);
}

#[test]
fn a_short_prefix_stops_at_the_last_complete_header() {
    let tcp = Tcp { options: vec![1; 12], ..Tcp::default() };
    let frame = FrameBuilder::new().vlan(1).ipv4(Ipv4::default()).tcp(tcp).payload(b"x").build();
    let at = |prefix: usize| layers(&frame[..prefix], frame.len() as u32);
    assert_eq!(at(13).count, 0);
    // (prefix, l3, l3_kind, l4, payload)
    let steps = [
        (17, 0, L3::None, 0, 0),
        (18, 18, L3::None, 0, 0),
        (37, 18, L3::None, 0, 0),
        (38, 18, L3::V4, 38, 0),
        (69, 18, L3::V4, 38, 0),
        (70, 18, L3::V4, 38, 70),
    ];
    for (prefix, l3, l3_kind, l4, payload) in steps {
        let Level { incomplete, malformed, .. } = at(prefix).levels[0];
        assert_eq!((incomplete, malformed), (prefix < 70, false), "prefix {prefix}");
        let found = at(prefix).levels[0];
        let expected = (l3, l3_kind, l4, payload);
        assert_eq!((found.l3, found.l3_kind, found.l4, found.payload), expected, "prefix {prefix}");
        let coverage = if prefix < 70 { Coverage::Incomplete } else { bytes(38, 71) };
        assert_eq!(found.coverage(), coverage, "prefix {prefix}");
    }
}

#[test]
fn a_tunnel_beyond_the_prefix_marks_the_outer_level_only() {
    let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::vxlan()).vxlan(Vxlan::default());
    let frame = outer.payload(&tcp4(Ipv4::default()).build()).build();
    let found = layers(&frame[..60], frame.len() as u32);
    assert_eq!(found.count, 1);
    let outer = found.levels[0];
    assert!(outer.incomplete && outer.payload == 42);
    assert_eq!(outer.coverage(), bytes(34, frame.len() as u32));
    assert_eq!(layers(&frame[..64], frame.len() as u32).count, 2);
}

#[test]
fn nesting_without_end_is_bounded() {
    let tags: Vec<u8> = [0x00, 0x01, 0x81, 0x00].repeat(1000);
    let ethernet = Ethernet { ethertype: Some(0x8100), ..Ethernet::default() };
    let found = level(&FrameBuilder::with(ethernet).payload(&tags));
    assert!(found.incomplete && !found.malformed);
    assert_eq!((found.l3, found.coverage()), (0, Coverage::Incomplete));
    let mut frame = tcp4(Ipv4::default()).build();
    for _ in 0..60 {
        let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::vxlan());
        frame = outer.vxlan(Vxlan::default()).payload(&frame).build();
    }
    let found = layers(&frame, frame.len() as u32);
    assert!(found.deeper && found.levels[1].incomplete);
}

#[test]
fn offsets_beyond_16_bits_are_not_walked() {
    let frame = FrameBuilder::new().bytes(&[0; 70_000]).build();
    assert_eq!(layers(&frame, u32::MAX).levels[0].end, u32::MAX);
    assert_eq!(layers(&frame, 5).count, 0);
    assert_eq!(layers(&[], 0).count, 0);
    assert_eq!(layers(&[], u32::MAX).count, 0);
}
