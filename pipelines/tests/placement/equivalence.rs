//! However many copies there are, the packets that leave are those of the plan with one copy: the same frames,
//! and those of a flow in the same order.

use crate::own::registry;
use crate::stream::stream;
use corelane::{Machine, Pipeline, Plan, Report, SimConfig};
use corelane_device::emulated::{Collector, Frame, Sink, Traffic};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::offload::Caps;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

const FUSED: &str =
    r#"Rx("in"), ChecksumValidate(on_bad: Mark, on_zero6: Pass), Gro(hold: "20us"), Tx("out")"#;

/// A way to run the same pipeline on more than one copy.
struct Layout {
    name: &'static str,
    cores: &'static str,
    chain: &'static str,
    /// Queues of the ports.
    queues: [usize; 2],
    /// Actors and rings there must be.
    expected: (usize, usize),
}

const fn layout(
    name: &'static str,
    cores: &'static str,
    chain: &'static str,
    queues: [usize; 2],
    expected: (usize, usize),
) -> Layout {
    Layout { name, cores, chain, queues, expected }
}

const LAYOUTS: [Layout; 7] = [
    layout("a copy a queue", "Count(4)", FUSED, [4, 4], (4, 0)),
    layout("by itself", "Auto", FUSED, [4, 4], (4, 0)),
    layout("one transmit queue", "Count(4)", FUSED, [4, 1], (5, 4)),
    layout("one queue each way", "Pin({ \"main\": [1, 2, 3] })", FUSED, [1, 1], (5, 6)),
    layout(
        "a ring of three ways",
        "Count(4)",
        r#"Rx("in"), ChecksumValidate(on_bad: Mark, on_zero6: Pass), Gro, Ring(name: "cut", capacity: 5, ways: 3, by: Flow), Gso, ChecksumFill, Tx("out")"#,
        [4, 1],
        (4 + 3 + 1, 12 + 3),
    ),
    layout(
        "a ring by inner flow, pinned",
        "Pin({ \"main\": [0, 1], \"cut\": [2, 3, 4, 5] })",
        r#"Rx("in"), Ring(name: "cut", capacity: 3, by: InnerFlow), ChecksumValidate(on_bad: Mark, on_zero6: Pass), Gro(hold: "20us"), Tx("out")"#,
        [2, 4],
        (2 + 4, 8),
    ),
    layout(
        "an owner",
        "Count(3)",
        r#"Rx("in"), ChecksumValidate(on_bad: Mark, on_zero6: Pass), Gro, Police, Track, Tx("out")"#,
        [3, 3],
        (4, 3),
    ),
];

fn plan(layout: &Layout, frames: &[Frame], caps: Caps) -> (Plan, Collector) {
    let [rx, tx] = layout.queues;
    let text = format!(
        "Pipeline(name: \"p\", hash_seed: 11, cores: {}, ports: {{ \"in\": Emulated(queues: {rx}), \
         \"out\": Emulated(queues: {tx}) }}, chains: {{ \"main\": [{}] }})",
        layout.cores, layout.chain
    );
    let machine = Machine::from_ron("Machine(cores: 6)").expect("a machine");
    let parsed = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let plan = parsed.plan(&registry(), &machine);
    let plan = plan.unwrap_or_else(|failure| panic!("{}: {failure}", layout.name));
    let placement = plan.placement();
    let found = (placement.actors.len(), placement.rings.len());
    assert_eq!(found, layout.expected, "{}: actors and rings", layout.name);
    let received = EmulatedConfig {
        rx: Traffic::Frames { frames: frames.to_vec(), repeat: false },
        queues: rx,
        ..EmulatedConfig::new("in")
    };
    let collector = Collector::new();
    let sent = EmulatedConfig {
        caps,
        tx: Sink::Collect(collector.clone()),
        queues: tx,
        ..EmulatedConfig::new("out")
    };
    let open = |config| Box::new(Emulated::open(config).expect("a port"));
    (plan.with_port("in", open(received)).with_port("out", open(sent)), collector)
}

fn assert_clean(report: &Report, context: &str) {
    assert!(report.balanced == Some(true), "{context}: {:?}", report.unbalanced);
    assert!(report.errors.is_empty(), "{context}: {:?}", report.errors);
    assert_eq!(report.totals.dropped, 0, "{context}");
}

/// What tells flows apart: addresses, protocol, and ports as far as they are in the frame. Fragments show no ports
/// that count, atomic ones neither; they are flows of their own.
fn flow_of(frame: &[u8]) -> Vec<u8> {
    let mut at = 12;
    while frame.get(at..at + 2) == Some(&[0x81, 0x00]) {
        at += 4;
    }
    let ip = frame.get(at + 2..).unwrap_or_default();
    let v6 = ip.first().is_some_and(|first| first >> 4 == 6);
    let addresses = if v6 { ip.get(8..40) } else { ip.get(12..20) };
    let Some(addresses) = addresses else { return Vec::new() };
    let (mut next, mut l4) = if v6 { (ip[6], 40) } else { (ip[9], usize::from(ip[0] & 15) * 4) };
    let mut fragment = !v6 && (ip[6] & 0x3f, ip[7]) != (0, 0);
    while v6 && matches!(next, 0 | 44 | 60) {
        let Some(header) = ip.get(l4..l4 + 8) else { break };
        fragment |= next == 44;
        next = header[0];
        l4 += 8 + usize::from(header[1]) * 8;
    }
    let rest = ip.get(l4..).unwrap_or_default();
    let ports = if fragment { &[] } else { &rest[..rest.len().min(4)] };
    [addresses, &[next, u8::from(fragment)], ports].concat()
}

