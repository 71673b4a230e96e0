//! Numbers of the report by the short names that tests use: `CHAIN.STAGE.COUNTER`.
//!
//! STAGE is the place in the chain, a name that the file gives, or a kind that stands there once; COUNTER what the
//! stage counts itself, or `packets_in` and its like, or `drops.REASON`. Paths of `--expect` work as well. All that
//! there is is known from the plan, so that a misspelt name is found before anything runs.

use crate::error::{instead, near};
use crate::expect::view;
use crate::place::{Plan, PlannedStage};
use crate::report::Report;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every name there is in a plan.
pub(crate) struct Names {
    /// Short name of a stage to the paths of those it may mean.
    stages: BTreeMap<String, Vec<String>>,
    blank: Value,
}

/// Drops that a test speaks of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drops {
    /// Where the report counts them.
    pub(crate) path: String,
    /// Why they were dropped.
    pub(crate) reason: String,
}

/// Most names that are offered at once.
const OFFERED_MAX: usize = 12;

impl Names {
    /// The names of a plan.
    pub(crate) fn of(plan: &Plan) -> Names {
        let mut stages: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for stage in &plan.stages {
            for short in shorts(stage, plan) {
                let known = stages.entry(short).or_default();
                if !known.contains(&stage.id) {
                    known.push(stage.id.clone());
                }
            }
        }
        // An identity goes before a name that looks like one.
        for stage in &plan.stages {
            stages.insert(stage.id.clone(), vec![stage.id.clone()]);
        }
        Names { stages, blank: view::of_plan(plan) }
    }

    /// The path of the report that a name means.
    ///
    /// # Errors
    /// Where it means none, or several: what is wrong, and what to write instead.
    pub(crate) fn find(&self, name: &str) -> Result<String, (String, Option<String>)> {
        if view::find(&self.blank, name).is_some_and(Value::is_number) {
            return Ok(name.to_owned());
        }
        // Names of chains and counters may have dots: whatever way of splitting leads to something is right.
        let splits = name.match_indices('.').map(|(at, _)| (&name[..at], &name[at + 1..]));
        let mut known_stage = None;
        for (stage, counter) in splits {
            let Some(ids) = self.stages.get(stage) else { continue };
            known_stage = Some((stage, ids, counter));
            let paths: Vec<String> = ids.iter().filter_map(|id| self.path(id, counter)).collect();
            match paths.as_slice() {
                [] => {}
                [path] => return Ok(path.clone()),
                _ => return Err(several(stage, ids, counter)),
            }
        }
        Err(match known_stage {
            Some((stage, ids, counter)) => self.no_counter(stage, ids, counter),
            None => self.no_stage(name),
        })
    }

    /// The path of what a stage counts.
    fn path(&self, id: &str, counter: &str) -> Option<String> {
        let of_stage = format!("stages.{id}.{counter}");
        let own = format!("stages.{id}.counters.{counter}");
        [own, of_stage]
            .into_iter()
            .find(|path| view::find(&self.blank, path).is_some_and(Value::is_number))
    }

    fn no_counter(&self, stage: &str, ids: &[String], counter: &str) -> (String, Option<String>) {
        let id = ids.first().map_or("", String::as_str);
        let tree = view::find(&self.blank, &format!("stages.{id}"));
        let leaves = tree.map(view::leaves).unwrap_or_default();
        let own = |leaf: &String| leaf.strip_prefix("counters.").unwrap_or(leaf).to_owned();
        let names: Vec<String> = leaves.iter().map(own).filter(|leaf| leaf != "index").collect();
        let help = match near(counter, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{stage}.{near}`?"),
            None => listed(&names),
        };
        (format!("`{stage}` counts no `{counter}`"), Some(help))
    }

    fn no_stage(&self, name: &str) -> (String, Option<String>) {
        let whole = self.stages.iter().flat_map(|(stage, ids)| {
            let tree = ids.first().and_then(|id| view::find(&self.blank, &format!("stages.{id}")));
            let leaves = tree.map(view::leaves).unwrap_or_default();
            leaves.into_iter().map(move |leaf| {
                format!("{stage}.{}", leaf.strip_prefix("counters.").unwrap_or(&leaf))
            })
        });
        let whole: Vec<String> = whole.chain(view::leaves(&self.blank)).collect();
        let help = match near(name, whole.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let stages: Vec<String> = self.stages.keys().cloned().collect();
                format!("write CHAIN.STAGE.COUNTER; {}", listed(&stages))
            }
        };
        (format!("nothing is counted as `{name}`"), Some(help))
    }

    /// What drops of this name are: a reason, of all stages and ports, or `CHAIN.STAGE.REASON`.
    ///
    /// # Errors
    /// As for [`Names::find`].
    pub(crate) fn drop(&self, name: &str) -> Result<Drops, (String, Option<String>)> {
        let reasons = view::children(&self.blank["drops"]);
        if reasons.iter().any(|reason| reason == name) {
            return Ok(Drops { path: format!("drops.{name}"), reason: name.to_owned() });
        }
        if let Some((stage, reason)) = name.rsplit_once('.')
            && let Ok(path) = self.find(&format!("{stage}.drops.{reason}"))
        {
            return Ok(Drops { path, reason: reason.to_owned() });
        }
        let help = instead(name, reasons.iter().map(String::as_str));
        Err((format!("nothing is dropped as `{name}`"), help))
    }
}

fn several(stage: &str, ids: &[String], counter: &str) -> (String, Option<String>) {
    let forms: Vec<String> = ids.iter().map(|id| format!("`{id}.{counter}`")).collect();
    let message = format!("`{stage}` is {} stages", ids.len());
    (message, Some(format!("write {}", forms.join(" or "))))
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(OFFERED_MAX).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > OFFERED_MAX { ", .." } else { "" };
    format!("there are {}{more}", shown.join(", "))
}

/// The ways to name a stage beside its identity: by its name and by its kind, where a stage of the file goes before
/// one that was added.
fn shorts(stage: &PlannedStage, plan: &Plan) -> Vec<String> {
    let kind = stage.info.name;
    let is_like = |other: &&PlannedStage| {
        other.chain == stage.chain && other.info.name == kind && !other.added
    };
    let hidden = stage.added && plan.stages.iter().any(|other| is_like(&other));
    let named = stage.name.as_deref().or(stage.traits.label.as_deref());
    let kind = (!hidden).then_some(kind);
    named.into_iter().chain(kind).map(|short| format!("{}.{short}", stage.chain)).collect()
}

/// The number at a path of a report; what is not there was not counted.
pub(crate) fn value(tree: &Value, path: &str) -> u64 {
    view::find(tree, path).and_then(Value::as_u64).unwrap_or(0)
}

/// A report as [`value`] reads it.
pub(crate) fn tree(report: &Report) -> Value {
    view::of_report(report)
}

/// Packets dropped, by reason.
pub(crate) fn drops(tree: &Value) -> BTreeMap<String, u64> {
    let all = tree["drops"].as_object().into_iter().flatten();
    all.map(|(reason, packets)| (reason.clone(), packets.as_u64().unwrap_or(0))).collect()
}
