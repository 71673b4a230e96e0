//! All a stage may touch beside its packets: time, buffers, counters, and the books.
//!
//! The calls that change the number of packets are here, and only here, so that the books always balance:
//! `drop`, `absorb`, `segment_of`, `create`, `share`, `changed`, `consume`, `received`, `transmitted`.

use crate::Time;
use crate::actor::Stopwatch;
use crate::packet::{Buffers, CutPlan, NoBuffer, Packet, Train, Units};

/// Index into the drop reasons a stage declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason(pub usize);

/// Index into the counters a stage declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterId(pub usize);

/// The books of one stage in one actor.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// From a port.
    pub received: Units,
    /// Handed to a port.
    pub transmitted: Units,
    /// Packets made by cutting, copying or answering.
    pub created: Units,
    /// Packets that became part of another.
    pub absorbed: Units,
    /// Packets answered or learned from, and gone.
    pub consumed: Units,
    /// Per declared reason.
    pub drops: Vec<Units>,
    /// Per declared counter.
    pub counters: Vec<u64>,
    /// L4 payload bytes received or created, each counted once.
    pub payload_bytes: u64,
    /// L4 payload bytes read for a checksum.
    pub payload_bytes_summed: u64,
    /// Packets copied because they could not leave as they were.
    pub copies: u64,
}

impl Tally {
    /// Empty books for a stage with so many drop reasons and counters.
    pub fn new(reasons: usize, counters: usize) -> Tally {
        Tally {
            drops: vec![Units::default(); reasons],
            counters: vec![0; counters],
            ..Tally::default()
        }
    }

    /// All that was dropped for a declared reason.
    pub fn dropped(&self) -> Units {
        self.drops.iter().fold(Units::default(), |sum, &units| sum + units)
    }
}

/// What a stage may touch during a call.
pub struct StageContext<'a> {
    /// The time of this step, ns.
    pub now: Time,
    /// Where packets are made, and go when they end.
    pub buffers: &'a mut Buffers,
    tally: &'a mut Tally,
    /// Where the reasons and counters of the stage begin among those in the books.
    first_reason: usize,
    first_counter: usize,
    /// Whether the packets it is shown are unshared.
    edits_payload: bool,
    /// Where this step may be timed.
    watch: Option<&'a mut Stopwatch>,
}

