//! The engine under the simulator: two actors and a ring, toy stages, every fault. Whatever happens, the
//! books balance, order is kept, buffers come home, and nothing is stuck.

mod shared;
mod toys;

use corelane_runtime::actor::{Actor, ActorBuilder, ActorHandle, NodeBody, NodeConfig, OnPanic};
use corelane_runtime::counters::ActorReport;
use corelane_runtime::edge::{OnFull, edge};
use corelane_runtime::exec::sim::{self, SimConfig, SimOutcome};
use corelane_runtime::exec::{IdleProfile, Waker, threads};
use corelane_runtime::packet::{Buffers, Burst, HomeConfig, Units};
use corelane_runtime::stage::Target;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use toys::{Hold, Numbers, Panic, Repeat, Sink};

#[derive(Clone)]
struct Shape {
    count: u64,
    gap: u64,
    times: usize,
    ring: usize,
    on_full: OnFull,
    buffers: u32,
    panic_at: u64,
    on_panic: OnPanic,
    sink_stalled_until: u64,
    sink_at_once: usize,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            count: 300,
            gap: 0,
            times: 1,
            ring: 64,
            on_full: OnFull::Wait,
            buffers: 4096,
            panic_at: u64::MAX,
            on_panic: OnPanic::default(),
            sink_stalled_until: 0,
            sink_at_once: 256,
        }
    }
}

fn home(name: &str, small: u32) -> Buffers {
    let config = HomeConfig { name: name.to_owned(), shells: 0, small, large: 0, node: None };
    Buffers::new(&config).expect("a home")
}

fn node(name: &str, body: NodeBody, targets: &[Target], shape: &Shape) -> NodeConfig {
    NodeConfig {
        stage: 0,
        name: name.to_owned(),
        body,
        targets: targets.to_vec(),
        reasons: 1,
        counters: 0,
        mirrors: false,
        multiplies: name == "repeat",
        on_panic: shape.on_panic,
    }
}

/// Keeps the panics that the toys were told to make out of the output.
fn hush_told_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let told = info.payload_as_str().is_some_and(|text| text.contains("as it was told"));
            if !told {
                usual(info);
            }
        }));
    });
}

type Seen = Arc<Mutex<Vec<u64>>>;

/// numbers -> hold -> panic -> [ring] -> repeat -> sink
fn build(shape: &Shape) -> (Vec<(Actor, ActorHandle)>, Seen) {
    hush_told_panics();
    let wakers = [Arc::new(Waker::new()), Arc::new(Waker::new())];
    let ring = edge("r", shape.ring, shape.on_full, wakers[0].clone(), wakers[1].clone());
    let mut front = ActorBuilder::new("front", wakers[0].clone());
    let numbers = Numbers { next: 0, count: shape.count, gap: shape.gap, stopped: false };
    let source = NodeBody::Source(Box::new(numbers));
    front.node(node("numbers", source, &[Target::Node(1)], shape));
    let hold = || Hold { most: 40, patience: 700, kept: Burst::new(), deadline: None };
    let factory: Box<dyn Fn() -> Box<dyn corelane_runtime::stage::Stage> + Send> =
        Box::new(move || Box::new(hold()));
    let body = NodeBody::Stage(Box::new(hold()), Some(factory));
    front.node(node("hold", body, &[Target::Node(2)], shape));
    let at = shape.panic_at;
    let factory: Box<dyn Fn() -> Box<dyn corelane_runtime::stage::Stage> + Send> =
        Box::new(move || Box::new(Panic { at: u64::MAX }));
    let body = NodeBody::Stage(Box::new(Panic { at }), Some(factory));
    front.node(node("panic", body, &[Target::Edge(0)], shape));
    front.feed(ring.0);

    let seen = Seen::default();
    let mut back = ActorBuilder::new("back", wakers[1].clone());
    back.read(ring.1, 0);
    let repeat = Repeat { times: shape.times, current: None };
    back.node(node("repeat", NodeBody::Stage(Box::new(repeat), None), &[Target::Node(1)], shape));
    let sink = Sink {
        seen: Arc::clone(&seen),
        at_once: shape.sink_at_once,
        stalled_until: shape.sink_stalled_until,
        deadline: None,
    };
    back.node(node("sink", NodeBody::Stage(Box::new(sink), None), &[], shape));
    let actors = vec![
        front.build(home("front", shape.buffers)),
        back.build(home("back", shape.buffers.max(shape.times as u32))),
    ];
    (actors, seen)
}

