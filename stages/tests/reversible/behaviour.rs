//! How the two stages behave beside what they merge and cut: sums, devices, order, buffers, room.

use crate::cases::{V4, V6, both, p};
use crate::oracle::assert_well_formed;
use crate::rig::{Frame, Proof, Rig, payloads};
use corelane_runtime::packet::{Csum, Packet, Segmentation};
use corelane_runtime::testing::Harness;
use corelane_stages::config::Nanoseconds;
use corelane_stages::gro::{Gro, GroConfig, INFO};
use corelane_stages::rx::describe;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{Checksum, FrameBuilder, Ipv4, assert_same_frames, assert_sound};

fn train(v6: bool, count: u32, len: usize) -> Vec<Frame> {
    (0..count).map(|index| p(v6, index * len as u32, len).build()).collect()
}

fn timed(hold: u64) -> GroConfig {
    GroConfig { hold: Some(Nanoseconds(hold)), ..GroConfig::default() }
}

/// A stage of its own, and packets for it that nobody has vouched for.
fn alone(config: GroConfig) -> Harness {
    let harness = Harness::new(Gro::new(config, 1), &INFO);
    if config.hold.is_some() { harness.multiplies() } else { harness }
}

fn arrive(harness: &mut Harness, frame: &Frame) -> Packet {
    let mut packet = harness.packet(&frame.bytes);
    describe(&mut packet, 7, &mut harness.buffers).expect("headers are contiguous");
    packet
}

#[test]
fn a_payload_is_read_once_by_whoever_comes_first_and_never_where_a_device_vouches() {
    for (proof, by_validate, by_gro) in
        [(Proof::Stage, 3000, 0), (Proof::Device, 0, 0), (Proof::Nobody, 0, 3000)]
    {
        both(|v6| {
            let mut rig = Rig::new(GroConfig::default());
            let frames = train(v6, 3, 1000);
            let packets = rig.receive_by(proof, &frames);
            let merged = rig.merge(packets);
            assert_eq!(payloads(&merged), [3000]);
            merged.iter().for_each(assert_well_formed);
            let sent = rig.cut(merged);
            assert_same_frames(&frames, &sent);
            let read = |harness: &Harness| harness.tally().payload_bytes_summed;
            assert_eq!(read(&rig.validate), by_validate, "{proof:?}");
            assert_eq!(read(&rig.gro), by_gro, "{proof:?}");
            assert_eq!(read(&rig.gso), 0);
            rig.finish();
        });
    }
}

#[test]
fn what_looks_partial_is_not_read() {
    both(|v6| {
        let mut rig = Rig::new(GroConfig::default());
        let partial = |off| p(v6, off, 100).tcp(|tcp| tcp.checksum = Checksum::Partial).build();
        let packets = rig.receive_by(Proof::Nobody, &[partial(0), partial(100)]);
        let merged = rig.merge(packets);
        assert_eq!(payloads(&merged), [100, 100]);
        assert_eq!(rig.gro.tally().payload_bytes_summed, 0);
        rig.cut(merged);
        rig.finish();
    });
}

#[test]
fn checksums_stay_those_of_the_payload_that_was_validated() {
    both(|v6| {
        let mut rig = Rig::new(GroConfig::default());
        let frames = train(v6, 4, 700);
        let mut packets = rig.receive(&frames);
        for packet in &mut packets {
            assert!(packet.poke_payload(packet.len() - 300));
        }
        let merged = rig.merge(packets);
        let sent = rig.cut(merged);
        for (frame, sent) in frames.iter().zip(&sent) {
            let at = frame.bytes.len() - 300;
            let mut mended = sent.bytes.clone();
            assert_ne!(mended[at], frame.bytes[at]);
            mended[at] = frame.bytes[at];
            assert_eq!(
                mended, frame.bytes,
                "only the byte that was changed behind the API differs"
            );
            assert_sound(&mended);
        }
        rig.finish();
    });
}

#[test]
fn a_superpacket_from_a_port_passes_behind_what_is_held_of_its_flow() {
    let mut harness = alone(timed(1000));
    let frames = train(V4, 2, 100);
    for frame in &frames {
        let packet = arrive(&mut harness, frame);
        harness.push(packet);
    }
    let whole = p(V4, 200, 3000).build();
    let mut joined = harness.packet(&whole.bytes);
    let kind = corelane_runtime::packet::SegKind::Tcp4;
    joined.set_segmentation(Segmentation { kind, gso_size: 1000, count: 3, ..Default::default() });
    describe(&mut joined, 7, &mut harness.buffers).expect("headers are contiguous");
    joined.meta_mut().l3[0] = Csum::Good;
    joined.meta_mut().l4[0] = Csum::Good;
    harness.push(joined);
    harness.run();
    harness.assert_balanced();
    let out = harness.take();
    assert_eq!(payloads(&out), [200, 3000]);
    assert_eq!(out.iter().map(Packet::segments).collect::<Vec<_>>(), [2, 3]);
    harness.release(out);
    harness.finish();
}

