//! A port that stops doing what it granted, under load: what leaves is what a pipeline without any offload sends, it
//! is told once, and a stage that requires the capability ends the run.

use crate::equivalence::trains;
use crate::support::{Lane, Ran, assert_same, assert_same_bytes};
use corelane::report::Demotion;
use corelane::{Machine, Order, Pipeline, Report, SimConfig};
use corelane_device::emulated::{Failing, Faults, Frame, Onset, Stall};
use corelane_runtime::exec::sim::Random;
use corelane_runtime::offload::Caps;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The warnings of one thread, each as its fields.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().expect("one thread").push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What `run` came to, and the warnings meanwhile. The supervisor of a run is the thread that waits for it.
fn listening<R>(run: impl FnOnce() -> R) -> (R, Vec<String>) {
    let warnings = Warnings::default();
    let result = tracing::subscriber::with_default(warnings.clone(), run);
    let lines = std::mem::take(&mut *warnings.0.lock().expect("one thread"));
    (result, lines)
}

/// Long trains of every kind, again and again.
fn frames(times: u64) -> Vec<Frame> {
    let once = trains();
    let again = |round: u64| {
        once.iter().map(move |frame| {
            let time_ns = frame.time_ns + round * 1_000_000;
            Frame { time_ns, ..frame.clone() }
        })
    };
    (0..times).flat_map(again).collect()
}

/// Without any offload, and without parts.
fn software(frames: &[Frame]) -> Vec<Frame> {
    let lane = Lane { tx: Caps::empty(), ..Lane::new(frames.to_vec()) };
    let ran = lane.simulate(&SimConfig::new(1));
    ran.assert_clean("software");
    assert_same(&ran.frames, frames, "software");
    ran.frames
}

fn failing(caps: Caps, from: Onset) -> Failing {
    Failing { caps, from }
}

fn demoted(ran: &Ran) -> &[Demotion] {
    &ran.report.ports.get("out").expect("the port").demoted
}

/// Everything that holds however the demotion fell.
fn assert_as_software(ran: &Ran, software: &[Frame], context: &str) {
    ran.assert_clean(context);
    assert_same_bytes(&ran.frames, software, context);
    let totals = &ran.report.totals;
    assert_eq!((totals.dropped, totals.implicit_drops), (0, 0), "{context}: lost");
    assert_eq!(totals.demoted as usize, demoted(ran).len(), "{context}");
}

/// Validation and joining before the ring, finishing behind it; and all of it before the ring, so that finished
/// packets are on their way when the port fails.
const ACTORS: [&str; 3] = [
    "ChecksumValidate(on_bad: Mark, on_zero6: Pass), GRO, Ring(name: \"cut\", capacity: RING), Gso, ChecksumFill",
    "ChecksumValidate(on_bad: Mark, on_zero6: Pass), GRO, Gso, ChecksumFill, Ring(name: \"sent\", capacity: RING)",
    "ChecksumValidate(on_bad: Mark, on_zero6: Pass), GRO",
];

#[test]
fn on_threads_what_leaves_is_what_software_sends_and_it_is_told_once() {
    let frames = frames(10);
    let expected = software(&frames);
    for (caps, name) in [
        (Caps::TSO4, "tso4"),
        (Caps::TX_TCP4, "tx_tcp4"),
        (Caps::USO6, "uso6"),
        (Caps::MULTI_PART, "multi_part"),
    ] {
        for (stages, after) in ACTORS.iter().zip([0, 300, 40]) {
            let context = format!("{name} after {after} packets: {stages}");
            let fail = vec![failing(caps, Onset::After(after))];
            let faults = Faults { fail, packets_per_call: Some(20), ..Faults::default() };
            let (stages, tx) = ((*stages).to_owned(), Caps::asked());
            let lane = Lane { stages, tx, faults, ..Lane::new(frames.clone()) };
            let (ran, warnings) = listening(|| lane.run());
            assert_as_software(&ran, &expected, &context);
            assert_same(&ran.frames, &expected, &context);
            assert!(ran.counter("Tx", "refinished") > 0, "{context}: nothing was finished anew");
            let [line] = warnings.as_slice() else { panic!("{context}: {warnings:?}") };
            assert!(line.contains("port=out ") && line.contains(name), "{context}: {line}");
            let entry = demoted(&ran).iter().find(|lost| lost.capability == name);
            let entry = entry.unwrap_or_else(|| panic!("{context}: {:?}", demoted(&ran)));
            assert!(entry.why.contains(name) && entry.at_s <= ran.report.duration_s, "{entry:?}");
        }
    }
}

