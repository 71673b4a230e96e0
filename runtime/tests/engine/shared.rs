//! Actors that share a CPU share a thread: they take turns, sleep together, and nothing is lost or stuck.

use crate::{Shape, assert_balanced, build, reports};
use corelane_runtime::exec::{IdleProfile, threads};
use std::time::{Duration, Instant};

/// A CPU that this process may use.
fn here() -> usize {
    core_affinity::get_core_ids().and_then(|ids| ids.first().map(|id| id.id)).expect("a CPU")
}

#[test]
fn one_thread_for_each_cpu_and_for_each_actor_without_one() {
    assert_eq!(threads::count(&[]), 0);
    assert_eq!(threads::count(&[Some(1), Some(0), Some(1), None, None]), 4);
}

/// Rings of one packet make the two wait for each other all the time: whoever sleeps must be woken by an actor of
/// its own thread.
#[test]
fn two_actors_of_one_thread_deliver_all_in_order() {
    let cpu = Some(here());
    for ring in [1, 2, 32] {
        for profile in [IdleProfile::Shared, IdleProfile::Balanced] {
            let shape = Shape { count: 20_000, times: 2, ring, buffers: 512, ..Shape::default() };
            let (actors, seen) = build(&shape);
            let running = threads::start(actors, &[cpu, cpu], profile).expect("threads");
            let mut actors = running.join();
            assert_balanced(&reports(&mut actors), "one thread");
            let expected = (0..20_000).filter(|n| n % 7 != 3).flat_map(|n| [n, n]);
            assert!(seen.lock().expect("not poisoned").iter().copied().eq(expected), "ring {ring}");
        }
    }
}

/// The source names a time for each packet: the thread sleeps until the earliest time of all, and wakes for it.
#[test]
fn a_thread_sleeps_until_the_earliest_time_that_one_of_its_actors_names() {
    let cpu = Some(here());
    let shape = Shape { count: 20, gap: 5_000_000, ..Shape::default() };
    let (actors, seen) = build(&shape);
    let begun = Instant::now();
    let running = threads::start(actors, &[cpu, cpu], IdleProfile::Shared).expect("threads");
    let mut actors = running.join();
    let took = begun.elapsed();
    assert_balanced(&reports(&mut actors), "one thread");
    assert!(seen.lock().expect("not poisoned").len() > 10);
    assert!(took > Duration::from_millis(80) && took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_stop_reaches_every_actor_of_a_thread() {
    let cpu = Some(here());
    let shape = Shape {
        count: u64::MAX,
        buffers: 256,
        ring: 8,
        sink_stalled_until: u64::MAX,
        ..Shape::default()
    };
    let (actors, _) = build(&shape);
    let mut running = threads::start(actors, &[cpu, cpu], IdleProfile::Shared).expect("threads");
    std::thread::sleep(Duration::from_millis(20));
    assert!(!running.is_finished(), "the sink never takes anything");
    running.stop();
    let mut actors = running.join();
    assert_balanced(&reports(&mut actors), "stop");
}
