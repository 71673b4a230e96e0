//! Each request by itself, and the property over all of them.

use super::{finish_as_port, harness, partial, port, run_one};
use crate::checksum_fill::{ChecksumFill, INFO};
use crate::fixture::received;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, Partial, SegFlags, SegKind, Segmentation};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{
    Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan, assert_same_frames, slow_sum, strategies,
};
use proptest::prelude::*;

fn tcp(payload: usize) -> Vec<u8> {
    FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).payload_len(payload).build()
}

fn tunnel(inner: &[u8]) -> Vec<u8> {
    let udp = Udp { dst_port: 4789, ..Udp::default() };
    let start = FrameBuilder::new().ipv6(Ipv6::default()).udp(udp);
    start.vxlan(Vxlan::default()).payload(inner).build()
}

#[test]
fn a_known_payload_sum_is_used_and_the_payload_not_read() {
    let frame = tcp(999);
    let mut harness = harness(None);
    let (mut packet, _) = partial(&mut harness, &frame, &[60, 200], [true, false]);
    packet.set_payload_sum(slow_sum(&[&frame[54..]]));
    // Whoever reads the payload now gets another checksum.
    assert!(packet.poke_payload(800));
    let packet = run_one(&mut harness, packet);
    assert_eq!(packet.data()[50..52], frame[50..52]);
    assert_eq!(harness.counters(), [("reused", 1)]);
    assert_eq!(harness.tally().payload_bytes_summed, 0);
    harness.release([packet]);
    harness.finish();
}

#[test]
fn an_unknown_payload_is_read_once_and_its_sum_kept() {
    let frame = tunnel(&tcp(501));
    let mut harness = harness(None);
    let (packet, _) = partial(&mut harness, &frame, &[], [true, true]);
    let packet = run_one(&mut harness, packet);
    assert_eq!(packet.meta().l4, [Csum::Good; 2]);
    assert_eq!(packet.payload_sum(), Some(slow_sum(&[&frame[frame.len() - 501..]])));
    assert_eq!(harness.tally().payload_bytes_summed, 501);
    assert_eq!(harness.counters(), [("reused", 1), ("summed", 1)]);
    assert_eq!(harness.unpack(packet), frame);
    harness.finish();
}

#[test]
fn an_outer_checksum_goes_around_an_inner_one_left_to_the_port() {
    let frame = tunnel(&tcp(77));
    let finds = Caps::TX_CHECKSUMS | Caps::TSO_VXLAN.with_implied();
    for caps in [Caps::TX_GENERIC.with_implied(), finds] {
        let mut harness = harness(Some(caps));
        let (packet, mut bytes) = partial(&mut harness, &frame, &[], [true, true]);
        let mut packet = run_one(&mut harness, packet);
        assert_eq!(packet.meta().l4, [Csum::Good, Csum::Partial]);
        assert_eq!(harness.counters(), [("left", 1), ("reused", 1)]);
        assert_eq!(harness.tally().payload_bytes_summed, 0);
        bytes.copy_from_slice(packet.data());
        finish_as_port(&mut packet, &mut bytes, caps);
        assert_same_frames(&[&bytes], &[&frame]);
        harness.release([packet]);
        harness.finish();
    }
}

#[test]
fn both_checksums_of_a_tunnel_are_left_to_a_port_that_finishes_both() {
    let frame = tunnel(&tcp(77));
    let caps = Caps::TX_TCP4 | Caps::TSO_VXLAN_CSUM.with_implied();
    let mut harness = harness(Some(caps));
    let (packet, before) = partial(&mut harness, &frame, &[], [true, true]);
    let mut packet = run_one(&mut harness, packet);
    assert_eq!(packet.meta().l4, [Csum::Partial; 2]);
    assert_eq!(packet.data(), before);
    assert_eq!(harness.counters(), [("left", 2)]);
    let mut bytes = before;
    finish_as_port(&mut packet, &mut bytes, caps);
    assert_same_frames(&[&bytes], &[&frame]);
    harness.release([packet]);
    harness.finish();
}

#[test]
fn a_good_inner_checksum_spares_the_outer_one_the_payload() {
    let frame = tunnel(&tcp(501));
    let mut harness = harness(None);
    let (mut packet, _) = partial(&mut harness, &frame, &[], [true, false]);
    packet.meta_mut().l4[1] = Csum::Good;
    let packet = run_one(&mut harness, packet);
    assert_eq!(harness.tally().payload_bytes_summed, 0);
    assert_eq!(harness.counters(), [("reused", 1)]);
    assert_same_frames(&[harness.unpack(packet)], &[frame]);
    harness.finish();
}

