//! The books of an actor, read between two steps or after the last one; and what a forced stop left in it, which is
//! discarded and booked.

use super::node::Body;
use super::{Actor, Phase};
use crate::counters::{ActorReport, RingIn, RingOut, StageReport};
use crate::packet::Units;

impl Actor {
    /// Ends an actor that will not be stepped again, as if it had been told to stop.
    pub fn abandon(&mut self) {
        if self.phase != Phase::Done {
            self.phase = Phase::Done;
            self.buffers.flush();
            self.edges.iter_mut().for_each(|edge| edge.close());
        }
    }

    /// Discards what a forced stop left in bursts, stages, stashes and rings, and books it as `stopped`.
    /// After a normal end there is nothing. Must be called on every actor before reports are taken, since
    /// what is discarded here may have its home there.
    pub fn discard_rest(&mut self) {
        debug_assert!(self.phase == Phase::Done, "an actor is emptied after its last step");
        for index in 0..self.nodes.len() {
            self.discard_inside(index);
        }
        for (edge, stopped) in self.edges.iter_mut().zip(&mut self.edges_stopped) {
            while let Some(packet) = edge.take_stash() {
                *stopped += packet.units();
            }
        }
        for intake in &mut self.intakes {
            while let Some(packet) = intake.edge.take_leftover() {
                intake.stopped += packet.units();
            }
        }
        self.buffers.flush();
    }

    fn discard_inside(&mut self, index: usize) {
        while let Some(packet) = self.inputs[index].pop() {
            self.nodes[index].lost.stopped += packet.units();
        }
        let node = &mut self.nodes[index];
        if node.held != Units::default() {
            node.lost.stopped += std::mem::take(&mut node.held);
            node.discard(Body::Discard);
        }
    }

    /// The books. They balance between any two steps: what waits in front of a stage counts as held by it.
    pub fn report(&mut self) -> ActorReport {
        let stages = (0..self.nodes.len()).map(|index| self.stage_report(index)).collect();
        let rings_out = self.edges.iter().zip(&self.edges_stopped).enumerate();
        let rings_out = rings_out.map(|(index, (edge, &stopped))| RingOut {
            name: edge.name().to_owned(),
            capacity: edge.capacity(),
            sent: self.sent_to_edge(index),
            stopped,
            stats: edge.stats(),
        });
        let rings_in = self.intakes.iter().map(|intake| RingIn {
            name: intake.edge.name().to_owned(),
            taken: intake.edge.taken(),
            stopped: intake.stopped,
        });
        ActorReport {
            name: self.name.clone(),
            stages,
            rings_out: rings_out.collect(),
            rings_in: rings_in.collect(),
            steps: self.steps,
            times: self.times,
            cpus: self.cpus.clone(),
            ended: self.phase == Phase::Done,
            failed: self.failed.clone(),
            home: self.buffers.report(),
            profile: self.watch.as_ref().map(|watch| watch.profile()),
        }
    }

    fn sent_to_edge(&self, edge: usize) -> Units {
        let mut sum = Units::default();
        for node in &self.nodes {
            for (target, &sent) in node.targets.iter().zip(&node.sent) {
                if *target == crate::stage::Target::Edge(edge) {
                    sum += sent;
                }
            }
        }
        sum
    }

    fn stage_report(&self, index: usize) -> StageReport {
        let node = &self.nodes[index];
        let waiting = self.inputs[index].iter().map(|packet| packet.units());
        StageReport {
            stage: node.stage,
            input: self.entered(index),
            output: node.output(),
            held: waiting.fold(node.held, |sum, units| sum + units),
            lost: node.lost,
            tally: node.tally.clone(),
            panics: node.panic_count,
            bursts: node.bursts,
            queue: node.queue_report(),
        }
    }
}
