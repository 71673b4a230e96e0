//! The presets keep their word: each loads without a warning, is planned, and runs, balanced, in the simulator
//! and on threads. What they are about happens: segments are joined and cut, flows are spread, bad packets found.

use corelane::{Machine, Overrides, Pipeline, Plan, Report, presets};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Packets that each generated port brings in here.
const COUNT: u64 = 3000;

/// A preset's plan with what it needs, on a machine of four cores.
fn plan(name: &str, folder: &TempDir, machine: &Machine) -> Plan {
    let capture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/captures/tcp-bulk-v4.pcap");
    let capture = capture.display().to_string();
    let out = folder.path().join("out.pcap").display().to_string();
    let sets: Vec<(&str, String)> = match name {
        "coalesce" => vec![("in", capture), ("out", out)],
        "checksum_audit" => vec![("file", capture)],
        _ => vec![("count", COUNT.to_string())],
    };
    let sets = sets.into_iter().map(|(key, value)| (key.to_owned(), value));
    let text = presets::find(name).expect("a preset").text;
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
        "scale_gro" => {
            assert_eq!(sent(report, "out"), COUNT);
            assert!(joined > COUNT / 2, "{joined}");
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
fn scaling_means_an_actor_on_each_core_with_flows_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let scaled = plan("scale_gro", &folder, &four_cores());
    assert_eq!(scaled.actors().count(), 4, "{:?}", scaled.actors().collect::<Vec<_>>());
    let report = scaled.simulate(7).unwrap_or_else(|failure| panic!("{failure}"));
    for actor in &report.actors {
        let received = actor.stages[0].packets_out;
        assert!(received > COUNT / 16, "{}: {received}", actor.name);
    }
}
