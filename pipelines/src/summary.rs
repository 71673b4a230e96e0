//! Small answers for those who show a plan or a registry to people.

use crate::error::instead;
use crate::place::Plan;
use corelane_runtime::Error;
use corelane_runtime::stage::{Registry, StageSpec};
use std::collections::BTreeSet;

/// How much there is of a plan's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Chains with a stage in them.
    pub chains: usize,
    /// Ports.
    pub ports: usize,
    /// Actors, copies counted apart.
    pub actors: usize,
}

impl Plan {
    /// How many chains, ports and actors it has.
    pub fn size(&self) -> Size {
        let chains: BTreeSet<&str> = self.stages.iter().map(|stage| stage.chain.as_str()).collect();
        Size { chains: chains.len(), ports: self.ports.len(), actors: self.actors.len() }
    }
}

/// The kind of stage of that name.
///
/// # Errors
/// Where there is none; it names a near one, or those there are.
pub fn stage_kind<'r>(registry: &'r Registry, name: &str) -> Result<&'r dyn StageSpec, Error> {
    registry.get(name).ok_or_else(|| {
        let help = instead(name, registry.iter().map(|kind| kind.info().name));
        let message = format!("no stage is called so; {}", help.unwrap_or_default());
        Error::user(format!("stage {name}"), message)
    })
}
