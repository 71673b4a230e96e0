//! The builder against etherparse's checksums, the checker against frames that are wrong in one
//! known way.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;

use super::*;

/// Whether etherparse, which has its own checksum code, agrees with the checksums of a frame;
/// `None` where it cannot look.
fn etherparse_agrees(frame: &[u8]) -> Option<bool> {
    let sliced = SlicedPacket::from_ethernet(frame).ok()?;
    let transport = sliced.transport?;
    match sliced.net? {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            let (src, dst) = (header.source(), header.destination());
            let header_good = header.header_checksum() == header.to_header().calc_header_checksum();
            let l4_good = match &transport {
                TransportSlice::Tcp(tcp) => {
                    tcp.calc_checksum_ipv4(src, dst).ok()? == tcp.checksum()
                }
                TransportSlice::Udp(udp) => {
                    let header = udp.to_header();
                    header.calc_checksum_ipv4_raw(src, dst, udp.payload()).ok()? == udp.checksum()
                }
                _ => return None,
            };
            Some(header_good && l4_good)
        }
        NetSlice::Ipv6(ip) => {
            // It takes the addresses of the header, which is not right behind routing headers.
            let (src, dst) = (ip.header().source(), ip.header().destination());
            match &transport {
                TransportSlice::Tcp(tcp) => {
                    Some(tcp.calc_checksum_ipv6(src, dst).ok()? == tcp.checksum())
                }
                _ => None,
            }
        }
        NetSlice::Arp(_) => None,
    }
}

#[test]
fn literal_bytes_of_a_tcp_segment() {
    // Added by hand: the words of the IPv4 header make 0x2b16d, those of pseudo header and segment
    // 0x34758; folded 0xb16f and 0x475b.
    let frame = FrameBuilder::new()
        .ipv4(Ipv4 { id: 7, ..Ipv4::default() })
        .tcp(Tcp { seq: 0x0102_0304, ..Tcp::default() })
        .payload(b"hi")
        .build();
    let ethernet = [0x02, 0, 0, 0, 0, 0x0b, 0x02, 0, 0, 0, 0, 0x0a, 0x08, 0x00];
    let ipv4 = [69, 0, 0, 42, 0, 7, 0x40, 0, 64, 6, 0x4e, 0x90, 192, 0, 2, 1, 198, 51, 100, 2];
    let ports_and_numbers = [0x9c, 0x40, 0, 80, 1, 2, 3, 4, 0, 0, 0, 1];
    let flags_and_checksum = [0x50, 0x10, 0x01, 0xf6, 0xb8, 0xa4, 0, 0];
    let expected = [&ethernet[..], &ipv4, &ports_and_numbers, &flags_and_checksum, b"hi"].concat();
    assert_eq!(frame, expected);
    assert_eq!(etherparse_agrees(&frame), Some(true));
}

#[test]
fn the_slow_sum_of_rfc_1071() {
    assert_eq!(slow_sum(&[&[0x00, 0x01, 0xf2], &[0x03, 0xf4], &[0xf5, 0xf6, 0xf7]]), 0xddf2);
    assert_eq!((slow_sum(&[&[0, 0]]), slow_sum(&[&[0xff, 0xff]])), (0, 0xffff));
    assert_eq!(
        slow_pseudo_header(&[1], &[2], 0x0a0b_0c0d, 17),
        [1, 2, 10, 11, 12, 13, 0, 0, 0, 17]
    );
}

#[test]
fn every_way_to_write_a_checksum() {
    let frame = |checksum| {
        let udp = Udp { checksum, ..Udp::default() };
        FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload(b"odd").build()
    };
    assert!(problems(&frame(Checksum::Right)).is_empty());
    assert!(problems(&frame(Checksum::OtherZero)).is_empty());
    assert!(problems(&frame(Checksum::Value(0))).is_empty());
    for wrong in [Checksum::Wrong, Checksum::Partial, Checksum::Value(1)] {
        assert_eq!(problems(&frame(wrong)), ["byte 34: wrong UDP checksum"], "{wrong:?}");
    }
}

