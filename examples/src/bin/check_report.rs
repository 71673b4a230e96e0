//! `check_report REPORT.json`: whether the report of a run of the preset `demo` shows what the demo must show.
//!
//! Prints every fact with what was found. Exit 0 where all hold, 1 where one does not, 2 where the
//! file is no JSON report.

use std::process::ExitCode;

use corelane_examples::report::demo_facts;
use serde_json::Value;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: check_report REPORT.json");
        return ExitCode::from(2);
    };
    let read = std::fs::read(&path).map_err(|error| error.to_string());
    let report = read
        .and_then(|text| serde_json::from_slice::<Value>(&text).map_err(|error| error.to_string()));
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            eprintln!("check_report: {}: {error}", path.to_string_lossy());
            return ExitCode::from(2);
        }
    };
    let facts = demo_facts(&report);
    for fact in &facts {
        println!("  {}  {}: {}", if fact.holds { "ok  " } else { "FAIL" }, fact.claim, fact.found);
    }
    if facts.iter().all(|fact| fact.holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
