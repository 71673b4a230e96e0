//! A port that loses what it could, at any packet, one capability after another: the frames are those that came.
//!
//! The port is an emulated NIC behind a queue that begins to fail. What a packet asks for is read off the packet
//! here once more, so that the stage is not judged by its own table.

use super::super::{INFO, Tx};
use crate::checksum_fill::{ChecksumFill, INFO as FILL};
use crate::fixture::received;
use crate::gro::{Gro, GroConfig, INFO as GRO};
use crate::gso::{Gso, INFO as GSO};
use corelane_device::emulated::{Collector, Sink};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::Time;
use corelane_runtime::offload::{Caps, Limits, PortCaps};
use corelane_runtime::packet::{
    Burst, Csum, L3, L4, Packet, Partial, SegFlags, SegKind, Segmentation,
};
use corelane_runtime::port::{Port, QueueReport, TxQueue};
use corelane_runtime::stage::{Stage, StageContext, StageInfo};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a packet wants of the device.
fn asks(packet: &Packet) -> Caps {
    let mut caps = Caps::empty();
    caps.set(Caps::MULTI_PART, packet.part_count() > 1);
    let request = packet.segmentation();
    caps |= match request.kind {
        SegKind::None => Caps::empty(),
        SegKind::Tcp4 => Caps::TSO4,
        SegKind::Tcp6 => Caps::TSO6,
        SegKind::Udp4 => Caps::USO4,
        SegKind::Udp6 => Caps::USO6,
    };
    let flag = |flag: SegFlags| packet.is_super() && request.flags.contains(flag);
    let tcp4 = request.kind == SegKind::Tcp4;
    caps.set(Caps::TSO_FIXED_ID, tcp4 && flag(SegFlags::FIXED_ID));
    caps.set(Caps::TSO_PAD, flag(SegFlags::PAD_LAST));
    if packet.meta().l4[0] == Csum::Partial {
        let level = &packet.meta().layers.levels[0];
        caps |= match (level.l4_kind, level.l3_kind) {
            (L4::Tcp, L3::V4) => Caps::TX_TCP4,
            (L4::Tcp, _) => Caps::TX_TCP6,
            (_, L3::V4) => Caps::TX_UDP4,
            (_, _) => Caps::TX_UDP6,
        };
    }
    caps
}

/// A queue that fails at something from some packet on.
struct Failing {
    inner: Box<dyn TxQueue>,
    caps: Arc<PortCaps>,
    /// Packets after which it can no longer do something, in order.
    losses: Vec<(usize, Caps)>,
    /// Packets it takes a call, over and over; 0 is a stall.
    room: Vec<usize>,
    calls: usize,
    sent: usize,
    /// Packets given to it though it had said that it cannot.
    wronged: Arc<AtomicUsize>,
}

impl TxQueue for Failing {
    fn tx(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        let room = self.room[self.calls % self.room.len()];
        self.calls += 1;
        for _ in 0..room {
            let Some(packet) = burst.first() else { return };
            let broken = self.losses.iter().filter(|(after, _)| *after <= self.sent);
            let broken = broken.fold(Caps::empty(), |sum, (_, caps)| sum | *caps);
            let asked = asks(packet);
            if asked.intersects(self.caps.demoted()) {
                self.wronged.fetch_add(1, Ordering::Relaxed);
            }
            if asked.intersects(broken) {
                self.caps.demote(broken);
                return;
            }
            burst.with_front(1, |front| self.inner.tx(front, ctx));
            self.sent += 1;
        }
    }

    fn retry_at(&self) -> Option<Time> {
        None
    }

    fn finish(&mut self) {}

    fn report(&self) -> QueueReport {
        self.inner.report()
    }
}

/// A `Tx` over a port that loses capabilities.
struct Rig {
    gro: Harness,
    gso: Harness,
    fill: Harness,
    tx: Harness,
    caps: Arc<PortCaps>,
    wire: Collector,
    wronged: Arc<AtomicUsize>,
}

fn port(name: &str) -> Arc<PortCaps> {
    Arc::new(PortCaps::new(name, Caps::asked(), Limits::default()))
}

/// A stage with as many buffers as a test ever takes.
fn alone(stage: impl Stage + 'static, info: &StageInfo) -> Harness {
    Harness::new(stage, info).home(512, 1024, 16)
}

