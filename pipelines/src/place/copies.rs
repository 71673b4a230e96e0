//! How many copies of each actor there are, and why.
//!
//! An actor that receives has a copy for each queue it may read, as far as the description asks for CPUs; one
//! behind a ring as many as the ring has ways; one that owns something, one. An actor pinned to several CPUs
//! has a copy on each, whatever the queues: what that takes is for `owners`.

use super::drafts::{Begin, Draft, Drafts};
use crate::check::{Checked, CheckedChain, CheckedPort, CheckedStage, CheckedStep};
use crate::spec::Cores;
use corelane_runtime::Error;
use corelane_runtime::stage::spec::{Role, Sharing};
use corelane_runtime::topology::Machine;

/// Copies of one actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Copies {
    pub(super) count: usize,
    pub(super) why: String,
    /// CPUs the file gives it, copy by copy; empty: none.
    pub(super) pinned: Vec<usize>,
}

/// The stages that open queues of a port.
pub(super) struct Port<'a> {
    pub(super) name: &'a str,
    /// Queues per direction; `None`: as many as are asked for.
    queues: Option<usize>,
    /// Whether it has one transmit queue at most, however many there are to receive by.
    one_writer: bool,
    /// Stages that read it, and stages that write it: identities.
    reads: Vec<String>,
    writes: Vec<String>,
}

impl<'a> Port<'a> {
    fn of(port: &'a CheckedPort, chains: &[CheckedChain]) -> Port<'a> {
        let on_it = |role: Role| {
            let stages = chains.iter().flat_map(|chain| {
                let stages = chain.steps.iter().filter_map(stage_of);
                stages.map(move |stage| (format!("{}.{}", chain.name, stage.index), stage))
            });
            let its = stages.filter(|(_, stage)| {
                stage.info.role == role && stage.traits.port.as_deref() == Some(&port.name)
            });
            its.map(|(id, _)| id).collect()
        };
        let limits = [port.common.queues, port.facts.queues];
        let queues = limits.into_iter().flatten().min().map(|queues| usize::from(queues).max(1));
        let (reads, writes) = (on_it(Role::Source), on_it(Role::Sink));
        Port { name: &port.name, queues, one_writer: port.config.has_one_writer(), reads, writes }
    }

    /// Queues in the direction of a stage; `None`: as many as are asked for.
    pub(super) fn queues(&self, role: Role) -> Option<usize> {
        if role != Role::Source && self.one_writer { Some(1) } else { self.queues }
    }

    /// Queues that one stage may open, however many copies of it there are.
    pub(super) fn share(&self, role: Role) -> Option<usize> {
        let stages = if role == Role::Source { &self.reads } else { &self.writes };
        self.queues(role).map(|queues| queues / stages.len().max(1))
    }

    /// What limits a stage to that share, in words.
    fn words(&self, role: Role) -> String {
        let stages = if role == Role::Source { self.reads.len() } else { self.writes.len() };
        match self.queues(role) {
            None => format!("{} names no number of queues", self.name),
            Some(queues) if stages > 1 => {
                format!("{} has {} for {stages} stages", self.name, number(queues, "queue"))
            }
            Some(queues) => format!("{} has {}", self.name, number(queues, "queue")),
        }
    }

    /// Refuses more stages than there are queues.
    fn check(&self) -> Result<(), Error> {
        let what = || format!("port {}", self.name);
        if self.writes.len() > 1 && self.one_writer {
            let message = format!(
                "is written by {}, whose packets would mix by chance; give each a port with a file of its own",
                self.writes.join(" and ")
            );
            return Err(Error::user(what(), message));
        }
        let Some(queues) = self.queues else { return Ok(()) };
        for (stages, done, cure) in [
            (&self.reads, "is read", "read it once and send packets on from there"),
            (&self.writes, "is written", "bring their packets together before one `Tx`"),
        ] {
            if stages.len() > queues {
                let message = format!(
                    "{done} by {}, but has {}; {cure}, or give it more `queues`",
                    stages.join(" and "),
                    number(queues, "queue")
                );
                return Err(Error::user(what(), message));
            }
        }
        Ok(())
    }
}

/// `1 queue`, `2 queues`.
pub(super) fn number(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The stage at a step, if it is one.
pub(super) fn stage_of(step: &CheckedStep) -> Option<&CheckedStage> {
    match step {
        CheckedStep::Stage(stage) => Some(stage),
        CheckedStep::Ring(_) => None,
    }
}

/// What decides how many copies there are.
pub(super) struct Limits<'a> {
    pub(super) checked: &'a Checked,
    pub(super) ports: Vec<Port<'a>>,
    /// Physical cores that may be used.
    cores: usize,
    /// Most copies of an actor that receives, where nobody says how many.
    pub(super) most: usize,
}

impl<'a> Limits<'a> {
    pub(super) fn new(checked: &'a Checked, machine: &Machine) -> Result<Limits<'a>, Error> {
        let ports: Vec<Port<'_>> =
            checked.ports.iter().map(|port| Port::of(port, &checked.chains)).collect();
        ports.iter().try_for_each(Port::check)?;
        let cores = machine.cpus.iter().filter(|cpu| !machine.is_sibling(cpu.id)).count();
        Ok(Limits { checked, ports, cores, most: usize::MAX })
    }

    /// The stage at a place.
    pub(super) fn stage(&self, at: super::drafts::At) -> Option<&'a CheckedStage> {
        stage_of(&self.checked.chains[at.0].steps[at.1])
    }

