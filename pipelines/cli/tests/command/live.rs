//! `corelane run --stats`: figures while it runs.

use crate::support::{Begun, Bench, LANE, input};
use corelane_runtime::testing::skip;
use serde_json::Value;
use std::time::Duration;

fn bench() -> (Bench, String) {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    (bench, input("tcp-bulk-v4.pcap"))
}

#[test]
fn figures_come_on_stderr_a_line_each() {
    let (bench, input) = bench();
    let args = ["lane.ron", "--set", &input, "--set", "loop=true", "--stats", "100ms"];
    let mut run = Begun::start(&bench, &args);
    run.until("pps");
    run.until("pps");
    run.signal("INT");
    let (ended, _) = run.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("pps")).collect();
    assert!(lines.len() >= 2, "{}", ended.stderr);
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        // `0s in rx 1.21 Mpps 13.9 Gb/s out tx 1.2 Mpps 13.8 Gb/s drops 0/s`
        assert_eq!((words[1], words[2]), ("in", "rx"), "{line}");
        assert!(words[3].parse::<f64>().is_ok_and(|rate| rate > 0.0), "{line}");
        assert!(words[4].ends_with("pps") && words[6].ends_with("b/s"), "{line}");
        assert!(line.contains("   drops 0/s   busy ") && line.ends_with(" %"), "{line}");
        assert!(!line.contains('\x1b'), "{line}");
    }
    assert!(ended.stdout.starts_with("lane  plan "), "the report comes as ever");
}

#[test]
fn programs_get_a_report_a_line_and_the_last_is_final() {
    let (bench, input) = bench();
    let args = ["run", "lane.ron", "--set", &input, "--set", "loop=true", "--stats", "50ms"];
    let more = ["--duration", "400ms", "--format", "json"];
    let ended = bench.run(&[&args[..], &more].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let reports: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(reports.len() >= 3, "{}", reports.len());
    let received = |report: &Value| report["ports"]["in"]["rx_packets"].as_u64().expect("a count");
    assert!(reports.windows(2).all(|pair| received(&pair[0]) <= received(&pair[1])));
    let (last, before) = reports.split_last().expect("some");
    assert!(received(&before[0]) > 0 && received(&before[0]) < received(last));
    assert_eq!(last["balanced"], true, "{}", last["unbalanced"]);
    assert_eq!(last["ports"]["out"]["tx_packets"], last["ports"]["in"]["rx_packets"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    let ended = bench.run(&[&args[..], &more, &["--out", "r.json"]].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    let written = std::fs::read_to_string(bench.path("r.json")).expect("reports");
    assert!(written.lines().count() >= 3);
    assert!(written.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[test]
fn a_long_run_is_never_silent_for_ten_seconds() {
    let (bench, input) = bench();
    let mut run = Begun::start(&bench, &["lane.ron", "--set", &input, "--set", "loop=true"]);
    let begun = std::time::Instant::now();
    run.until("drops 0/s");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    run.signal("TERM");
    assert_eq!(run.end().0.code, Some(0));
}

/// What the command writes to a terminal, by `script`; `None`, and a skip, where that is not there.
fn on_terminal(bench: &Bench, args: &str, variables: &str) -> Option<String> {
    let line = format!("{variables} {} {args}", env!("CARGO_BIN_EXE_corelane"));
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    command.current_dir(bench.path(".")).env("TERM", "xterm").env_remove("NO_COLOR");
    let Ok(output) = command.stdin(std::process::Stdio::null()).output() else {
        skip("on_a_terminal", "there is no `script`");
        return None;
    };
    assert!(output.status.success(), "{args}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn on_a_terminal_figures_replace_each_other_and_the_report_has_colours() {
    let (bench, input) = bench();
    let args = format!("run lane.ron --set {input} --set loop=true --stats 50ms --duration 300ms");
    let Some(shown) = on_terminal(&bench, &args, "") else { return };
    // Back to the start of the line, all of it gone, and no wrapping.
    let lives = shown.matches("\r\x1b[K\x1b[?7l").count();
    assert!(lives >= 3, "{shown:?}");
    assert!(!shown.contains("pps\r\n") && !shown.contains("%\x1b[?7h\r\n"), "{shown:?}");
    assert!(
        shown.contains("\r\x1b[K\x1b[1mPORTS") || shown.contains("\r\x1b[Klane  plan "),
        "{shown:?}"
    );
    assert!(shown.contains("\x1b[32mBALANCED\x1b[0m rx "), "{shown:?}");
    let plain = on_terminal(&bench, &args, "NO_COLOR=1").expect("a terminal");
    assert!(plain.contains("\nBALANCED rx ") && !plain.contains("\x1b[32m"), "{plain:?}");
}

#[test]
fn on_a_terminal_problems_have_colours() {
    let bench = Bench::new();
    bench.file("more.ron", LANE.replace("ports: {", "ports: { \"idle\": Emulated(),"));
    let Some(shown) = on_terminal(&bench, "check more.ron --set in=x", "") else { return };
    let head = "\x1b[1;33mwarning[unused-port]\x1b[0m\x1b[1m: port `idle`";
    assert!(shown.contains(head), "{shown:?}");
    let plain = on_terminal(&bench, "check more.ron --set in=x", "NO_COLOR=1").expect("a terminal");
    assert!(!plain.contains('\x1b'), "{plain:?}");
}
