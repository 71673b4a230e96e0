//! What comes out of known frames; `oracle` has the properties.

mod choices;
mod oracle;
mod tunnels;

use super::{ChecksumValidate, OnBad};
use crate::fixture::received;
use corelane_runtime::packet::{Csum, Known, Packet, SegFlags, SegKind, Segmentation};
use corelane_runtime::stage::Declared;
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{Checksum, Extension, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan};

fn harness(on_bad: OnBad) -> Harness {
    Harness::new(ChecksumValidate::new(on_bad), ChecksumValidate::spec().info()).home(0, 64, 4)
}

/// A frame with these checksums; `v6` and `udp` choose the protocols.
fn frame(v6: bool, udp: bool, l4: Checksum, payload: usize) -> FrameBuilder {
    let start = FrameBuilder::new();
    let ip = if v6 { start.ipv6(Ipv6::default()) } else { start.ipv4(Ipv4::default()) };
    let l4 = if udp {
        ip.udp(Udp { checksum: l4, ..Udp::default() })
    } else {
        ip.tcp(Tcp { checksum: l4, ..Tcp::default() })
    };
    l4.payload_len(payload)
}

/// VXLAN with an outer checksum around a frame.
fn tunnel(inner: &[u8], outer: Checksum) -> Vec<u8> {
    let udp = Udp { dst_port: 4789, checksum: outer, ..Udp::default() };
    let start = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp);
    start.vxlan(Vxlan::default()).payload(inner).build()
}

/// Validates one packet with `on_bad: Mark`.
fn validate(harness: &mut Harness, packet: Packet) -> Packet {
    harness.push(packet);
    harness.run();
    harness.take().pop().expect("one packet passes")
}

