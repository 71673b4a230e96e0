//! The shared table against a plain map, and under writers and readers on real threads.

use super::{Look, Put, SharedMap};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

const GRAIN: u64 = SharedMap::GRAIN;

#[derive(Clone, Debug)]
enum Op {
    Put(u64, u64, u64),
    Fix(u64, u64),
    New(u64, u64),
    Remove(u64),
    Sweep(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..40u64, 0..3u64, 0..50u64).prop_map(|(k, v, t)| Op::Put(k, v, t)),
        1 => (0..40u64, 0..3u64).prop_map(|(k, v)| Op::Fix(k, v)),
        1 => (0..40u64, 0..3u64).prop_map(|(k, v)| Op::New(k, v)),
        1 => (0..40u64).prop_map(Op::Remove),
        1 => (0..50u64).prop_map(Op::Sweep),
    ]
}

fn key(k: u64) -> [u64; 3] {
    [k, k << 40, 7]
}

/// What a put does to a plain map.
fn put(plain: &mut HashMap<u64, ([u64; 2], u64)>, room: usize, k: u64, v: u64, now: u64) -> Put {
    let (len, for_good) = (plain.len(), SharedMap::FOR_GOOD);
    match plain.get_mut(&k) {
        None if len == room => Put::Full,
        None => {
            plain.insert(k, ([v, !v], now));
            Put::New
        }
        Some((value, seen)) if *seen == for_good && now != for_good => {
            if *value == [v, !v] {
                Put::Same
            } else {
                Put::Fixed
            }
        }
        Some((value, seen)) => {
            let old = std::mem::replace(value, [v, !v]);
            let fresh = old == *value && now.saturating_sub(*seen) < GRAIN;
            *seen = if fresh && now != for_good { *seen } else { now.max(*seen) };
            if old == *value { Put::Same } else { Put::Changed(old) }
        }
    }
}

proptest! {
    #[test]
    fn it_does_what_a_plain_map_does(ops in prop::collection::vec(op(), 0..200), secret: u64) {
        const ROOM: usize = 24;
        let (table, mut plain) = (SharedMap::new(ROOM, secret), HashMap::new());
        let mut now = 0;
        for op in ops {
            match op {
                Op::Put(k, v, step) => {
                    now += step * GRAIN / 10;
                    let expected = put(&mut plain, ROOM, k, v, now);
                    prop_assert_eq!(table.put(&key(k), [v, !v], now), expected);
                }
                Op::Fix(k, v) => {
                    let expected = put(&mut plain, ROOM, k, v, SharedMap::FOR_GOOD);
                    prop_assert_eq!(table.put(&key(k), [v, !v], SharedMap::FOR_GOOD), expected);
                }
                Op::New(k, v) => {
                    let there = plain.contains_key(&k);
                    let expected = match there {
                        true => Put::Fixed,
                        false => put(&mut plain, ROOM, k, v, now),
                    };
                    prop_assert_eq!(table.put_new(&key(k), [v, !v], now), expected);
                }
                Op::Remove(k) => {
                    prop_assert_eq!(table.remove(&key(k)).is_some(), plain.remove(&k).is_some());
                }
                Op::Sweep(back) => {
                    let before = now.saturating_sub(back * GRAIN / 10);
                    let len = plain.len();
                    plain.retain(|_, (_, seen)| *seen >= before);
                    let taken = table.sweep(&mut 0, usize::MAX, before);
                    prop_assert_eq!(taken, len - plain.len());
                }
            }
            prop_assert_eq!(table.len(), plain.len());
        }
        let mut all = HashMap::new();
        table.for_each(|entry| { all.insert(entry.key[0], (entry.value, entry.seen)); });
        prop_assert_eq!(&all, &plain);
        for k in 0..40 {
            prop_assert_eq!(table.get(&key(k)).map(|e| (e.value, e.seen)), plain.get(&k).copied());
        }
    }
}

#[test]
fn it_takes_as_many_as_it_says_whatever_the_secret() {
    for secret in 0..20 {
        for capacity in [1, 7, 64, 1000, 5000] {
            let table = SharedMap::new(capacity, secret);
            for k in 0..capacity as u64 {
                assert_eq!(table.put(&key(k), [k, 0], 0), Put::New, "{k} of {capacity}, {secret}");
            }
            assert_eq!(table.put(&key(u64::MAX), [0, 0], 0), Put::Full);
            assert_eq!((table.len(), table.capacity()), (capacity, capacity));
        }
    }
}

#[test]
fn a_sweep_goes_on_where_it_stopped() {
    let table = SharedMap::new(1000, 3);
    (0..1000).for_each(|k| assert_eq!(table.put(&key(k), [0, 0], k), Put::New));
    let (mut cursor, mut taken) = (0, 0);
    (0..64).for_each(|_| taken += table.sweep(&mut cursor, 4, 500));
    assert_eq!((taken, table.len(), cursor), (500, 500, 0));
}

#[test]
fn readers_never_see_half_of_what_writers_on_other_threads_write() {
    let (table, done) = (SharedMap::new(8, 1), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for writer in 1..=2u64 {
            let (table, done) = (&table, &done);
            scope.spawn(move || {
                for round in 0..20_000u64 {
                    let (k, v) = (round % 4, round * 2 + writer);
                    match table.put(&key(k), [v, !v], v) {
                        Put::Full | Put::Fixed => panic!("there is room, and nothing is fixed"),
                        _ if round % 64 == 63 => drop(table.remove(&key(k))),
                        _ => (),
                    }
                }
                done.store(true, Ordering::Relaxed);
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for k in 0..4 {
                    if let Look::Found(entry) = table.look(&key(k)) {
                        assert_eq!((entry.key, entry.value[1]), (key(k), !entry.value[0]));
                    }
                }
            }
        });
    });
    let mut entries = 0;
    table.for_each(|_| entries += 1);
    assert_eq!(entries, table.len());
}
