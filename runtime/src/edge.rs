//! Edges: a lock-free SPSC ring (rtrb) between two actors, with a bounded stash, a policy, and counters.
//!
//! What does not fit in the ring waits in the producer's stash, in order; while it waits, the actor does not
//! step the stages before it. Nothing spins here. A ring dropped with handles in it would leak them, so both
//! ends belong to edges that the supervisor empties after the actors have stopped.

use crate::exec::{Reasons, Waker};
use crate::packet::{Burst, Packet, RawPacket, Units};
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;

/// What happens when the ring is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFull {
    /// The producer waits; nothing is lost.
    #[default]
    Wait,
    /// The packets that do not fit are dropped and counted.
    DropNewest,
    /// The packets that have waited longest in the stash make room.
    DropOldest,
}

/// What an edge counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeStats {
    /// Packets that entered the ring.
    pub packets: u64,
    /// Times the ring was too full for what waited.
    pub full: u64,
    /// Packets the policy dropped.
    pub dropped: Units,
    /// Most packets that had to wait in the stash.
    pub stash_high: u64,
}

/// Joins two actors by a ring of `capacity` packets.
pub fn edge(
    name: &str,
    capacity: usize,
    on_full: OnFull,
    producer: Arc<Waker>,
    consumer: Arc<Waker>,
) -> (EdgeTx, EdgeRx) {
    let (ring_tx, ring_rx) = RingBuffer::new(capacity.max(1));
    let tx = EdgeTx {
        name: name.to_owned(),
        ring: Some(ring_tx),
        capacity: capacity.max(1),
        stash: Box::new(Burst::new()),
        on_full,
        peer: consumer,
        stats: EdgeStats::default(),
        credit: 0,
    };
    let rx =
        EdgeRx { name: name.to_owned(), ring: ring_rx, peer: producer, taken: Units::default() };
    (tx, rx)
}

/// The producer's end.
pub struct EdgeTx {
    name: String,
    /// None once closed.
    ring: Option<Producer<RawPacket>>,
    capacity: usize,
    stash: Box<Burst>,
    on_full: OnFull,
    peer: Arc<Waker>,
    stats: EdgeStats,
    /// [`EdgeTx::credit_now`] when last noted.
    credit: u64,
}

impl EdgeTx {
    /// Name of the ring in the plan.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was counted so far.
    pub fn stats(&self) -> EdgeStats {
        self.stats
    }

    /// Slots of the ring.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Packets that may be sent now without waiting in the stash for longer than this step.
    pub fn room(&self) -> usize {
        match self.on_full {
            // What is in the stash has its slots already.
            OnFull::Wait => self.slots().saturating_sub(self.stash.held()).min(self.stash.room()),
            OnFull::DropNewest | OnFull::DropOldest => self.stash.room(),
        }
    }

    /// Remembers how much room there was, for [`EdgeTx::got_room`].
    pub(crate) fn note_room(&mut self) {
        self.credit = self.credit_now();
    }

    /// Whether the consumer has made room since [`EdgeTx::note_room`].
    pub(crate) fn got_room(&self) -> bool {
        self.credit_now() != self.credit
    }

    /// All packets the ring could have taken so far: grows with what the consumer takes, and only with that.
    fn credit_now(&self) -> u64 {
        self.stats.packets + self.slots() as u64
    }

    /// Counts a time that the ring was too full for the stage before it.
    pub(crate) fn count_full(&mut self) {
        self.stats.full += 1;
    }

    /// Whether the ring has a free slot.
    pub(crate) fn has_slots(&self) -> bool {
        self.slots() > 0
    }

    fn slots(&self) -> usize {
        self.ring.as_ref().map_or(0, Producer::slots)
    }

    /// Whether what comes before this edge must wait: more was sent than the ring has room for.
    pub fn is_blocked(&self) -> bool {
        self.on_full == OnFull::Wait && self.has_stash() && self.stash.held() > self.slots()
    }

