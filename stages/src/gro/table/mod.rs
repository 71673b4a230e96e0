//! The merges in progress, found by flow in constant time, and in the order in which they began.
//!
//! It promises a fixed size and no allocation after it was made. Two intrusive lists run through one array:
//! a chain for each hash bucket, and one over all entries by age. It does not decide what leaves.

use super::flow::FlowKey;
use super::held::Held;

/// No entry.
const NONE: u16 = u16::MAX;

/// A place in the table; good until the entry is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u16);

impl Place {
    /// Below the number of flows that the table has room for.
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    fn some(index: u16) -> Option<Place> {
        (index != NONE).then_some(Place(index))
    }
}

struct Slot {
    held: Option<Held>,
    bucket: u16,
    /// Next entry of the same bucket, or next free slot.
    next: u16,
    older: u16,
    newer: u16,
}

/// A bounded table of merges.
pub(super) struct Table {
    slots: Box<[Slot]>,
    buckets: Box<[u16]>,
    seed: u64,
    free: u16,
    oldest: u16,
    newest: u16,
    len: usize,
}

impl Table {
    /// Room for `flows` merges, a power of two up to 2^14; `seed` keeps others from choosing buckets.
    pub(super) fn new(flows: u16, seed: u64) -> Table {
        let slot = |index| Slot { held: None, bucket: 0, next: index, older: NONE, newer: NONE };
        let slots: Box<[Slot]> = (1..flows).chain([NONE]).map(slot).collect();
        // Twice as many buckets as flows: a full table has hardly any chains.
        let buckets = vec![NONE; 2 * slots.len()].into();
        Table { slots, buckets, seed, free: 0, oldest: NONE, newest: NONE, len: 0 }
    }

    /// Merges in progress.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether one more would not fit.
    pub(super) fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// The merge of a flow, and the bucket it is in or would be.
    pub(super) fn find(&self, key: &FlowKey) -> (u16, Option<Place>) {
        let bucket = (key.hash(self.seed) as usize & (self.buckets.len() - 1)) as u16;
        let mut at = self.buckets[usize::from(bucket)];
        while at != NONE {
            let slot = &self.slots[usize::from(at)];
            if slot.held.as_ref().is_some_and(|held| held.key == *key) {
                break;
            }
            at = slot.next;
        }
        (bucket, Place::some(at))
    }

    /// The merge at a place.
    pub(super) fn get(&self, place: Place) -> Option<&Held> {
        self.slots[usize::from(place.0)].held.as_ref()
    }

    /// The merge at a place, to be changed; not its key.
    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut Held> {
        self.slots[usize::from(place.0)].held.as_mut()
    }

    /// The merge that began first.
    pub(super) fn oldest(&self) -> Option<Place> {
        Place::some(self.oldest)
    }

    /// The merge that began last.
    pub(super) fn newest(&self) -> Option<Place> {
        Place::some(self.newest)
    }

    /// The merge that began next after the one at `place`.
    pub(super) fn newer(&self, place: Place) -> Option<Place> {
        Place::some(self.slots[usize::from(place.0)].newer)
    }

    /// Adds a merge as the newest, in the bucket that [`Table::find`] gave; given back if there is no room.
    #[inline]
    pub(super) fn insert(&mut self, bucket: u16, held: Held) -> Result<(), Held> {
        if self.is_full() {
            return Err(held);
        }
        let index = self.free;
        let slot = &mut self.slots[usize::from(index)];
        self.free = slot.next;
        let head = &mut self.buckets[usize::from(bucket)];
        *slot = Slot { held: Some(held), bucket, next: *head, older: self.newest, newer: NONE };
        *head = index;
        match self.newest {
            NONE => self.oldest = index,
            newest => self.slots[usize::from(newest)].newer = index,
        }
        self.newest = index;
        self.len += 1;
        Ok(())
    }

    /// Takes a merge out.
    #[inline]
    pub(super) fn take(&mut self, place: Place) -> Option<Held> {
        let index = place.0;
        let slot = &mut self.slots[usize::from(index)];
        let held = slot.held.take()?;
        let (bucket, next, older, newer) = (slot.bucket, slot.next, slot.older, slot.newer);
        slot.next = self.free;
        self.free = index;
        self.len -= 1;
        self.unchain(bucket, index, next);
        match older {
            NONE => self.oldest = newer,
            older => self.slots[usize::from(older)].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[usize::from(newer)].older = older,
        }
        Some(held)
    }

    /// Takes `index`, which `next` follows, out of the chain of its bucket.
    fn unchain(&mut self, bucket: u16, index: u16, next: u16) {
        let mut at = self.buckets[usize::from(bucket)];
        if at == index {
            self.buckets[usize::from(bucket)] = next;
            return;
        }
        while at != NONE {
            let slot = &mut self.slots[usize::from(at)];
            if slot.next == index {
                slot.next = next;
                return;
            }
            at = slot.next;
        }
    }
}

#[cfg(test)]
mod tests;
