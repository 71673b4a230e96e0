//! From a [`Description`] to stages and ports that are known and configured, and chains that hang together.
//!
//! Reports every problem, not the first, each at its place; what merely follows from a problem already
//! reported is left out. Opens nothing: a file that passes here may still name a capture that is not there.

mod actors;
mod behind;
mod chains;
mod entries;
mod later;
mod named;
mod ports;
pub(crate) mod ring;
mod rows;
mod stages;

use crate::error::Collector;
use crate::load::Loaded;
use crate::negotiate::{Exit, Verdict};
use crate::ports::PortConfig;
use crate::spec::{Common, Cores, Description, Pools};
use crate::text::Span;
use crate::trial;
pub(crate) use behind::behind;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::edge::OnFull;
use corelane_runtime::offload::{Caps, Facts, Offload};
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{Registry, StageConfig, StageInfo};
use named::Named;

/// The stage that is no stage: it ends an actor and begins the next.
pub(crate) const RING: &str = "Ring";

/// A description in which everything is known.
pub(crate) struct Checked {
    pub(crate) name: String,
    pub(crate) ports: Vec<CheckedPort>,
    pub(crate) chains: Vec<CheckedChain>,
    pub(crate) cores: Cores,
    /// Where the file says that, if it does and nothing goes before it.
    pub(crate) cores_at: Option<Span>,
    pub(crate) hash_seed: Option<u64>,
    pub(crate) pools: Pools,
    /// Where the file says that, if it does.
    pub(crate) pools_at: Option<Span>,
}

/// A port and how to open it.
pub(crate) struct CheckedPort {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Its arguments as written, for the plan's hash.
    pub(crate) arguments: String,
    pub(crate) config: Box<dyn PortConfig>,
    /// What all ports can be told.
    pub(crate) common: Common,
    /// What is known of it, for the plan.
    pub(crate) facts: Facts,
    /// Who said so.
    pub(crate) origin: Origin,
    /// Where that is written, if it is.
    pub(crate) caps_at: Option<Span>,
    /// What it grants and this run does not ask for, once that is known.
    pub(crate) withheld: Caps,
    /// Where it stands in the file, for what goes wrong when it is opened.
    pub(crate) span: Span,
}

/// How it is known what a port can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The port itself was asked.
    Asked,
    /// From a record of that name.
    Recorded(String),
}

/// A chain whose steps are known.
pub(crate) struct CheckedChain {
    pub(crate) name: String,
    pub(crate) steps: Vec<CheckedStep>,
}

/// One place in a chain.
#[expect(clippy::large_enum_variant, reason = "there are few, and most of them are stages")]
pub(crate) enum CheckedStep {
    /// A stage.
    Stage(CheckedStage),
    /// The end of one actor and the beginning of another.
    Ring(CheckedRing),
}

/// A stage and how to build it.
pub(crate) struct CheckedStage {
    pub(crate) info: &'static StageInfo,
    pub(crate) name: Option<String>,
    pub(crate) on_panic: OnPanic,
    pub(crate) offload: Offload,
    pub(crate) traits: Traits,
    pub(crate) config: Box<dyn StageConfig>,
    /// Its arguments with keys, parameters put in, for the plan's hash.
    pub(crate) arguments: String,
    /// As the file writes it, parameters put in; its name alone where it was added.
    pub(crate) written: String,
    /// Where it stands in the file; `None` where it was added.
    pub(crate) span: Option<Span>,
    /// Chains that `traits.outputs` name, by number.
    pub(crate) outputs: Vec<usize>,
    /// Its place in the chain as the file has it, and whether the file has it at all.
    pub(crate) index: usize,
    pub(crate) added: bool,
    /// What was decided about its work, once that is.
    pub(crate) verdicts: Vec<Verdict>,
    /// The port it may leave work to, once that is known.
    pub(crate) exit: Exit,
    /// Why it was added, where it was.
    pub(crate) note: Option<String>,
    /// Ports that packets here may have come in by, and may leave by, once that is known.
    pub(crate) entries: Vec<String>,
    pub(crate) exits: Vec<String>,
    /// Where its answers go, port by port, once that is known.
    pub(crate) answers: Vec<Answer>,
}