/// Counters that are not zero after one frame, and the packet's states.
fn outcome(frame: &[u8]) -> (Vec<(&'static str, u64)>, [Csum; 2]) {
    let mut harness = harness(OnBad::Mark);
    let packet = received(&mut harness, frame, &[]);
    let packet = validate(&mut harness, packet);
    let states = packet.meta().l4;
    assert_eq!(packet.payload_sum().is_some(), states.contains(&Csum::Good), "a sum to rely on");
    assert_eq!(harness.unpack(packet), frame, "a byte was changed");
    let counters = harness.counters();
    harness.finish();
    (counters, states)
}

#[test]
fn every_kind_of_checksum_has_its_counter_and_state() {
    let cases = [
        (Checksum::Right, "good", Csum::Good),
        (Checksum::OtherZero, "good", Csum::Good),
        (Checksum::Wrong, "corrupt", Csum::Bad),
        (Checksum::Partial, "partial", Csum::Unknown),
    ];
    for (checksum, name, state) in cases {
        for (v6, udp) in [(false, false), (false, true), (true, false), (true, true)] {
            let protocol = if udp { "udp" } else { "tcp" };
            let (counters, states) = outcome(&frame(v6, udp, checksum, 333).build());
            let expected = format!("outer.{protocol}.{name}");
            let l4: Vec<_> = counters.iter().filter(|(name, _)| !name.contains("ipv4")).collect();
            assert_eq!(l4, [&(expected.as_str(), 1)]);
            assert_eq!(counters.contains(&("outer.ipv4.good", 1)), !v6);
            assert_eq!(states[0], state, "{expected}");
        }
    }
}

#[test]
fn a_tcp_field_without_the_length_looks_partial_too() {
    let right = frame(false, false, Checksum::Partial, 100).build();
    let field = u16::from_be_bytes([right[50], right[51]]);
    // 120 bytes of TCP are in the seed; taking them out again cannot borrow here.
    let without_length = Checksum::Value(field - 120);
    let (counters, _) = outcome(&frame(false, false, without_length, 100).build());
    assert!(counters.contains(&("outer.tcp.partial", 1)), "{counters:?}");
}

#[test]
fn zero_says_that_there_is_none() {
    for v6 in [false, true] {
        let (counters, states) = outcome(&frame(v6, true, Checksum::Value(0), 10).build());
        assert!(counters.contains(&("outer.udp.zero", 1)), "{counters:?}");
        assert_eq!(states[0], Csum::Unknown);
    }
}

#[test]
fn what_cannot_be_verified_is_unknown_and_not_read() {
    let v4 = |ip| FrameBuilder::new().ipv4(ip);
    let first = Ipv4 { more_fragments: true, dont_fragment: false, ..Ipv4::default() };
    let long = Ipv4 { total_length: Some(900), ..Ipv4::default() };
    let odd = Udp { length: Some(900), ..Udp::default() };
    let cases = [
        (v4(first.clone()).tcp(Tcp::default()), "outer.tcp.unverifiable"),
        (v4(first).udp(Udp::default()), "outer.udp.unverifiable"),
        (v4(long.clone()).tcp(Tcp::default()), "outer.tcp.overrun"),
        (v4(long).udp(Udp { length: Some(880), ..Udp::default() }), "outer.udp.overrun"),
        (v4(Ipv4::default()).udp(odd), "outer.udp.unverifiable"),
    ];
    for (builder, counter) in cases {
        let (counters, states) = outcome(&builder.payload_len(100).build());
        assert!(counters.contains(&(counter, 1)), "{counter} in {counters:?}");
        assert_eq!(states, [Csum::Unknown; 2]);
    }
}

#[test]
fn a_header_that_is_not_all_there_is_unverifiable() {
    for (protocol, len, counter) in
        [(6, 19, "outer.tcp.unverifiable"), (17, 7, "outer.udp.unverifiable")]
    {
        let ip = Ipv4 { protocol: Some(protocol), ..Ipv4::default() };
        let frame = FrameBuilder::new().ipv4(ip).bytes(&vec![1; len]).pad_to(60).build();
        let (counters, states) = outcome(&frame);
        assert_eq!(counters, [("outer.ipv4.good", 1), (counter, 1)]);
        assert_eq!(states, [Csum::Unknown; 2]);
    }
}

#[test]
fn an_atomic_fragment_and_moved_addresses_are_verified() {
    for extension in [
        Extension::Fragment { offset: 0, more: false, id: 3 },
        Extension::HomeAddress([9; 16]),
        Extension::Routing { kind: 2, left: 1, addresses: vec![[7; 16]] },
        Extension::Jumbo,
    ] {
        let ip = Ipv6 { extensions: vec![extension.clone()], ..Ipv6::default() };
        let frame = FrameBuilder::new().ipv6(ip).tcp(Tcp::default()).payload_len(50).build();
        let (counters, states) = outcome(&frame);
        assert_eq!(counters, [("outer.tcp.good", 1)], "{extension:?}");
        assert_eq!(states[0], Csum::Good);
    }
}

#[test]
fn a_cut_packet_is_verified_if_its_datagram_is_whole() {
    let whole = frame(false, false, Checksum::Right, 10).pad_to(80).build();
    for (kept, counter) in [(70, "outer.tcp.good"), (60, "outer.tcp.unverifiable")] {
        let mut harness = harness(OnBad::Mark);
        let mut packet = harness.packet(&whole[..kept]);
        packet.meta_mut().orig_len = 80;
        crate::rx::describe(&mut packet, 1, &mut harness.buffers).expect("a buffer");
        let packet = validate(&mut harness, packet);
        assert_eq!(harness.counter(counter), 1, "{kept} bytes kept");
        harness.release([packet]);
        harness.finish();
    }
}

#[test]
fn bad_packets_are_dropped_where_the_file_says_so_by_the_first_wrong_kind() {
    let bad_header = Ipv4 { checksum: Checksum::Wrong, ..Ipv4::default() };
    let wrong = Tcp { checksum: Checksum::Wrong, ..Tcp::default() };
    let frames = [
        FrameBuilder::new().ipv4(bad_header.clone()).tcp(wrong).build(),
        FrameBuilder::new().ipv4(bad_header).tcp(Tcp::default()).build(),
        frame(false, false, Checksum::Wrong, 5).build(),
        frame(true, true, Checksum::Wrong, 5).build(),
        tunnel(&frame(true, true, Checksum::Wrong, 5).build(), Checksum::Right),
        frame(false, false, Checksum::Partial, 5).build(),
        frame(false, true, Checksum::Right, 5).build(),
    ];
    let mut harness = harness(OnBad::Drop);
    for frame in &frames {
        let packet = received(&mut harness, frame, &[]);
        harness.push(packet);
    }
    harness.run();
    let dropped = ["bad_ipv4", "bad_tcp", "bad_udp"].map(|reason| harness.dropped(reason).packets);
    assert_eq!(dropped, [2, 1, 2]);
    assert_eq!(harness.take_frames(), frames[5..]);
    harness.finish();
}

#[test]
fn one_pass_over_the_payload_serves_both_levels_of_a_tunnel() {
    for (payload, pad) in [(1001, 0), (1000, 0), (3, 60)] {
        let inner = frame(true, false, Checksum::Right, payload).pad_to(pad).build();
        let mut harness = harness(OnBad::Mark);
        let packet = received(&mut harness, &tunnel(&inner, Checksum::Right), &[]);
        let packet = validate(&mut harness, packet);
        let good = ["outer.ipv4.good", "outer.udp.good", "inner.tcp.good"];
        assert_eq!(harness.counters(), good.map(|name| (name, 1)));
        assert_eq!(harness.tally().payload_bytes_summed, payload as u64);
        assert!(packet.payload_sum().is_some());
        harness.release([packet]);
        harness.finish();
    }
}

#[test]
fn what_the_device_vouches_for_costs_no_payload() {
    let inner = frame(false, false, Checksum::Right, 500).build();
    let whole = tunnel(&inner, Checksum::Right);
    // States for outer and inner level: the missing one follows by algebra.
    for states in [[Csum::Good, Csum::Unknown], [Csum::Unknown, Csum::Good], [Csum::Good; 2]] {
        let mut harness = harness(OnBad::Mark);
        let mut packet = received(&mut harness, &whole, &[]);
        packet.meta_mut().l4 = states;
        assert!(packet.poke_payload(packet.len() - 1), "nobody will notice");
        let packet = validate(&mut harness, packet);
        assert_eq!(packet.meta().l4, [Csum::Good; 2]);
        assert_eq!(harness.tally().payload_bytes_summed, 0);
        assert_eq!(harness.counter("inner.tcp.good"), 1);
        let sum = corelane_wire::testing::slow_sum(&[&whole[whole.len() - 500..]]);
        assert_eq!(packet.payload_sum(), Some(sum));
        harness.release([packet]);
        harness.finish();
    }
}

#[test]
fn a_device_that_says_bad_of_an_unfinished_checksum_is_understood() {
    for (checksum, counter, state) in [
        (Checksum::Wrong, "outer.tcp.corrupt", Csum::Bad),
        (Checksum::Partial, "outer.tcp.partial", Csum::Unknown),
    ] {
        let mut harness = harness(OnBad::Mark);
        let mut packet = received(&mut harness, &frame(false, false, checksum, 100).build(), &[]);
        packet.meta_mut().l4[0] = Csum::Bad;
        let packet = validate(&mut harness, packet);
        assert_eq!((harness.counter(counter), packet.meta().l4[0]), (1, state));
        assert_eq!(harness.tally().payload_bytes_summed, 0);
        harness.release([packet]);
        harness.finish();
    }
}

#[test]
fn a_device_is_not_asked_about_addresses_it_cannot_know() {
    let ip = Ipv6 { extensions: vec![Extension::HomeAddress([9; 16])], ..Ipv6::default() };
    for (checksum, told, state) in
        [(Checksum::Wrong, Csum::Good, Csum::Bad), (Checksum::Right, Csum::Bad, Csum::Good)]
    {
        let tcp = Tcp { checksum, ..Tcp::default() };
        let frame = FrameBuilder::new().ipv6(ip.clone()).tcp(tcp).payload_len(50).build();
        let mut harness = harness(OnBad::Mark);
        let mut packet = received(&mut harness, &frame, &[]);
        packet.meta_mut().l4[0] = told;
        let packet = validate(&mut harness, packet);
        assert_eq!(packet.meta().l4[0], state);
        harness.release([packet]);
        harness.finish();
    }
}

#[test]
fn an_unfinished_checksum_keeps_the_one_around_it_from_being_judged() {
    let inner = frame(false, false, Checksum::Partial, 100).build();
    let mut harness = harness(OnBad::Mark);
    let mut packet = received(&mut harness, &tunnel(&inner, Checksum::Right), &[]);
    packet.meta_mut().l4[1] = Csum::Partial;
    let packet = validate(&mut harness, packet);
    assert_eq!(packet.meta().l4, [Csum::Unknown, Csum::Partial]);
    assert_eq!(harness.counter("outer.udp.unverifiable"), 1);
    assert_eq!(harness.counter("inner.tcp.good"), 1);
    assert_eq!((harness.tally().payload_bytes_summed, packet.payload_sum()), (0, None));
    harness.release([packet]);
    harness.finish();
}

#[test]
fn of_three_levels_all_are_checked_and_the_device_is_not_believed() {
    let middle = tunnel(&frame(true, true, Checksum::Wrong, 40).build(), Checksum::Right);
    let whole = tunnel(&middle, Checksum::Right);
    let mut harness = harness(OnBad::Mark);
    let mut packet = harness.packet(&whole);
    // Said of the outermost level, which is not among those that are tracked.
    packet.meta_mut().l4 = [Csum::Good; 2];
    crate::rx::describe(&mut packet, 1, &mut harness.buffers).expect("a buffer");
    let packet = validate(&mut harness, packet);
    assert_eq!(packet.meta().l4, [Csum::Good, Csum::Bad]);
    let names = [
        "outer.ipv4.good",
        "outer.udp.good",
        "inner.ipv4.good",
        "inner.udp.good",
        "inner.udp.corrupt",
    ];
    assert_eq!(harness.counters(), names.map(|name| (name, 1)));
    harness.release([packet]);
    harness.finish();
}

/// A packet with the device's sum over the datagram, `off` added to it.
fn complete(harness: &mut Harness, frame: &[u8], trailer: usize, off: u16) -> Packet {
    let mut packet = received(harness, frame, &[]);
    let sum = corelane_wire::testing::slow_sum(&[&frame[14..frame.len() - trailer]]);
    packet.meta_mut().set_known(Known { from: 14, sum: sum.wrapping_add(off) });
    packet
}

#[test]
fn a_datagram_sum_verifies_every_level_and_is_not_believed_when_it_lies() {
    let inner = frame(true, false, Checksum::Right, 300).build();
    let bad = frame(true, false, Checksum::Wrong, 300).build();
    let whole = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::vxlan()).vxlan(Vxlan::default());
    let whole = |inner: &[u8]| whole.clone().payload(inner).trailer(&[9; 4]).build();
    for (frame, off, counter, read, disagreed) in [
        (whole(&inner), 0, "inner.tcp.good", 0, 0),
        (whole(&inner), 1, "inner.tcp.good", 300, 1),
        (whole(&bad), 0, "inner.tcp.corrupt", 300, 0),
        (whole(&bad), 3, "inner.tcp.corrupt", 300, 0),
    ] {
        let mut harness = harness(OnBad::Mark);
        let packet = complete(&mut harness, &frame, 4, off);
        let packet = validate(&mut harness, packet);
        assert_eq!(harness.counter(counter), 1);
        assert_eq!(harness.tally().payload_bytes_summed, read);
        assert_eq!(harness.counter("device_disagreed"), disagreed);
        harness.release([packet]);
        harness.finish();
    }
}