#[test]
fn zero_is_written_in_the_representation_of_the_field() {
    // A payload word that brings the sum to 0xFFFF.
    let zero_sum = |builder: &dyn Fn(&[u8]) -> FrameBuilder, field: usize| {
        let frame = builder(&[0, 0]).build();
        let checksum = [frame[field], frame[field + 1]];
        let frame = builder(&checksum).build();
        assert_sound(&frame);
        u16::from_be_bytes([frame[field], frame[field + 1]])
    };
    let udp = |checksum| {
        move |payload: &[u8]| {
            let udp = Udp { checksum, ..Udp::default() };
            FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload(payload)
        }
    };
    let tcp = |checksum| {
        move |payload: &[u8]| {
            let tcp = Tcp { checksum, ..Tcp::default() };
            FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).payload(payload)
        }
    };
    assert_eq!(zero_sum(&udp(Checksum::Right), 40), 0xffff);
    assert_eq!(zero_sum(&tcp(Checksum::Right), 50), 0);
    assert_eq!(zero_sum(&tcp(Checksum::OtherZero), 50), 0xffff);
}

#[test]
fn the_checker_names_what_is_wrong() {
    let sound = || FrameBuilder::new().vlan(1).ipv4(Ipv4::default());
    let one = |builder: FrameBuilder, problem: &str| {
        assert_eq!(problems(&builder.build()), [problem]);
    };
    let bad_header = Ipv4 { checksum: Checksum::Wrong, ..Ipv4::default() };
    let long = Ipv4 { total_length: Some(999), ..Ipv4::default() };
    let bad_tcp = Tcp { checksum: Checksum::Wrong, ..Tcp::default() };
    one(
        FrameBuilder::new().ipv4(bad_header).tcp(Tcp::default()),
        "byte 14: wrong IPv4 header checksum",
    );
    one(
        FrameBuilder::new().ipv4(long).tcp(Tcp::default()),
        "byte 14: IPv4 total length does not fit",
    );
    one(sound().tcp(bad_tcp), "byte 38: wrong TCP checksum");
    one(
        sound().udp(Udp { length: Some(50), ..Udp::default() }),
        "byte 38: UDP length does not fit",
    );
    let none = Udp { checksum: Checksum::Value(0), ..Udp::default() };
    one(
        FrameBuilder::new().ipv6(Ipv6::default()).udp(none),
        "byte 54: UDP without a checksum over IPv6 (RFC 8200 section 8.1)",
    );
    let inner = FrameBuilder::new()
        .ipv6(Ipv6::default())
        .tcp(Tcp { checksum: Checksum::Partial, ..Tcp::default() });
    one(
        sound().udp(Udp::vxlan()).vxlan(Vxlan::default()).payload(&inner.build()),
        "byte 108: wrong TCP checksum",
    );
}

#[test]
fn the_checker_looks_into_every_tunnel() {
    let outer = || FrameBuilder::new().ipv4(Ipv4::default());
    let bad = Tcp { checksum: Checksum::Wrong, ..Tcp::default() };
    let frame = || FrameBuilder::new().ipv4(Ipv4::default()).tcp(bad.clone());
    let packet = || FrameBuilder::bare().ipv6(Ipv6::default()).tcp(bad.clone());
    let geneve = Geneve { options: vec![1; 8], ..Geneve::default() };
    let cases = [
        (outer().udp(Udp::geneve()).geneve(geneve).inside(frame()), 42 + 16 + 34),
        (outer().gre(Gre { key: Some(1), ..Gre::default() }).inside(packet()), 34 + 8 + 40),
        (outer().inside(packet()), 34 + 40),
    ];
    for (builder, at) in cases {
        assert_eq!(problems(&builder.build()), [format!("byte {at}: wrong TCP checksum")]);
    }
    let wrong = Gre { checksum: Some(Checksum::Wrong), ..Gre::default() };
    let inner = FrameBuilder::bare().ipv4(Ipv4::default()).udp(Udp::default());
    let found = problems(&outer().gre(wrong).inside(inner).build());
    assert_eq!(found, ["byte 34: wrong GRE checksum"]);
}

