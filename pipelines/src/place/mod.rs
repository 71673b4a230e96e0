//! From checked chains to a [`Plan`]: chains cut into actors, actors copied, put on CPUs, pools sized.
//!
//! A tour in the order of the steps: `drafts` cuts chains into actors, each once; `copies` says how often each
//! is there; `owners` finds what may be there only once and cuts it off behind a ring; `expand` makes the
//! copies and the rings between them; `cycles` refuses rings that wait for each other; `cpus` gives each actor
//! a CPU; `pools` its buffers; `view` shows it all.
//!
//! A pure function of the description and the machine: it opens nothing and reads no clock, so the same input
//! gives the same plan, with the same hash.

mod copies;
mod cpus;
mod cycles;
mod drafts;
mod expand;
mod hash;
mod owners;
pub(crate) mod pools;
#[cfg(test)]
mod tests;
mod view;

pub use view::{PlacedActor, PlacedRing, Placement};

use crate::check::CheckedPort;
use crate::error::{Failure, Problems, Source};
use crate::files::FileUse;
use crate::negotiate::{Contract, Exit, Negotiated, Verdict, Way};
use crate::text::Span;
use corelane_runtime::Error;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::edge::OnFull;
use corelane_runtime::exec::IdleProfile;
use corelane_runtime::offload::Offload;
use corelane_runtime::packet::HomeConfig;
use corelane_runtime::port::Port;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{OutputId, StageConfig, StageInfo};
use corelane_runtime::topology::Machine;
use std::collections::BTreeMap;
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
    /// What its threads do while there is nothing to do; `None`: as the load suggests.
    pub(crate) idle: Option<IdleProfile>,
    /// Ports that the program itself brought, by name.
    pub(crate) own_ports: OwnPorts,
    /// CPUs the actors are put on.
    pub(crate) cpus: usize,
    pub(crate) warnings: Problems,
    /// What it reads and writes.
    pub(crate) files: Vec<FileUse>,
    /// CPUs that nothing is put on, and why.
    pub(crate) left_free: Vec<(Vec<usize>, String)>,
    /// What packets may look like between stages.
    pub(crate) contracts: Vec<Contract>,
    /// From which port to which packets go, and how long they may be.
    pub(crate) ways: Vec<Way>,
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
    pub(crate) offload: Offload,
    /// As the file writes it; its name alone where it was added.
    pub(crate) written: String,
    /// `file:line:column`; `None` where it was added.
    pub(crate) place: Option<String>,
    /// What was decided about its work.
    pub(crate) verdicts: Vec<Verdict>,
    /// The port it may leave work to.
    pub(crate) exit: Exit,
    /// Why it was added, where it was.
    pub(crate) note: Option<String>,
    /// Ports that packets here may have come in by, and may leave by.
    pub(crate) entries: Vec<String>,
    pub(crate) exits: Vec<String>,
    /// Ports by which its answers leave: its last outputs, in this order.
    pub(crate) answers: Vec<String>,
}

impl PlannedStage {
    /// The output by which answers to who asked at a port leave.
    pub(crate) fn answer(&self, port: &str) -> Option<OutputId> {
        let next = usize::from(self.info.role != Role::Sink || self.traits.ends);
        let at = self.answers.iter().position(|known| known == port)?;
        Some(OutputId(next + self.traits.outputs.len() + at))
    }

    /// Names of its counters: those of its kind, then its own.
    pub(crate) fn counters(&self) -> Vec<String> {
        let declared = self.info.counters.iter().map(|&name| name.to_owned());
        declared.chain(self.config.extra_counters()).collect()
    }
}

/// An actor: stages in the order packets take.
pub(crate) struct PlannedActor {
    /// `main`, or `main#0` where there are several copies.
    pub(crate) name: String,
    /// Its name without the number of the copy.
    pub(crate) base: String,
    /// Which copy it is, and of how many.
    pub(crate) copy: (usize, usize),
    /// Why there are so many copies.
    pub(crate) why_copies: String,
    pub(crate) cpu: Option<usize>,
    /// Why it is on that CPU.
    pub(crate) why: String,
    pub(crate) nodes: Vec<PlannedNode>,
    pub(crate) home: HomeConfig,
}

