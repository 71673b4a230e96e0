//! Small pipelines run to their end: outputs, fan-in, policies, panics, and what the report says of each.

mod live;

use crate::fixture::{machine, plan, registry, with_chains};
use crate::{Failure, Machine, Order, Pipeline, Report};
use corelane_device::{Emulated, EmulatedConfig};
use std::time::{Duration, Instant};

/// Keeps the panics that were asked for out of the output.
fn hush() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.to_string().contains("as it was told") {
                usual(info);
            }
        }));
    });
}

/// Runs chains on threads and in the simulator.
fn run(chains: &str) -> [Report; 2] {
    hush();
    let text = with_chains(chains);
    let here = Pipeline::parse(&text).unwrap().plan(&registry(), &Machine::here()).unwrap();
    [here.start().unwrap().wait(), plan(&text).unwrap().simulate(5).unwrap()]
}

fn packets_in(report: &Report, id: &str) -> u64 {
    report.stages.iter().find(|stage| stage.id == id).expect(id).packets_in
}

#[test]
fn every_second_packet_takes_the_other_way() {
    for report in run(r#""m": [Rx("in"), Fork("other"), Tx("out")], "other": [Count, Drop("odd")]"#)
    {
        assert!(report.balanced == Some(true), "{:?}", report.unbalanced);
        assert!(!report.has_failed());
        assert_eq!(packets_in(&report, "other.0"), 500);
        let drop = report.stages.iter().find(|stage| stage.kind == "Drop").unwrap();
        assert_eq!(drop.drops.get("odd"), Some(&500), "dropped under its label");
        assert_eq!(report.ports.get("out").unwrap().tx_packets, 500);
        assert_eq!(report.totals.dropped, 500);
    }
}

#[test]
fn actors_that_feed_one_actor_have_a_ring_each() {
    let chains = r#""m": [Rx("in"), Fork("end"), Ring("r"), Fork("end"), Count, Drop],
                    "end": [Ring(name: "s", capacity: 3), Count, Tx("out")]"#;
    for report in run(chains) {
        assert!(report.balanced == Some(true), "{:?}", report.unbalanced);
        let names: Vec<&str> = report.rings.iter().map(|ring| ring.name.as_str()).collect();
        assert_eq!(names.len(), 3);
        assert!(names.contains(&"s from m") && names.contains(&"s from r"), "{names:?}");
        assert_eq!(packets_in(&report, "end.1"), 750, "500 from the first, 250 from the second");
        assert_eq!(report.ports.get("out").unwrap().tx_packets, 750);
    }
}

#[test]
fn added_steps_are_in_the_report_and_do_their_work() {
    for report in run(r#""m": [Rx("in"), ChecksumValidate, Gro, Tx("out")]"#) {
        assert!(report.balanced == Some(true), "{:?}", report.unbalanced);
        let ids: Vec<&str> = report.stages.iter().map(|stage| stage.id.as_str()).collect();
        assert_eq!(ids, ["m.0", "m.1", "m.2", "m.+Gso", "m.+ChecksumFill", "m.3"]);
        let gso = &report.stages[3];
        assert!(gso.added && gso.created > 0, "{gso:?}");
        assert_eq!(report.ports.get("out").unwrap().tx_packets, 1000);
    }
}

#[test]
fn a_stage_that_panics_is_restarted_and_its_burst_is_accounted_for() {
    for report in run(r#""m": [Rx("in"), Panics(at: 100, on_panic: Restart(max: 3)), Tx("out")]"#) {
        assert!(report.balanced == Some(true), "{:?}", report.unbalanced);
        // Each new instance panics again, until the fourth time is too much.
        let panics = report.totals.panics;
        assert_eq!(panics, 4);
        assert!(report.has_failed());
        let stage = &report.stages[1];
        let lost = *stage.drops.get("stage_panicked").expect("a loss");
        assert_eq!(stage.packets_in, stage.packets_out + lost);
        assert_eq!(report.totals.implicit_drops, lost);
        assert_eq!(report.errors, ["actor m: m.1 Panics panicked"]);
    }
}

#[test]
fn a_stage_that_panicked_once_can_be_passed_by_or_closed() {
    let chains =
        |what: &str| format!(r#""m": [Rx("in"), Panics(at: 100, on_panic: {what}), Tx("out")]"#);
    for report in run(&chains("Bypass")) {
        assert!(report.balanced == Some(true) && report.has_failed(), "{:?}", report.unbalanced);
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.ports.get("out").unwrap().tx_packets >= 1000 - 256);
    }
    for report in run(&chains("Drop")) {
        assert!(report.balanced == Some(true) && report.has_failed(), "{:?}", report.unbalanced);
        assert_eq!(report.ports.get("out").unwrap().tx_packets, 99);
        assert_eq!(report.stages[1].drops.get("stage_panicked"), Some(&901));
    }
    for report in run(&chains("Stop")) {
        assert!(report.balanced == Some(true) && report.has_failed(), "{:?}", report.unbalanced);
        assert_eq!(report.errors.len(), 1, "{:?}", report.errors);
    }
}

#[test]
fn a_stage_that_failed_for_good_drains_an_endless_run() {
    hush();
    let text = with_chains(r#""m": [Rx("in"), Panics(at: 100, on_panic: Stop), Tx("out")]"#)
        .replace(", count: 1000", "");
    let plan = Pipeline::parse(&text).unwrap().plan(&registry(), &Machine::here()).unwrap();
    let mut handle = plan.start().unwrap();
    assert!(handle.wait_for(Duration::from_secs(10)), "it ends by itself");
    assert!(handle.is_draining());
    assert!(handle.wait().has_failed());
}

#[test]
fn a_ring_that_drops_counts_what_it_drops() {
    for policy in ["DropNewest", "DropOldest"] {
        let chains = format!(
            r#""m": [Rx("in"), Ring(name: "r", capacity: 4, on_full: {policy}), Tx("out")]"#
        );
        let text = with_chains(&chains)
            .replace("\"out\": Emulated()", "\"out\": Emulated(stall: [(\"0s\", \"1s\")])");
        let report = plan(&text).unwrap().simulate(3).unwrap();
        assert!(report.balanced == Some(true), "{policy}: {:?}", report.unbalanced);
        let ring = &report.rings[0];
        assert!(ring.dropped > 0, "{policy}: {ring:?}");
        assert_eq!(ring.packets, 1000);
        assert_eq!(report.ports.get("out").unwrap().tx_packets, 1000 - ring.dropped);
        assert!(!report.was_forced(), "dropping by rule is no loss by force");
    }
}

#[test]
fn a_run_can_be_stopped_from_outside() {
    let text = with_chains(r#""m": [Rx("in"), Ring, Tx("out")]"#).replace(", count: 1000", "");
    let plan = Pipeline::parse(&text).unwrap().plan(&registry(), &Machine::here()).unwrap();
    let mut handle = plan.start().unwrap();
    assert!(!handle.wait_for(Duration::from_millis(20)));
    let start = Instant::now();
    handle.stop();
    let report = handle.wait();
    assert!(start.elapsed() < Duration::from_secs(1));
    assert!(
        report.stopped && report.was_forced() && report.balanced == Some(true),
        "{:?}",
        report.unbalanced
    );
}

#[test]
fn a_simulation_without_end_is_given_up_and_says_so() {
    let text = with_chains(r#""m": [Rx("in"), Drop]"#).replace(", count: 1000", "");
    let config = crate::SimConfig { max_turns: 100, ..crate::SimConfig::new(1) };
    let (report, outcome) = plan(&text).unwrap().simulate_with(&config).unwrap();
    assert!(!outcome.finished && report.has_failed());
    assert!(report.errors[0].starts_with("the simulation did not end within 100 turns"));
}

#[test]
fn a_simulation_can_be_drained_and_stopped() {
    let text = with_chains(r#""m": [Rx("in"), Ring, Gro, Tx("out")]"#).replace(", count: 1000", "");
    let simulate = |verdict: Order| {
        let limit = Duration::from_micros(500);
        let mut ask = |now| (if now < limit { Order::GoOn } else { verdict }, limit);
        plan(&text).unwrap().simulate_under(&crate::SimConfig::new(3), &mut ask).unwrap()
    };
    let (report, outcome) = simulate(Order::Drain);
    assert!(
        outcome.finished
            && report.balanced == Some(true)
            && !report.was_forced()
            && !report.has_failed()
    );
    assert!(report.totals.rx_packets > 0);
    assert_eq!(report.ports.get("out").unwrap().tx_packets, report.totals.rx_packets);
    let (report, outcome) = simulate(Order::Stop);
    assert!(
        !outcome.finished && report.balanced == Some(true) && report.stopped && report.was_forced()
    );
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

#[test]
fn no_time_is_too_long_to_wait() {
    let plan = plan(&with_chains(r#""m": [Rx("in"), Tx("out")]"#)).unwrap();
    assert!(plan.start().unwrap().wait_for(Duration::MAX));
}

#[test]
fn what_a_port_refuses_is_told_with_its_place() {
    let text = with_chains(r#""m": [Rx("in"), Tx("out")]"#)
        .replace("\"out\": Emulated()", "\"out\": Pcap(write: \"x.txt\")");
    let error = plan(&text).unwrap().simulate(1).expect_err("no such format").to_string();
    assert!(
        error.starts_with("port out: x.txt: ") && error.ends_with(" (description:3:8)"),
        "{error}"
    );
}

#[test]
fn a_program_can_bring_ports_of_its_own() {
    let text = with_chains(r#""m": [Rx("in"), Tx("out")]"#);
    let port = |name: &str| {
        let caps = corelane_runtime::offload::Caps::all();
        Box::new(Emulated::open(EmulatedConfig { caps, ..EmulatedConfig::new(name) }).unwrap())
    };
    let report = plan(&text).unwrap().with_port("in", port("in")).simulate(1).unwrap();
    assert_eq!(report.ports.get("in").unwrap().rx_packets, 0, "the port brought in is empty");
    let failure = plan(&text).unwrap().with_port("inn", port("inn")).simulate(1).err();
    let Some(Failure::Error(error)) = failure else { panic!("no error") };
    assert_eq!(error.to_string(), "port inn: the description has no such port");
}

#[test]
fn the_actors_of_a_plan_are_those_that_report() {
    let report = plan(&with_chains(r#""m": [Rx("in"), Ring("r"), Drop]"#));
    let planned: Vec<(String, Option<usize>)> =
        report.as_ref().unwrap().actors().map(|(name, cpu)| (name.to_owned(), cpu)).collect();
    let report = report.unwrap().simulate(1).unwrap();
    let reported: Vec<_> =
        report.actors.iter().map(|actor| (actor.name.clone(), actor.cpu)).collect();
    assert_eq!(planned, reported);
    assert_eq!(plan(&with_chains(r#""m": [Rx("in"), Drop]"#)).unwrap().cpus(), 1);
    assert_eq!(machine(4).by_preference(), [0, 2, 1, 3]);
}