    /// Whether packets wait in the stash.
    pub fn has_stash(&self) -> bool {
        self.stash.held() > 0
    }

    /// Puts a packet in the stash; given back if even that is full.
    pub fn send(&mut self, packet: Packet) -> Result<(), Packet> {
        self.stash.push(packet)
    }

    /// Moves the stash into the ring as far as it goes and rings the consumer's bell once. `drop` is given
    /// what the policy drops. Returns the packets moved.
    pub fn flush(&mut self, mut drop: impl FnMut(Packet)) -> usize {
        if self.stash.held() == 0 {
            return 0;
        }
        let Some(ring) = &mut self.ring else { return 0 };
        let (moved, left) = ring.push_partial_slice(self.stash.raw_slice());
        let (moved, left) = (moved.len(), left.len());
        self.stash.forget_front(moved);
        self.stats.packets += moved as u64;
        if moved > 0 {
            self.peer.wake_for(Reasons::NEWS);
        }
        if left > 0 {
            self.stats.full += 1;
            self.apply_policy(&mut drop);
            self.stats.stash_high = self.stats.stash_high.max(self.stash.held() as u64);
        }
        moved
    }

    fn apply_policy(&mut self, drop: &mut impl FnMut(Packet)) {
        let spare = match self.on_full {
            OnFull::Wait => return,
            OnFull::DropNewest => 0,
            // Half of the stash may wait; the oldest beyond that make room.
            OnFull::DropOldest => crate::packet::BURST_MAX / 2,
        };
        while self.stash.held() > spare {
            let Some(packet) = self.stash.pop() else { return };
            self.stats.dropped += packet.units();
            drop(packet);
        }
    }

    /// Takes back what waits in the stash.
    pub(crate) fn take_stash(&mut self) -> Option<Packet> {
        self.stash.pop()
    }

    /// Ends the stream: nothing more will be sent. The consumer is woken to see it.
    pub fn close(&mut self) {
        if self.ring.take().is_some() {
            self.peer.wake_for(Reasons::NEWS);
        }
    }
}

/// If an actor is lost, those who read from it must hear of the end.
impl Drop for EdgeTx {
    fn drop(&mut self) {
        self.close();
    }
}

/// The consumer's end.
pub struct EdgeRx {
    name: String,
    ring: Consumer<RawPacket>,
    peer: Arc<Waker>,
    taken: Units,
}

impl EdgeRx {
    /// Name of the ring in the plan.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was taken out so far.
    pub fn taken(&self) -> Units {
        self.taken
    }

    /// Whether packets wait in the ring.
    pub fn has_packets(&self) -> bool {
        !self.ring.is_empty()
    }

    /// End of stream: the producer is gone and the ring is empty, in that order of asking.
    pub fn is_finished(&self) -> bool {
        self.ring.is_abandoned() && self.ring.is_empty()
    }

    /// Moves up to `budget` packets into `burst` and rings the producer's bell if that made room.
    pub fn receive(&mut self, burst: &mut Burst, budget: usize) -> usize {
        let ring = &mut self.ring;
        let got = burst.fill(budget, |slots| ring.pop_partial_slice_uninit(slots).0.len());
        if got > 0 {
            for packet in burst.newest(got) {
                self.taken += packet.units();
            }
            self.peer.wake_for(Reasons::ROOM);
        }
        got
    }

    /// Takes one packet without booking it as taken; for the supervisor after a forced stop.
    pub(crate) fn take_leftover(&mut self) -> Option<Packet> {
        // SAFETY: every handle in the ring came from `into_raw`, and popping it makes us its only holder.
        self.ring.pop().ok().map(|raw| unsafe { Packet::from_raw(raw) })
    }
}

impl Drop for EdgeRx {
    fn drop(&mut self) {
        while let Some(packet) = self.take_leftover() {
            drop(packet);
        }
    }
}
