//! Whole pipelines with the everyday stages: mirrors that never hold anything up, captures with comments.

mod capture;
mod conformance;
mod mirror;

use corelane::{Machine, Overrides, Pipeline, Plan, Report, SimConfig};
use corelane_device::emulated::Frame;
use std::path::Path;

/// The plan of a description.
pub(crate) fn plan(text: &str, sets: &[(&str, &Path)]) -> Plan {
    let sets = sets.iter().map(|(key, path)| ((*key).to_owned(), path.display().to_string()));
    let pipeline = Pipeline::load("everyday.ron", text, &Overrides::sets(sets));
    let pipeline = pipeline.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let plan = pipeline.plan(&corelane::standard(), &Machine::here());
    plan.unwrap_or_else(|failure| panic!("{failure}\n{text}"))
}

/// Runs a plan in the simulator.
pub(crate) fn simulated(plan: Plan, seed: u64) -> Report {
    plan.simulate_with(&SimConfig::new(seed)).unwrap_or_else(|error| panic!("{error}")).0
}

pub(crate) fn frame(data: Vec<u8>) -> Frame {
    let orig_len = data.len() as u32;
    Frame { time_ns: 0, data, orig_len }
}

/// Asserts that the books balance and that nothing failed.
pub(crate) fn assert_clean(report: &Report) {
    assert_eq!(report.balanced, Some(true), "{:?}", report.unbalanced);
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

/// A counter of the stage with that id.
pub(crate) fn counter(report: &Report, id: &str, name: &str) -> u64 {
    let stage = report.stages.iter().find(|stage| stage.id == id);
    let stage = stage.unwrap_or_else(|| panic!("no stage {id}"));
    stage.counters.get(name).copied().unwrap_or_default()
}
