//! Cutting chains into actors: a chain with a source is an actor, a ring ends it and begins the next.
//!
//! A chain entered through an output runs in the actor that enters it, once per actor. Nodes come out in the
//! order packets take, which is what the engine needs. A ring that several actors feed is one ring for each.

use super::{Plan, PlannedActor, PlannedNode, PlannedRing, PlannedStage, PlannedTarget};
use crate::check::{CheckedChain, CheckedRing, CheckedStage, CheckedStep};
use crate::error::Problems;
use corelane_runtime::packet::HomeConfig;
use corelane_runtime::stage::spec::Role;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A place in the chains: chain and step.
type At = (usize, usize);

/// Makes actors and rings of chains; CPUs and pools are still to be settled.
pub(super) fn instantiate(chains: Vec<CheckedChain>) -> Plan {
    let mut builder = Builder {
        shape: chains.iter().map(|chain| chain.steps.iter().map(Shape::of).collect()).collect(),
        rings: Vec::new(),
        actors: Vec::new(),
        behind: BTreeMap::new(),
    };
    for (number, chain) in chains.iter().enumerate() {
        if chain.steps.first().is_some_and(CheckedStep::is_source) {
            builder.begin(&chain.name, (number, 0));
        }
    }
    // Rings found on the way begin further actors.
    let mut next = 0;
    while next < builder.actors.len() {
        builder.expand(next);
        next += 1;
    }
    builder.finish(chains)
}

/// What is needed of a step to follow it.
enum Shape {
    Stage { passes_on: bool, outputs: Vec<usize> },
    Ring(CheckedRing),
}

impl Shape {
    fn of(step: &CheckedStep) -> Shape {
        match step {
            CheckedStep::Stage(stage) => Shape::Stage {
                passes_on: stage.info.role != Role::Sink,
                outputs: stage.outputs.clone(),
            },
            CheckedStep::Ring(ring) => Shape::Ring(ring.clone()),
        }
    }
}

/// An actor being put together.
struct Draft {
    name: String,
    start: At,
    /// In the order packets take, once expanded.
    nodes: Vec<(At, Vec<PlannedTarget>)>,
    /// How far it is known, backwards: nodes in reverse order.
    visited: BTreeMap<At, usize>,
}

struct Builder {
    shape: Vec<Vec<Shape>>,
    rings: Vec<PlannedRing>,
    actors: Vec<Draft>,
    /// The actor that a ring at some place begins.
    behind: BTreeMap<At, usize>,
}

impl Builder {
    fn begin(&mut self, name: &str, start: At) -> usize {
        let draft =
            Draft { name: name.to_owned(), start, nodes: Vec::new(), visited: BTreeMap::new() };
        self.actors.push(draft);
        self.actors.len() - 1
    }

    fn expand(&mut self, actor: usize) {
        let start = self.actors[actor].start;
        self.visit(actor, start);
        // Nodes were found last first: turn them round, and the numbers with them.
        let draft = &mut self.actors[actor];
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
        if let Some(&node) = self.actors[actor].visited.get(&at) {
            return PlannedTarget::Node(node);
        }
        let (passes_on, outputs) = match &self.shape[at.0][at.1] {
            Shape::Ring(_) => return PlannedTarget::Ring(self.ring(actor, at)),
            Shape::Stage { passes_on, outputs } => (*passes_on, outputs.clone()),
        };
        let mut targets = Vec::new();
        if passes_on {
            targets.push(self.visit(actor, (at.0, at.1 + 1)));
        }
        targets.extend(outputs.into_iter().map(|chain| self.visit(actor, (chain, 0))));
        let draft = &mut self.actors[actor];
        draft.nodes.push((at, targets));
        let node = draft.nodes.len() - 1;
        draft.visited.insert(at, node);
        PlannedTarget::Node(node)
    }

    /// The ring from an actor into the one that the step at `at` begins.
    fn ring(&mut self, actor: usize, at: At) -> usize {
        let Shape::Ring(ring) = &self.shape[at.0][at.1] else { return 0 };
        let (name, capacity, on_full) = (ring.name.clone(), ring.capacity, ring.on_full);
        let to = match self.behind.get(&at) {
            Some(&to) => to,
            None => {
                let to = self.begin(&name, (at.0, at.1 + 1));
                self.behind.insert(at, to);
                to
            }
        };
        let known = self.rings.iter().position(|ring| ring.from == actor && ring.to.0 == to);
        known.unwrap_or_else(|| {
            self.rings.push(PlannedRing { name, from: actor, to: (to, 0), capacity, on_full });
            self.rings.len() - 1
        })
    }

    fn finish(mut self, chains: Vec<CheckedChain>) -> Plan {
        self.name_shared_rings();
        let mut numbers = BTreeMap::new();
        let mut stages = Vec::new();
        for (number, chain) in chains.into_iter().enumerate() {
            for (step, content) in chain.steps.into_iter().enumerate() {
                if let CheckedStep::Stage(stage) = content {
                    numbers.insert((number, step), stages.len());
                    stages.push(planned(&chain.name, stage));
                }
            }
        }
        let actors = self.actors.into_iter().map(|draft| PlannedActor {
            cpu: None,
            home: HomeConfig {
                name: draft.name.clone(),
                shells: 0,
                small: 0,
                large: 0,
                node: None,
            },
            name: draft.name,
            nodes: draft
                .nodes
                .into_iter()
                .map(|(at, targets)| PlannedNode { stage: numbers[&at], targets })
                .collect(),
        });
        Plan {
            name: String::new(),
            hash: String::new(),
            ports: Vec::new(),
            stages,
            actors: actors.collect(),
            rings: self.rings,
            hash_seed: None,
            cpus: 0,
            warnings: Problems::none(),
            own_ports: BTreeMap::new(),
            source: Arc::default(),
        }
    }

    /// Rings into the same actor are told apart by where they come from.
    fn name_shared_rings(&mut self) {
        let ends: Vec<usize> = self.rings.iter().map(|ring| ring.to.0).collect();
        for ring in &mut self.rings {
            if ends.iter().filter(|&&end| end == ring.to.0).count() > 1 {
                ring.name = format!("{}<-{}", ring.name, self.actors[ring.from].name);
            }
        }
    }
}

fn planned(chain: &str, stage: CheckedStage) -> PlannedStage {
    let id = match stage.added {
        true => format!("{chain}.+{}", stage.info.name),
        false => format!("{chain}.{}", stage.index),
    };
    PlannedStage {
        id,
        chain: chain.to_owned(),
        index: stage.index,
        name: stage.name,
        added: stage.added,
        info: stage.info,
        traits: stage.traits,
        config: stage.config,
        on_panic: stage.on_panic,
    }
}
