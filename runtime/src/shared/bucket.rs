//! Some entries that are written by one at a time and read whole: a seqlock over atomics.
//!
//! The sequence number is odd while somebody writes. A writer takes the bucket by making it odd, in one step
//! or not at all; a reader takes the number, reads, and reads the number again: the same even number twice
//! means that what it read belongs together. All words are atomics, so a read that will be thrown away is
//! still no data race.
//!
//! The orderings: a writer's Acquire on taking the bucket orders its own reads behind the last writer. Its
//! Release fence stands between the odd number and the words; a reader that saw any of the new words meets it
//! with its own Acquire fence and therefore sees at least the odd number afterwards. The Release store of the
//! even number publishes the words to readers that begin with it. Take one away and the models fail.

use super::{Entry, Key, Value};
use crate::Time;
use crate::sync::{AtomicU64, Ordering, fence};

/// Entries of a bucket: as many as there are bytes in the word of tags.
pub(super) const WAYS: usize = if cfg!(loom) { 2 } else { 8 };

/// How often a reader looks again while somebody writes. A writer is done within tens of nanoseconds, unless
/// the system took its core away in the middle.
const TRIES: usize = if cfg!(loom) { 2 } else { 64 };

/// Entries and their sequence number. The first line has all that a miss needs.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Bucket {
    turn: AtomicU64,
    /// A byte for each entry: 0 if it is free, else bits of its hash.
    tags: AtomicU64,
    entries: [Cells; WAYS],
}

/// Words of an entry: the key, the value, when it was seen.
#[derive(Debug)]
struct Cells([AtomicU64; 6]);

impl Cells {
    fn load(&self) -> Entry {
        let [a, b, c, x, y, seen] = [0, 1, 2, 3, 4, 5].map(|i| self.0[i].load(Ordering::Relaxed));
        Entry { key: [a, b, c], value: [x, y], seen }
    }
}

impl Bucket {
    pub(super) fn new() -> Bucket {
        Bucket {
            turn: AtomicU64::new(0),
            tags: AtomicU64::new(0),
            entries: std::array::from_fn(|_| Cells(std::array::from_fn(|_| AtomicU64::new(0)))),
        }
    }

    /// What a reader sees, if no writer was at work.
    fn read<T>(&self, look: impl Fn() -> T) -> Option<T> {
        for _ in 0..TRIES {
            let before = self.turn.load(Ordering::Acquire);
            if before.is_multiple_of(2) {
                let seen = look();
                fence(Ordering::Acquire);
                if self.turn.load(Ordering::Relaxed) == before {
                    return Some(seen);
                }
            }
            std::hint::spin_loop();
        }
        None
    }

    /// The entry of a key: `None` while somebody writes.
    pub(super) fn find(&self, tag: u8, key: &Key) -> Option<Option<Entry>> {
        self.read(|| {
            let tags = self.tags.load(Ordering::Relaxed).to_le_bytes();
            let ways = (0..WAYS).filter(|&way| tags[way] == tag);
            ways.map(|way| self.entries[way].load()).find(|entry| entry.key == *key)
        })
    }

    /// All entries: `None` while somebody writes.
    pub(super) fn snapshot(&self) -> Option<[Option<Entry>; WAYS]> {
        self.read(|| {
            let tags = self.tags.load(Ordering::Relaxed).to_le_bytes();
            std::array::from_fn(|way| (tags[way] != 0).then(|| self.entries[way].load()))
        })
    }

    /// Takes the bucket to write, if nobody has it.
    pub(super) fn write(&self) -> Option<Writing<'_>> {
        let turn = self.turn.load(Ordering::Relaxed);
        if turn % 2 == 1 {
            return None;
        }
        let odd = turn.wrapping_add(1);
        self.turn.compare_exchange(turn, odd, Ordering::Acquire, Ordering::Relaxed).ok()?;
        fence(Ordering::Release);
        let tags = self.tags.load(Ordering::Relaxed).to_le_bytes();
        Some(Writing { bucket: self, tags, turn })
    }
}

/// A bucket that is being written. Dropping it lets the others in.
pub(super) struct Writing<'a> {
    bucket: &'a Bucket,
    tags: [u8; 8],
    /// The sequence number before.
    turn: u64,
}

impl Writing<'_> {
    /// Entries it has place for.
    pub(super) fn free(&self) -> usize {
        (0..WAYS).filter(|&way| !self.taken(way)).count()
    }

    pub(super) fn taken(&self, way: usize) -> bool {
        self.tags[way] != 0
    }

    pub(super) fn entry(&self, way: usize) -> Entry {
        self.bucket.entries[way].load()
    }

    /// Where the entry of a key is.
    pub(super) fn way_of(&self, tag: u8, key: &Key) -> Option<usize> {
        (0..WAYS).find(|&way| self.tags[way] == tag && self.entry(way).key == *key)
    }

    /// Puts an entry into a free place, if there is one.
    pub(super) fn insert(&mut self, tag: u8, entry: &Entry) -> bool {
        let Some(way) = (0..WAYS).find(|&way| !self.taken(way)) else { return false };
        let cells = &self.bucket.entries[way].0;
        for (cell, word) in cells.iter().zip(entry.key) {
            cell.store(word, Ordering::Relaxed);
        }
        self.renew(way, entry.value, entry.seen);
        self.set_tag(way, tag);
        true
    }

    pub(super) fn renew(&mut self, way: usize, value: Value, seen: Time) {
        let cells = &self.bucket.entries[way].0;
        cells[3].store(value[0], Ordering::Relaxed);
        cells[4].store(value[1], Ordering::Relaxed);
        cells[5].store(seen, Ordering::Relaxed);
    }

    pub(super) fn clear(&mut self, way: usize) {
        self.set_tag(way, 0);
    }

    fn set_tag(&mut self, way: usize, tag: u8) {
        self.tags[way] = tag;
        self.bucket.tags.store(u64::from_le_bytes(self.tags), Ordering::Relaxed);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.bucket.turn.store(self.turn.wrapping_add(2), Ordering::Release);
    }
}
