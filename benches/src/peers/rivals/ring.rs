//! Rings: rtrb, which corelane's edges are made of, beside rte_ring, one producer and one consumer.
//!
//! Timed: from the first object sent to the last taken, spinning on both sides, objects being eight bytes. `hop`: the
//! whole way of a packet: a buffer from the pool, over the ring (`Edge`, with stash, counters and bell), its header line
//! read there, and the buffer sent home. Not timed: starting threads.

use super::{Bench, Case};
use crate::peers::measure::{Side, Window, switches, watched};
use corelane_runtime::edge::{EdgeRx, EdgeTx, OnFull, edge};
use corelane_runtime::exec::Waker;
use corelane_runtime::packet::{Buffers, Burst, Class, HomeConfig};
use dpdk_sys::ring::{Receiver, Sender, ring, same_core};
use dpdk_sys::{Eal, Error, Pool, Registered};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const SLOTS: u32 = 1024;
const BURSTS: [u32; 4] = [1, 8, 32, 64];
/// Turns of a window on one core.
const TURNS: u64 = 20_000;

pub(super) fn run(bench: &mut Bench) -> Result<(), Error> {
    for burst in BURSTS {
        one_core(bench, burst)?;
    }
    let Some(cores) = two_cores() else {
        println!("ring, two cores: left out, since there is one core");
        return Ok(());
    };
    for burst in BURSTS {
        two(bench, cores, burst)?;
    }
    for burst in BURSTS {
        hop(bench, cores, burst)?;
    }
    Ok(())
}

/// The core this runs on, and another one.
fn two_cores() -> Option<core_affinity::CoreId> {
    super::super::other_core()
}

fn case<'a>(case: String, rival_name: &'static str, sides: [Side<'a>; 2]) -> Case<'a> {
    let [ours, rival] = sides;
    // Every window compares what went in with what came out.
    let correct = [Some(true); 2];
    let rival = Some(rival);
    let unit = "ns/object";
    Case { bench: "ring", case, unit, rival_name, packaged: false, ours, rival, correct }
}

fn one_core(bench: &mut Bench, burst: u32) -> Result<(), Error> {
    let clock = bench.clock;
    let objects = (TURNS * u64::from(burst)) as f64;
    let (mut tx, mut rx) = rtrb::RingBuffer::<u64>::new(SLOTS as usize);
    let ours: Side<'_> = Box::new(move || {
        watched(|| {
            let (ticks, sum) = clock.ticks(|| around(&mut tx, &mut rx, burst as usize));
            assert_eq!(sum, expected(burst));
            clock.ns(ticks) / objects
        })
    });
    let (mut sender, mut receiver) = ring(bench.eal, SLOTS)?;
    let rival: Side<'_> = Box::new(move || {
        watched(|| {
            let work = || same_core(&mut sender, &mut receiver, burst, TURNS);
            let (ticks, sum) = clock.ticks(work);
            assert_eq!(sum, expected(burst));
            clock.ns(ticks) / objects
        })
    });
    let row =
        bench.measure(case(format!("same core, burst {burst}"), "rte_ring SP/SC", [ours, rival]));
    bench.add(row);
    Ok(())
}

/// The sum of all objects of a window on one core.
fn expected(burst: u32) -> u64 {
    TURNS * (0..u64::from(burst)).map(|object| object + 7).sum::<u64>()
}

/// Sends as many of these as there is room for, one by `push`, several as an edge does; how many.
#[inline]
fn put(tx: &mut rtrb::Producer<u64>, objects: &[u64]) -> usize {
    match objects {
        [one] => usize::from(tx.push(*one).is_ok()),
        many => tx.push_partial_slice(many).0.len(),
    }
}

/// Takes as many as there are and fit, one by `pop`, several as an edge does; how many.
#[inline]
fn take(rx: &mut rtrb::Consumer<u64>, slots: &mut [u64]) -> usize {
    match slots {
        [one] => rx.pop().map_or(0, |object| {
            *one = object;
            1
        }),
        many => rx.pop_partial_slice(many).0.len(),
    }
}

#[inline(never)]
fn around(tx: &mut rtrb::Producer<u64>, rx: &mut rtrb::Consumer<u64>, burst: usize) -> u64 {
    let objects: [u64; 64] = std::array::from_fn(|index| index as u64 + 7);
    let (mut taken, mut sum) = ([0_u64; 64], 0_u64);
    for _ in 0..TURNS {
        put(tx, black_box(&objects[..burst]));
        let got = take(rx, &mut taken[..burst]);
        sum = taken[..got].iter().fold(sum, |sum, object| sum.wrapping_add(*object));
    }
    sum
}

/// Runs `produce` here and `consume` on the other core, from a common start; `consume` gives what it took.
fn crossing(
    core: core_affinity::CoreId,
    items: u64,
    expected: u64,
    produce: impl FnOnce(),
    prepare_and_consume: impl FnOnce(&dyn Fn()) -> u64 + Send,
) -> Window {
    let (ready, go) = (AtomicBool::new(false), AtomicBool::new(false));
    let (start, before) = (&mut Instant::now(), switches());
    let (end, there) = std::thread::scope(|scope| {
        let consumer = scope.spawn(|| {
            core_affinity::set_for_current(core);
            let before = switches();
            let wait = || {
                ready.store(true, Ordering::Release);
                while !go.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            };
            let sum = prepare_and_consume(&wait);
            let end = Instant::now();
            assert_eq!(sum, expected, "what came out is not what went in");
            (end, switches() != before)
        });
        while !ready.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        *start = Instant::now();
        go.store(true, Ordering::Release);
        produce();
        consumer.join().expect("the consumer ran")
    });
    let ns = end.duration_since(*start).as_nanos() as f64 / items as f64;
    Window { ns, disturbed: there || switches() != before }
}

