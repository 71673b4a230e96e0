//! From a [`Description`] to stages and ports that are known and configured, and chains that hang together.
//!
//! Reports every problem, not the first, each at its place; what merely follows from a problem already
//! reported is left out. Opens nothing: a file that passes here may still name a capture that is not there.

mod chains;
mod entries;
#[cfg(test)]
mod tests;

use crate::error::Collector;
use crate::load::Loaded;
use crate::ports::PortConfig;
use crate::spec::{Cores, Description, Pools};
use crate::text::Span;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::edge::OnFull;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{Registry, StageConfig, StageInfo};

/// The stage that is no stage: it ends an actor and begins the next.
pub(crate) const RING: &str = "Ring";

/// A description in which everything is known.
pub(crate) struct Checked {
    pub(crate) name: String,
    pub(crate) ports: Vec<CheckedPort>,
    pub(crate) chains: Vec<CheckedChain>,
    pub(crate) cores: Cores,
    pub(crate) hash_seed: Option<u64>,
    pub(crate) pools: Pools,
}

/// A port and how to open it.
pub(crate) struct CheckedPort {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Its arguments as written, for the plan's hash.
    pub(crate) arguments: String,
    pub(crate) config: Box<dyn PortConfig>,
    /// Largest IP packet, bytes, where the file says so.
    pub(crate) mtu: Option<u32>,
    /// Where it stands in the file, for what goes wrong when it is opened.
    pub(crate) span: Span,
}

/// A chain whose steps are known.
pub(crate) struct CheckedChain {
    pub(crate) name: String,
    pub(crate) steps: Vec<CheckedStep>,
}

/// One place in a chain.
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
    pub(crate) traits: Traits,
    pub(crate) config: Box<dyn StageConfig>,
    /// Its arguments as written, for the plan's hash.
    pub(crate) arguments: String,
    /// Chains that `traits.outputs` name, by number.
    pub(crate) outputs: Vec<usize>,
    /// Its place in the chain as the file has it, and whether the file has it at all.
    pub(crate) index: usize,
    pub(crate) added: bool,
}

/// A ring between two actors.
#[derive(Clone)]
pub(crate) struct CheckedRing {
    pub(crate) name: String,
    pub(crate) capacity: usize,
    pub(crate) on_full: OnFull,
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
    let ports = entries::ports(&description, &mut problems);
    let chains = entries::chains(&description, registry, &ports, &mut problems);
    chains::check(&description, &chains, &mut problems);
    unused_ports(&description, &chains, &mut problems);
    if problems.has_errors() {
        return (None, problems);
    }
    let chains = chains.into_iter().map(entries::FoundChain::finish).collect();
    let checked = Checked {
        name: description.name,
        ports: ports.into_iter().flatten().collect(),
        chains,
        cores: description.cores,
        hash_seed: description.hash_seed,
        pools: description.pools,
    };
    (Some(checked), problems)
}

/// A port that nothing stands on is allowed, but hardly meant.
fn unused_ports(
    description: &Description,
    chains: &[entries::FoundChain],
    problems: &mut Collector,
) {
    if problems.has_errors() || description.incomplete {
        return;
    }
    for port in &description.ports {
        let used = chains
            .iter()
            .flat_map(|chain| chain.stages())
            .any(|(_, stage)| stage.traits.port.as_deref() == Some(port.name.text.as_str()));
        if !used {
            let message = format!("port `{}` is used by no stage", port.name.text);
            problems.warning(&description.text, port.name.span, "unused-port", message);
        }
    }
}