/// A stage in its place in an actor.
pub(crate) struct PlannedNode {
    /// Index into [`Plan::stages`].
    pub(crate) stage: usize,
    /// The next stage first, then the named outputs; nothing at all for a stage that passes nothing on.
    pub(crate) targets: Vec<PlannedTarget>,
}

/// Where an output leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlannedTarget {
    /// A node of the same actor.
    Node(usize),
    /// Index into [`Plan::rings`].
    Ring(usize),
    /// The stage has named outputs but no next stage.
    Nowhere,
}

/// A ring from one actor into a node of another.
#[derive(Clone, Debug)]
pub(crate) struct PlannedRing {
    pub(crate) name: String,
    pub(crate) from: usize,
    pub(crate) to: (usize, usize),
    pub(crate) capacity: usize,
    pub(crate) on_full: OnFull,
    /// Where the file has it, if it does.
    pub(crate) place: Option<String>,
    /// Why it is there.
    pub(crate) reason: String,
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

    /// Files that a run reads or writes, and those that its description is made of or names for its tests. None is
    /// opened yet.
    pub fn files(&self) -> &[FileUse] {
        &self.files
    }

    /// An error about a port, with the place where the description has that port.
    pub(crate) fn located(&self, error: Error) -> Error {
        located(error, &self.ports, &self.source)
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

    /// Every node that packets of a node come to, itself first.
    pub(crate) fn reach(&self, actor: usize, node: usize) -> Vec<(usize, usize)> {
        let mut found = vec![(actor, node)];
        let mut next = 0;
        while let Some(&(actor, node)) = found.get(next) {
            for target in &self.actors[actor].nodes[node].targets {
                let Some(place) = self.place_of(actor, *target) else { continue };
                if !found.contains(&place) {
                    found.push(place);
                }
            }
            next += 1;
        }
        found
    }

    /// The node that a target of an actor's node leads to.
    pub(crate) fn place_of(&self, actor: usize, target: PlannedTarget) -> Option<(usize, usize)> {
        match target {
            PlannedTarget::Node(to) => Some((actor, to)),
            PlannedTarget::Ring(ring) => Some(self.rings[ring].to),
            PlannedTarget::Nowhere => None,
        }
    }
}

/// An error about what stands at a place of the description, with that place.
fn at(mut error: Error, place: Option<Span>, source: &Source) -> Error {
    if let Some(place) = place.filter(|_| error.user) {
        error.message.push_str(&format!(" ({})", source.place_name(place)));
    }
    error
}

/// An error about one of these ports, with the place where the description has that port.
fn located(error: Error, ports: &[CheckedPort], source: &Source) -> Error {
    let port = ports.iter().find(|port| error.what == format!("port {}", port.name));
    at(error, port.map(|port| port.span), source)
}

/// Places a checked description on a machine.
pub(crate) fn place(
    negotiated: Negotiated,
    machine: &Machine,
    source: Arc<Source>,
) -> Result<Plan, Failure> {
    let Negotiated { checked, edges, ways } = negotiated;
    let hash = hash::Hasher::of(&checked, &edges);
    // First of all: what follows would count copies for CPUs that are not there.
    let (cores_at, pools_at) = (checked.cores_at, checked.pools_at);
    cpus::check(&checked.cores, machine).map_err(|error| at(error, cores_at, &source))?;
    let layout =
        owners::settle(&checked, machine).map_err(|error| match error.what == "cores" {
            true => at(error, cores_at, &source),
            false => located(error, &checked.ports, &source),
        })?;
    let mut plan = expand::expand(checked.chains, layout, &source)?;
    plan.contracts = edges;
    plan.ways = ways;
    plan.name = checked.name;
    plan.ports = checked.ports;
    plan.source = Arc::clone(&source);
    plan.hash_seed = checked.hash_seed;
    cycles::check(&plan)?;
    cpus::assign(&mut plan, &checked.cores, machine)?;
    let sized = pools::size(&mut plan, &checked.pools, machine);
    sized.map_err(|error| at(error, pools_at, &source))?;
    plan.hash = hash.with(&plan);
    Ok(plan)
}