impl Rig {
    fn new(losses: &[(usize, Caps)], room: &[usize]) -> Rig {
        Rig::over(losses, room, false)
    }

    fn over(losses: &[(usize, Caps)], room: &[usize], drops: bool) -> Rig {
        let (before, caps, wire) = (port("before"), port("out"), Collector::new());
        let config = EmulatedConfig {
            caps: Caps::asked(),
            tx: Sink::Collect(wire.clone()),
            ..EmulatedConfig::new("out")
        };
        let inner = Emulated::open(config).and_then(|mut port| port.open_tx()).expect("a queue");
        let wronged = Arc::new(AtomicUsize::new(0));
        let queue = Failing {
            inner,
            caps: Arc::clone(&caps),
            losses: losses.to_vec(),
            room: room.to_vec(),
            calls: 0,
            sent: 0,
            wronged: Arc::clone(&wronged),
        };
        let tx = Tx::new(Box::new(queue), Arc::clone(&caps)).dropping_when_full(drops);
        let gso = Gso::new(Some(Arc::clone(&before)));
        Rig {
            gro: alone(Gro::new(GroConfig::default(), 7), &GRO),
            gso: alone(gso, &GSO).multiplies(),
            fill: alone(ChecksumFill::new(Some(before)), &FILL),
            tx: alone(tx, &INFO).outputs(0),
            caps,
            wire,
            wronged,
        }
    }

    /// Frames joined, and finished for a port that can do everything.
    fn finished(&mut self, frames: &[Vec<u8>], split: &[usize]) -> Vec<Packet> {
        let packets: Vec<Packet> =
            frames.iter().map(|frame| received(&mut self.gro, frame, &[])).collect();
        self.gro.feed(packets, split);
        self.gro.drain();
        let joined = self.gro.take();
        self.gso.feed(joined, &[32]);
        let left = self.gso.take();
        self.fill.feed(left, &[32]);
        self.fill.take()
    }

    /// Calls the stage until it has nothing more to do, the clock going on.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.tx.step();
            self.tx.assert_balanced();
            self.tx.now += 1;
            if self.tx.waiting() == 0 && self.tx.deadline().is_none() {
                return;
            }
        }
        panic!("{} packets wait for ever", self.tx.waiting());
    }

    /// Nothing was dropped, and everything is home.
    fn finish(mut self) {
        self.tx.drain();
        for reason in INFO.drop_reasons {
            assert_eq!(self.tx.dropped(reason).packets, 0, "{reason}");
        }
        self.go_home();
    }

    fn go_home(self) {
        let Rig { gro, gso, fill, tx, .. } = self;
        let mut all = [tx, fill, gso, gro];
        all.iter_mut().for_each(|harness| harness.buffers.flush());
        all.into_iter().for_each(Harness::finish);
    }
}

/// Segment `n` of train `flow`.
fn frame(flow: u16, n: u32, payload: usize) -> Vec<u8> {
    let tcp = Tcp { src_port: flow, seq: 77 + n * 1000, ..Tcp::default() };
    let udp = Udp { src_port: flow, ..Udp::default() };
    let counting = Ipv4 { id: n as u16, ..Ipv4::default() };
    let bytes: Vec<u8> = (0..payload).map(|at| (at as u32 * 3 + n) as u8).collect();
    let start = FrameBuilder::new();
    let builder = match flow % 5 {
        0 => start.ipv4(counting).tcp(tcp),
        1 => start.ipv4(Ipv4 { id: 5, ..Ipv4::default() }).tcp(tcp),
        2 => start.vlan(9).ipv6(Ipv6::default()).tcp(tcp),
        3 => start.ipv4(counting).udp(udp),
        _ => start.ipv6(Ipv6::default()).udp(udp),
    };
    builder.payload(&bytes).build()
}

/// Frames of five flows, in the order of `picks`; a train ends with a short frame now and then.
fn frames(picks: &[(u16, bool)]) -> Vec<Vec<u8>> {
    let mut next = [0; 5];
    let mut make = |&(flow, short): &(u16, bool)| {
        let n = &mut next[usize::from(flow)];
        *n += 1;
        // What follows a short one would not continue its flow: it begins a train of its own.
        frame(flow, *n, if short { 10 } else { 1000 })
    };
    picks.iter().map(&mut make).collect()
}