#[test]
fn a_datagram_sum_is_left_alone_where_the_datagrams_end_is_not_known() {
    let frame = frame(false, false, Checksum::Right, 100).trailer(&vec![9; 70_000]).build();
    let mut harness = harness(OnBad::Mark);
    let packet = complete(&mut harness, &frame, 70_000, 0);
    let packet = validate(&mut harness, packet);
    assert_eq!(harness.counters(), [("outer.ipv4.good", 1), ("outer.tcp.good", 1)]);
    assert_eq!(harness.tally().payload_bytes_summed, 100);
    harness.release([packet]);
    harness.finish();
}

#[test]
fn a_joined_packet_is_taken_at_its_makers_word() {
    let whole = frame(false, false, Checksum::Wrong, 2000).build();
    for (state, after, counter) in [
        (Csum::Good, Csum::Good, "outer.tcp.good"),
        (Csum::Partial, Csum::Partial, "outer.tcp.good"),
        (Csum::Unknown, Csum::Unknown, "outer.tcp.unverifiable"),
    ] {
        let mut harness = harness(OnBad::Mark);
        let mut packet = received(&mut harness, &whole, &[]);
        let flags = SegFlags::empty();
        let request = Segmentation { kind: SegKind::Tcp4, gso_size: 1000, count: 2, flags };
        packet.set_segmentation(request);
        packet.meta_mut().l4[0] = state;
        let packet = validate(&mut harness, packet);
        assert_eq!((packet.meta().l4[0], harness.counter(counter)), (after, 1));
        assert_eq!(harness.tally().payload_bytes_summed, 0);
        assert_eq!(packet.payload_sum(), None);
        harness.release([packet]);
        harness.finish();
    }
}
