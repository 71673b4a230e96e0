//! A port that loses what it could while superpackets in tunnels are on their way to it: the frames are those that
//! would have left anyway, in order, and none is lost.

use crate::build::Stream;
use crate::cut::limits;
use crate::device::{asks, transmit};
use crate::property;
use corelane_runtime::offload::{Caps, PortCaps};
use corelane_runtime::packet::Burst;
use corelane_runtime::port::{Direction, QueueReport, TxQueue};
use corelane_runtime::stage::StageContext;
use corelane_runtime::testing::Harness;
use corelane_stages::tx::{INFO, Tx};
use corelane_stages::{checksum_fill, gso};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::{Arc, Mutex};

/// A device that begins to fail at something from some packet on.
struct Failing {
    port: Arc<PortCaps>,
    does: Caps,
    /// Packets after which it loses something.
    losses: Vec<(usize, Caps)>,
    sent: usize,
    frames: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl TxQueue for Failing {
    fn tx(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        while let Some(packet) = burst.first() {
            while let Some(&(after, lost)) = self.losses.first()
                && self.sent >= after
            {
                self.does = (self.does - lost).without_orphans();
                self.losses.remove(0);
            }
            let asks = asks(packet, &self.port.facts.limits);
            if !self.does.contains(asks) {
                self.port.demote(asks - self.does);
                return;
            }
            let frames = transmit(packet, self.does, &self.port.facts.limits);
            self.frames.lock().expect("one thread").extend(frames);
            let packet = burst.pop().expect("it was there");
            self.sent += 1;
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    }

    fn finish(&mut self) {}

    fn report(&self) -> QueueReport {
        QueueReport::new("wire", Direction::Tx)
    }
}

/// Sends streams through `Gso`, `ChecksumFill` and `Tx`; the first two see what the port could at the start.
fn send(streams: &[Stream], caps: Caps, losses: Vec<(usize, Caps)>) -> Vec<Vec<u8>> {
    let port = |caps| Arc::new(PortCaps::new("wire", caps, limits()));
    let mut cut = gso::Gso::new(Some(port(caps)));
    let mut fill = checksum_fill::ChecksumFill::new(Some(port(caps)));
    let frames = Arc::new(Mutex::new(Vec::new()));
    let port = port(caps);
    let does = caps.without_orphans();
    let queue =
        Failing { port: Arc::clone(&port), does, losses, sent: 0, frames: Arc::clone(&frames) };
    let mut tx = Harness::new(Tx::new(Box::new(queue), port), &INFO).outputs(0).home(0, 2048, 64);
    for stream in streams {
        let packet = stream.packet(&mut tx, true);
        for packet in finished(&mut tx, packet, &mut cut, &mut fill) {
            tx.push(packet);
        }
    }
    tx.run();
    tx.drain();
    tx.finish();
    Arc::try_unwrap(frames).expect("the queue is gone").into_inner().expect("one thread")
}

/// What the two steps make of a packet, out of the buffers of the last.
fn finished(
    home: &mut Harness,
    packet: corelane_runtime::packet::Packet,
    cut: &mut gso::Gso,
    fill: &mut checksum_fill::ChecksumFill,
) -> Vec<corelane_runtime::packet::Packet> {
    use corelane_runtime::packet::Units;
    use corelane_runtime::stage::{Outputs, Stage, Tally, Target};
    let mut tally = Tally::new(8, 16);
    let mut ctx = StageContext::new(0, &mut home.buffers, &mut tally);
    let targets = [Target::Node(0)];
    let (mut first, mut second, mut third) = (Burst::new(), Burst::new(), Burst::new());
    first.push(packet).expect("room");
    let mut process = |stage: &mut dyn Stage, from: &mut Burst, to: &mut Burst| {
        let (mut sent, mut none) = ([Units::default()], Units::default());
        let inputs = std::slice::from_mut(to);
        let mut out = Outputs::new(&targets, inputs, 0, &mut [], &mut sent, &mut none);
        stage.process(from, &mut out, &mut ctx);
    };
    process(cut, &mut first, &mut second);
    process(fill, &mut second, &mut third);
    third.drain().collect()
}

#[test]
fn tunnel_tso_that_stops_is_done_here_from_that_packet_on() {
    let caps = (Caps::TSO4 | Caps::TSO6 | Caps::TSO_VXLAN_CSUM).with_implied();
    let streams: Vec<Stream> =
        (0..6).map(|seq| Stream { seq, sum: seq % 2 == 0, ..Stream::default() }).collect();
    let expected: Vec<Vec<u8>> = streams.iter().flat_map(Stream::frames).collect();
    for lost in [Caps::TSO_VXLAN, Caps::TSO_VXLAN_CSUM, Caps::TX_OUTER_UDP, Caps::TSO4] {
        for after in 0..6 {
            assert_eq!(send(&streams, caps, vec![(after, lost)]), expected, "{lost:?} {after}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_lost_at_any_packet_the_frames_are_the_same(
        streams in prop::collection::vec(property::stream(), 1..4),
        caps in property::caps(),
        losses in prop::collection::vec((0_usize..6, select(property::BITS.to_vec())), 0..3),
    ) {
        let caps = caps - Caps::TX_GENERIC;
        let mut losses = losses;
        losses.sort_by_key(|&(after, _)| after);
        let expected: Vec<Vec<u8>> = streams.iter().flat_map(Stream::frames).collect();
        prop_assert_eq!(send(&streams, caps, losses), expected);
    }
}
