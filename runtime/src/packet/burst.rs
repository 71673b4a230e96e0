//! `Burst`: up to 256 packets that move together, the unit every stage sees.
//!
//! A fixed array with a head and a tail, so that taking from the front moves nothing. It lives in the
//! actor's scratch memory and never allocates. Iteration prefetches a few packets ahead, since stages may
//! not use unsafe code. Dropping a burst drops its packets (implicitly: see [`Packet`]).

use super::{Packet, RawPacket};
use std::mem::MaybeUninit;

/// Most packets a burst can carry.
pub const BURST_MAX: usize = 256;
/// Most packets asked of a receive queue at once: beyond 32 nothing is gained.
pub const RX_BURST: usize = 32;
/// How far ahead iteration prefetches.
const AHEAD: usize = 4;

/// A bounded queue of packets.
pub struct Burst {
    slots: [MaybeUninit<RawPacket>; BURST_MAX],
    head: usize,
    tail: usize,
    /// Packets behind this index are not shown to the stage.
    limit: usize,
}

impl Default for Burst {
    fn default() -> Self {
        Self::new()
    }
}

impl Burst {
    /// An empty burst.
    pub fn new() -> Burst {
        Burst { slots: [MaybeUninit::uninit(); BURST_MAX], head: 0, tail: 0, limit: BURST_MAX }
    }

    /// Packets a stage may take now.
    pub fn len(&self) -> usize {
        self.tail.min(self.limit) - self.head
    }

    /// Whether a stage may take nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packets held, those beyond the limit included.
    pub(crate) fn held(&self) -> usize {
        self.tail - self.head
    }

    /// Packets that still fit.
    pub fn room(&self) -> usize {
        BURST_MAX - self.held()
    }

    /// Shows a stage only the first `n` packets; [`Burst::unlimit`] ends it.
    pub(crate) fn limit(&mut self, n: usize) {
        self.limit = (self.head + n).min(BURST_MAX);
    }

    /// Shows everything again.
    pub(crate) fn unlimit(&mut self) {
        self.limit = BURST_MAX;
    }

    /// Adds a packet at the back, or gives it back if the burst is full.
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        if self.tail == BURST_MAX && !self.compact() {
            return Err(packet);
        }
        self.slots[self.tail].write(packet.into_raw());
        self.tail += 1;
        Ok(())
    }

    /// Takes the packet at the front.
    pub fn pop(&mut self) -> Option<Packet> {
        if self.is_empty() {
            return None;
        }
        let raw = self.raw(self.head);
        self.head += 1;
        if self.head == self.tail {
            self.limit = if self.limit == BURST_MAX { BURST_MAX } else { 0 };
            (self.head, self.tail) = (0, 0);
        }
        // SAFETY: the slot was written by `push` and is given up by the step of `head`.
        Some(unsafe { Packet::from_raw(raw) })
    }

    /// The packet at the front.
    pub fn first(&self) -> Option<&Packet> {
        self.iter().next()
    }

    /// The packet at the front, to be changed.
    pub fn first_mut(&mut self) -> Option<&mut Packet> {
        self.iter_mut().next()
    }

    /// Takes packets one by one; what is not taken stays.
    pub fn drain(&mut self) -> Drain<'_> {
        for ahead in 0..AHEAD.min(self.len()) {
            self.prefetch(self.head + ahead);
        }
        Drain { burst: self }
    }

    /// Takes out the packets that `pick` chooses, in order; the others close ranks.
    pub fn extract(&mut self, mut pick: impl FnMut(&Packet) -> bool, mut take: impl FnMut(Packet)) {
        let (head, end) = (self.head, self.head + self.len());
        let mut gap = Gap { kept: head, next: head, burst: self };
        while gap.next < end {
            let index = gap.next;
            // SAFETY: slots between head and tail are written, and Packet is a transparent wrapper around
            // the same pointer as RawPacket.
            let picked = pick(unsafe { &*gap.burst.slots[index].as_ptr().cast::<Packet>() });
            gap.next += 1;
            if picked {
                // SAFETY: the slot was written by `push`; it lies in the gap now, which is closed over it.
                take(unsafe { Packet::from_raw(gap.burst.raw(index)) });
            } else {
                gap.burst.slots[gap.kept] = gap.burst.slots[index];
                gap.kept += 1;
            }
        }
    }

    /// Shows `f` only the first `n` of the packets a stage may take.
    pub fn with_front<R>(&mut self, n: usize, f: impl FnOnce(&mut Burst) -> R) -> R {
        let hidden = self.held() - self.len();
        self.limit(n.min(self.len()));
        let result = f(self);
        self.unlimit();
        if hidden > 0 {
            self.limit(self.held().saturating_sub(hidden));
        }
        result
    }

    /// Looks at the packets a stage may take.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let visible = &self.slots[self.head..self.head + self.len()];
        // SAFETY: slots between head and tail are written, and Packet is a transparent wrapper around the
        // same pointer as RawPacket.
        visible.iter().map(|slot| unsafe { &*slot.as_ptr().cast::<Packet>() })
    }

    /// Looks at the packets a stage may take, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Packet> {
        let (head, end) = (self.head, self.head + self.len());
        // SAFETY: as in `iter`; the slice is borrowed mutably.
        self.slots[head..end].iter_mut().map(|slot| unsafe { &mut *slot.as_mut_ptr().cast() })
    }

    /// The handles in order, to be copied to a ring; [`Burst::forget_front`] then gives them up.
    pub(crate) fn raw_slice(&self) -> &[RawPacket] {
        let held = &self.slots[self.head..self.tail];
        // SAFETY: slots between head and tail are written; MaybeUninit<T> has the layout of T.
        unsafe { std::slice::from_raw_parts(held.as_ptr().cast::<RawPacket>(), held.len()) }
    }

    /// Gives up the first `n` handles, which somebody else owns now.
    pub(crate) fn forget_front(&mut self, n: usize) {
        debug_assert!(n <= self.held());
        self.head += n;
        if self.head == self.tail {
            (self.head, self.tail) = (0, 0);
        }
    }

    /// Lets `fill` write handles into free slots, `budget` at most; it returns how many it wrote, from the
    /// first on, each given up to this burst.
    pub(crate) fn fill(
        &mut self,
        budget: usize,
        fill: impl FnOnce(&mut [MaybeUninit<RawPacket>]) -> usize,
    ) -> usize {
        if self.tail + budget > BURST_MAX {
            self.compact();
        }
        let end = (self.tail + budget).min(BURST_MAX);
        let wrote = fill(&mut self.slots[self.tail..end]).min(end - self.tail);
        self.tail += wrote;
        wrote
    }

    /// The last `n` packets.
    pub(crate) fn newest(&self, n: usize) -> impl Iterator<Item = &Packet> {
        let newest = &self.slots[self.tail - n..self.tail];
        // SAFETY: as in `iter`.
        newest.iter().map(|slot| unsafe { &*slot.as_ptr().cast::<Packet>() })
    }

    fn raw(&self, index: usize) -> RawPacket {
        // SAFETY: called only for indexes between head and tail, which `push` has written.
        unsafe { self.slots[index].assume_init() }
    }

    fn prefetch(&self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let raw = self.raw(index);
            // SAFETY: prefetching is a hint, allowed on any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(raw.address().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }

    /// Moves everything to the front of the array; false if there is no slot to win.
    fn compact(&mut self) -> bool {
        if self.head == 0 {
            return false;
        }
        self.slots.copy_within(self.head..self.tail, 0);
        if self.limit != BURST_MAX {
            self.limit -= self.head.min(self.limit);
        }
        self.tail -= self.head;
        self.head = 0;
        true
    }
}