/// Frames by flow, each in its order.
fn flows(frames: &[Frame]) -> BTreeMap<Vec<u8>, Vec<(&[u8], u64)>> {
    let mut flows: BTreeMap<Vec<u8>, Vec<(&[u8], u64)>> = BTreeMap::new();
    for frame in frames {
        flows.entry(flow_of(&frame.data)).or_default().push((&frame.data, frame.time_ns));
    }
    flows
}

fn assert_same(found: &[Frame], expected: &[Frame], context: &str) {
    let (found, expected) = (flows(found), flows(expected));
    let names: BTreeSet<&Vec<u8>> = found.keys().chain(expected.keys()).collect();
    for flow in names {
        let of = |flows: &BTreeMap<Vec<u8>, Vec<(&[u8], u64)>>| {
            flows.get(flow).map(|frames| {
                frames.iter().map(|(data, time)| (data.to_vec(), *time)).collect::<Vec<_>>()
            })
        };
        assert_eq!(of(&found), of(&expected), "{context}: flow {flow:02x?}");
    }
}

/// Traffic of several flows, drawn from a seed.
fn traffic(seed: u64) -> Vec<Frame> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let drawn = stream(480).new_tree(&mut runner).expect("traffic").current();
    let frame = |frame: crate::rig::Frame| Frame {
        time_ns: frame.time,
        data: frame.bytes,
        orig_len: frame.orig_len,
    };
    drawn.frames().into_iter().map(frame).collect()
}

/// What the plan with one copy of everything sends.
fn expected(frames: &[Frame]) -> Vec<Frame> {
    let single = layout("one copy", "Auto", FUSED, [1, 1], (1, 0));
    let (plan, collector) = plan(&single, frames, Caps::MULTI_PART);
    let report = plan.simulate(1).expect("a run");
    assert_clean(&report, "one copy");
    collector.take()
}

fn seeds(default: u64) -> u64 {
    std::env::var("CORELANE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn any_number_of_copies_sends_what_one_sends_in_the_simulator() {
    for seed in 0..seeds(8) {
        let frames = traffic(seed);
        let expected = expected(&frames);
        for layout in &LAYOUTS {
            let caps = if seed.is_multiple_of(2) { Caps::MULTI_PART } else { Caps::all() };
            let (plan, collector) = plan(layout, &frames, caps);
            let faults = SimConfig { stall: 20, withhold: 20, ..SimConfig::new(seed) };
            let (report, outcome) = plan.simulate_with(&faults).expect("a run");
            let context = format!("{}, seed {seed}", layout.name);
            assert!(outcome.finished, "{context} is stuck: {outcome:?}");
            assert_clean(&report, &context);
            assert_same(&collector.take(), &expected, &context);
        }
    }
}

#[test]
fn any_number_of_copies_sends_what_one_sends_on_threads() {
    for seed in 0..seeds(4).min(64) {
        let frames = traffic(1000 + seed);
        let expected = expected(&frames);
        for layout in &LAYOUTS {
            let (plan, collector) = plan(layout, &frames, Caps::MULTI_PART);
            let report = plan.start().expect("a start").wait();
            let context = format!("{}, seed {seed}, threads", layout.name);
            assert_clean(&report, &context);
            assert_same(&collector.take(), &expected, &context);
        }
    }
}

/// If one copy did all the work, nothing above would have been tried.
#[test]
fn every_copy_has_its_share_and_the_owner_has_all() {
    let frames: Vec<Frame> = (0..32).flat_map(traffic).collect();
    for layout in &LAYOUTS {
        let (plan, _) = plan(layout, &frames, Caps::MULTI_PART);
        let placement = plan.placement();
        let report = plan.simulate(3).expect("a run");
        assert_clean(&report, layout.name);
        for (placed, actor) in placement.actors.iter().zip(&report.actors) {
            assert_eq!(placed.name, actor.name);
            let first = actor.stages.first().expect("a stage");
            let came = first.packets_in.max(first.packets_out);
            assert!(came > 0, "{}: {} has nothing to do", layout.name, actor.name);
        }
        let came = report.stages.first().expect("a stage").packets_out;
        assert_eq!(came, frames.len() as u64, "{}", layout.name);
        for stage in report.stages.iter().filter(|stage| stage.kind == "Police") {
            let actors = report.actors.iter();
            let owners = actors.filter(|actor| actor.stages.iter().any(|one| one.id == stage.id));
            assert_eq!(owners.count(), 1);
            assert_eq!(stage.counters.get("highest"), Some(&stage.packets_in));
        }
    }
}
