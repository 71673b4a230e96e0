//! Flags that mean the same in every command: which description, which ports, which machine.

use crate::support::{Bench, COPY, LANE, capture, input};
use std::io::Write;
use std::process::Stdio;

#[test]
fn a_port_can_be_replaced_for_a_check_and_for_a_run() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let file = format!("in=Pcap(\"{}\")", capture("tcp-bulk-v4.pcap"));
    let args = ["copy.ron", "--set", "in=no.pcap", "--port", &file, "--port", "out=Emulated()"];
    let ended = bench.run(&[&["check"], &args[..]].concat());
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let (report, ended) = bench.report(&args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(report["ports"]["out"]["kind"], "Emulated");
    assert_eq!(report["ports"]["out"]["tx_packets"], 402);
    for command in ["check", "run"] {
        let ended = bench.run(&[command, "copy.ron", "--set", "in=x", "--port", "uot=Emulated()"]);
        let said = ended.stdout + &ended.stderr;
        assert_eq!(ended.code, Some(2), "{said}");
        assert!(said.contains("uot") && said.contains("did you mean `out`?"), "{said}");
    }
}

/// As the comment of the preset says.
#[test]
fn a_preset_runs_on_captures_when_told_to() {
    let bench = Bench::new();
    bench.file("x.pcap", std::fs::read(capture("tcp-bulk-v4.pcap")).expect("a capture"));
    let port = "a=Pcap(read: \"x.pcap\", write: \"y.pcap\")";
    let (report, ended) = bench.report(&["preset:bump", "--port", port, "--set", "count=100"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(report["ports"]["b"]["tx_wire_packets"], 402);
    assert_eq!(report["ports"]["a"]["tx_wire_packets"], 100);
    assert!(bench.path("y.pcap").exists());
}

#[test]
fn a_description_may_be_a_preset_or_come_by_stdin() {
    let bench = Bench::new();
    let ended = bench.run(&["check", "preset:bump"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.starts_with("preset:bump: no problems; 2 chains, 2 ports, "),
        "{}",
        ended.stdout
    );
    for args in [["check", "preset:bmup"], ["new", "bmup"]] {
        let ended = bench.run(&args);
        let expected = "error: preset:bmup: there is no such preset; did you mean `bump`?\n";
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), expected));
    }
    let mut command = bench.command(&["check", "-", "--set", "in=x.pcap"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("piped").write_all(COPY.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "-: no problems; 1 chain, 2 ports, 1 actor\n"
    );
}

#[test]
fn a_run_is_on_this_machine_whatever_is_planned_for() {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    bench.file("m.ron", "Machine(packages: 2, cores: 16, threads: 2)");
    let input = input("tcp-bulk-v4.pcap");
    let args = ["lane.ron", "--set", &input, "--topology", "m.ron"];
    let ended = bench.run(&[&["run"], &args[..]].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.starts_with("error: --topology: only plans are made"), "{}", ended.stderr);
    let check = |more: &[&str]| bench.run(&[&["check"], &args[..], more].concat());
    assert_eq!(check(&["--cores", "40"]).code, Some(0));
    assert_eq!(check(&["--cpus", "50-60"]).code, Some(0));
    let ended = check(&["--cpus", "63-64"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(ended.stdout.contains("the machine of m.ron has no CPU 64"), "{}", ended.stdout);
    let ended = check(&["--cores", "65"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    bench.file("m.ron", "Machine(cores: 0)");
    let ended = check(&[]);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(ended.stdout.starts_with("error[no-plan]: m.ron: "), "{}", ended.stdout);
}

#[test]
fn a_result_never_replaces_a_file_that_was_given() {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    bench.file("m.ron", "Machine(cores: 4)");
    let args = ["check", "lane.ron", "--set", "in=x", "--topology", "m.ron", "--out", "m.ron"];
    let ended = bench.run(&args);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(ended.stderr.contains("m.ron: is the file of --topology"), "{}", ended.stderr);
    assert_eq!(std::fs::read(bench.path("m.ron")).expect("a file"), b"Machine(cores: 4)");
}

#[test]
fn every_command_has_help_and_refuses_what_it_does_not_know() {
    let bench = Bench::new();
    for command in ["check", "explain", "caps", "stages", "new", "doctor", "run", "scale"] {
        let help = bench.run(&[command, "--help"]);
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""), "{command}");
        assert!(
            help.stdout.contains("Usage: corelane") && help.stdout.contains("--out"),
            "{command}"
        );
        let ended = bench.run(&[command, "--no-such-flag"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{command}");
        assert!(ended.stderr.starts_with("error: "), "{command}: {}", ended.stderr);
    }
    for (flag, value) in
        [("--stats", "1ms"), ("--stats", "5"), ("--set", "x"), ("--port", "=y"), ("--cpus", "3-1")]
    {
        let ended = bench.run(&["run", "x.ron", flag, value]);
        assert_eq!(ended.code, Some(2), "{flag} {value}");
        assert!(ended.stderr.contains(flag), "{flag}: {}", ended.stderr);
    }
}