/// Frames of each flow, told apart by type, protocol and source port.
fn flows(frames: &[Vec<u8>]) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut flows: BTreeMap<_, Vec<Vec<u8>>> = BTreeMap::new();
    for frame in frames {
        let tag = usize::from(frame[12] == 0x81) * 4;
        let ip = 14 + tag;
        let (protocol, l4) =
            if frame[ip] >> 4 == 4 { (ip + 9, ip + 20) } else { (ip + 6, ip + 40) };
        let flow = [&frame[12..14], &frame[protocol..=protocol], &frame[l4..l4 + 2]].concat();
        flows.entry(flow).or_default().push(frame.clone());
    }
    flows
}

fn sent(wire: &Collector) -> Vec<Vec<u8>> {
    wire.take().into_iter().map(|frame| frame.data).collect()
}

fn train(flow: u16, frames: u32) -> Vec<Vec<u8>> {
    (0..frames).map(|n| frame(flow, n, 1000)).collect()
}

#[test]
fn what_a_port_can_no_longer_cut_is_cut_here_from_that_packet_on() {
    let mut rig = Rig::new(&[(4, Caps::TSO4)], &[100]);
    let frames = train(0, 40);
    let packets = rig.finished(&frames, &[4]);
    assert_eq!(packets.len(), 10, "trains of four");
    packets.into_iter().for_each(|packet| rig.tx.push(packet));
    rig.settle();
    assert_eq!(sent(&rig.wire), frames);
    assert_eq!(rig.wronged.load(Ordering::Relaxed), 0);
    assert_eq!(rig.tx.counter("refinished"), 6);
    assert_eq!(rig.tx.counter("refinished.segments"), 24);
    assert_eq!(rig.caps.demoted() & Caps::TSO4, Caps::TSO4);
    rig.finish();
}

#[test]
fn as_long_as_nothing_is_lost_nothing_is_finished_anew() {
    let mut rig = Rig::new(&[], &[3, 0, 7]);
    let frames = frames(&[(0, false), (0, false), (3, false), (3, false), (2, false)]);
    let packets = rig.finished(&frames, &[32]);
    packets.into_iter().for_each(|packet| rig.tx.push(packet));
    rig.settle();
    assert_eq!(flows(&sent(&rig.wire)), flows(&frames));
    assert_eq!(rig.tx.counters(), []);
    rig.finish();
}

#[test]
fn packets_that_were_on_their_way_are_finished_anew_and_those_that_ask_for_nothing_pass() {
    let mut rig = Rig::new(&[(0, Caps::MULTI_PART)], &[100]);
    let first = train(2, 8);
    let packets = rig.finished(&first, &[8]);
    packets.into_iter().for_each(|packet| rig.tx.push(packet));
    rig.settle();
    assert_eq!(rig.tx.counter("refinished"), 1);
    // Finished for all that the port could, a burst later: and one frame that no stage touched.
    let second = [train(4, 8), vec![frame(3, 0, 1000)]].concat();
    let packets = rig.finished(&second, &[8]);
    packets.into_iter().for_each(|packet| rig.tx.push(packet));
    rig.settle();
    assert_eq!(rig.tx.counter("refinished"), 2);
    assert_eq!(rig.wronged.load(Ordering::Relaxed), 0);
    assert_eq!(sent(&rig.wire), [first, second].concat());
    rig.finish();
}

