//! What the first signal does, and the second, and a drain that takes too long.

use crate::support::{Begun, Bench, LANE, input};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

const ENDLESS: [&str; 2] = ["--set", "loop=true"];
const JSON: [&str; 2] = ["--format", "json"];
/// An output that takes nothing for an hour.
const STALLED: [&str; 2] = ["--set", "stall=[(\"0s\", \"60min\")]"];

fn bench() -> (Bench, String) {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    (bench, input("tcp-bulk-v4.pcap"))
}

fn drains(signal: &str) {
    let (bench, input) = bench();
    let run = Begun::start(&bench, &[&["lane.ron", "--set", &input], &ENDLESS[..], &JSON].concat());
    std::thread::sleep(Duration::from_millis(300));
    run.signal(signal);
    let (ended, took) = run.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(took < Duration::from_secs(1), "{took:?}");
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
    let received = report["ports"]["in"]["rx_packets"].as_u64().expect("a count");
    // More than the capture has: it went round.
    assert!(received > 402, "{received}");
    assert_eq!(report["ports"]["out"]["tx_packets"], received, "all that came in went out");
    for stage in report["stages"].as_array().expect("stages") {
        assert_eq!(stage["held"], 0, "{}", stage["id"]);
    }
    assert_eq!(report["totals"]["dropped"], 0);
    assert_eq!(report["totals"]["implicit_drops"], 0);
}

#[test]
fn the_first_interrupt_drains_an_endless_run() {
    drains("INT");
}

#[test]
fn so_does_a_request_to_terminate() {
    drains("TERM");
}

#[test]
fn the_second_stops_at_once_and_says_what_was_lost() {
    let (bench, input) = bench();
    let args = [&["lane.ron", "--set", &input], &ENDLESS[..], &STALLED, &JSON].concat();
    let mut run = Begun::start(&bench, &args);
    std::thread::sleep(Duration::from_millis(100));
    run.signal("INT");
    run.until("draining");
    std::thread::sleep(Duration::from_millis(100));
    run.signal("INT");
    let (ended, took) = run.end();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(ended.stderr.contains("stopping at once"), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(report["stopped"], true);
    assert_eq!(report["ports"]["out"]["tx_packets"], 0);
    // Lost by force, yet accounted for to the last buffer.
    assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
    let lost = report["totals"]["stopped"].as_u64().expect("a count");
    assert!(lost > 0);
    assert_eq!(report["totals"]["implicit_drops"], lost);
}

#[test]
fn a_drain_that_takes_too_long_is_ended_by_force() {
    let (bench, input) = bench();
    let times = ["--duration", "100ms", "--drain-timeout", "200ms"];
    let args = [&["lane.ron", "--set", &input], &ENDLESS[..], &STALLED, &times].concat();
    let (report, ended) = bench.report(&args);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("draining took too long"), "{}", ended.stderr);
    assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
}

#[test]
fn two_signals_in_quick_succession_are_two() {
    let (bench, input) = bench();
    let args = [&["lane.ron", "--set", &input], &ENDLESS[..], &STALLED, &JSON].concat();
    let run = Begun::start(&bench, &args);
    run.signals(&["TERM", "INT"]);
    let (ended, took) = run.end();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(ended.stderr.contains("stopping at once"), "{}", ended.stderr);
}

#[test]
fn a_simulation_has_a_duration_and_a_drain_timeout_too() {
    let (bench, input) = bench();
    let args = ["lane.ron", "--set", &input, "--set", "loop=true", "--simulate", "7"];
    let (report, ended) = bench.report(&[&args[..], &["--duration", "2ms"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
    assert!(report["duration_s"].as_f64().expect("seconds") >= 0.002);
    assert_eq!(report["ports"]["in"]["rx_packets"], report["ports"]["out"]["tx_packets"]);
    let times = ["--duration", "2ms", "--drain-timeout", "1ms"];
    let (report, ended) = bench.report(&[&args[..], &STALLED, &times].concat());
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert_eq!((&report["balanced"], &report["stopped"]), (&true.into(), &true.into()));
}

#[test]
fn a_signal_drains_a_simulation() {
    let (bench, input) = bench();
    let args = ["run", "lane.ron", "--set", &input, "--set", "loop=true", "--format", "json"];
    let args = [&args[..], &["--simulate", "7", "--duration", "1000000s"]].concat();
    let mut command = bench.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(500));
    crate::support::send(&child, &["INT"]);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
    assert!(report["duration_s"].as_f64().expect("seconds") < 1000.0);
}

#[test]
fn a_duration_drains_an_endless_run() {
    let (bench, input) = bench();
    let args = ["lane.ron", "--set", &input, "--set", "loop=true", "--duration", "200ms"];
    let (report, ended) = bench.report(&args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
    assert!(report["duration_s"].as_f64().expect("seconds") >= 0.2);
    assert_eq!(report["ports"]["in"]["rx_packets"], report["ports"]["out"]["tx_packets"]);
}

#[test]
fn an_output_that_stalls_for_a_while_loses_nothing() {
    let (bench, input) = bench();
    let stall = "stall=[(\"0s\", \"200ms\"), (\"210ms\", \"300ms\")]";
    let (report, ended) = bench.report(&["lane.ron", "--set", &input, "--set", stall]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
    assert_eq!(report["ports"]["out"]["tx_packets"], 402);
    assert!(report["duration_s"].as_f64().expect("seconds") >= 0.2);
}
