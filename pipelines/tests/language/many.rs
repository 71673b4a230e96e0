//! Many mistakes in one stage: telling them takes time that grows as their number does.

use crate::support::problems;
use std::time::{Duration, Instant};

/// A file with so many of these rules.
fn file(n: u32, rule: &dyn Fn(u32) -> String) -> String {
    let rules: Vec<String> = (0..n).map(rule).collect();
    format!(
        "Pipeline(name: \"m\", ports: {{ \"in\": Emulated }}, chains: {{\n\
         \"main\": [Rx(\"in\"), Classify(rules: [{}], otherwise: \"rest\")], \"rest\": [Drop] }})",
        rules.join(",\n")
    )
}

/// How long it takes to find what is wrong with it, the best of a few; every rule is.
fn time(n: u32, rule: &dyn Fn(u32) -> String) -> Duration {
    let text = file(n, rule);
    let once = || {
        let started = Instant::now();
        let found = problems(&text);
        assert_eq!(found.errors(), n as usize);
        started.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

#[test]
fn eight_times_as_many_mistakes_take_some_eight_times_as_long() {
    let kinds: [(&str, &dyn Fn(u32) -> String); 4] = [
        ("keys", &|_| "(dsst: \"10.0.0.1\", to: \"rest\")".to_owned()),
        ("values", &|i| format!("(udp_dst: {}, to: \"rest\")", 70_000 + i)),
        ("chains", &|i| format!("(udp_dst: {}, to: \"c{i}\")", i % 65_536)),
        ("ports", &|i| format!("(dst: Own(\"p{i}\"), to: \"rest\")")),
    ];
    for (what, rule) in kinds {
        let (few, many) = (time(1_000, rule), time(8_000, rule));
        // Sixty-four times, where each is looked for from the start.
        assert!(many < few * 28, "{what}: {few:?}, {many:?}");
    }
}