/// Slots from `kept` to `next` are given up; dropping closes the gap, also when a panic ends the search.
struct Gap<'a> {
    burst: &'a mut Burst,
    kept: usize,
    next: usize,
}

impl Drop for Gap<'_> {
    fn drop(&mut self) {
        let (burst, gone) = (&mut *self.burst, self.next - self.kept);
        if gone == 0 {
            return;
        }
        burst.slots.copy_within(self.next..burst.tail, self.kept);
        burst.tail -= gone;
        if burst.limit != BURST_MAX {
            burst.limit -= gone;
        }
    }
}

impl Drop for Burst {
    fn drop(&mut self) {
        self.unlimit();
        while let Some(packet) = self.pop() {
            drop(packet);
        }
    }
}

impl std::fmt::Debug for Burst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Burst({} of {BURST_MAX})", self.held())
    }
}

/// Takes packets out of a burst, prefetching ahead.
pub struct Drain<'a> {
    burst: &'a mut Burst,
}

impl Iterator for Drain<'_> {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        if self.burst.len() > AHEAD {
            self.burst.prefetch(self.burst.head + AHEAD);
        }
        self.burst.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Buffers, HomeConfig};
    use proptest::prelude::*;

    fn home() -> Buffers {
        let name = "test".to_owned();
        let config = HomeConfig { name, shells: 0, small: 300, large: 0, node: None };
        Buffers::new(&config).expect("a small home")
    }

    proptest! {
        #[test]
        fn what_is_taken_out_and_what_is_hidden_keep_their_order(
            lens in prop::collection::vec(0_u32..8, 0..60),
            popped in 0_usize..5,
            limit in 0_usize..80,
            front in 0_usize..80,
            bit in 0_u32..3,
        ) {
            let mut buffers = home();
            let mut burst = Burst::new();
            for &len in &lens {
                let packet = buffers.receive(&vec![0; len as usize]).expect("a buffer");
                burst.push(packet).expect("room");
            }
            let mut model: Vec<u32> = lens.clone();
            for _ in 0..popped.min(model.len()) {
                buffers.release(burst.pop().expect("a packet"));
                model.remove(0);
            }
            burst.limit(limit);
            let visible = limit.min(model.len());
            prop_assert_eq!(burst.len(), visible);
            let mut taken = Vec::new();
            let picked = |len: u32| len >> bit & 1 == 1;
            burst.extract(|packet| picked(packet.len()), |packet| {
                taken.push(packet.len());
                buffers.release(packet);
            });
            let hidden = model.split_off(visible);
            let (out, kept): (Vec<u32>, Vec<u32>) = model.iter().partition(|&&len| picked(len));
            prop_assert_eq!(taken, out);
            prop_assert_eq!(burst.iter().map(Packet::len).collect::<Vec<_>>(), &kept[..]);
            // Of the front, every packet is taken; the rest is shown again, what was hidden stays so.
            let seen = burst.with_front(front, |burst| {
                let seen: Vec<u32> = burst.iter().map(Packet::len).collect();
                burst.drain().for_each(|packet| buffers.release(packet));
                seen
            });
            let front = front.min(kept.len());
            prop_assert_eq!(&seen, &kept[..front]);
            prop_assert_eq!(burst.iter().map(Packet::len).collect::<Vec<_>>(), &kept[front..]);
            burst.unlimit();
            let all = [&kept[front..], &hidden].concat();
            prop_assert_eq!(burst.iter().map(Packet::len).collect::<Vec<_>>(), all);
            burst.drain().for_each(|packet| buffers.release(packet));
            prop_assert_eq!(buffers.outstanding(), [0; 3]);
        }
    }
}
