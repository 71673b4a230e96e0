//! A table that stages of one run share: any number of cores read it, several write it, and nobody waits.
//!
//! For what is learned from packets and used for others, on whatever core: neighbours, the places of hosts
//! behind a tunnel. It has a fixed capacity and allocates nothing after it was made; a look costs two short
//! probes. An entry is read whole or not at all. Writing is best effort: a writer that finds another one at
//! work in the same place is told [`Put::Busy`] and goes on, since what was learned once will be learned
//! again. In the simulator, where one thread runs everything, that never happens.
//!
//! It is no cache line bouncer: putting what is there already writes nothing but, now and then, the time.

mod bucket;
#[cfg(all(loom, test))]
mod shared_loom;
#[cfg(all(not(loom), test))]
mod tests;

use crate::Time;
use crate::sync::{AtomicU64, Ordering};
use bucket::{Bucket, WAYS, Writing};

/// What entries are found by.
pub type Key = [u64; 3];
/// What is known by a key.
pub type Value = [u64; 2];

/// What is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is found by.
    pub key: Key,
    /// What is known.
    pub value: Value,
    /// When it was last put, to [`SharedMap::GRAIN`]; [`SharedMap::FOR_GOOD`] if it does not age.
    pub seen: Time,
}

/// What came of putting an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is there now.
    New,
    /// It was there, with this value.
    Same,
    /// It was there with the value given here, which is replaced.
    Changed(Value),
    /// Another value is there for good and stays.
    Fixed,
    /// There is no place; nothing was changed.
    Full,
    /// Somebody else is writing there; nothing was changed.
    Busy,
}

/// What came of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// This.
    Found(Entry),
    /// There is nothing.
    Absent,
    /// Somebody was writing there all the while.
    Busy,
}

/// The table.
#[derive(Debug)]
pub struct SharedMap {
    buckets: Box<[Bucket]>,
    /// Entries that are in, or being put in.
    len: AtomicU64,
    capacity: usize,
    secrets: [u64; 3],
}

impl SharedMap {
    /// The time that says that an entry does not age.
    pub const FOR_GOOD: Time = Time::MAX;
    /// How exactly [`Entry::seen`] is kept, ns: putting the same again within this time writes nothing.
    pub const GRAIN: Time = 100_000_000;