#[test]
fn an_inner_checksum_behind_an_unknown_port_is_finished_here() {
    let inner = tcp(77);
    let udp = Udp { dst_port: 8472, ..Udp::default() };
    let start = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp);
    let frame = start.vxlan(Vxlan::default()).payload(&inner).build();
    let mut harness = harness(Some(Caps::TX_CHECKSUMS | Caps::TSO_VXLAN.with_implied()));
    let (packet, _) = partial(&mut harness, &frame, &[], [false, true]);
    let packet = run_one(&mut harness, packet);
    assert_eq!(packet.meta().l4[1], Csum::Good);
    assert_same_frames(&[harness.unpack(packet)], &[frame]);
    harness.finish();
}

#[test]
fn a_demoted_port_gets_no_more_requests() {
    let frame = tcp(10);
    let exit = port(Caps::all());
    let mut harness = Harness::new(ChecksumFill::new(Some(exit.clone())), &INFO);
    let (packet, bytes) = partial(&mut harness, &frame, &[], [true, false]);
    let packet = run_one(&mut harness, packet);
    assert_eq!(packet.meta().l4[0], Csum::Partial);
    assert_eq!(harness.unpack(packet), bytes);
    exit.demote(Caps::TX_TCP4);
    let (packet, _) = partial(&mut harness, &frame, &[], [true, false]);
    let packet = run_one(&mut harness, packet);
    assert_eq!(packet.meta().l4[0], Csum::Good);
    assert_eq!(harness.unpack(packet), frame);
    harness.finish();
}

#[test]
fn a_datagram_with_bytes_behind_its_udp_data_is_finished_here() {
    let udp = Udp { length: Some(8 + 11), ..Udp::default() };
    let frame = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload_len(40).build();
    let mut harness = harness(Some(Caps::all()));
    let (packet, _) = partial(&mut harness, &frame, &[], [true, false]);
    let packet = run_one(&mut harness, packet);
    assert_eq!(packet.meta().l4[0], Csum::Good);
    assert_same_frames(&[harness.unpack(packet)], &[frame]);
    harness.finish();
}

#[test]
fn udp_sends_ffff_for_a_computed_zero() {
    let plain = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::default());
    let first = plain.clone().payload(&[0, 0]).build();
    // The payload that takes the rest of the sum to 0xffff.
    let missing = [first[40], first[41]];
    let frame = plain.payload(&missing).build();
    assert_eq!(frame[40..42], [0xff, 0xff]);
    let mut harness = harness(None);
    let (packet, _) = partial(&mut harness, &frame, &[], [true, false]);
    let packet = run_one(&mut harness, packet);
    assert_same_frames(&[harness.unpack(packet)], &[frame]);
    harness.finish();
}

#[test]
fn superpackets_and_packets_that_ask_for_nothing_pass_untouched() {
    let wrong = Tcp { checksum: Checksum::Wrong, ..Tcp::default() };
    let frame = FrameBuilder::new().ipv4(Ipv4::default()).tcp(wrong).payload_len(50).build();
    let mut harness = harness(None);
    for state in [Csum::Unknown, Csum::Good, Csum::Bad] {
        let mut packet = received(&mut harness, &frame, &[]);
        packet.meta_mut().l4[0] = state;
        let packet = run_one(&mut harness, packet);
        assert_eq!(packet.meta().l4[0], state);
        assert_eq!(harness.unpack(packet), frame);
    }
    let (mut packet, bytes) = partial(&mut harness, &tcp(3000), &[], [true, false]);
    let flags = SegFlags::empty();
    packet.set_segmentation(Segmentation { kind: SegKind::Tcp4, gso_size: 1500, count: 2, flags });
    let packet = run_one(&mut harness, packet);
    assert_eq!(packet.meta().l4[0], Csum::Partial);
    assert_eq!(harness.unpack(packet), bytes);
    assert_eq!(harness.counters(), []);
    harness.finish();
}

#[test]
fn a_partial_ipv4_header_is_filled() {
    let frame = tunnel(&tcp(20));
    let mut packet_bytes = frame.clone();
    let l3 = frame.len() - 20 - 40;
    packet_bytes[l3 + 10..l3 + 12].copy_from_slice(&[0xab, 0xcd]);
    let mut harness = harness(Some(Caps::all()));
    let mut packet = received(&mut harness, &packet_bytes, &[]);
    packet.meta_mut().l3[1] = Csum::Partial;
    let packet = run_one(&mut harness, packet);
    assert_eq!((packet.meta().l3[1], harness.counter("ipv4")), (Csum::Good, 1));
    assert_same_frames(&[harness.unpack(packet)], &[frame]);
    harness.finish();
}