    pub(super) fn port(&self, stage: &CheckedStage) -> Option<&Port<'a>> {
        let name = stage.traits.port.as_deref()?;
        self.ports.iter().find(|port| port.name == name)
    }

    /// How often a source can be there, and why not more often.
    pub(super) fn readers(&self, source: &CheckedStage) -> (Option<usize>, String) {
        if source.traits.sharing == Sharing::Exclusive {
            return (Some(1), format!("`{}` keeps one state for all", source.info.name));
        }
        match self.port(source) {
            Some(port) => (port.share(Role::Source), port.words(Role::Source)),
            None => (Some(1), format!("`{}` stands on no port with queues", source.info.name)),
        }
    }

    /// The copies of every actor.
    pub(super) fn count(&self, drafts: &Drafts) -> Result<Vec<Copies>, Error> {
        let mut copies = Vec::new();
        for draft in &drafts.actors {
            copies.push(self.fixed(draft)?);
        }
        let others: usize = copies.iter().flatten().map(|copies| copies.count).sum();
        let copies = copies.into_iter().zip(&drafts.actors);
        Ok(copies
            .map(|(known, draft)| known.unwrap_or_else(|| self.receiving(draft, others)))
            .collect())
    }

    /// Copies that do not depend on queues; `None`: those of an actor that receives.
    fn fixed(&self, draft: &Draft) -> Result<Option<Copies>, Error> {
        let pinned = match &self.checked.cores {
            Cores::Pin(pins) => pins.iter().find(|(name, _)| *name == draft.name),
            Cores::Auto | Cores::Count(_) => None,
        };
        let pinned = pinned.map(|(_, cpus)| cpus.clone()).unwrap_or_default();
        let spread = matches!(draft.begin, Begin::Ring { .. }) || self.is_chain(draft);
        let (ways, said) = match draft.begin {
            Begin::Ring { ways } => (ways, format!("its ring has {}", number(ways, "way"))),
            Begin::Cut | Begin::Source => {
                let others = || "the file pins others only".to_owned();
                (1, draft.single.clone().unwrap_or_else(others))
            }
        };
        if pinned.is_empty() {
            let by_queues = draft.begin == Begin::Source
                && !matches!(self.checked.cores, Cores::Pin(_))
                && self.is_chain(draft);
            let why = format!("{}: {said}{}", number_of(ways), self.by_flow(draft, ways));
            return Ok((!by_queues).then_some(Copies { count: ways, why, pinned }));
        }
        let cpus = pinned.len();
        let fits = cpus == 1 || ways == cpus || (ways == 1 && spread);
        if !fits {
            let message = match draft.begin {
                Begin::Ring { .. } => format!(
                    "`{}` is pinned to {cpus} CPUs, but its ring has {ways} ways; pin it to {ways}, or to one",
                    draft.name
                ),
                Begin::Source | Begin::Cut => format!(
                    "`{}` is pinned to {cpus} CPUs, but there can be only one of it; pin it to one",
                    draft.name
                ),
            };
            return Err(Error::user("cores", message));
        }
        let count = ways.max(cpus);
        let why = match ways > cpus {
            true => format!("{}: {said}", number_of(count)),
            false => format!("{}: the file pins it to {}", number_of(count), number(cpus, "CPU")),
        };
        let why = format!("{why}{}", self.by_flow(draft, count));
        Ok(Some(Copies { count, why, pinned }))
    }

