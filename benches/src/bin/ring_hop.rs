//! What crossing to another core costs a packet: the bare ring, and the whole hop with the header line
//! touched on the other side and the buffer sent home, against handing the burst on within one core.
//!
//! Run on two idle physical cores or believe only the ratios. With `--count CASE` it runs one case on one
//! thread, for counting instructions (`benches/count.sh`).

use corelane_benches::{Case, interleave, print};
use corelane_runtime::edge::{EdgeRx, EdgeTx, OnFull, edge};
use corelane_runtime::exec::Waker;
use corelane_runtime::packet::{Buffers, Burst, Class, HomeConfig};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

const PACKETS: u64 = 400_000;
const BURSTS: [usize; 4] = [1, 8, 32, 64];
const RING: usize = 1024;
static CORES: OnceLock<Vec<core_affinity::CoreId>> = OnceLock::new();

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, case] = &arguments[..]
        && flag == "--count"
    {
        count(case);
        return;
    }
    let cores = CORES.get_or_init(|| core_affinity::get_core_ids().unwrap_or_default());
    println!("{} cores; {PACKETS} packets a case, interleaved rounds", cores.len());
    for burst in BURSTS {
        let mut cases = vec![
            case("same core, burst handed on", move || same_core(burst)),
            case("bare rtrb, 8-byte handles", move || bare_ring(burst)),
            case("hop: ring + header line + return", move || hop(burst)),
        ];
        let figures = interleave(&mut cases, 7);
        print(&format!("burst {burst}"), "ns a packet", &figures);
    }
}

fn case(name: &str, run: impl FnMut() -> u64 + 'static) -> Case<'static> {
    Case { name: name.to_owned(), items: PACKETS, run: Box::new(run) }
}

fn home(name: &str, small: u32) -> Buffers {
    let config = HomeConfig { name: name.to_owned(), shells: 0, small, large: 0, node: None };
    Buffers::new(&config).expect("memory for the bench")
}

/// Fills a burst from the pool, as a receive queue would.
fn make(burst: &mut Burst, n: usize, home: &mut Buffers) -> usize {
    let mut made = 0;
    while made < n {
        let Some(mut packet) = home.alloc(Class::Small) else { break };
        packet.set_layers(Default::default(), 18);
        if let Err(packet) = burst.push(packet) {
            home.release(packet);
            break;
        }
        made += 1;
    }
    made
}

/// Reads each packet's header line and sends its buffer home.
fn end(burst: &mut Burst, home: &mut Buffers) -> u64 {
    let mut bytes = 0;
    for packet in burst.drain() {
        bytes += packet.units().bytes;
        home.release(packet);
    }
    home.flush();
    bytes
}

fn same_core(burst_len: usize) -> u64 {
    let mut home = home("one", 4096);
    let mut burst = Burst::new();
    let (mut sent, mut bytes) = (0, 0);
    while sent < PACKETS {
        sent += make(&mut burst, burst_len, &mut home) as u64;
        bytes += end(&mut burst, &mut home);
    }
    bytes
}

/// Pins to one of the cores the process had at its start: a pinned thread sees only its own.
fn pin(index: usize) {
    let cores = CORES.get_or_init(|| core_affinity::get_core_ids().unwrap_or_default());
    if let Some(core) = cores.get(index % cores.len().max(1)) {
        core_affinity::set_for_current(*core);
    }
}

fn bare_ring(burst_len: usize) -> u64 {
    let (mut tx, mut rx) = rtrb::RingBuffer::<u64>::new(RING);
    let consumer = std::thread::spawn(move || {
        pin(1);
        let mut slots = [0_u64; 64];
        let (mut got, mut sum) = (0_u64, 0_u64);
        while got < PACKETS {
            let (filled, _) = rx.pop_partial_slice(&mut slots[..burst_len]);
            got += filled.len() as u64;
            sum = filled.iter().fold(sum, |sum, value| sum.wrapping_add(*value));
        }
        sum
    });
    pin(0);
    let handles = [7_u64; 64];
    let mut sent = 0;
    while sent < PACKETS {
        let left = (PACKETS - sent).min(burst_len as u64) as usize;
        sent += tx.push_partial_slice(&handles[..left]).0.len() as u64;
    }
    consumer.join().expect("the consumer ran")
}

fn new_edge() -> (EdgeTx, EdgeRx) {
    let wakers = [Arc::new(Waker::new()), Arc::new(Waker::new())];
    edge("hop", RING, OnFull::Wait, wakers[0].clone(), wakers[1].clone())
}

/// The producer's side of one turn; returns packets sent.
fn produce(tx: &mut EdgeTx, burst: &mut Burst, n: usize, home: &mut Buffers) -> u64 {
    if tx.room() < n {
        tx.flush(drop);
        return 0;
    }
    let made = make(burst, n, home);
    for packet in burst.drain() {
        tx.send(packet).expect("there was room");
    }
    tx.flush(drop);
    made as u64
}

fn hop(burst_len: usize) -> u64 {
    let (mut tx, mut rx) = new_edge();
    let done = Arc::new(AtomicBool::new(false));
    let finished = Arc::clone(&done);
    let consumer = std::thread::spawn(move || {
        pin(1);
        let mut home = home("consumer", 0);
        let mut burst = Burst::new();
        let (mut got, mut bytes) = (0, 0);
        while got < PACKETS {
            got += rx.receive(&mut burst, burst_len) as u64;
            bytes += end(&mut burst, &mut home);
        }
        finished.store(true, Ordering::Release);
        bytes
    });
    pin(0);
    let mut home = home("producer", 4096);
    let mut burst = Burst::new();
    let mut sent = 0;
    while sent < PACKETS {
        let n = (PACKETS - sent).min(burst_len as u64) as usize;
        sent += produce(&mut tx, &mut burst, n, &mut home);
    }
    while !done.load(Ordering::Acquire) {
        tx.flush(drop);
    }
    consumer.join().expect("the consumer ran")
}

/// One case on one thread, so that instructions can be counted.
fn count(case: &str) {
    let (kind, burst) = case.split_once('-').expect("a case such as hop-32 or same-32");
    let burst: usize = burst.parse().expect("a burst size");
    let (mut tx, mut rx) = new_edge();
    let mut home = home("one", 4096);
    let (mut front, mut back) = (Burst::new(), Burst::new());
    let turn = |front: &mut Burst, back: &mut Burst, home: &mut Buffers| {
        if kind == "hop" {
            produce(&mut tx, front, burst, home);
            rx.receive(back, burst);
            end(back, home)
        } else {
            make(front, burst, home);
            end(front, home)
        }
    };
    println!("{}", measured(PACKETS / 20 / burst as u64, turn, &mut front, &mut back, &mut home));
}

/// What `benches/count.sh` counts.
#[inline(never)]
fn measured(
    turns: u64,
    mut turn: impl FnMut(&mut Burst, &mut Burst, &mut Buffers) -> u64,
    front: &mut Burst,
    back: &mut Burst,
    home: &mut Buffers,
) -> u64 {
    (0..turns).map(|_| turn(front, back, home)).sum()
}
