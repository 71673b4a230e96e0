//! What may be written, what it means, and what is said about the rest.

use super::{GroConfig, GroSpec, INFO};
use crate::config::{Bytes, Nanoseconds, parse};
use corelane_runtime::stage::{Args, StageSpec};

fn read(text: &str) -> GroConfig {
    parse(Args { text }).unwrap()
}

/// The keys that are complained about.
fn complaints(text: &str) -> Vec<String> {
    match GroSpec.configure(Args { text }) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().filter_map(|error| error.key).collect(),
    }
}

#[test]
fn defaults_and_units() {
    assert_eq!(read("()"), GroConfig::default());
    let config = read("(hold: \"50us\", flows: 128, max_size: \"512KiB\", compare_window: false)");
    assert_eq!(config.hold, Some(Nanoseconds(50_000)));
    assert_eq!((config.flows, config.max_size), (128, Bytes(512 << 10)));
    assert_eq!((config.bounds().segments, config.bounds().bytes), (1024, 512 << 10));
    assert!(!config.compare_window);
    assert_eq!(GroConfig::default().bounds().segments, 128);
}

#[test]
fn values_out_of_range_are_all_named() {
    let text = "(flows: 3, max_size: \"64B\", max_datagrams: 129, max_segments: 1, hold: \"0ns\")";
    assert_eq!(complaints(text), ["flows", "max_size", "max_datagrams", "max_segments", "hold"]);
    assert_eq!(complaints("(max_held: 10)"), ["max_held"]);
    assert_eq!(complaints("(flows: 32768)"), ["flows"]);
    assert_eq!(complaints("(max_size: \"513KiB\")"), ["max_size"]);
    assert!(complaints("(flows: 1, max_size: \"128B\", max_held: 2, max_segments: 2)").is_empty());
}

#[test]
fn unknown_keys_are_refused_and_known_ones_documented() {
    assert_eq!(complaints("(hold_us: 50)"), ["hold_us"]);
    let documented: Vec<&str> = INFO.keys.iter().map(|key| key.name).collect();
    let all = "(hold: \"1us\", flows: 2, max_size: \"1KiB\", max_segments: 2, max_datagrams: 2, \
               max_held: 2, compare_window: true)";
    assert!(complaints(all).is_empty());
    assert!(documented.iter().all(|key| all.contains(&format!("{key}:"))));
    assert_eq!(documented.len(), 7);
}

#[test]
fn only_a_timed_one_holds_and_multiplies() {
    let traits = |text| GroSpec.configure(Args { text }).unwrap().traits();
    let burst = traits("()");
    assert!(burst.coalesces && !burst.multiplies);
    assert_eq!(burst.holds, 0);
    let timed = traits("(hold: \"50us\", max_held: 200)");
    assert!(timed.coalesces && timed.multiplies);
    assert_eq!(timed.holds, 201);
}