#[test]
fn what_cannot_be_merged_never_overtakes_in_a_timed_merge() {
    // DPDK R12 and G3: RST, pure ACK and FIN came out before held data.
    for flags in [TcpFlags::RST, TcpFlags::ACK, TcpFlags::FIN] {
        let mut rig = Rig::new(timed(1_000_000));
        let mut frames = train(V6, 3, 100);
        frames.push(p(V6, 300, 0).flags(flags).build());
        let packets = rig.receive(&frames);
        let merged = rig.merge(packets);
        assert_eq!(payloads(&merged), [300, 0]);
        rig.cut(merged);
        rig.finish();
    }
}

#[test]
fn a_fragment_waits_until_all_it_must_not_overtake_found_room() {
    let mut harness = alone(timed(1_000_000));
    harness.set_room(2);
    for port in 0..5 {
        let packet = arrive(&mut harness, &p(V4, 0, 100).tcp(|tcp| tcp.src_port = port).build());
        harness.push(packet);
    }
    harness.run();
    assert!(harness.take().is_empty());
    let fragment = FrameBuilder::new()
        .ipv4(Ipv4 { fragment_offset: 8, protocol: Some(6), ..Ipv4::default() })
        .payload_len(80);
    let packet = arrive(&mut harness, &Frame::new(fragment.build()));
    harness.push(packet);
    let mut lens = Vec::new();
    for _ in 0..5 {
        harness.step();
        harness.assert_balanced();
        let out = harness.take();
        assert!(out.len() <= 4, "a step is a tick and a burst, with room for two each");
        lens.extend(payloads(&out));
        harness.release(out);
    }
    assert_eq!(lens, [100, 100, 100, 100, 100, 0]);
    harness.finish();
}

#[test]
fn low_buffers_and_the_bound_let_the_oldest_go() {
    let flow = |port: u16| p(V4, 0, 100).tcp(move |tcp| tcp.src_port = port).build();
    let feed = |harness: &mut Harness, flows: u16| -> usize {
        for port in 0..flows {
            let packet = arrive(harness, &flow(port));
            harness.push(packet);
            harness.run();
            harness.assert_balanced();
        }
        let out = harness.take();
        let left = out.len();
        harness.release(out);
        left
    };
    let mut harness = alone(timed(1_000_000)).home(0, 64, 2);
    // From the 57th packet on fewer than 8 of 64 buffers are free.
    assert_eq!(feed(&mut harness, 56), 0);
    harness.drain();
    let out = harness.take();
    harness.release(out);
    assert!(feed(&mut harness, 60) >= 3);
    harness.finish();
    // What came home by way of another core is not missing.
    let mut harness = alone(timed(1_000_000)).home(0, 64, 2);
    assert_eq!(feed(&mut harness, 40), 0);
    harness.drain();
    let mut other = alone(GroConfig::default());
    let out = harness.take();
    other.release(out);
    other.buffers.flush();
    assert_eq!(feed(&mut harness, 30), 0);
    harness.finish();
    let mut harness = alone(GroConfig { max_held: Some(128), flows: 256, ..timed(1_000_000) });
    assert_eq!(feed(&mut harness, 200), 72);
    harness.finish();
}

#[test]
fn every_frame_says_its_own_time() {
    let mut rig = Rig::new(GroConfig::default());
    let mut frames = train(V4, 5, 300);
    for (frame, time) in frames.iter_mut().zip([50, 10, 40, 20, 30]) {
        frame.time = time;
    }
    let packets = rig.receive(&frames);
    let merged = rig.merge(packets);
    assert_eq!(merged.len(), 1);
    assert_eq!(rig.cut(merged), frames);
    rig.finish();
}

#[test]
fn bytes_that_meta_does_not_know_of_keep_a_packet_from_merging() {
    let mut harness = alone(GroConfig::default());
    let frames = train(V4, 2, 100);
    for frame in &frames {
        let mut packet = harness.packet(&[&frame.bytes[..], &[0; 4]].concat());
        describe(&mut packet, 7, &mut harness.buffers).expect("headers are contiguous");
        packet.meta_mut().trailer = 0;
        harness.push(packet);
    }
    harness.run();
    let out = harness.take();
    assert_eq!(payloads(&out), [100, 100]);
    harness.release(out);
    harness.finish();
}
