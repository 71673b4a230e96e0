//! A port that takes little: sizes, parts, room.

mod demotion;

use super::{INFO, Tx};
use crate::fixture::received;
use corelane_runtime::Time;
use corelane_runtime::offload::{Caps, Limits, PortCaps};
use corelane_runtime::packet::{Burst, Csum, SegFlags, SegKind, Segmentation};
use corelane_runtime::port::{Direction, QueueReport, TxQueue};
use corelane_runtime::stage::StageContext;
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{FrameBuilder, Ipv4, Tcp, assert_same_frames};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// What the port has sent, and how many more it takes.
#[derive(Default)]
struct Wire {
    frames: Vec<Vec<u8>>,
    meta: Vec<String>,
    most_parts: u16,
    room: usize,
    finished: u32,
}

struct Queue {
    wire: Arc<Mutex<Wire>>,
    retry: Option<Time>,
}

impl TxQueue for Queue {
    fn tx(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        let mut wire = self.wire.lock().expect("one thread");
        while wire.room > 0 {
            let Some(packet) = burst.pop() else { return };
            wire.room -= 1;
            wire.frames.push(packet.parts().flatten().copied().collect());
            let facts = (packet.meta(), packet.segmentation(), packet.time(), packet.payload_sum());
            wire.meta.push(format!("{facts:?} {}", packet.payload_len()));
            wire.most_parts = wire.most_parts.max(packet.part_count());
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    }

    fn retry_at(&self) -> Option<Time> {
        self.retry
    }

    fn finish(&mut self) {
        self.wire.lock().expect("one thread").finished += 1;
    }

    fn report(&self) -> QueueReport {
        QueueReport::new("wire", Direction::Tx)
    }
}

fn tx(caps: Caps, mtu: Option<u32>, room: usize) -> (Harness, Arc<Mutex<Wire>>) {
    let wire = Arc::new(Mutex::new(Wire { room, ..Wire::default() }));
    let queue = Queue { wire: Arc::clone(&wire), retry: Some(77) };
    let caps = PortCaps::new("wire", caps, Limits { mtu, ..Limits::default() });
    (Harness::new(Tx::new(Box::new(queue), Arc::new(caps)), &INFO).outputs(0).home(0, 64, 4), wire)
}

fn frame(payload: usize) -> Vec<u8> {
    let start = FrameBuilder::new().vlan(3).ipv4(Ipv4::default());
    start.tcp(Tcp::default()).payload_len(payload).build()
}

#[test]
fn a_frame_longer_than_the_mtu_is_dropped_by_name_and_no_other() {
    let (mut harness, wire) = tx(Caps::MULTI_PART, Some(1500), 100);
    // 20 bytes of IPv4 and 20 of TCP; the tag and the Ethernet header do not count.
    for payload in [1460, 1461, 10, 3000, 1459] {
        let packet = received(&mut harness, &frame(payload), &[]);
        harness.push(packet);
    }
    harness.run();
    assert_eq!(harness.dropped("too_big").packets, 2);
    let frames = wire.lock().expect("one thread").frames.clone();
    assert_same_frames(&frames, &[frame(1460), frame(10), frame(1459)]);
    harness.finish();
    assert_eq!(wire.lock().expect("one thread").finished, 1);
}

#[test]
fn of_a_superpacket_the_segments_are_measured() {
    let (mut harness, wire) = tx(Caps::all(), Some(1500), 100);
    for gso_size in [1460, 1461] {
        let mut packet = received(&mut harness, &frame(2920), &[]);
        let flags = SegFlags::empty();
        let request = Segmentation { kind: SegKind::Tcp4, gso_size, count: 2, flags };
        packet.set_segmentation(request);
        harness.push(packet);
    }
    harness.run();
    assert_eq!(harness.dropped("too_big").packets, 1);
    assert_eq!(wire.lock().expect("one thread").frames.len(), 1);
    harness.finish();
}

#[test]
fn what_the_port_leaves_waits_until_the_port_says() {
    let (mut harness, wire) = tx(Caps::empty(), None, 3);
    for payload in 0..5 {
        let packet = received(&mut harness, &frame(payload), &[]);
        harness.push(packet);
    }
    harness.run();
    assert_eq!((harness.waiting(), harness.deadline()), (2, Some(77)));
    wire.lock().expect("one thread").room = 10;
    harness.run();
    let expected: Vec<_> = (0..5).map(frame).collect();
    assert_same_frames(&wire.lock().expect("one thread").frames, &expected);
    harness.finish();
}

#[test]
fn without_buffers_the_packets_before_the_one_that_needs_one_leave() {
    let (mut harness, wire) = tx(Caps::empty(), None, 10);
    harness = harness.home(0, 6, 0);
    for cuts in [&[][..], &[320], &[]] {
        let packet = received(&mut harness, &frame(400), cuts);
        harness.push(packet);
    }
    harness.buffers.withhold([0, 6, 0]);
    harness.run();
    assert_eq!((harness.waiting(), wire.lock().expect("one thread").frames.len()), (2, 1));
    assert!(harness.buffers.starved());
    assert_eq!(harness.deadline(), None, "a buffer coming home wakes the actor");
    harness.buffers.withhold([0; 3]);
    harness.run();
    assert_eq!(harness.tally().copies, 1);
    assert_same_frames(&wire.lock().expect("one thread").frames, &vec![frame(400); 3]);
    harness.finish();
}

#[test]
fn what_cannot_be_one_piece_is_dropped_and_does_not_hang() {
    let (mut harness, wire) = tx(Caps::empty(), None, 10);
    let long = harness.packet(&vec![7; 70_000]);
    assert!(long.part_count() > 1);
    harness.push(long);
    let packet = received(&mut harness, &frame(1), &[]);
    harness.push(packet);
    harness.run();
    assert_eq!(harness.dropped("too_big").packets, 1);
    assert_eq!(wire.lock().expect("one thread").frames.len(), 1);
    harness.finish();
}

proptest! {
    #[test]
    fn one_piece_is_the_same_packet(
        payload in 0_usize..5000,
        cuts in prop::collection::vec(1_usize..2000, 0..5),
        time in any::<u64>(),
        sum in prop::option::of(any::<u16>()),
    ) {
        let mut seen = Vec::new();
        for caps in [Caps::empty(), Caps::MULTI_PART] {
            let (mut harness, wire) = tx(caps, None, 10);
            let mut packet = received(&mut harness, &frame(payload), &cuts);
            packet.set_time(time);
            packet.meta_mut().l4[0] = Csum::Good;
            if let Some(sum) = sum {
                packet.set_payload_sum(sum);
            }
            let several = packet.part_count() > 1;
            harness.push(packet);
            harness.run();
            let copied = several && caps.is_empty();
            prop_assert_eq!(harness.tally().copies, u64::from(copied));
            harness.finish();
            let wire = wire.lock().expect("one thread");
            prop_assert!(!caps.is_empty() || wire.most_parts == 1);
            seen.push((wire.frames.clone(), wire.meta.clone()));
        }
        prop_assert_eq!(&seen[0], &seen[1]);
        prop_assert_eq!(&seen[0].0[0], &frame(payload));
    }
}
