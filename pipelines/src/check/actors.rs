//! Actors by name: each has one of its own, and those that CPUs are pinned to are there.

use super::CheckedStep;
use super::named::place_of;
use super::stages::FoundChain;
use crate::error::{Collector, instead};
use crate::spec::Description;
use crate::text::Span;
use corelane_runtime::stage::spec::Role;
use std::collections::{BTreeMap, BTreeSet};

/// Notes names that two actors have, and pinned actors that are not there.
pub(super) fn check(description: &Description, chains: &[FoundChain], problems: &mut Collector) {
    // Where `Rx` stands in the wrong place, that is told; the actor is meant to be there all the same.
    let begins = chains
        .iter()
        .filter(|chain| chain.steps.iter().any(|step| step.role == Some(Role::Source)));
    let mut taken: BTreeSet<&str> = begins.map(|chain| chain.name.as_str()).collect();
    let mut misnamed = false;
    // A ring of a part that is used twice is the same mistake once.
    for (chain, entry) in chains.iter().zip(&description.chains) {
        for (step, stage) in chain.steps.iter().zip(&entry.stages) {
            let Some(CheckedStep::Ring(ring)) = &step.checked else { continue };
            if taken.insert(&ring.name) {
                continue;
            }
            misnamed = true;
            let span = place_of(&description.text, &stage.entry, &ring.name);
            let message = format!("there is an actor `{}` already", ring.name);
            let help = match stage.used {
                Some(_) => "write `Ring` without a name in a part that is used more than once",
                None => "a ring names the actor behind it; give it a name of its own",
            };
            problems.error(&description.text, span, "duplicate-actor", message, Some(help.into()));
        }
    }
    stage_names(description, problems);
    // A ring of a name that is taken may have been meant to have any other.
    if !description.unread && !misnamed {
        pinned(description, chains, &taken, problems);
    }
}

/// Notes names that two stages of the file have: whoever asks for one by its name must find it. Copies of one
/// stage, by a part that is used more than once, share theirs.
fn stage_names(description: &Description, problems: &mut Collector) {
    let mut taken = BTreeMap::new();
    for stage in description.chains.iter().flat_map(|chain| &chain.stages) {
        let Some(name) = &stage.name else { continue };
        let first = *taken.entry(name.text.as_str()).or_insert(name.span);
        if first != name.span {
            let message = format!("there is a stage named `{}` already", name.text);
            let help = Some("give each a name of its own".to_owned());
            problems.error(&description.text, name.span, "duplicate-name", message, help);
        }
    }
}

fn pinned(
    description: &Description,
    chains: &[FoundChain],
    actors: &BTreeSet<&str>,
    problems: &mut Collector,
) {
    let is_unknown = |name: &str| {
        // A chain that begins with something unknown may be an actor, and so may a ring that is wrong.
        let mut begun = chains.iter().filter(|chain| chain.name == name);
        let begun = begun.any(|chain| chain.steps.first().is_none_or(|step| step.role.is_none()));
        let steps = chains.iter().zip(&description.chains);
        let mut steps = steps.flat_map(|(chain, entry)| chain.steps.iter().zip(&entry.stages));
        begun
            || steps.any(|(step, stage)| {
                let is_ring = stage.entry.kind.text == super::RING;
                is_ring && step.checked.is_none() && (names(description, stage.entry.span, name))
            })
    };
    for actor in &description.pinned {
        let name = actor.text.as_str();
        if actors.contains(name) || is_unknown(name) || planned_name(description, name) {
            continue;
        }
        let message = format!("`Pin` names actor `{name}`, which is not in this file");
        let help = instead(name, actors.iter().copied());
        let help = help.or_else(|| Some("chains that begin with `Rx` are actors".to_owned()));
        problems.error(&description.text, actor.span, "no-such-actor", message, help);
    }
}

/// Whether the planner may give an actor this name: `PORT.rx`, `PORT.tx`, `CHAIN.Stage`. Whether it does is known
/// when the plan is made.
fn planned_name(description: &Description, name: &str) -> bool {
    let Some((before, after)) = name.split_once('.') else { return false };
    let port = description.ports.iter().any(|port| port.name.text == before);
    let chain = description.chains.iter().any(|chain| chain.name.text == before);
    chain || (port && (after.starts_with("rx") || after.starts_with("tx")))
}

/// Whether a name stands in quotes in some text.
fn names(description: &Description, span: Span, name: &str) -> bool {
    let text = description.text.text().get(span.range()).unwrap_or_default();
    text.contains(&crate::text::params::quote(name))
}