#[test]
fn messages_of_icmp_and_arp() {
    let echo = |checksum| Icmp { checksum, ..Icmp::default() };
    let v4 = |icmp| FrameBuilder::new().ipv4(Ipv4::default()).icmp(icmp).payload(b"ping").build();
    assert_sound(&v4(echo(Checksum::Right)));
    assert_eq!(problems(&v4(echo(Checksum::Wrong))), ["byte 34: wrong ICMP checksum"]);
    let v6 = |icmp| FrameBuilder::new().ipv6(Ipv6::default()).icmp(icmp).payload(&[7; 16]).build();
    let question = |checksum| Icmp { kind: 135, rest: 0, ..echo(checksum) };
    assert_sound(&v6(question(Checksum::Right)));
    assert_eq!(problems(&v6(question(Checksum::Wrong))), ["byte 54: wrong ICMPv6 checksum"]);
    let frame = v6(question(Checksum::Right));
    let sliced = SlicedPacket::from_ethernet(&frame).unwrap().transport;
    assert!(matches!(sliced, Some(TransportSlice::Icmpv6(icmp)) if icmp.type_u8() == 135));
    let arp = FrameBuilder::new().arp(Arp::default()).build();
    assert_sound(&arp);
    assert_eq!(arp[12..22], [8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
}

#[test]
#[should_panic(expected = "wrong TCP checksum")]
fn an_unsound_frame_fails() {
    let tcp = Tcp { checksum: Checksum::Wrong, ..Tcp::default() };
    assert_sound(&FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).build());
}

#[test]
fn a_difference_is_shown_by_frame_header_and_byte() {
    let frame = |ttl| {
        let ipv4 = Ipv4 { ttl, ..Ipv4::default() };
        FrameBuilder::new().ipv4(ipv4).tcp(Tcp::default()).payload(b"same").build()
    };
    let message = |left: &[Vec<u8>], right: &[Vec<u8>]| {
        let caught = std::panic::catch_unwind(|| assert_same_frames(left, right));
        *caught.expect_err("they differ").downcast::<String>().expect("a message")
    };
    let text = message(&[frame(64), frame(64)], &[frame(64), frame(63)]);
    assert!(text.starts_with("frame 1 of 2: 58 bytes left, 58 right"), "{text}");
    assert!(text.contains("first difference at byte 22 (ipv4 + 8)"), "{text}");
    assert!(text.contains("  <    14  ipv4") && text.contains("  >    14  ipv4"), "{text}");
    assert!(text.contains("ttl 64") && text.contains("ttl 63"), "{text}");
    let text = message(&[frame(64)], &[frame(64), frame(63)]);
    assert!(text.starts_with("1 frames left, 2 right; first one only right, frame 1:"), "{text}");
    assert_same_frames(&[frame(1)], &[frame(1)]);
}

proptest! {
    #[test]
    fn built_frames_are_sound_and_etherparse_agrees(builder in strategies::plain_frame()) {
        let frame = builder.build();
        prop_assert_eq!(problems(&frame), Vec::<String>::new());
        let unusual = crate::layers(&frame, frame.len() as u32).levels[0].unusual_pseudo;
        if !unusual {
            prop_assert_ne!(etherparse_agrees(&frame), Some(false), "{}", describe(&frame));
        }
    }

    #[test]
    fn tunnels_are_sound(builder in strategies::frame()) {
        prop_assert_eq!(problems(&builder.build()), Vec::<String>::new());
    }

    #[test]
    fn the_checker_takes_any_bytes(frame in strategies::hostile()) {
        let _ = (problems(&frame), describe(&frame));
    }
}
