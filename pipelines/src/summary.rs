//! Small answers for those who show a plan to people.

use crate::place::Plan;
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
