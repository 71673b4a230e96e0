//! Where a stage sends packets: the next stage of its chain, a named output, a ring to another actor.
//!
//! Within an actor an output is the next stage's input burst; between actors it is the stash of an edge. A
//! stage that emits beyond the room it was told finds a little reserve, then drops, counted as `no_room`.

use crate::edge::EdgeTx;
use crate::packet::{BURST_MAX, Burst, Packet, Units};

/// Index into the outputs of a stage; 0 is the next stage of the chain, and the named ones follow. A stage whose role is
/// to end chains has no next one: its first named output is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputId(pub usize);

impl OutputId {
    /// The next stage of the chain.
    pub const NEXT: OutputId = OutputId(0);
}

/// Packets of reserve in an input burst beyond the room a stage is told.
const RESERVE: usize = 32;

/// What an output leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Another stage of the same actor, further down.
    Node(usize),
    /// A ring to another actor.
    Edge(usize),
    /// The place of the next stage, for a stage that has named outputs only.
    Nowhere,
}

/// The outputs of one stage during one call.
pub struct Outputs<'a> {
    targets: &'a [Target],
    /// Inputs of the nodes from `first` on.
    inputs: &'a mut [Burst],
    first: usize,
    edges: &'a mut [EdgeTx],
    sent: &'a mut [Units],
    no_room: &'a mut Units,
    /// How many of the targets, from the first on, a stage waits for.
    waited_for: usize,
}

impl<'a> Outputs<'a> {
    /// Outputs to `targets`; `inputs[i]` is the input of node `first + i`.
    pub fn new(
        targets: &'a [Target],
        inputs: &'a mut [Burst],
        first: usize,
        edges: &'a mut [EdgeTx],
        sent: &'a mut [Units],
        no_room: &'a mut Units,
    ) -> Outputs<'a> {
        let waited_for = targets.len();
        Outputs { targets, inputs, first, edges, sent, no_room, waited_for }
    }

    /// Of a stage that [mirrors](super::spec::Traits::mirrors) only the next stage is waited for.
    #[must_use]
    pub fn mirroring(self, mirrors: bool) -> Outputs<'a> {
        let waited_for = if mirrors { self.targets.len().min(1) } else { self.targets.len() };
        Outputs { waited_for, ..self }
    }

    /// Sends to the next stage.
    pub fn next(&mut self, packet: Packet) {
        self.send(OutputId::NEXT, packet);
    }

    /// Sends to a declared output.
    pub fn send(&mut self, output: OutputId, packet: Packet) {
        let units = packet.units();
        let refused = match self.targets.get(output.0) {
            Some(&Target::Node(node)) => self.inputs[node - self.first].push(packet),
            Some(&Target::Edge(edge)) => self.edges[edge].send(packet),
            Some(Target::Nowhere) | None => Err(packet),
        };
        match refused {
            Ok(()) => self.sent[output.0] += units,
            // The stage broke its contract. The packet goes home by the slow path, where it is booked once
            // more as an implicit drop, so the run cannot claim to be balanced.
            Err(packet) => {
                *self.no_room += units;
                drop(packet);
            }
        }
    }

    /// Packets that can be sent to every output now, those left out that a stage does not wait for.
    pub fn room(&self) -> usize {
        (0..self.waited_for).map(|i| self.room_of(OutputId(i))).min().unwrap_or(BURST_MAX)
    }

    /// Packets that can be sent to one output now.
    pub fn room_of(&self, output: OutputId) -> usize {
        match self.targets.get(output.0) {
            Some(&Target::Node(node)) => {
                self.inputs[node - self.first].room().saturating_sub(RESERVE)
            }
            Some(&Target::Edge(edge)) => self.edges[edge].room(),
            // It never keeps the others waiting.
            Some(Target::Nowhere) => BURST_MAX,
            None => 0,
        }
    }
}