impl<'a> StageContext<'a> {
    /// A context over an actor's buffers and a stage's books.
    pub fn new(now: Time, buffers: &'a mut Buffers, tally: &'a mut Tally) -> StageContext<'a> {
        let (first_reason, first_counter) = (0, 0);
        let (edits_payload, watch) = (false, None);
        StageContext { now, buffers, tally, first_reason, first_counter, edits_payload, watch }
    }

    /// The same, with what times it.
    pub(crate) fn watched(self, watch: Option<&'a mut Stopwatch>) -> StageContext<'a> {
        StageContext { watch, ..self }
    }

    /// Calls the device behind the stage. Where this step is timed, its time is told apart from the stage's.
    #[inline]
    pub fn in_device<R>(&mut self, call: impl FnOnce(&mut StageContext<'_>) -> R) -> R {
        let mark = self.watch.as_mut().and_then(|watch| watch.enter());
        let result = call(self);
        if let (Some(watch), Some(mark)) = (&mut self.watch, mark) {
            watch.leave_device(mark);
        }
        result
    }

    /// The context of a stage that works inside this one and books with it: its reason 0 is reason `reason` of
    /// this one, its counter 0 counter `counter`. The outer stage declares them behind its own.
    pub fn within(&mut self, reason: Reason, counter: CounterId) -> StageContext<'_> {
        StageContext {
            now: self.now,
            buffers: self.buffers,
            tally: self.tally,
            first_reason: self.first_reason + reason.0,
            first_counter: self.first_counter + counter.0,
            edits_payload: self.edits_payload,
            watch: self.watch.as_deref_mut(),
        }
    }

    /// The same, for a stage that is shown unshared packets.
    pub(super) fn editing(&mut self) -> StageContext<'_> {
        StageContext { edits_payload: true, ..self.within(Reason(0), CounterId(0)) }
    }

    /// Whether the stage said that it edits payload, so that packets come to it unshared.
    pub fn edits_payload(&self) -> bool {
        self.edits_payload
    }

    /// Books payload bytes that were written anew.
    pub fn payload_edited(&mut self, bytes: u64) {
        self.tally.payload_bytes += bytes;
    }

    /// Ends a packet, with a reason.
    pub fn drop(&mut self, packet: Packet, reason: Reason) {
        match self.tally.drops.get_mut(self.first_reason + reason.0) {
            Some(count) => *count += packet.units(),
            // An undeclared reason: let the packet fall, so that the run shows as unbalanced.
            None => return std::mem::drop(packet),
        }
        self.buffers.release(packet);
    }

    /// Adds to a declared counter.
    pub fn count(&mut self, counter: CounterId, n: u64) {
        if let Some(value) = self.tally.counters.get_mut(self.first_counter + counter.0) {
            *value += n;
        }
    }

    /// Books a packet that came in by a port.
    pub fn received(&mut self, packet: &Packet) {
        self.tally.received += packet.units();
        self.tally.payload_bytes += u64::from(packet.payload_len());
    }

    /// Adds the payload of a packet that was received before its layers were known.
    pub fn described(&mut self, packet: &Packet) {
        let bytes = u64::from(packet.payload_len());
        self.tally.received += Units { packets: 0, segments: 0, bytes };
        self.tally.payload_bytes += bytes;
    }

    /// Books a packet that leaves by a port; the port ends it.
    pub fn transmitted(&mut self, packet: &Packet) {
        self.tally.transmitted += packet.units();
    }

    /// Books payload bytes that were read for a checksum.
    pub fn payload_summed(&mut self, bytes: u64) {
        self.tally.payload_bytes_summed += bytes;
    }

    /// Books a packet that had to be copied to leave.
    pub fn copied(&mut self) {
        self.tally.copies += 1;
    }

    /// Chains `packet`, already reduced to its payload, behind `head`: one packet fewer, nothing lost.
    /// `bytes` is the payload it brings. The caller sets the head's segmentation.
    ///
    /// # Panics
    /// If the segments or parts of both together exceed 65535.
    pub fn absorb(&mut self, head: &mut Packet, packet: Packet, bytes: u32) {
        head.absorb(packet, bytes);
        self.tally.absorbed += Units { packets: 1, segments: 0, bytes: 0 };
    }

    /// [`StageContext::absorb`] at the end of a train, in constant time however long it is.
    ///
    /// # Panics
    /// As [`StageContext::absorb`].
    pub fn absorb_behind(&mut self, train: &mut Train, packet: Packet, bytes: u32) {
        train.absorb(packet, bytes);
        self.tally.absorbed += Units { packets: 1, segments: 0, bytes: 0 };
    }

    /// Takes the first `bytes` payload bytes off `packet`, with a copy of its first `header_len` bytes in
    /// front. `segments` of the packet's wire segments go with them. The caller mends headers and meta.
    ///
    /// # Errors
    /// [`NoBuffer`] where the plan did not cover the need; the packet is as it was.
    ///
    /// # Panics
    /// If the header is not contiguous or no small buffer holds it, if `bytes` is 0 or leaves no payload, or if
    /// there are fewer segments. A plan is only made for a header that can be repeated.
    pub fn segment_of(
        &mut self,
        packet: &mut Packet,
        header_len: u32,
        bytes: u32,
        segments: u16,
        plan: &mut CutPlan,
    ) -> Result<Packet, NoBuffer> {
        let segment = packet.segment(header_len, bytes, segments, plan, self.buffers)?;
        self.tally.created += Units { packets: 1, segments: 0, bytes: 0 };
        Ok(segment)
    }

    /// Books a packet that the stage made of nothing.
    pub fn create(&mut self, packet: &Packet) {
        self.tally.created += packet.units();
        self.tally.payload_bytes += u64::from(packet.payload_len());
    }

    /// Books a packet that shares the bytes of another ([`Packet::share`]). Its payload was counted with that one.
    pub fn share(&mut self, copy: &Packet) {
        self.tally.created += copy.units();
    }

    /// Books that a packet stands for other wire segments or payload bytes than `before`, its bytes being what they
    /// were: a header around it made payload of what was none, or it is to be cut otherwise. What is more
    /// was created, what is less was absorbed.
    pub fn changed(&mut self, packet: &Packet, before: Units) {
        let after = packet.units();
        let segments = after.segments.saturating_sub(before.segments);
        let bytes = after.bytes.saturating_sub(before.bytes);
        self.tally.created += Units { packets: 0, segments, bytes };
        self.tally.payload_bytes += bytes;
        let segments = before.segments.saturating_sub(after.segments);
        let bytes = before.bytes.saturating_sub(after.bytes);
        self.tally.absorbed += Units { packets: 0, segments, bytes };
    }

    /// Ends a packet that was answered or learned from.
    pub fn consume(&mut self, packet: Packet) {
        self.tally.consumed += packet.units();
        self.buffers.release(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::HomeConfig;

    #[test]
    fn a_stage_inside_another_books_behind_it() {
        let config =
            HomeConfig { name: "test".to_owned(), shells: 0, small: 4, large: 0, node: None };
        let mut buffers = Buffers::new(&config).expect("a small home");
        let mut tally = Tally::new(4, 4);
        let mut ctx = StageContext::new(9, &mut buffers, &mut tally);
        let mut outer = ctx.within(Reason(1), CounterId(1));
        outer.count(CounterId(0), 10);
        let mut inner = outer.within(Reason(1), CounterId(2));
        assert_eq!(inner.now, 9);
        inner.count(CounterId(0), 3);
        let packet = inner.buffers.receive(b"four").expect("a buffer");
        inner.drop(packet, Reason(1));
        ctx.count(CounterId(0), 1);
        assert_eq!(tally.counters, [1, 10, 0, 3]);
        assert_eq!(tally.drops.iter().map(|drop| drop.packets).collect::<Vec<_>>(), [0, 0, 0, 1]);
        assert_eq!(buffers.outstanding(), [0; 3]);
    }
}
