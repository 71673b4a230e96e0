//! `corelane doctor`: that it prints what is found; what is found is tried where it is looked for.

use crate::support::Bench;
use corelane_runtime::testing::skip;
use serde_json::Value;

#[test]
fn each_finding_has_a_line_and_a_cure_where_something_is_amiss() {
    let bench = Bench::new();
    let (table, found) = (bench.run(&["doctor"]), bench.run(&["doctor", "--format", "json"]));
    assert_eq!((table.code, table.stderr.as_str()), (Some(0), ""));
    let found: Value = serde_json::from_str(&found.stdout).expect("JSON");
    assert_eq!((&found["schema"], &found["ready"]), (&1.into(), &true.into()));
    let findings = found["findings"].as_array().expect("findings");
    assert!(findings.len() >= 19, "{}", findings.len());
    for finding in findings {
        let text = |key: &str| finding[key].as_str().unwrap_or_default();
        let (state, what) = (text("state"), text("what"));
        let is_its = |line: &&str| line.starts_with(state) && line[9..].starts_with(what);
        let line = table.stdout.lines().find(is_its);
        // What changes from one look to the next is not compared.
        if !["memory", "virtual machine"].contains(&what) {
            assert!(line.is_some_and(|line| line.ends_with(text("found"))), "{finding}: {line:?}");
        }
        if let Some(cure) = finding["cure"].as_str() {
            assert!(table.stdout.contains(&format!("$ {cure}\n")), "{cure}\n{}", table.stdout);
        }
    }
    assert!(table.stdout.contains("\ncorelane can run here; "), "{}", table.stdout);
}

#[test]
fn cpus_are_those_the_process_may_use() {
    let bench = Bench::new();
    let mut command = std::process::Command::new("taskset");
    let limited = command.args(["-c", "0", env!("CARGO_BIN_EXE_corelane"), "doctor"]);
    let Ok(output) = limited.current_dir(bench.path(".")).output() else {
        return skip("cpus_are_those_the_process_may_use", "there is no `taskset`");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match output.status.success() {
        true => assert!(text.contains("ok       cpus             1 of "), "{text}"),
        false => skip("cpus_are_those_the_process_may_use", "CPU 0 is not for this process"),
    }
}
