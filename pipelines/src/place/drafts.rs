//! Cutting chains into actors, each drawn once: a chain with a source is an actor, a ring ends it and begins the
//! next.
//!
//! A chain entered through an output runs in the actor that enters it, once per actor. Beside the rings of the
//! file there are cuts that the planner asks for: the step behind one is an actor of its own. Nodes come out in
//! the order packets take, which is what the engine needs. How many copies there are is not known here.

use super::PlannedTarget;
use crate::check::{CheckedChain, CheckedStep, Spread};
use corelane_runtime::edge::OnFull;
use corelane_runtime::stage::spec::Role;
use std::collections::BTreeMap;

/// A place in the chains: chain and step.
pub(super) type At = (usize, usize);

/// Packets a ring of the planner's holds.
const CAPACITY: usize = 1024;

/// Why there is a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The file has it.
    Written,
    /// A source can be there only so often, for this reason, and its packets are for more copies.
    OneReader(String),
    /// A port has fewer transmit queues than there are senders.
    FewTransmit { port: String, queues: usize },
    /// This kind of stage keeps one state for all.
    Exclusive(&'static str),
}

/// A ring that the planner puts before a step.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// Name of the actor behind it.
    pub(super) name: String,
    /// Name of the actor before it, where the cut gives it a new one.
    pub(super) before: Option<String>,
    /// What makes it necessary.
    pub(super) words: String,
    pub(super) why: Why,
}

/// Cuts by the step they stand before.
pub(super) type Cuts = BTreeMap<At, Cut>;

/// How an actor begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// With the source of a chain.
    Source,
    /// Behind a ring of the file, which has so many ways.
    Ring { ways: usize },
    /// Behind a cut.
    Cut,
}

/// An actor, drawn once however many copies there will be.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) start: At,
    pub(super) begin: Begin,
    /// Why there can be only one of it, where that is so.
    pub(super) single: Option<String>,
    /// In the order packets take. Rings are numbers in [`Drafts::rings`].
    pub(super) nodes: Vec<(At, Vec<PlannedTarget>)>,
    /// While it is drawn: the node of each step, counted from the last.
    visited: BTreeMap<At, usize>,
}

/// A ring between two actors, drawn once.
#[derive(Debug)]
pub(super) struct DraftRing {
    /// Where it stands: the step that is the ring, or the one behind the cut.
    pub(super) key: At,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) capacity: usize,
    pub(super) on_full: OnFull,
    pub(super) by: Spread,
    pub(super) why: Why,
}

/// All actors and the rings between them.
#[derive(Debug)]
pub(super) struct Drafts {
    pub(super) actors: Vec<Draft>,
    pub(super) rings: Vec<DraftRing>,
}

/// Draws the actors of chains that are cut at their rings and at `cuts`.
pub(super) fn draw(chains: &[CheckedChain], cuts: &Cuts) -> Drafts {
    let empty = Drafts { actors: Vec::new(), rings: Vec::new() };
    let mut pen = Pen { chains, cuts, drafts: empty, behind: BTreeMap::new() };
    for (number, chain) in chains.iter().enumerate() {
        if chain.steps.first().is_some_and(CheckedStep::is_source) {
            let cut = cuts.get(&(number, 1)).filter(|cut| cut.before.is_some());
            let name = cut.and_then(|cut| cut.before.as_ref()).unwrap_or(&chain.name);
            let single = cut.map(|cut| cut.words.clone());
            pen.begin(name, (number, 0), Begin::Source, single);
        }
    }
    // Rings found on the way begin further actors.
    let mut next = 0;
    while next < pen.drafts.actors.len() {
        pen.expand(next);
        next += 1;
    }
    pen.drafts
}

struct Pen<'a> {
    chains: &'a [CheckedChain],
    cuts: &'a Cuts,
    drafts: Drafts,
    /// The actor that a ring at some place begins.
    behind: BTreeMap<At, usize>,
}

