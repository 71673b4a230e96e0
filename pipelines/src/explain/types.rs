//! The shape of an explanation. The keys are stable: later versions add some and change none.
//!
//! Lists are in the order of the file, or of the plan where the file has none. `docs/schemas/explain.schema.json`
//! describes the same for other programs; a test holds the two together.

use crate::check::{self, CheckedPort};
use crate::negotiate::{Contract, Verdict, Where};
use serde::Serialize;

/// Version of the keys.
pub const SCHEMA: u32 = 1;

/// What a plan decided, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the pipeline.
    pub pipeline: String,
    /// The file, as it was named.
    pub file: String,
    /// Hash of the plan.
    pub plan: String,
    /// Ports, and what is known of them.
    pub ports: Vec<PlanPort>,
    /// Chains and their stages.
    pub chains: Vec<Chain>,
    /// What sizes of packets fit from where to where.
    pub bytes: Vec<Bytes>,
    /// CPUs, who runs there, and which are left free.
    pub cores: CoresUsed,
    /// Actors: what runs as one.
    pub actors: Vec<Actor>,
    /// Rings between actors.
    pub rings: Vec<Ring>,
    /// Buffers, actor by actor.
    pub pools: Vec<Pool>,
    /// What packets may look like between two stages.
    pub contracts: Vec<Contract>,
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanPort {
    /// Name in the description.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Where the file has it: `file:line:column`.
    pub place: String,
    /// Where it says what the port can do, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caps_place: Option<String>,
    /// How it is known what it can do.
    pub origin: Origin,
    /// Whether what it claims was tried.
    pub verified: bool,
    /// What it says of itself: capabilities as written in descriptions.
    pub advertised: Vec<String>,
    /// What it agreed to.
    pub granted: Vec<String>,
    /// Why others are missing, where that is known.
    pub missing: Vec<Missing>,
    /// Most bytes of a packet that it cuts, headers included.
    pub tso_bytes: u32,
    /// Most segments of a packet that it cuts.
    pub tso_segments: u16,
    /// Most header bytes of a packet that it cuts.
    pub header_bytes: u16,
    /// Largest IP packet, if there is a limit.
    pub mtu: Option<u32>,
    /// Its link-layer address, if the description gives it one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Its addresses, each with the length of its network's prefix.
    pub addresses: Vec<String>,
    /// Next hops for what is on none of its networks.
    pub gateways: Vec<String>,
    /// Most queues per direction; null: as many as are asked for.
    pub queues: Option<u16>,
    /// Queues that the plan opens, in the direction where it opens more.
    pub queues_used: usize,
}

/// How it is known what a port can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "how")]
pub enum Origin {
    /// The port itself was asked, just now.
    Asked,
    /// From a record.
    Recorded {
        /// The name of the record.
        record: String,
    },
    /// From the description itself.
    Written {
        /// What it says: `None`, `All`, or a list.
        caps: String,
    },
}

/// Why capabilities are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Which.
    pub capabilities: Vec<String>,
    /// `no` or `unknown`.
    pub answer: &'static str,
    /// The reason.
    pub why: String,
}

/// A chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// Name in the description.
    pub name: String,
    /// Actors that run some of it; several where a ring cuts it or several copies run.
    pub actors: Vec<String>,
    /// Stages whose outputs lead here; none where it brings packets in itself.
    pub entered_from: Vec<String>,
    /// In the order packets take; rings and added steps are among them.
    pub stages: Vec<Stage>,
}

/// A stage, a ring, or a step that was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// `chain.index`, or `chain.+Kind` where it was added.
    pub id: String,
    /// Its place in the chain; for an added step that of the stage it stands before.
    pub index: usize,
    /// Its kind.
    pub kind: String,
    /// The name that the file gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is not in the file.
    pub added: bool,
    /// As the file writes it, parameters put in.
    pub written: String,
    /// `file:line:column`, or the option that gave it; missing where it was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The port that it stands on, for `Rx`, `Tx` and their like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// What the file allows: `Auto`, `SoftwareOnly`, `Require`.
    pub offload: &'static str,
    /// What it does, one sentence.
    pub summary: String,
    /// Actors it runs in.
    pub actors: Vec<String>,
    /// Where its work is done, need by need; none where no port could do any of it.
    pub verdicts: Vec<Verdict>,
    /// Where packets go from here, the next stage first.
    pub outputs: Vec<Output>,
}

/// Where an output leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Output {
    /// `next`, or the key that names the chain.
    pub name: String,
    /// Identity of the stage it leads to.
    pub to: String,
}

