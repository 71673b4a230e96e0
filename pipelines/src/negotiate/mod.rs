//! What hardware does and what software does: neighbours and finishing steps added, every need of every stage held against
//! what the ports grant, every edge against what its two ends agree on.
//!
//! A pure function of the checked description, in which each port's facts already stand: it asks no device,
//! reads no clock. What it decides is what `explain` prints and what the data path is given.

mod answers;
mod carried;
mod decide;
mod exits;
mod finish;
mod flow;
mod graph;
mod inward;
mod neighbours;
mod outward;
mod refuse;
#[cfg(test)]
mod says;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tunnel_tests;
mod unasked;
mod verdict;
mod ways;

pub(crate) use finish::is_finishing;
pub(crate) use graph::added_id;
pub(crate) use neighbours::NEIGHBOUR;
pub(crate) use unasked::UNASKED;
pub use ways::Way;
pub(crate) use ways::leaving;

use crate::check::Checked;
use crate::error::{Collector, Failure};
use corelane_runtime::stage::Registry;
use serde::Serialize;

/// A description with everything decided but where it runs.
pub(crate) struct Negotiated {
    /// With the finishing steps in their places, and the verdicts in each stage.
    pub(crate) checked: Checked,
    /// What each stage may hand to the next.
    pub(crate) edges: Vec<Contract>,
    /// From which port to which packets go, and how long they may be.
    pub(crate) ways: Vec<Way>,
}

/// Where some work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// By the port.
    Hardware,
    /// Here.
    Software,
    /// By some of the ports asked, and here for the others.
    Both,
    /// Nowhere: there is none to do.
    Nothing,
}

/// What a port said when it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Name of the port.
    pub port: String,
    /// The capability, as written in descriptions.
    pub capability: String,
    /// `yes`, `no` or `unknown`.
    pub answer: &'static str,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The work: `tcp over ipv4`; empty where the stage has one kind only.
    pub work: String,
    /// Where it is done.
    #[serde(rename = "where")]
    pub place: Where,
    /// The questions asked, with their answers.
    pub asked: Vec<Asked>,
    /// What software does, and what that costs, or why no port is asked.
    pub software: String,
    /// The reason, one line.
    pub reason: String,
}

impl Verdict {
    /// What was decided, without reasons: those name lines of the file, which may move while the plan stays.
    pub(crate) fn decision(&self) -> String {
        let asked = self.asked.iter();
        let asked = asked.map(|said| format!(" {} {} {}", said.port, said.capability, said.answer));
        format!("{} {:?}{}", self.work, self.place, asked.collect::<String>())
    }
}

/// The port that a stage may leave work to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exit {
    /// This one: everything leaves by it, unchanged.
    Port(String),
    /// None, for this reason.
    #[default]
    Nobody,
    /// Packets leave by several.
    Several(Vec<String>),
    /// The stage of this name changes headers on the way.
    Changed(String),
    /// The stage of this name, on the way, does not take what could be left to the port.
    Held(String),
    /// The description allows none.
    Forbidden,
}

/// What packets may look like on the way from one stage to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contract {
    /// Identity of the stage that hands over.
    pub from: String,
    /// Identity of the stage that takes.
    pub to: String,
    /// Kinds of superpackets there may be: `tcp4`, `tcp6`, `udp4`, `udp6`.
    pub superpackets: Vec<&'static str>,
    /// How they may differ from the plain ones of their kind: `one id`, `cwr on all`.
    pub refinements: Vec<&'static str>,
    /// Whether checksums may be unfinished.
    pub partial: bool,
    /// Most bytes of a packet.
    pub largest: u32,
    /// Which order packets have: `port` as a port received them, `flow` within each flow only.
    pub order: &'static str,
}

/// Decides everything but where it runs.
///
/// # Errors
/// What cannot be: a stage or port that would be handed what it does not take, and work that must be done by
/// hardware that cannot. All of it is noted in `problems`, together with what is probably not meant.
pub(crate) fn negotiate(
    mut checked: Checked,
    registry: &Registry,
    problems: &mut Collector,
) -> Result<Negotiated, Failure> {
    neighbours::add(&mut checked, registry, problems)?;
    answers::add_exits(&mut checked, registry)?;
    let graph = graph::Graph::of(&checked.chains);
    let source = problems.source();
    unasked::withhold(&mut checked, &graph, &source);
    let exits = exits::exits(&checked.chains, &graph);
    finish::add_steps(&mut checked.chains, &graph, &exits, registry)?;
    let decided = decide::decide(&checked, &source);
    refuse::refuse(&checked, &decided, problems);
    let ways = ways::ways(&checked, &decided, problems);
    if problems.has_errors() {
        return Err(problems.clone().finish().into());
    }
    let edges = decided.contracts(&checked.chains);
    decided.write(&mut checked.chains);
    answers::link(&mut checked);
    Ok(Negotiated { checked, edges, ways })
}