impl Pen<'_> {
    fn begin(&mut self, name: &str, start: At, begin: Begin, single: Option<String>) -> usize {
        let (name, nodes, visited) = (name.to_owned(), Vec::new(), BTreeMap::new());
        self.drafts.actors.push(Draft { name, start, begin, single, nodes, visited });
        self.drafts.actors.len() - 1
    }

    fn expand(&mut self, actor: usize) {
        let start = self.drafts.actors[actor].start;
        self.visit(actor, start);
        // Nodes were found last first: turn them round, and the numbers with them.
        let draft = &mut self.drafts.actors[actor];
        let count = draft.nodes.len();
        draft.nodes.reverse();
        for target in draft.nodes.iter_mut().flat_map(|(_, targets)| targets) {
            if let PlannedTarget::Node(node) = target {
                *node = count - 1 - *node;
            }
        }
    }

    /// What a packet comes to at a place; what is behind it is visited first.
    fn visit(&mut self, actor: usize, at: At) -> PlannedTarget {
        self.visit_as(actor, at, false)
    }

    /// The same; an answer never waits for a ring, for which whoever reads it might be waiting.
    fn visit_as(&mut self, actor: usize, at: At, answer: bool) -> PlannedTarget {
        let draft = &self.drafts.actors[actor];
        if let Some(&node) = draft.visited.get(&at) {
            return PlannedTarget::Node(node);
        }
        if draft.start != at && self.cuts.contains_key(&at) {
            return PlannedTarget::Ring(self.ring(actor, self.ring_before(at), answer));
        }
        let CheckedStep::Stage(stage) = &self.chains[at.0].steps[at.1] else {
            return PlannedTarget::Ring(self.ring(actor, at, answer));
        };
        let mut targets = Vec::new();
        if stage.traits.ends {
            targets.push(PlannedTarget::Nowhere);
        } else if stage.info.role != Role::Sink {
            targets.push(self.visit(actor, (at.0, at.1 + 1)));
        }
        targets.extend(stage.outputs.iter().map(|&chain| self.visit(actor, (chain, 0))));
        targets.extend(stage.answers.iter().map(|answer| self.visit_as(actor, answer.at, true)));
        let draft = &mut self.drafts.actors[actor];
        draft.nodes.push((at, targets));
        let node = draft.nodes.len() - 1;
        draft.visited.insert(at, node);
        PlannedTarget::Node(node)
    }

    /// The ring of the file right before a place, behind which an actor begins already; else the place.
    fn ring_before(&self, at: At) -> At {
        let before = at.1.checked_sub(1).map(|before| (at.0, before));
        let ring = |at: &At| matches!(self.chains[at.0].steps[at.1], CheckedStep::Ring(_));
        before.filter(ring).unwrap_or(at)
    }

    /// The ring from an actor into the one that begins behind the ring or the cut at `key`.
    fn ring(&mut self, from: usize, key: At, answer: bool) -> usize {
        let to = match self.behind.get(&key) {
            Some(&to) => to,
            None => {
                let to = match (&self.chains[key.0].steps[key.1], self.cuts.get(&key)) {
                    (CheckedStep::Ring(ring), None) => {
                        let begin = Begin::Ring { ways: ring.ways.max(1) };
                        self.begin(&ring.name, (key.0, key.1 + 1), begin, None)
                    }
                    (_, cut) => {
                        let name = cut.map(|cut| cut.name.as_str()).unwrap_or_default();
                        // Behind a reader there are as many copies as are wanted.
                        let single = cut.filter(|cut| cut.before.is_none());
                        self.begin(name, key, Begin::Cut, single.map(|cut| cut.words.clone()))
                    }
                };
                self.behind.insert(key, to);
                to
            }
        };
        let rings = &mut self.drafts.rings;
        let (capacity, on_full, by, why) =
            match (&self.chains[key.0].steps[key.1], self.cuts.get(&key)) {
                (CheckedStep::Ring(ring), None) => {
                    (ring.capacity, ring.on_full, ring.by, Why::Written)
                }
                (_, cut) => {
                    let why = cut.map_or(Why::Written, |cut| cut.why.clone());
                    (CAPACITY, OnFull::Wait, Spread::Flow, why)
                }
            };
        if let Some(known) = rings.iter().position(|ring| (ring.from, ring.to) == (from, to)) {
            // One that other packets cross too is theirs.
            if !answer {
                rings[known].on_full = on_full;
            }
            return known;
        }
        let on_full = if answer { OnFull::DropNewest } else { on_full };
        rings.push(DraftRing { key, from, to, capacity, on_full, by, why });
        rings.len() - 1
    }
}