#[test]
fn without_a_loss_nothing_is_told_and_nothing_finished_anew() {
    let frames = frames(2);
    let lane = Lane { tx: Caps::asked(), ..Lane::new(frames.clone()) };
    let (ran, warnings) = listening(|| lane.run());
    assert_as_software(&ran, &frames, "no loss");
    assert_eq!((ran.counter("Tx", "refinished"), demoted(&ran), warnings.len()), (0, &[][..], 0));
    let json = ran.report.to_json().expect("JSON");
    assert!(json.contains("\"demoted\": []"), "the key is there: {json}");
}

fn seeds(default: u64) -> u64 {
    std::env::var("CORELANE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// One to four failures, at packets and at times.
fn draw(random: &mut Random) -> Vec<Failing> {
    let all = [
        Caps::TSO4,
        Caps::TSO6,
        Caps::USO4,
        Caps::USO6,
        Caps::TSO_FIXED_ID,
        Caps::TX_TCP4,
        Caps::TX_TCP6,
        Caps::TX_UDP4,
        Caps::TX_UDP6,
        Caps::MULTI_PART,
    ];
    let mut one = || {
        let caps = all[random.below(all.len() as u64) as usize];
        let at_packet = random.chance(512);
        let from = random.below(if at_packet { 40 } else { 200_000 });
        failing(caps, if at_packet { Onset::After(from) } else { Onset::At(from) })
    };
    let mut drawn = vec![one()];
    drawn.extend([one(), one(), one()]);
    drawn.truncate(1 + random.below(4) as usize);
    drawn
}

#[test]
fn in_the_simulator_over_many_seeds_with_every_fault() {
    let frames = frames(2);
    let expected = software(&frames);
    let seeds = seeds(60);
    let [mut finished_anew, mut several, mut unseen] = [0_u64; 3];
    for seed in 0..seeds {
        let mut random = Random(seed);
        let fail = draw(&mut random);
        let context = format!("seed {seed}: {fail:?}");
        let stall = Stall::Seeded { seed, period: 40_000, longest: 30_000 };
        let packets_per_call = Some(1 + random.below(40) as usize);
        let lane = Lane {
            stages: ACTORS[seed as usize % ACTORS.len()].to_owned(),
            gro: if random.chance(512) { "Gro" } else { "Gro(hold: \"20us\")" }.to_owned(),
            ring: 1 + random.below(60) as usize,
            // A port that joins hands over superpackets in one piece, and one time for all their frames.
            rx: if random.chance(256) { Caps::asked() } else { Caps::empty() },
            tx: Caps::asked(),
            faults: Faults { stall, packets_per_call, fail, ..Faults::default() },
            ..Lane::new(frames.clone())
        };
        let config = SimConfig { stall: 20, withhold: 40, ..SimConfig::new(seed) };
        let (ran, warnings) = listening(|| lane.simulate(&config));
        assert!(ran.outcome.as_ref().expect("simulated").finished, "{context}: stuck");
        assert_as_software(&ran, &expected, &context);
        if lane.rx.is_empty() {
            assert_same(&ran.frames, &expected, &context);
        }
        // A line tells what was lost between two looks: as many as there were moments, no capability twice.
        let moments: std::collections::BTreeSet<u64> =
            demoted(&ran).iter().map(|lost| lost.at_s.to_bits()).collect();
        assert_eq!(warnings.len(), moments.len(), "{context}: {warnings:?}");
        let names: std::collections::BTreeSet<&str> =
            demoted(&ran).iter().map(|lost| lost.capability.as_str()).collect();
        assert_eq!(names.len(), demoted(&ran).len(), "{context}: told twice");
        finished_anew += u64::from(ran.counter("Tx", "refinished") > 0);
        several += u64::from(moments.len() > 1);
        unseen += u64::from(moments.is_empty());
        if seed % 8 == 0 {
            let again = lane.simulate(&config);
            assert_eq!(ran.outcome, again.outcome, "{context}: not repeatable");
        }
    }
    assert!(finished_anew * 2 > seeds, "only {finished_anew} of {seeds} finished packets anew");
    assert!(several * 10 > seeds && unseen * 3 < seeds, "{several}, {unseen} of {seeds}");
    eprintln!(
        "{seeds} seeds: {finished_anew} finished anew, {several} lost at several moments, {unseen} nothing"
    );
}

/// Joined TCP that a port cuts, which it will not do for long; `stages` stand before `Tx`.
fn required(stages: &str) -> corelane::Plan {
    required_by(stages, "Tx(\"out\")")
}

fn required_by(stages: &str, tx: &str) -> corelane::Plan {
    let text = format!(
        "Pipeline(name: \"strict\", hash_seed: 7, ports: {{
            \"in\": Emulated(traffic: (flows: 4, size: 1000, protocol: TcpBulk, order: Trains(16))),
            \"out\": Emulated(caps: All, fail: [(\"tso4\", After(50))]),
         }}, chains: {{ \"main\": [
            Rx(\"in\"), ChecksumValidate, Gro, {stages} {tx}
         ] }})"
    );
    let parsed = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let plan = parsed.plan(&corelane::standard(), &Machine::here());
    plan.unwrap_or_else(|failure| panic!("{failure}"))
}

