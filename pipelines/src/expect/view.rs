//! The report as expectations see it: a tree of names with numbers at its ends.
//!
//! Stages are found by their identity, and by their name where it is the only one; `drops` sums the packets
//! dropped for a reason over stages and ports. A name may have dots in it: whatever way of splitting a path
//! leads to something is right.

use crate::place::Plan;
use crate::report::{self, Facts, Mode, Report};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// What can be expected of: everything else in a report is words, or differs from run to run.
const ROOTS: [&str; 6] = ["balanced", "duration_s", "totals", "ports", "stages", "rings"];
/// Reasons for which the engine itself drops packets of any stage.
pub(super) const ENGINE: [&str; 3] = ["stage_panicked", "no_room", "stopped"];

/// The tree of a report.
pub(crate) fn of_report(report: &Report) -> Value {
    // A report is plain data: it can always be a value.
    of_value(serde_json::to_value(report).unwrap_or_default())
}

fn of_value(mut report: Value) -> Value {
    for list in ["stages", "rings"] {
        let named = by_name(report[list].take());
        report[list] = named;
    }
    let drops = drops(&report);
    let mut tree: Map<String, Value> =
        ROOTS.iter().map(|root| ((*root).to_owned(), report[*root].take())).collect();
    tree.insert("drops".to_owned(), drops);
    Value::Object(tree)
}

/// The tree of a report of this plan with nothing counted yet, and with everything that can be.
pub(crate) fn of_plan(plan: &Plan) -> Value {
    let mode = Mode::Threads { stopped: false };
    let blank = report::make(&Facts::of(plan), &[], mode, Duration::ZERO);
    let mut report = serde_json::to_value(&blank).unwrap_or_default();
    for stage in report["stages"].as_array_mut().into_iter().flatten() {
        for reason in ENGINE {
            stage["drops"][reason] = 0.into();
        }
    }
    for port in &plan.ports {
        for reason in port.config.drop_reasons() {
            report["ports"][&port.name]["drops"][reason] = 0.into();
        }
    }
    let ring = |name: &str| {
        json!({ "name": name, "capacity": 0, "packets": 0, "segments": 0, "bytes": 0, "full": 0,
                "stash_high": 0, "dropped": 0, "stopped": 0 })
    };
    report["rings"] = plan.rings.iter().map(|known| ring(&known.name)).collect();
    of_value(report)
}

/// The value at a path.
pub(crate) fn find<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let entries = value.as_object()?;
    if let Some(found) = entries.get(path) {
        return Some(found);
    }
    entries.iter().find_map(|(name, inner)| {
        let rest = path.strip_prefix(name.as_str())?.strip_prefix('.')?;
        find(inner, rest)
    })
}

/// Names that may follow.
pub(crate) fn children(value: &Value) -> Vec<String> {
    value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// Every path that ends in a value to compare.
pub(crate) fn leaves(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (name, inner) in value.as_object().into_iter().flatten() {
        match inner {
            Value::Object(_) => {
                found.extend(leaves(inner).into_iter().map(|rest| format!("{name}.{rest}")));
            }
            Value::Bool(_) | Value::Number(_) => found.push(name.clone()),
            _ => {}
        }
    }
    found
}

/// A list as a map by identity, and by name where that is the only one.
fn by_name(list: Value) -> Value {
    let Value::Array(list) = list else { return Value::Object(Map::new()) };
    let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let names: Vec<Option<String>> = list.iter().map(|value| text(value, "name")).collect();
    let mut map = Map::new();
    for (value, name) in list.iter().zip(&names) {
        let only = names.iter().filter(|other| *other == name).count() == 1;
        if let Some(name) = name.as_ref().filter(|_| only) {
            map.insert(name.clone(), value.clone());
        }
    }
    // An identity goes before a name that looks like one.
    for value in list {
        if let Some(id) = text(&value, "id") {
            map.insert(id, value);
        }
    }
    Value::Object(map)
}

/// Packets by reason, over stages and ports.
fn drops(report: &Value) -> Value {
    let mut sums: Map<String, Value> = Map::new();
    let stages = report["stages"].as_object();
    let ports = report["ports"].as_object();
    // A stage may stand in the map twice, under its identity and its name.
    let stages = stages.into_iter().flatten().filter(|(key, stage)| stage["id"] == key.as_str());
    let all = stages.chain(ports.into_iter().flatten());
    for (reason, packets) in
        all.flat_map(|(_, part)| part["drops"].as_object().into_iter().flatten())
    {
        let sum = sums.get(reason).and_then(Value::as_u64).unwrap_or(0);
        sums.insert(reason.clone(), (sum + packets.as_u64().unwrap_or(0)).into());
    }
    Value::Object(sums)
}
