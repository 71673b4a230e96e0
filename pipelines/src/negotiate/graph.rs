//! Who hands packets to whom: the steps of all chains as a graph, and what can be reached from where.
//!
//! Chains form no circle, which was checked before, so there is an order in which every step comes after all
//! that feed it. Nothing is decided here.

use crate::check::{CheckedChain, CheckedStage, CheckedStep};
use corelane_runtime::stage::spec::Role;
use std::collections::{BTreeMap, BTreeSet};

/// A place in the chains: chain and step.
pub(super) type At = (usize, usize);

/// The steps of all chains. Nodes are numbered in the order packets take.
pub(super) struct Graph {
    /// Where each node stands.
    pub(super) at: Vec<At>,
    /// To whom each hands over, the next of its chain first.
    pub(super) next: Vec<Vec<usize>>,
    /// Who hands over to each.
    pub(super) before: Vec<Vec<usize>>,
}

impl Graph {
    pub(super) fn of(chains: &[CheckedChain]) -> Graph {
        let at = in_order(chains);
        let numbers: BTreeMap<At, usize> = at.iter().copied().zip(0..).collect();
        let number = |at: At| numbers.get(&at).copied();
        let next: Vec<Vec<usize>> = at
            .iter()
            .map(|&at| after(chains, at).into_iter().filter_map(number).collect())
            .collect();
        let mut before = vec![Vec::new(); at.len()];
        for (node, targets) in next.iter().enumerate() {
            targets.iter().for_each(|&to| before[to].push(node));
        }
        Graph { at, next, before }
    }

    /// For each node, what `seed` says of it and of all that packets come to from it.
    pub(super) fn ahead(&self, seed: impl Fn(usize) -> Option<usize>) -> Vec<BTreeSet<usize>> {
        let mut found = vec![BTreeSet::new(); self.at.len()];
        for node in (0..self.at.len()).rev() {
            let mut set: BTreeSet<usize> = seed(node).into_iter().collect();
            for &next in &self.next[node] {
                set.extend(found[next].iter().copied());
            }
            found[node] = set;
        }
        found
    }

    /// For each node, what `seed` says of it and of all that its packets come from.
    pub(super) fn behind(&self, seed: impl Fn(usize) -> Option<usize>) -> Vec<BTreeSet<usize>> {
        let mut found: Vec<BTreeSet<usize>> =
            (0..self.at.len()).map(|node| seed(node).into_iter().collect()).collect();
        for node in 0..self.at.len() {
            let set = found[node].clone();
            for &next in &self.next[node] {
                found[next].extend(set.iter().copied());
            }
        }
        found
    }
}

/// All steps, each before those it leads to.
fn in_order(chains: &[CheckedChain]) -> Vec<At> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    let all = chains.iter().enumerate();
    let all = all.flat_map(|(number, chain)| (0..chain.steps.len()).map(move |at| (number, at)));
    // Last first, so that turned round the file's own order is kept where it can be.
    let mut open: Vec<(At, bool)> = all.map(|at| (at, false)).collect();
    while let Some((at, expanded)) = open.pop() {
        if expanded {
            order.push(at);
        } else if seen.insert(at) {
            open.push((at, true));
            open.extend(after(chains, at).into_iter().map(|next| (next, false)));
        }
    }
    order.reverse();
    order
}

fn after(chains: &[CheckedChain], (chain, step): At) -> Vec<At> {
    let steps = &chains[chain].steps;
    let follows = (step + 1 < steps.len()).then_some((chain, step + 1));
    match &steps[step] {
        CheckedStep::Ring(_) => follows.into_iter().collect(),
        CheckedStep::Stage(stage) => {
            let follows = follows.filter(|_| stage.info.role != Role::Sink);
            let outputs = stage.outputs.iter().map(|&chain| (chain, 0));
            let outputs = outputs.filter(|&(chain, _)| !chains[chain].steps.is_empty());
            follows.into_iter().chain(outputs).collect()
        }
    }
}

/// The stage at a place, if it is one.
pub(super) fn stage(chains: &[CheckedChain], (chain, step): At) -> Option<&CheckedStage> {
    match &chains[chain].steps[step] {
        CheckedStep::Stage(stage) => Some(stage),
        CheckedStep::Ring(_) => None,
    }
}

/// The port that packets leave by at a stage.
pub(super) fn port_out(stage: &CheckedStage) -> Option<&str> {
    stage.traits.port.as_deref().filter(|_| stage.info.role == Role::Sink)
}

/// What reports call a stage.
pub(super) fn id(chains: &[CheckedChain], (chain, step): At) -> String {
    let name = &chains[chain].name;
    match &chains[chain].steps[step] {
        CheckedStep::Stage(stage) if stage.added => {
            added_id(name, stage, chains[chain].steps[..step].iter())
        }
        CheckedStep::Stage(stage) => format!("{name}.{}", stage.index),
        CheckedStep::Ring(ring) => ring.name.clone(),
    }
}

/// What reports call a stage that was added behind `before`: by its kind, and by its index too where that is not
/// the first of its kind in the chain.
pub(crate) fn added_id<'a>(
    chain: &str,
    stage: &CheckedStage,
    mut before: impl Iterator<Item = &'a CheckedStep>,
) -> String {
    let kind = stage.info.name;
    let taken = before.any(
        |step| matches!(step, CheckedStep::Stage(other) if other.added && other.info.name == kind),
    );
    let index = if taken { format!("/{}", stage.index) } else { String::new() };
    format!("{chain}.+{kind}{index}")
}

/// The same with the kind: `main.2 Gro`.
pub(super) fn title(chains: &[CheckedChain], at: At) -> String {
    match stage(chains, at) {
        Some(stage) if !stage.added => format!("{} {}", id(chains, at), stage.info.name),
        _ => id(chains, at),
    }
}