    /// An empty table for so many entries. It takes about 110 bytes for each. `hash_key` decides where entries
    /// lie, so that who does not know it cannot choose keys that get in each other's way.
    pub fn new(capacity: usize, hash_key: u64) -> SharedMap {
        // Half full at most: with two places to choose from, a full one is then as good as never met.
        let buckets = (capacity.max(1) * 2).div_ceil(WAYS).next_power_of_two();
        let secret = |n: u64| mixed(hash_key.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        SharedMap {
            buckets: (0..buckets).map(|_| Bucket::new()).collect(),
            len: AtomicU64::new(0),
            capacity,
            secrets: [secret(1), secret(2), secret(3) | 1],
        }
    }

    /// Most entries it takes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Entries in it; others may be changing it meanwhile.
    pub fn len(&self) -> usize {
        usize::try_from(self.len.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is known by a key. An entry that is being written at this moment may not be found.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        match self.look(key) {
            Look::Found(entry) => Some(entry),
            Look::Absent | Look::Busy => None,
        }
    }

    /// The same, for who must tell absence from a writer at work.
    pub fn look(&self, key: &Key) -> Look {
        let place = self.place(key);
        let mut busy = false;
        for bucket in place.buckets() {
            match self.buckets[bucket].find(place.tag, key) {
                Some(Some(entry)) => return Look::Found(entry),
                Some(None) => (),
                None => busy = true,
            }
        }
        if busy { Look::Busy } else { Look::Absent }
    }

    /// Puts an entry that was seen at `now`; [`SharedMap::FOR_GOOD`] puts one that does not age and that only
    /// another one of its kind replaces.
    pub fn put(&self, key: &Key, value: Value, now: Time) -> Put {
        if let Look::Found(entry) = self.look(key)
            && entry.value == value
            && (entry.seen == Self::FOR_GOOD || now.saturating_sub(entry.seen) < Self::GRAIN)
            && now != Self::FOR_GOOD
        {
            return Put::Same;
        }
        self.write(Entry { key: *key, value, seen: now }, renew)
    }

    /// Puts an entry where there is none of its key; one that is there stays as it is, [`Put::Fixed`], its time
    /// too.
    pub fn put_new(&self, key: &Key, value: Value, now: Time) -> Put {
        match self.look(key) {
            Look::Found(_) => Put::Fixed,
            _ => self.write(Entry { key: *key, value, seen: now }, |_, _, _| Put::Fixed),
        }
    }

    /// Puts an entry; `known` is done with one of its key that is there.
    fn write(&self, entry: Entry, known: impl Fn(&mut Writing<'_>, usize, &Entry) -> Put) -> Put {
        let place = self.place(&entry.key);
        // Both places at once, or two writers could put the same key into one each.
        let Some(mut first) = self.buckets[place.first].write() else { return Put::Busy };
        let mut second = None;
        if place.second != place.first {
            let Some(other) = self.buckets[place.second].write() else { return Put::Busy };
            second = Some(other);
        }
        for bucket in [Some(&mut first), second.as_mut()].into_iter().flatten() {
            if let Some(way) = bucket.way_of(place.tag, &entry.key) {
                return known(bucket, way, &entry);
            }
        }
        let roomier = match &mut second {
            Some(other) if other.free() > first.free() => other,
            _ => &mut first,
        };
        let before = self.len.fetch_add(1, Ordering::Relaxed);
        if before < self.capacity as u64 && roomier.insert(place.tag, &entry) {
            return Put::New;
        }
        self.len.fetch_sub(1, Ordering::Relaxed);
        Put::Full
    }

    /// Takes an entry out. `None` where there is none, and where a writer is at work.
    pub fn remove(&self, key: &Key) -> Option<Entry> {
        let place = self.place(key);
        place.buckets().find_map(|bucket| {
            let mut bucket = self.buckets[bucket].write()?;
            let way = bucket.way_of(place.tag, key)?;
            let entry = bucket.entry(way);
            bucket.clear(way);
            self.len.fetch_sub(1, Ordering::Relaxed);
            Some(entry)
        })
    }

    /// Looks at a part of the table, from `cursor` on, and takes out what was last seen before `before`. The
    /// cursor moves on and begins again at the end. Returns how many were taken out.
    pub fn sweep(&self, cursor: &mut usize, buckets: usize, before: Time) -> usize {
        let mut taken = 0;
        for _ in 0..buckets.min(self.buckets.len()) {
            let bucket = &self.buckets[*cursor % self.buckets.len()];
            *cursor = (*cursor + 1) % self.buckets.len();
            let old = |entry: &Entry| entry.seen < before;
            // Looked at first: most of the time nothing is old, and then nothing is written.
            if !bucket.snapshot().is_some_and(|all| all.iter().flatten().any(old)) {
                continue;
            }
            let Some(mut bucket) = bucket.write() else { continue };
            for way in 0..WAYS {
                if bucket.taken(way) && old(&bucket.entry(way)) {
                    bucket.clear(way);
                    taken += 1;
                }
            }
        }
        self.len.fetch_sub(taken as u64, Ordering::Relaxed);
        taken
    }

    /// Shows every entry, in the order in which they lie. What is being written meanwhile may be missing.
    pub fn for_each(&self, mut visit: impl FnMut(Entry)) {
        for bucket in &self.buckets {
            bucket.snapshot().into_iter().flatten().flatten().for_each(&mut visit);
        }
    }

    fn place(&self, key: &Key) -> Place {
        let [a, b, c] = self.secrets;
        let hash = folded(folded(key[0] ^ a, key[1] ^ b) ^ key[2], c);
        let mask = self.buckets.len() - 1;
        // The same place twice, where bits fall so, only means less choice.
        Place {
            first: hash as usize & mask,
            second: (hash >> 28) as usize & mask,
            tag: ((hash >> 56) as u8).max(1),
        }
    }
}

/// Where a key may lie.
struct Place {
    first: usize,
    second: usize,
    tag: u8,
}

impl Place {
    fn buckets(&self) -> impl Iterator<Item = usize> {
        let second = (self.second != self.first).then_some(self.second);
        [Some(self.first), second].into_iter().flatten()
    }
}

/// Writes an entry that is there already.
fn renew(bucket: &mut Writing<'_>, way: usize, new: &Entry) -> Put {
    let old = bucket.entry(way);
    let stays = old.seen == SharedMap::FOR_GOOD && new.seen != SharedMap::FOR_GOOD;
    match (old.value == new.value, stays) {
        (true, true) => Put::Same,
        (false, true) => Put::Fixed,
        (same, false) => {
            bucket.renew(way, new.value, old.seen.max(new.seen));
            if same { Put::Same } else { Put::Changed(old.value) }
        }
    }
}

/// Both halves of a product: every bit of the result depends on every bit of both.
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Finishing steps of splitmix64.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
