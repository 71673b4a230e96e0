//! The report of the main job: every key that programs rely on, and numbers that agree with each other.

use crate::support::{Bench, LANE, input};
use serde_json::Value;

fn demo() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/02_join_and_cut.ron");
    std::fs::read_to_string(path).expect("the demo")
}

fn run(name: &str) -> Value {
    let bench = Bench::new();
    bench.file("demo.ron", demo());
    let (report, ended) =
        bench.report(&["demo.ron", "--set", &input(name), "--set", "out=out.pcap"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    report
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn has(value: &Value, expected: &[&str]) {
    let found = keys(value);
    let missing: Vec<_> = expected.iter().filter(|key| !found.contains(key)).collect();
    assert!(missing.is_empty(), "{missing:?} of {found:?}");
}

#[test]
fn the_keys_that_programs_rely_on_are_there() {
    let report = run("tcp-bulk-v4.pcap");
    let top = ["schema", "pipeline", "plan", "balanced", "duration_s", "ports", "stages", "actors"];
    has(&report, &top);
    has(&report, &["rings", "homes", "totals", "errors"]);
    let port =
        ["rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "wire_packets", "drops", "queues"];
    has(&report["ports"]["in"], &port);
    has(&report["ports"]["out"], &port);
    let stage = ["id", "chain", "index", "kind", "name", "added", "packets_in", "packets_out"];
    let books = ["created", "absorbed", "held", "drops", "counters"];
    for found in report["stages"].as_array().expect("stages") {
        has(found, &stage);
        has(found, &books);
    }
    let totals = ["payload_bytes", "payload_bytes_summed", "copies", "implicit_drops"];
    has(&report["totals"], &totals);
    assert_eq!(report["schema"], 1);
    assert_eq!(report["plan"].as_str().map(str::len), Some(8));
    assert_eq!(report["duration_s"].as_f64().map(|seconds| seconds > 0.0), Some(true));
}

#[test]
fn the_numbers_of_the_main_job_agree() {
    for (name, frames) in [("tcp-bulk-v4.pcap", 402), ("tcp-bulk-v6.pcap", 370)] {
        let report = run(name);
        assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
        assert_eq!(report["ports"]["in"]["rx_packets"], frames);
        assert_eq!(report["ports"]["out"]["tx_packets"], frames);
        assert_eq!(report["ports"]["in"]["rx_bytes"], report["ports"]["out"]["tx_bytes"]);
        let stages = report["stages"].as_array().expect("stages");
        let ids: Vec<&str> = stages.iter().filter_map(|stage| stage["id"].as_str()).collect();
        // The ring has index 3 and is no stage.
        assert_eq!(ids, ["main.0", "main.1", "main.2", "main.4", "main.5", "main.6"]);
        let of = |kind: &str| stages.iter().find(|stage| stage["kind"] == kind).expect(kind);
        assert!(of("Gro")["absorbed"].as_u64() > Some(100));
        assert_eq!(of("Gro")["absorbed"], of("Gso")["created"]);
        assert_eq!(of("Gro")["segments_out"], frames, "joined packets are still so many frames");
        assert_eq!(of("ChecksumValidate")["counters"]["outer.tcp.good"], frames);
        let totals = &report["totals"];
        assert_eq!(totals["payload_bytes"], totals["payload_bytes_summed"]);
        assert_eq!(report["rings"][0]["packets"], of("Gro")["packets_out"]);
        assert_eq!(report["actors"].as_array().map(Vec::len), Some(2));
        assert_eq!(report["homes"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn a_simulation_repeats_itself_to_the_last_digit() {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    let input = input("tcp-bulk-v4.pcap");
    let run = |seed: &str| bench.report(&["lane.ron", "--set", &input, "--simulate", seed]).0;
    let first = run("7");
    assert_eq!(first, run("7"));
    assert_eq!(first["balanced"], true);
    assert_eq!(first["simulation"]["seed"], 7);
    assert_eq!(first["ports"]["out"]["tx_packets"], 402);
    assert_ne!(first["duration_s"], run("8")["duration_s"], "another seed is another run");
}

#[test]
fn a_report_can_go_to_a_file() {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    let input = input("tcp-bulk-v4.pcap");
    let args = ["run", "lane.ron", "--set", &input, "--format", "json", "--out", "r.json"];
    let ended = bench.run(&args);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(bench.path("r.json")).expect("the report");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON")["balanced"], true);
}

#[test]
fn the_file_decides_on_cpus_unless_told_otherwise() {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    let input = input("tcp-bulk-v4.pcap");
    let (report, ended) = bench.report(&["lane.ron", "--set", &input, "--cores", "1"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let actors = report["actors"].as_array().expect("actors");
    assert_eq!(actors[0]["cpu"], actors[1]["cpu"], "both share the one CPU");
    let cpu = actors[0]["cpu"].to_string();
    let (report, _) = bench.report(&["lane.ron", "--set", &input, "--cpus", &cpu]);
    assert_eq!(report["actors"][1]["cpu"].to_string(), cpu);
    bench.file(
        "pinned.ron",
        LANE.replace("chains:", &format!("cores: Pin({{\"cut\": {cpu}}}), chains:")),
    );
    let ended = bench.run(&["run", "pinned.ron", "--set", &input, "--cores", "1"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("the file pins its actors"), "{}", ended.stderr);
}

#[test]
fn the_table_shows_what_was_counted() {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    let ended = bench.run(&["run", "lane.ron", "--set", &input("tcp-bulk-v4.pcap")]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for start in [
        "lane  plan ",
        "PORTS ",
        "STAGES ",
        "  main.2  Gro ",
        "CORES ",
        "RING     cut: main -> cut, ",
        "PAYLOAD  400.0 kB carried, 400.0 kB summed in software: 1.00 reads a byte",
        "BALANCED rx 402 + created ",
    ] {
        let shown = ended.stdout.lines().any(|line| line.starts_with(start));
        assert!(shown, "{start:?} in\n{}", ended.stdout);
    }
}
