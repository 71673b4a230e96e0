//! The plan's placement as plain data: for those who show it, check it or keep it.

use super::Plan;
use serde::Serialize;

/// Which actors there are, where they run, and how they are joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// In the order in which they open queues: copy `i` of an actor has queue `i` of each port it touches.
    pub actors: Vec<PlacedActor>,
    /// All rings.
    pub rings: Vec<PlacedRing>,
    /// CPUs that may be used and are not, and why.
    pub left_free: Vec<(Vec<usize>, String)>,
}

/// An actor, or one of its copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedActor {
    /// Name, with the number of the copy where there are several: `main#0`.
    pub name: String,
    /// Name without that number, as the description speaks of it.
    pub actor: String,
    /// Copies of it in all.
    pub copies: usize,
    /// Why there are so many.
    pub why_copies: String,
    /// CPU it is pinned to; `None`: it runs where the system puts it.
    pub cpu: Option<usize>,
    /// Why that one.
    pub why: String,
    /// NUMA node its packet buffers are bound to.
    pub node: Option<u32>,
    /// Identities of its stages, in the order packets take.
    pub stages: Vec<String>,
    /// Bytes of its packet buffers.
    pub memory: u64,
}

/// A ring between two actors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedRing {
    /// Name, unique in the plan.
    pub name: String,
    /// Name of the actor that feeds it.
    pub from: String,
    /// Name of the actor that reads it.
    pub to: String,
    /// Packets it holds.
    pub capacity: usize,
    /// Why it is there.
    pub reason: String,
}

impl Plan {
    /// Which actors there are, where they run, and how they are joined.
    pub fn placement(&self) -> Placement {
        let actors = self.actors.iter().map(|actor| PlacedActor {
            name: actor.name.clone(),
            actor: actor.base.clone(),
            copies: actor.copy.1,
            why_copies: actor.why_copies.clone(),
            cpu: actor.cpu,
            why: actor.why.clone(),
            node: actor.home.node,
            stages: actor.nodes.iter().map(|node| self.stages[node.stage].id.clone()).collect(),
            memory: super::pools::bytes(&actor.home),
        });
        let name = |actor: usize| self.actors[actor].name.clone();
        let rings = self.rings.iter().map(|ring| PlacedRing {
            name: ring.name.clone(),
            from: name(ring.from),
            to: name(ring.to.0),
            capacity: ring.capacity,
            reason: ring.reason.clone(),
        });
        Placement {
            actors: actors.collect(),
            rings: rings.collect(),
            left_free: self.left_free.clone(),
        }
    }
}