fn assert_strict(report: &Report, who: &str) {
    assert!(report.balanced == Some(true) && !report.was_forced(), "{:?}", report.unbalanced);
    assert!(report.has_failed());
    let [error] = report.errors.as_slice() else { panic!("{:?}", report.errors) };
    for part in [who, " says `offload: Require`", "port out", "tso4", "write `offload: Auto`"] {
        assert!(error.contains(part), "{error}");
    }
    // What was inside when it was noticed left all the same.
    let totals = &report.totals;
    assert_eq!((totals.dropped, totals.held), (0, 0));
    assert_eq!(report.ports.get("in").expect("a port").rx_packets, totals.rx_packets);
    assert_eq!(report.ports.get("out").expect("a port").tx_wire_packets, totals.rx_packets);
}

#[test]
fn a_stage_that_requires_what_is_lost_drains_an_endless_run_and_fails_it() {
    let stages = "Gso(offload: Require), ChecksumFill,";
    let who = "main.3 Gso (description:5:";
    let mut handle = required(stages).start().unwrap_or_else(|failure| panic!("{failure}"));
    assert!(handle.wait_for(Duration::from_secs(20)), "it ends by itself");
    assert!(handle.is_draining());
    assert_strict(&handle.wait(), who);

    let config = SimConfig::new(5);
    let (simulated, warnings) = listening(|| required(stages).simulate_with(&config));
    let (report, outcome) = simulated.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.finished, "{outcome:?}");
    assert_strict(&report, who);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("the run is drained and fails"), "{warnings:?}");
    assert!(!warnings[0].contains("software does it"), "{warnings:?}");
}

#[test]
fn what_tx_requires_of_the_steps_added_before_it_is_told_as_what_tx_says() {
    let plan = required_by("", "Tx(port: \"out\", offload: Require)");
    let report = plan.simulate(5).unwrap_or_else(|failure| panic!("{failure}"));
    assert_strict(&report, "main.3 Tx (description:5:");
    assert!(report.errors[0].contains("which main.+Gso was added for"), "{:?}", report.errors);
}

#[test]
fn where_nobody_requires_it_the_run_goes_on() {
    let end = Duration::from_millis(2);
    let mut supervisor = |now| (if now < end { Order::GoOn } else { Order::Drain }, end);
    let plan = required("Gso, ChecksumFill,");
    let run = plan.simulate_under(&SimConfig::new(5), &mut supervisor);
    let (report, outcome) = run.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        outcome.finished && report.balanced == Some(true) && !report.has_failed(),
        "{:?}",
        report.errors
    );
    assert!(report.duration_s >= end.as_secs_f64());
    assert!(report.totals.demoted > 0);
}
