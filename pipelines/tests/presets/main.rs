//! The presets keep their word: each loads without a warning, is planned, and runs, balanced, in the simulator
//! and on threads. What they are about happens: segments are joined and cut, flows are spread, bad packets found.

mod order;

use corelane::{Machine, Overrides, Pipeline, Plan, Report, presets};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Packets that each generated port brings in here.
const COUNT: u64 = 3000;
/// Payload bytes of the demo that nobody sums: what the two ARP packets are to the tunnel that carried them.
const UNSUMMED: u64 = 100;

/// A preset's plan with what it needs, on a machine of four cores.
fn plan(name: &str, folder: &TempDir, machine: &Machine) -> Plan {
    plan_of(name, presets::find(name).expect("a preset").text, folder, machine)
}

fn plan_of(name: &str, text: &str, folder: &TempDir, machine: &Machine) -> Plan {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/captures");
    let capture = |name: &str| captures.join(name).display().to_string();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let sets: Vec<(&str, String)> = match name {
        "coalesce" => vec![("in", capture("tcp-bulk-v4.pcap")), ("out", file("out.pcap"))],
        "checksum_audit" => {
            vec![("file", capture("tcp-bulk-v4.pcap")), ("bad", file("bad.pcapng"))]
        }
        "demo" => vec![
            ("plain", capture("tcp-bulk-v4.pcap")),
            ("tunnel", capture("vxlan-bulk-v4.pcap")),
            ("out", file("out.pcap")),
            ("rest", file("rest.pcap")),
        ],
        _ => vec![("count", COUNT.to_string())],
    };
    let sets = sets.into_iter().map(|(key, value)| (key.to_owned(), value));
    let pipeline = Pipeline::load(&format!("preset:{name}"), text, &Overrides::sets(sets));
    let pipeline = pipeline.unwrap_or_else(|problems| panic!("{problems}"));
    let plan = pipeline.plan(&corelane::standard(), machine);
    let plan = plan.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(plan.warnings().list.is_empty(), "{name}: {}", plan.warnings());
    assert_eq!(plan.name(), name);
    plan
}

fn four_cores() -> Machine {
    Machine::from_ron("Machine(cores: 4)").expect("a machine")
}

/// The sum of something over the stages of a kind.
fn sum(report: &Report, kind: &str, of: impl Fn(&corelane::report::StageReport) -> u64) -> u64 {
    report.stages.iter().filter(|stage| stage.kind == kind).map(of).sum()
}

fn sent(report: &Report, port: &str) -> u64 {
    report.ports.get(port).expect("a port").tx_wire_packets
}

/// What a preset is about.
fn keeps_its_word(name: &str, report: &Report) {
    assert!(report.balanced == Some(true), "{name}: {:?}", report.unbalanced);
    assert!(report.errors.is_empty(), "{name}: {:?}", report.errors);
    let joined = sum(report, "Gro", |stage| stage.absorbed);
    match name {
        "coalesce" => {
            assert_eq!((report.totals.rx_packets, sent(report, "out")), (402, 402));
            assert!(joined > 100, "{joined}");
        }
        "bump" => {
            assert_eq!((sent(report, "a"), sent(report, "b")), (COUNT, COUNT));
            assert!(joined > COUNT / 2, "{joined}");
            assert_eq!(report.totals.payload_bytes, report.totals.payload_bytes_summed);
        }
        "checksum_audit" => {
            let dropped =
                |label| sum(report, "Drop", |stage| stage.drops.get(label).copied().unwrap_or(0));
            assert_eq!((dropped("audited"), dropped("bad_checksum")), (402, 0));
        }
        "fan_out" => assert_eq!((sent(report, "out"), sent(report, "quarantine")), (COUNT, 0)),
        "scale_gro" | "split_cores" => {
            assert_eq!(sent(report, "out"), COUNT);
            assert!(joined > COUNT / 2, "{joined}");
        }
        "scale_encap" => {
            assert_eq!(sent(report, "out"), COUNT);
            let put = sum(report, "Encap", |stage| stage.packets_out);
            assert_eq!(put, COUNT);
        }
        "forward" => assert_eq!((sent(report, "a"), sent(report, "b")), (COUNT, COUNT)),
        "demo" => {
            assert_eq!((sent(report, "core"), sent(report, "aside")), (402 + 153, 2));
            assert!(joined > 200, "{joined}");
            let totals = &report.totals;
            assert_eq!(totals.payload_bytes - totals.payload_bytes_summed, UNSUMMED);
        }
        "vxlan_gateway" => {
            assert_eq!(sent(report, "lan"), COUNT);
            // Frames of 9000 bytes do not fit the tunnel and are cut into more.
            assert!(sent(report, "wan") > 6 * COUNT, "{}", sent(report, "wan"));
            assert!(joined > COUNT / 2, "{joined}");
        }
        "vtep" => assert_eq!(sent(report, "lan"), COUNT),
        "monitor" => {
            let copies = sent(report, "mon");
            assert_eq!(sent(report, "out"), COUNT);
            assert!(copies > 0 && copies < COUNT / 2, "{copies}");
        }
        other => panic!("{other}: say here what it is about"),
    }
}

#[test]
fn each_keeps_its_word_in_the_simulator() {
    for preset in presets::all() {
        let folder = tempfile::tempdir().expect("a folder");
        let report = plan(preset.name, &folder, &four_cores()).simulate(7);
        keeps_its_word(preset.name, &report.unwrap_or_else(|failure| panic!("{failure}")));
    }
}

#[test]
fn each_keeps_its_word_on_threads() {
    for preset in presets::all() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut handle = plan(preset.name, &folder, &Machine::here())
            .start()
            .unwrap_or_else(|failure| panic!("{failure}"));
        assert!(handle.wait_for(Duration::from_secs(60)), "{} does not end", preset.name);
        keeps_its_word(preset.name, &handle.wait());
    }
}

#[test]
fn each_passes_the_tests_it_carries() {
    let mut tested = Vec::new();
    for preset in presets::all() {
        let pipeline = Pipeline::parse(preset.text);
        let pipeline = pipeline.unwrap_or_else(|problems| panic!("{problems}"));
        if pipeline.tests().is_empty() {
            continue;
        }
        let outcomes = pipeline.run_tests(&corelane::standard());
        for outcome in outcomes.unwrap_or_else(|failure| panic!("{failure}")) {
            assert!(outcome.passed, "{}: {outcome}", preset.name);
        }
        tested.push(preset.name);
    }
    assert!(tested.contains(&"bump"), "{tested:?}");
}

#[test]
fn scaling_means_an_actor_on_each_core_with_flows_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["scale_gro", "scale_encap"] {
        let scaled = plan(name, &folder, &four_cores());
        assert_eq!(scaled.actors().count(), 4, "{:?}", scaled.actors().collect::<Vec<_>>());
        let report = scaled.simulate(7).unwrap_or_else(|failure| panic!("{failure}"));
        for actor in &report.actors {
            let received = actor.stages[0].packets_out;
            assert!(received > COUNT / 16, "{name}, {}: {received}", actor.name);
        }
    }
}