/// Where answers to those leave who asked at a port.
pub(crate) struct Answer {
    pub(crate) port: String,
    /// The first of the steps that lead to its `Tx`: chain and step.
    pub(crate) at: (usize, usize),
}

/// A ring between two actors.
#[derive(Clone)]
pub(crate) struct CheckedRing {
    pub(crate) name: String,
    /// Where the file has it.
    pub(crate) span: Span,
    pub(crate) capacity: usize,
    pub(crate) on_full: OnFull,
    /// Copies of the actor behind it.
    pub(crate) ways: usize,
    /// What decides which copy a packet goes to.
    pub(crate) by: Spread,
}

/// What packets are spread over copies of an actor by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Addresses and ports of the outermost headers.
    #[default]
    Flow,
    /// Those of the innermost headers.
    InnerFlow,
}

impl CheckedStep {
    /// Whether it is a stage that brings packets in.
    pub(crate) fn is_source(&self) -> bool {
        matches!(self, CheckedStep::Stage(stage) if stage.info.role == Role::Source)
    }
}

/// Checks what was loaded. The result is there if no error was found.
pub(crate) fn check(loaded: Loaded, registry: &Registry) -> (Option<Checked>, Collector) {
    let Loaded { description, mut problems } = loaded;
    let Some(description) = description else { return (None, problems) };
    trial::names(&description, &mut problems);
    let ports = ports::ports(&description, &mut problems);
    let (chains, mut named) = stages::chains(&description, registry, &ports, &mut problems);
    chains::check(&description, &chains, &mut named, &mut problems);
    actors::check(&description, &chains, &mut problems);
    unused_ports(&description, &named, &mut problems);
    unused_tables(&description, &named, &mut problems);
    if problems.has_errors() {
        return (None, problems);
    }
    let chains = chains.into_iter().map(stages::FoundChain::finish).collect();
    let origin = |span: Option<Span>| span.map(|span| description.text.origin(span));
    let checked = Checked {
        cores_at: origin(description.cores_at),
        pools_at: origin(description.pools_at),
        name: description.name,
        ports: ports.into_iter().flatten().collect(),
        chains,
        cores: description.cores,
        hash_seed: description.hash_seed,
        pools: description.pools,
    };
    (Some(checked), problems)
}

/// The ports alone, whatever stands on them.
pub(crate) fn ports(loaded: Loaded) -> (Vec<CheckedPort>, Collector) {
    let Loaded { description, mut problems } = loaded;
    let ports = description.map(|found| ports::ports(&found, &mut problems)).unwrap_or_default();
    (ports.into_iter().flatten().collect(), problems)
}

/// Rows that nobody reads say nothing.
fn unused_tables(description: &Description, named: &Named, problems: &mut Collector) {
    for table in &description.tables {
        let name = &table.name.text;
        if !named.has_table(name, description) {
            let message = format!("table `{name}` is used by no stage");
            let help = Some(format!("write `table: \"{name}\"` in a stage, or leave it out"));
            let span = table.name.span;
            problems.warning(&description.text, span, "unused-table", message, help);
        }
    }
}

/// A port that nothing stands on is allowed, but hardly meant.
fn unused_ports(description: &Description, named: &Named, problems: &mut Collector) {
    for port in &description.ports {
        let name = &port.name.text;
        if !named.has_port(name, description) {
            let message = format!("port `{name}` is used by no stage");
            let help = Some(format!("write `Rx(\"{name}\")` or `Tx(\"{name}\")`, or leave it out"));
            problems.warning(&description.text, port.name.span, "unused-port", message, help);
        }
    }
}