fn two(bench: &mut Bench, core: core_affinity::CoreId, burst: u32) -> Result<(), Error> {
    let total: u64 = if burst == 1 { 100_000 } else { 400_000 };
    let (mut tx, mut rx) = rtrb::RingBuffer::<u64>::new(SLOTS as usize);
    let ours: Side<'_> = Box::new(move || {
        let (tx, rx) = (&mut tx, &mut rx);
        crossing(
            core,
            total,
            7 * total,
            || push(tx, burst, total),
            |wait| {
                wait();
                pop(rx, burst, total)
            },
        )
    });
    let (mut sender, mut receiver) = ring(bench.eal, SLOTS)?;
    let rival: Side<'_> = Box::new(move || {
        let (sender, receiver): (&mut Sender, &mut Receiver) = (&mut sender, &mut receiver);
        crossing(
            core,
            total,
            7 * total,
            || sender.produce(burst, total),
            |wait| {
                wait();
                receiver.consume(burst, total)
            },
        )
    });
    let row =
        bench.measure(case(format!("two cores, burst {burst}"), "rte_ring SP/SC", [ours, rival]));
    bench.add(row);
    Ok(())
}

fn push(tx: &mut rtrb::Producer<u64>, burst: u32, total: u64) {
    let objects = [7_u64; 64];
    let mut sent = 0;
    while sent < total {
        let left = (total - sent).min(u64::from(burst)) as usize;
        sent += put(tx, &objects[..left]) as u64;
    }
}

fn pop(rx: &mut rtrb::Consumer<u64>, burst: u32, total: u64) -> u64 {
    let mut slots = [0_u64; 64];
    let (mut got, mut sum) = (0_u64, 0_u64);
    while got < total {
        let filled = take(rx, &mut slots[..burst as usize]);
        got += filled as u64;
        sum = slots[..filled].iter().fold(sum, |sum, object| sum.wrapping_add(*object));
    }
    sum
}

/// Bytes that each packet of a hop is said to have.
const BYTES: u32 = 18;

fn hop(bench: &mut Bench, core: core_affinity::CoreId, burst: u32) -> Result<(), Error> {
    let total: u64 = 60_000;
    let mut home = home("here", 4096);
    let wakers = [Arc::new(Waker::new()), Arc::new(Waker::new())];
    let (mut tx, mut rx) =
        edge("hop", SLOTS as usize, OnFull::Wait, Arc::clone(&wakers[0]), Arc::clone(&wakers[1]));
    let sum = u64::from(BYTES) * total;
    let ours: Side<'_> = Box::new(move || {
        let (tx, rx, buffers) = (&mut tx, &mut rx, &mut home);
        crossing(
            core,
            total,
            sum,
            || send(tx, buffers, burst, total),
            |wait| {
                let mut there = self::home("there", 0);
                wait();
                receive(rx, &mut there, burst, total)
            },
        )
    });
    let (mut sender, mut receiver) = ring(bench.eal, SLOTS)?;
    let (pool, eal): (Pool, Eal) = (bench.pools.frames.clone(), bench.eal);
    let rival: Side<'_> = Box::new(move || {
        let (sender, receiver) = (&mut sender, &mut receiver);
        crossing(
            core,
            total,
            sum,
            || sender.hop(&pool, burst, total),
            |wait| {
                let _here = Registered::here(eal).expect("a number for the thread");
                wait();
                receiver.hop(burst, total)
            },
        )
    });
    let name = "rte_ring + mempool";
    let row = bench.measure(case(format!("hop, two cores, burst {burst}"), name, [ours, rival]));
    bench.add(row);
    Ok(())
}

fn home(name: &str, small: u32) -> Buffers {
    let config = HomeConfig { name: name.to_owned(), shells: 0, small, large: 0, node: None };
    Buffers::new(&config).expect("memory for the bench")
}

fn send(tx: &mut EdgeTx, home: &mut Buffers, burst: u32, total: u64) {
    let mut sent = 0;
    while sent < total {
        let n = (total - sent).min(u64::from(burst)) as usize;
        if tx.room() < n {
            continue;
        }
        for _ in 0..n {
            let Some(mut packet) = home.alloc(Class::Small) else { break };
            packet.set_layers(Default::default(), BYTES);
            assert!(tx.send(packet).is_ok(), "there was room");
            sent += 1;
        }
        tx.flush(drop);
    }
}

fn receive(rx: &mut EdgeRx, home: &mut Buffers, burst: u32, total: u64) -> u64 {
    let mut packets = Burst::new();
    let (mut got, mut bytes) = (0, 0);
    while got < total {
        got += rx.receive(&mut packets, burst as usize) as u64;
        for packet in packets.drain() {
            bytes += packet.units().bytes;
            home.release(packet);
        }
        home.flush();
    }
    bytes
}