#[test]
fn a_cut_into_more_frames_than_a_burst_holds_goes_on_and_ends() {
    // Asked for whole, as a port that joins hands it over: 300 segments in one buffer. TSO fails first, and then
    // the checksums of the frames that were cut meanwhile.
    let losses = [(0, Caps::TSO4), (100, Caps::TX_TCP4)];
    let mut rig = Rig::new(&losses, &[5, 0, 90]);
    let segment = |n: u32, checksum, payload: &[u8]| {
        let id = Ipv4 { id: n as u16, ..Ipv4::default() };
        let tcp = Tcp { src_port: 1, seq: 5 + n * 100, checksum, ..Tcp::default() };
        FrameBuilder::new().ipv4(id).tcp(tcp).payload(payload).build()
    };
    let payload: Vec<u8> = (0..30_000_u32).map(|at| (at * 7) as u8).collect();
    let whole = segment(0, Checksum::Partial, &payload);
    for _ in 0..2 {
        let mut packet = received(&mut rig.tx, &whole, &[]);
        let request = Segmentation { kind: SegKind::Tcp4, ..Segmentation::default() };
        packet.set_segmentation(Segmentation { gso_size: 100, count: 300, ..request });
        let l4 = packet.meta().layers.levels[0].l4;
        packet.meta_mut().l4[0] = Csum::Partial;
        packet.meta_mut().partial[0] = Partial { start: l4, field: l4 + 16 };
        rig.tx.push(packet);
    }
    rig.settle();
    let pieces = (0..).zip(payload.chunks(100));
    let frames: Vec<Vec<u8>> =
        pieces.map(|(n, payload)| segment(n, Checksum::Right, payload)).collect();
    assert_eq!(sent(&rig.wire), [frames.clone(), frames].concat());
    assert_eq!(rig.wronged.load(Ordering::Relaxed), 0);
    assert_eq!(rig.tx.counter("refinished"), 2);
    assert_eq!(rig.tx.counter("refinished.summed"), 500, "all but the first hundred");
    rig.finish();
}

#[test]
fn a_port_that_drops_when_full_drops_what_it_has_no_room_for_and_waits_for_nothing() {
    for losses in [&[][..], &[(2, Caps::TSO4)][..]] {
        let mut rig = Rig::over(losses, &[4, 0], true);
        let packets = rig.finished(&train(0, 40), &[4]);
        packets.into_iter().for_each(|packet| rig.tx.push(packet));
        rig.tx.run();
        rig.tx.assert_balanced();
        assert_eq!((rig.tx.waiting(), rig.tx.deadline()), (0, None), "nothing waits");
        let (left, dropped) = (sent(&rig.wire).len() as u64, rig.tx.dropped("tx_full").segments);
        assert_eq!(left + dropped, 40, "each frame left or was dropped by name");
        assert!(left > 0 && dropped > 0);
        rig.go_home();
    }
}

fn loss() -> impl Strategy<Value = Caps> {
    let caps = [
        Caps::TSO4,
        Caps::TSO6,
        Caps::USO4,
        Caps::USO6,
        Caps::TX_TCP4,
        Caps::TX_TCP6,
        Caps::TX_UDP4,
        Caps::TX_UDP6,
        Caps::TSO_FIXED_ID,
        Caps::MULTI_PART,
    ];
    prop::sample::select(caps.to_vec())
}

proptest! {
    #[test]
    fn whatever_is_lost_at_any_packet_the_frames_are_those_that_came(
        picks in prop::collection::vec((0_u16..5, prop::bool::weighted(0.1)), 1..200),
        split in prop::collection::vec(1_usize..40, 1..6),
        bursts in prop::collection::vec(1_usize..60, 1..6),
        losses in prop::collection::vec((0_usize..40, loss()), 0..6),
        room in prop::collection::vec(0_usize..20, 1..8),
        starve in prop::collection::vec(any::<bool>(), 1..6),
    ) {
        let room = [room, vec![1]].concat();
        let mut rig = Rig::new(&losses, &room);
        let frames = frames(&picks);
        let packets = rig.finished(&frames, &split);
        let capacity = rig.tx.buffers.capacity();
        let (mut packets, mut round) = (packets.into_iter(), 0);
        while packets.len() > 0 {
            // Buffers are withheld for a few calls: nothing may be lost, and nothing waits once they are back.
            rig.tx.buffers.withhold(if starve[round % starve.len()] { capacity } else { [0; 3] });
            for packet in packets.by_ref().take(bursts[round % bursts.len()]) {
                if rig.tx.waiting() >= 200 {
                    rig.tx.buffers.withhold([0; 3]);
                    rig.settle();
                }
                rig.tx.push(packet);
            }
            for _ in 0..3 {
                rig.tx.step();
                rig.tx.assert_balanced();
            }
            round += 1;
        }
        rig.tx.buffers.withhold([0; 3]);
        rig.settle();
        prop_assert_eq!(flows(&sent(&rig.wire)), flows(&frames));
        prop_assert_eq!(rig.wronged.load(Ordering::Relaxed), 0, "asked for what was lost");
        let lost = !rig.caps.demoted().is_empty();
        prop_assert!(lost || rig.tx.counter("refinished") == 0);
        rig.finish();
    }
}