fn reports(actors: &mut [Actor]) -> Vec<ActorReport> {
    actors.iter_mut().map(Actor::report).collect()
}

fn assert_balanced(reports: &[ActorReport], context: &str) {
    let mut implicit = Units::default();
    let mut booked = Units::default();
    for actor in reports {
        for (index, stage) in actor.stages.iter().enumerate() {
            assert!(stage.is_balanced(), "{context}: {} stage {index}: {stage:?}", actor.name);
            assert_eq!(stage.held, Units::default());
            booked += stage.lost.stage_panicked + stage.lost.stopped;
        }
        assert_eq!(actor.home.outstanding, [0; 3], "{context}: {}", actor.name);
        implicit += actor.home.implicit;
    }
    let (out, into) = (&reports[0].rings_out[0], &reports[1].rings_in[0]);
    assert!(out.is_balanced(into), "{context}: {out:?} {into:?}");
    assert_eq!(implicit, booked + out.stopped + into.stopped, "{context}: implicit drops");
}

fn simulate(shape: &Shape, config: &SimConfig) -> (Vec<ActorReport>, SimOutcome, Vec<u64>) {
    let (actors, seen) = build(shape);
    let actors = actors.into_iter().map(|(actor, _)| actor).collect();
    let (mut actors, outcome) = sim::run(actors, config);
    let reports = reports(&mut actors);
    let seen = seen.lock().expect("not poisoned").clone();
    (reports, outcome, seen)
}

fn in_order(seen: &[u64]) -> bool {
    seen.windows(2).all(|pair| pair[0] <= pair[1])
}

#[test]
fn two_hundred_seeds_with_every_fault_balance_and_none_is_stuck() {
    let mut traces = HashSet::new();
    let (mut full, mut empty, mut stalls, mut panics) = (0, 0, 0, 0);
    for seed in 0..200 {
        let shape = Shape {
            times: 1 + seed as usize % 3,
            ring: 1 + seed as usize % 9,
            buffers: 24 + seed as u32 % 40,
            gap: seed % 4 * 50,
            panic_at: 20 + seed,
            sink_stalled_until: seed * 100,
            sink_at_once: 1 + seed as usize % 50,
            ..Shape::default()
        };
        let faults = SimConfig { stall: 30, withhold: 20, ..SimConfig::new(seed) };
        let (reports, outcome, seen) = simulate(&shape, &faults);
        let context = format!("seed {seed}");
        assert!(outcome.finished, "{context} is stuck: {outcome:?}");
        assert_balanced(&reports, &context);
        assert!(in_order(&seen), "{context}: order");
        traces.insert(outcome.trace);
        full += u64::from(reports[0].rings_out[0].stats.full > 0);
        empty += u64::from(outcome.pool_empty > 0);
        stalls += u64::from(outcome.stalls > 0);
        panics += reports[0].stages[2].panics;
        assert_eq!(simulate(&shape, &faults).1, outcome, "{context} does not repeat itself");
    }
    assert!(traces.len() > 190, "{} distinct traces", traces.len());
    for (count, fault) in [(full, "ring full"), (empty, "pool empty"), (stalls, "stall")] {
        assert!(count > 100, "{fault}: only {count} of 200 seeds");
    }
    assert!(panics > 100, "panics: {panics}");
}

#[test]
fn a_run_without_faults_delivers_every_number_in_order() {
    let shape = Shape { times: 2, ..Shape::default() };
    let (reports, outcome, seen) = simulate(&shape, &SimConfig::new(1));
    assert!(outcome.finished);
    assert_balanced(&reports, "no faults");
    let expected = (0..300).filter(|n| n % 7 != 3).flat_map(|n| [n, n]);
    assert!(seen.iter().copied().eq(expected));
}

