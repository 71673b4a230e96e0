//! `scale` as a command: what it prints, what it refuses, and how it ends where a step is noisy.

use crate::support::{Bench, COPY, input};
use corelane_runtime::testing::skip;
use serde_json::Value;
use std::process::{Child, Command, Stdio};

/// As short as it can be.
const SHORT: [&str; 6] = ["--measure", "20ms", "--warm-up", "5ms", "--rounds", "2"];

fn scale<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["scale", "preset:scale_encap"], args, &SHORT[..]].concat()
}

#[test]
fn a_table_for_people_and_an_object_for_programs() {
    let bench = Bench::new();
    let ended = bench.run(&scale(&["--cores", "1", "--set", "size=594"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.starts_with("corelane: scale_encap, 1 step in 2 rounds"),
        "{}",
        ended.stderr
    );
    let lines: Vec<&str> = ended.stdout.lines().collect();
    // Given with --set it is not swept, and is said all the same.
    assert!(lines[0].starts_with("scale_encap   machine ") && lines[1] == "size=594", "{lines:?}");
    assert!(lines[2].starts_with("cores ") && lines[2].ends_with("limit"), "{lines:?}");
    assert!(lines[3].starts_with("1  ") && lines[3].contains("100 %"), "{lines:?}");
    let made = lines[4].contains("generator ") && lines[4].contains("| Encap ");
    assert!(made && lines[4].ends_with("(1 core)"), "{lines:?}");

    let json = ["--cores", "1", "--format", "json", "--out", "scale.json"];
    let ended = bench.run(&scale(&json));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
    let text = std::fs::read_to_string(bench.path("scale.json")).expect("a file");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["settings"]["rounds"], 2);
    assert_eq!(report["points"].as_array().map(Vec::len), Some(2), "a mix and small frames");
    let figures = &report["points"][0]["steps"][0]["figures"];
    let parts = figures["parts"].as_array().expect("parts");
    let sum: u64 = parts.iter().filter_map(|part| part["ns"].as_u64()).sum();
    assert_eq!(figures["total_ns"].as_u64(), Some(sum));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let input = input("tcp-bulk-v4.pcap");
    for (args, part) in [
        (&["preset:scale_encap", "--cores", "0"][..], "--cores"),
        (&["preset:scale_encap", "--cores", "1,,2"], "--cores"),
        (&["preset:scale_encap", "--measure", "1ms"], "at least 10ms are needed"),
        (&["preset:scale_encap", "--rounds", "0"], "--rounds"),
        (&["preset:scale_encap", "--set", "sise=64"], "did you mean `size`?"),
        (&["copy.ron", "--set", &input, "--cores", "1"], "the input ended before the window did"),
    ] {
        let ended = bench.run(&[&["scale"], args].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ended.stderr.contains(part), "{args:?}: {}", ended.stderr);
    }
}

/// Something that keeps a CPU busy until it is dropped.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first CPU that this process may use.
fn first_cpu() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().split(['-', ',']).next()?.to_owned())
}

#[test]
fn other_load_on_the_core_is_noise_and_strict_is_not_content_with_it() {
    let Some(cpu) = first_cpu() else {
        return skip("command::scales::noise", "the system does not say which CPUs may be used");
    };
    let mut busy = Command::new("taskset");
    busy.args(["-c", &cpu, "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
    let Ok(_busy) = busy.spawn().map(Busy) else {
        return skip("command::scales::noise", "there is no taskset");
    };
    let bench = Bench::new();
    let longer = ["--cores", "1", "--cpus", &cpu, "--set", "size=64", "--measure", "200ms"];
    let args = [&["scale", "preset:scale_encap", "--rounds", "2"], &longer[..]].concat();
    let ended = bench.run(&args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let row = ended.stdout.lines().find(|line| line.starts_with("1 ")).unwrap_or_default();
    assert!(row.contains("noisy: ") && row.contains("waited for a CPU"), "{}", ended.stdout);
    let ended = bench.run(&[&args[..], &["--strict"]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    assert!(ended.stderr.contains("--strict: a step is noisy"), "{}", ended.stderr);
    assert!(ended.stdout.contains("noisy: "), "it is shown all the same: {}", ended.stdout);
}
