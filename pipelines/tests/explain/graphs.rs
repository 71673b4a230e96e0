//! Graphs of whole plans are graphs, and no other two plans differ in nothing.

use crate::snapshots::PIPELINES;
use crate::{explain, profile};
use corelane::explain::Style;

#[test]
fn every_stage_is_drawn_and_every_way_a_packet_may_go() {
    for (_, text) in PIPELINES {
        let explanation = explain(text, "mlx5-like");
        let graph = explanation.to_dot();
        for stage in explanation.stages().filter(|stage| stage.kind != "Ring") {
            for actor in &stage.actors {
                let node = format!("    \"{actor}/{}\" [", stage.id);
                assert_eq!(graph.matches(&node).count(), 1, "{node} in\n{graph}");
                let edges = graph.matches(&format!("  \"{actor}/{}\" -> ", stage.id)).count();
                assert_eq!(edges, stage.outputs.len(), "{} in\n{graph}", stage.id);
            }
        }
    }
}

#[test]
fn plans_that_say_the_same_differ_in_nothing_and_others_in_something() {
    for (_, text) in PIPELINES {
        let all: Vec<_> = profile::names().iter().map(|name| explain(text, name)).collect();
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
            let diff = one.diff(other);
            assert_eq!(diff.is_empty(), told(one) == told(other), "{diff:?}");
            assert_eq!(diff.is_empty(), other.diff(one).is_empty());
            for change in &diff.changes {
                assert!(change.before.iter().all(|line| !change.after.contains(line)));
            }
        }
    }
}

/// What the table says below the ports and above the pools.
fn told(explanation: &corelane::explain::Explanation) -> String {
    let table = explanation.table(Style { width: 400, ..Style::default() });
    let stages = table.lines().skip_while(|line| !line.ends_with("  why")).skip(1);
    let lines = stages.take_while(|line| !line.starts_with("POOLS"));
    lines.filter(|line| !line.starts_with("BYTES")).collect::<Vec<_>>().join("\n")
}