#[test]
fn threads_deliver_the_same_as_the_simulator() {
    let shape = Shape { count: 20_000, times: 2, ring: 32, buffers: 512, ..Shape::default() };
    let (actors, seen) = build(&shape);
    let running = threads::start(actors, &[], IdleProfile::Shared).expect("threads");
    let mut actors = running.join();
    assert_balanced(&reports(&mut actors), "threads");
    let expected = (0..20_000).filter(|n| n % 7 != 3).flat_map(|n| [n, n]);
    assert!(seen.lock().expect("not poisoned").iter().copied().eq(expected));
}

#[test]
fn each_answer_to_a_panic_keeps_the_books() {
    let answers = [
        (OnPanic::Restart { max: 1, window: 1000 }, None),
        (OnPanic::Restart { max: 0, window: 1000 }, Some("panicked")),
        (OnPanic::Bypass, None),
        (OnPanic::Drop, None),
        (OnPanic::Stop, Some("panicked")),
    ];
    for (on_panic, failed) in answers {
        let shape = Shape { panic_at: 100, on_panic, ..Shape::default() };
        let (reports, outcome, seen) = simulate(&shape, &SimConfig::new(5));
        let context = format!("{on_panic:?}");
        assert!(outcome.finished, "{context}");
        assert_balanced(&reports, &context);
        assert!(in_order(&seen) && !seen.contains(&100), "{context}");
        assert_eq!(reports[0].failed.is_some(), failed.is_some(), "{context}");
        let lost = reports[0].stages[2].lost.stage_panicked.packets;
        assert!(lost > 0, "{context}");
        let goes_on = matches!(on_panic, OnPanic::Bypass | OnPanic::Restart { max: 1, .. });
        assert_eq!(seen.last() >= Some(&290), goes_on, "{context}: last seen {:?}", seen.last());
    }
}

#[test]
fn a_full_ring_that_may_drop_drops_and_counts() {
    for on_full in [OnFull::DropNewest, OnFull::DropOldest] {
        let shape = Shape {
            on_full,
            ring: 4,
            sink_stalled_until: 400_000,
            count: 2000,
            ..Shape::default()
        };
        let (reports, outcome, seen) = simulate(&shape, &SimConfig::new(3));
        assert!(outcome.finished, "{on_full:?}");
        assert_balanced(&reports, &format!("{on_full:?}"));
        let dropped = reports[0].rings_out[0].stats.dropped;
        assert!(dropped.packets > 0 && dropped.bytes == 8 * dropped.packets, "{on_full:?}");
        assert!(in_order(&seen), "{on_full:?}");
        let newest_kept = seen.last() == Some(&1999);
        assert!(newest_kept || on_full == OnFull::DropNewest, "{on_full:?}: {:?}", seen.last());
    }
}

#[test]
fn a_drain_ends_an_endless_source_and_loses_nothing() {
    let shape = Shape { count: u64::MAX, buffers: 256, ..Shape::default() };
    let (actors, seen) = build(&shape);
    let mut running = threads::start(actors, &[], IdleProfile::Balanced).expect("threads");
    while seen.lock().expect("not poisoned").len() < 10_000 {
        std::thread::yield_now();
    }
    running.drain();
    let mut actors = running.join();
    let reports = reports(&mut actors);
    assert_balanced(&reports, "drain");
    assert_eq!(reports[1].stages[1].lost.total(), Units::default());
    assert_eq!(reports[0].rings_out[0].sent, reports[1].rings_in[0].taken);
}

#[test]
fn a_stop_ends_at_once_and_counts_what_is_left() {
    let shape = Shape {
        count: u64::MAX,
        buffers: 256,
        ring: 8,
        sink_stalled_until: u64::MAX,
        ..Shape::default()
    };
    let (actors, seen) = build(&shape);
    let mut running = threads::start(actors, &[], IdleProfile::Shared).expect("threads");
    std::thread::sleep(std::time::Duration::from_millis(30));
    running.drain();
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(!running.is_finished(), "the sink never takes anything");
    running.stop();
    let mut actors = running.join();
    let reports = reports(&mut actors);
    assert_balanced(&reports, "stop");
    assert!(seen.lock().expect("not poisoned").is_empty());
    let left =
        reports.iter().flat_map(|actor| &actor.stages).map(|stage| stage.lost.stopped.packets);
    assert!(left.sum::<u64>() > 0);
}