    /// Whether an actor is a chain that receives, or what is left of it behind its reader.
    fn is_chain(&self, draft: &Draft) -> bool {
        self.checked.chains[draft.start.0].name == draft.name
            && draft.start.1 <= 1
            && !matches!(draft.begin, Begin::Ring { .. })
    }

    /// Copies of an actor that receives, by queues and cores; `others` is how many actors there are beside those.
    fn receiving(&self, draft: &Draft, others: usize) -> Copies {
        let auto = self.checked.cores == Cores::Auto;
        let mut limits = Vec::new();
        if let Some(source) = self.stage(draft.start) {
            limits.push(self.readers(source));
        }
        if auto {
            for stage in draft.nodes.iter().filter_map(|(at, _)| self.stage(*at)) {
                let port = self.port(stage).filter(|_| stage.info.role == Role::Sink);
                let limit = port.map(|port| (port.share(Role::Sink), port.words(Role::Sink)));
                limits.extend(limit.filter(|limit| !limits.contains(limit)));
            }
        }
        let cpus = match self.checked.cores {
            Cores::Count(count) => (count.max(1), format!("{} asked for", number(count, "CPU"))),
            Cores::Auto | Cores::Pin(_) => {
                let left = self.cores.saturating_sub(others);
                let all = number(self.cores, "physical core");
                let words = match (left, others) {
                    (_, 0) => all.clone(),
                    (0, _) => format!("{all} for {} beside it", number(others, "actor")),
                    (left, _) => format!("{left} of {all} left"),
                };
                match self.most < left {
                    true => (self.most, format!("{all} would have to hold an owner too")),
                    false => (left.max(1), words),
                }
            }
        };
        // Where nobody says how many queues there are, only who asks for CPUs gets more than one.
        let unlimited = if auto { 1 } else { usize::MAX };
        let named = limits.into_iter().map(|(limit, words)| (limit.unwrap_or(unlimited), words));
        let all: Vec<(usize, String)> = named.chain([cpus]).collect();
        let count = all.iter().map(|(limit, _)| *limit).min().unwrap_or(1).max(1);
        let binding = all.into_iter().filter(|(limit, _)| *limit <= count).map(|(_, words)| words);
        let binding = binding.collect::<Vec<_>>().join(", ");
        let why = format!("{}: {binding}{}", number_of(count), self.by_flow(draft, count));
        Copies { count, why, pinned: Vec::new() }
    }

    /// Says which stages may keep their state in each copy, since a copy has whole flows.
    fn by_flow(&self, draft: &Draft, copies: usize) -> String {
        let stages = draft.nodes.iter().filter_map(|(at, _)| self.stage(*at));
        let stages = stages.filter(|stage| stage.traits.sharing == Sharing::ByFlow);
        let names: Vec<String> = stages.map(|stage| format!("`{}`", stage.info.name)).collect();
        if copies < 2 || names.is_empty() {
            return String::new();
        }
        format!("; a copy has whole flows, by which {} splits its state", names.join(", "))
    }
}

fn number_of(copies: usize) -> String {
    if copies == 1 { "1 copy".to_owned() } else { format!("{copies} copies") }
}
