//! From checked chains to a [`Plan`]: finishing steps added, chains cut into actors at their rings, actors put
//! on CPUs, pools sized.
//!
//! A pure function of the description and the machine: it opens nothing and reads no clock, so the same input
//! gives the same plan, with the same hash.

mod actors;
mod cpus;
mod finish;
mod hash;
mod pools;
#[cfg(test)]
mod tests;

use crate::check::{Checked, CheckedPort};
use crate::error::{Failure, Problems, Source};
use corelane_runtime::Error;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::edge::OnFull;
use corelane_runtime::packet::HomeConfig;
use corelane_runtime::port::Port;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{Registry, StageConfig, StageInfo};
use corelane_runtime::topology::Machine;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Ports that a program brings itself, by the name they replace.
pub(crate) type OwnPorts = BTreeMap<String, Box<dyn Port>>;

/// What runs where; made by [`crate::Pipeline::plan`].
pub struct Plan {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) ports: Vec<CheckedPort>,
    pub(crate) stages: Vec<PlannedStage>,
    pub(crate) actors: Vec<PlannedActor>,
    pub(crate) rings: Vec<PlannedRing>,
    pub(crate) hash_seed: Option<u64>,
    /// Ports that the program itself brought, by name.
    pub(crate) own_ports: OwnPorts,
    /// CPUs the actors are put on.
    pub(crate) cpus: usize,
    pub(crate) warnings: Problems,
    /// The file, for messages.
    pub(crate) source: Arc<Source>,
}

/// A stage of the description, or one that was added.
pub(crate) struct PlannedStage {
    /// `chain.index`, or `chain.+Kind` where it was added.
    pub(crate) id: String,
    pub(crate) chain: String,
    pub(crate) index: usize,
    pub(crate) name: Option<String>,
    pub(crate) added: bool,
    pub(crate) info: &'static StageInfo,
    pub(crate) traits: Traits,
    pub(crate) config: Box<dyn StageConfig>,
    pub(crate) on_panic: OnPanic,
}

/// An actor: stages in the order packets take.
pub(crate) struct PlannedActor {
    pub(crate) name: String,
    pub(crate) cpu: Option<usize>,
    pub(crate) nodes: Vec<PlannedNode>,
    pub(crate) home: HomeConfig,
}

/// A stage in its place in an actor.
pub(crate) struct PlannedNode {
    /// Index into [`Plan::stages`].
    pub(crate) stage: usize,
    /// The next stage first, then the named outputs.
    pub(crate) targets: Vec<PlannedTarget>,
}

/// Where an output leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlannedTarget {
    /// A node of the same actor.
    Node(usize),
    /// Index into [`Plan::rings`].
    Ring(usize),
}

/// A ring from one actor into a node of another.
#[derive(Clone, Debug)]
pub(crate) struct PlannedRing {
    pub(crate) name: String,
    pub(crate) from: usize,
    pub(crate) to: (usize, usize),
    pub(crate) capacity: usize,
    pub(crate) on_full: OnFull,
}

impl Plan {
    /// Name of the pipeline.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Eight hex digits that stand for the whole plan: equal plans, equal digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Each actor and the CPU it is pinned to.
    pub fn actors(&self) -> impl Iterator<Item = (&str, Option<usize>)> {
        self.actors.iter().map(|actor| (actor.name.as_str(), actor.cpu))
    }

    /// CPUs the actors are put on.
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// Files that its ports read or write, with the port's name. None is opened yet.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.ports.iter().flat_map(|port| {
            let files = port.config.files().into_iter();
            files.map(|file| (port.name.as_str(), file))
        })
    }

    /// An error about a port, with the place where the description has that port.
    pub(crate) fn located(&self, mut error: Error) -> Error {
        let port = self.ports.iter().find(|port| error.what == format!("port {}", port.name));
        if let Some(port) = port.filter(|_| error.user) {
            error.message.push_str(&format!(" ({})", self.source.place_name(port.span)));
        }
        error
    }

    /// What is probably not meant, though it can be run.
    pub fn warnings(&self) -> &Problems {
        &self.warnings
    }

    /// Queues that stages open on a port, in the direction where they open more.
    pub(crate) fn queues(&self, port: &str) -> usize {
        let nodes = self.actors.iter().flat_map(|actor| &actor.nodes);
        let stages: Vec<&PlannedStage> = nodes
            .map(|node| &self.stages[node.stage])
            .filter(|stage| stage.traits.port.as_deref() == Some(port))
            .collect();
        let receive = stages.iter().filter(|stage| stage.info.role == Role::Source).count();
        receive.max(stages.len() - receive).max(1)
    }

    /// The ports that can be reached from a node, over rings too: names, each once.
    pub(crate) fn exits(&self, actor: usize, node: usize) -> Vec<&str> {
        let mut exits = Vec::new();
        for (actor, node) in self.reach(actor, node) {
            let stage = &self.stages[self.actors[actor].nodes[node].stage];
            let sink = stage.info.role == Role::Sink;
            let port = stage.traits.port.as_deref().filter(|_| sink);
            exits.extend(port.filter(|port| !exits.contains(port)));
        }
        exits
    }

    /// Every node that packets of a node come to, itself first.
    pub(crate) fn reach(&self, actor: usize, node: usize) -> Vec<(usize, usize)> {
        let mut found = vec![(actor, node)];
        let mut next = 0;
        while let Some(&(actor, node)) = found.get(next) {
            for target in &self.actors[actor].nodes[node].targets {
                let place = match *target {
                    PlannedTarget::Node(to) => (actor, to),
                    PlannedTarget::Ring(ring) => self.rings[ring].to,
                };
                if !found.contains(&place) {
                    found.push(place);
                }
            }
            next += 1;
        }
        found
    }
}

/// A file has one writer: packets of several would mix by chance.
fn one_writer(plan: &Plan) -> Result<(), Error> {
    for port in plan.ports.iter().filter(|port| port.config.has_one_writer()) {
        let nodes = plan.actors.iter().flat_map(|actor| &actor.nodes);
        let stages = nodes.map(|node| &plan.stages[node.stage]);
        let is_writer = |stage: &&PlannedStage| {
            stage.info.role == Role::Sink && stage.traits.port.as_deref() == Some(&port.name)
        };
        let writers: Vec<&str> = stages.filter(is_writer).map(|stage| stage.id.as_str()).collect();
        if writers.len() > 1 {
            let message = format!(
                "is written by {}, whose packets would mix by chance; give each a port with a file of its own",
                writers.join(" and ")
            );
            return Err(plan.located(Error::user(format!("port {}", port.name), message)));
        }
    }
    Ok(())
}

/// Places a checked description on a machine.
pub(crate) fn place(
    mut checked: Checked,
    registry: &Registry,
    machine: &Machine,
    source: Arc<Source>,
) -> Result<Plan, Failure> {
    finish::add_steps(&mut checked.chains, registry)?;
    let hash = hash::Hasher::of(&checked);
    let mut plan = actors::instantiate(checked.chains);
    plan.name = checked.name;
    plan.ports = checked.ports;
    plan.source = source;
    plan.hash_seed = checked.hash_seed;
    one_writer(&plan)?;
    cpus::assign(&mut plan, &checked.cores, machine)?;
    pools::size(&mut plan, &checked.pools, machine)?;
    plan.hash = hash.with(&plan);
    Ok(plan)
}