/// What fits from one port to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// The port packets come from.
    pub from: String,
    /// The port packets leave by.
    pub to: String,
    /// Largest IP packet that comes in, if there is a limit.
    pub mtu_in: Option<u32>,
    /// Bytes that stages on the way put in front, at most.
    pub added: i64,
    /// Largest IP packet that goes out, if there is a limit.
    pub mtu_out: Option<u32>,
    /// What happens to packets that do not fit, one line.
    pub reason: String,
}

/// CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoresUsed {
    /// CPUs with actors.
    pub used: Vec<PlanCore>,
    /// CPUs that stay free, and why.
    pub free: Vec<FreeCpus>,
}

/// A CPU and who runs there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanCore {
    /// Its number; null where the system may choose.
    pub cpu: Option<usize>,
    /// Its NUMA node, if the machine says.
    pub node: Option<u32>,
    /// Actors that run there.
    pub actors: Vec<String>,
    /// Why this one; what does not hold for all of them begins with their names.
    pub reasons: Vec<String>,
}

/// CPUs that stay free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FreeCpus {
    /// Their numbers.
    pub cpus: Vec<usize>,
    /// Why.
    pub reason: String,
}

/// An actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Actor {
    /// Name in the plan: `main`, or `main#0` where there are several copies.
    pub name: String,
    /// Its name without the number of the copy.
    pub base: String,
    /// Which copy it is, from 0.
    pub copy: usize,
    /// How many copies there are.
    pub copies: usize,
    /// Why there are so many.
    pub why_copies: String,
    /// CPU it is pinned to.
    pub cpu: Option<usize>,
    /// Why it is on that CPU.
    pub reason: String,
    /// Its stages in the order packets take.
    pub stages: Vec<String>,
}

/// A ring, or as many as join the copies of two actors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ring {
    /// The actor that it begins, without the number of a copy.
    pub name: String,
    /// Actors that feed it.
    pub from: Vec<String>,
    /// Actors that read it.
    pub to: Vec<String>,
    /// Rings there are in all: one for each pair.
    pub rings: usize,
    /// Packets that each holds.
    pub capacity: usize,
    /// What happens where it is full: `Wait`, `DropNewest`, `DropOldest`.
    pub on_full: String,
    /// `file:line:column`; missing where the planner put it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Why it is there.
    pub reason: String,
}

/// The buffers of an actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// The actor.
    pub actor: String,
    /// Headers that share another buffer's data.
    pub shells: u32,
    /// Buffers of 2 KiB.
    pub small: u32,
    /// Buffers of 64 KiB.
    pub large: u32,
    /// Memory of all of them, bytes.
    pub bytes: u64,
    /// NUMA node it is bound to.
    pub node: Option<u32>,
}

impl Explanation {
    /// All stages, chain by chain.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.chains.iter().flat_map(|chain| &chain.stages)
    }

    /// The port of that name.
    pub(crate) fn port(&self, name: &str) -> Option<&PlanPort> {
        self.ports.iter().find(|port| port.name == name)
    }
}

impl Stage {
    /// Where its work is done, taken together; `None` where no port could do any of it.
    pub(crate) fn place_of_all(&self) -> Option<Where> {
        let mut places = self.verdicts.iter().map(|verdict| verdict.place);
        let first = places.next()?;
        Some(places.fold(first, |all, place| match (all, place) {
            (Where::Nothing, other) | (other, Where::Nothing) => other,
            (one, other) if one == other => one,
            _ => Where::Both,
        }))
    }
}

impl Where {
    /// As tables call it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Where::Hardware => "hardware",
            Where::Software => "software",
            Where::Both => "both",
            Where::Nothing => "nothing",
        }
    }
}

impl PlanPort {
    /// Where to write what it can do, or another port.
    pub(crate) fn to_change(&self) -> &str {
        self.caps_place.as_deref().unwrap_or(&self.place)
    }
}

impl Origin {
    /// How what is known of a port is known.
    pub(crate) fn of(port: &CheckedPort) -> Origin {
        let written = port.common.caps.as_ref().map(|caps| caps.text.trim());
        let plain = |text: &&str| matches!(*text, "None" | "All") || text.starts_with('[');
        match (&port.origin, written.filter(plain)) {
            (_, Some(caps)) => Origin::Written { caps: caps.to_owned() },
            (check::Origin::Recorded(record), None) => Origin::Recorded { record: record.clone() },
            (check::Origin::Asked, None) => Origin::Asked,
        }
    }

    /// In words.
    pub(crate) fn text(&self) -> String {
        match self {
            Origin::Asked => "asked just now".to_owned(),
            Origin::Recorded { record } => format!("recorded {record}"),
            Origin::Written { caps } => format!("caps: {caps}, as written"),
        }
    }
}
