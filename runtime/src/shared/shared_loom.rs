//! Models of the shared table, over every interleaving and every value an atomic may yield: an entry is read
//! whole, two writers put a key once, and what the table says it holds is what is in it. Run by `.ci/loom.sh`.

use super::{Look, Put, SharedMap};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;

const KEY: [u64; 3] = [1, 2, 3];

/// A table of one bucket.
fn table() -> Arc<SharedMap> {
    Arc::new(SharedMap::new(1, 7))
}

#[test]
fn loom_a_shared_entry_is_read_whole() {
    loom::model(|| {
        let table = table();
        assert_eq!(table.put(&KEY, [1, 1], 1), Put::New);
        let writer = Arc::clone(&table);
        let writer = thread::spawn(move || {
            assert_eq!(writer.put(&KEY, [2, 2], 2), Put::Changed([1, 1]));
        });
        if let Look::Found(entry) = table.look(&KEY) {
            assert_eq!(entry.key, KEY);
            assert!(matches!((entry.value, entry.seen), ([1, 1], 1) | ([2, 2], 2)));
        }
        writer.join().expect("joined");
        assert_eq!(table.get(&KEY).map(|entry| entry.value), Some([2, 2]));
    });
}

#[test]
fn loom_a_shared_entry_whose_place_is_taken_over_is_not_mistaken() {
    loom::model(|| {
        let table = table();
        table.put(&KEY, [1, 1], 1);
        let other = [9, 9, 9];
        let writer = Arc::clone(&table);
        let writer = thread::spawn(move || {
            assert!(writer.remove(&KEY).is_some());
            assert_eq!(writer.put(&other, [9, 9], 9), Put::New);
        });
        match table.look(&KEY) {
            Look::Found(entry) => assert_eq!((entry.key, entry.value), (KEY, [1, 1])),
            Look::Absent | Look::Busy => (),
        }
        writer.join().expect("joined");
        assert_eq!((table.look(&KEY), table.len()), (Look::Absent, 1));
    });
}

#[test]
fn loom_two_writers_put_a_shared_key_once() {
    loom::model(|| {
        let table = table();
        let writer = Arc::clone(&table);
        let writer = thread::spawn(move || writer.put(&KEY, [2, 2], 2));
        let mine = table.put(&KEY, [3, 3], 3);
        let theirs = writer.join().expect("joined");
        let mut entries = Vec::new();
        table.for_each(|entry| entries.push(entry));
        assert_eq!((entries.len(), table.len()), (1, 1));
        let news = [mine, theirs].iter().filter(|&&put| put == Put::New).count();
        assert_eq!(news, 1, "{mine:?} {theirs:?}");
    });
}

/// The protocol of a bucket with two words, and the writer's fence left out if so wanted.
fn two_words(fenced: bool) {
    loom::model(move || {
        let words = Arc::new([AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)]);
        let theirs = Arc::clone(&words);
        let writer = thread::spawn(move || {
            theirs[0].compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).expect("mine");
            if fenced {
                fence(Ordering::Release);
            }
            theirs[1].store(1, Ordering::Relaxed);
            theirs[2].store(1, Ordering::Relaxed);
            theirs[0].store(2, Ordering::Release);
        });
        let before = words[0].load(Ordering::Acquire);
        let seen = [1, 2].map(|i: usize| words[i].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        if before % 2 == 0 && words[0].load(Ordering::Relaxed) == before {
            assert_eq!(seen[0], seen[1]);
        }
        writer.join().expect("joined");
    });
}

#[test]
fn loom_the_shared_sequence_number_guards_the_words() {
    two_words(true);
}

/// Without the fence the words may be seen before the odd number: the model must see it.
#[test]
#[should_panic]
fn loom_a_shared_writer_without_its_fence_is_caught() {
    two_words(false);
}