#[test]
fn without_buffers_a_shared_header_waits_and_keeps_its_place() {
    let frame = tcp(100);
    let mut harness = harness(None).home(0, 8, 0);
    // The first part ends inside the TCP header.
    let (first, _) = partial(&mut harness, &frame, &[], [true, false]);
    let (mut second, _) = partial(&mut harness, &frame, &[], [true, false]);
    // Offsets beyond the first part stand for a header that must be gathered first.
    let (bytes, split) = (harness.unpack(second), 45);
    second = crate::fixture::chained(&mut harness, &bytes, &[split]);
    second.set_layers(first.meta().layers, first.payload_len());
    second.meta_mut().l4 = first.meta().l4;
    second.meta_mut().partial = first.meta().partial;
    harness.push(first);
    harness.push(second);
    harness.buffers.withhold([0, 8, 0]);
    harness.run();
    assert_eq!(harness.waiting(), 1);
    assert!(harness.buffers.starved());
    harness.buffers.withhold([0; 3]);
    harness.run();
    assert_same_frames(&harness.take_frames(), &vec![frame; 2]);
    harness.finish();
}

#[test]
fn what_nobody_can_finish_is_dropped_by_name_and_does_not_hang() {
    let frame = tcp(100);
    let requests: [fn(&mut corelane_runtime::packet::Packet); 4] = [
        |packet| packet.meta_mut().partial[0] = Partial { start: 34, field: 9000 },
        |packet| packet.meta_mut().partial[0] = Partial { start: 60, field: 50 },
        |packet| packet.meta_mut().orig_len = 9000,
        |packet| packet.meta_mut().partial[0] = Partial { start: 34, field: 153 },
    ];
    for request in requests {
        let mut harness = harness(None);
        let (mut packet, _) = partial(&mut harness, &frame, &[], [true, false]);
        request(&mut packet);
        harness.push(packet);
        harness.run();
        assert_eq!(harness.dropped("impossible_request").packets, 1);
        harness.finish();
    }
}

proptest! {
    #[test]
    fn whatever_the_port_does_the_frame_is_the_one_with_right_checksums(
        builder in strategies::frame(),
        cuts in prop::collection::vec(1_usize..400, 0..4),
        levels in any::<[bool; 2]>(),
        known in any::<bool>(),
        set in prop::sample::select(Caps::every_set()),
    ) {
        let frame = builder.build();
        let mut harness = harness(Some(set));
        let (mut packet, _) = partial(&mut harness, &frame, &cuts, levels);
        let payload = u64::from(packet.payload_len());
        if known && payload > 0 {
            let innermost = packet.meta().layers.innermost().expect("a level").payload;
            let start = usize::from(innermost);
            packet.set_payload_sum(slow_sum(&[&frame[start..start + payload as usize]]));
        }
        let mut packet = run_one(&mut harness, packet);
        let mut bytes: Vec<u8> = packet.parts().flatten().copied().collect();
        finish_as_port(&mut packet, &mut bytes, set);
        prop_assert_eq!(bytes, frame);
        let read = harness.tally().payload_bytes_summed;
        prop_assert!(read == 0 || (read == payload && !known));
        harness.release([packet]);
        harness.finish();
    }

    #[test]
    fn any_request_ends_somewhere(
        frame in strategies::hostile(),
        cuts in prop::collection::vec(0_usize..300, 0..3),
        requests in any::<[Option<(u16, u16)>; 2]>(),
        header in any::<[bool; 2]>(),
        near in any::<bool>(),
        set in prop::sample::select(Caps::every_set()),
    ) {
        let mut harness = harness(Some(set));
        let mut packet = received(&mut harness, &frame, &cuts);
        for (index, request) in requests.iter().enumerate() {
            if let Some((start, field)) = request {
                let wrap = if near { 128 } else { u16::MAX };
                packet.meta_mut().l4[index] = Csum::Partial;
                packet.meta_mut().partial[index] =
                    Partial { start: start % wrap, field: field % wrap };
            }
            if header[index] {
                packet.meta_mut().l3[index] = Csum::Partial;
            }
        }
        harness.push(packet);
        harness.run();
        let out = harness.take_frames().len() as u64;
        prop_assert_eq!(out + harness.dropped("impossible_request").packets, 1);
        harness.finish();
    }
}
