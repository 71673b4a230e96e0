//! What an actor and its stages counted, in the shape a report is made from.
//!
//! Counters are plain numbers owned by their actor, which publishes them when asked and when it ends.

use crate::packet::{HomeReport, Units};
use crate::port::QueueReport;
use crate::stage::Tally;

/// The books of one stage in one actor.
#[derive(Clone, Debug, Default)]
pub struct StageReport {
    /// Number of the stage in the plan.
    pub stage: usize,
    /// What came in: from stages before it, rings, and ports.
    pub input: Units,
    /// What went on: to stages, rings, and ports.
    pub output: Units,
    /// What is still inside.
    pub held: Units,
    /// Drops the engine made on its behalf.
    pub lost: Lost,
    /// Everything the stage booked itself.
    pub tally: Tally,
    /// Times the stage panicked.
    pub panics: u64,
    /// Bursts it handled.
    pub bursts: u64,
    /// The queue behind it.
    pub queue: Option<QueueReport>,
}

/// What the engine itself dropped on behalf of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Lost to a panic of the stage, or because it was switched off after one.
    pub stage_panicked: Units,
    /// Emitted beyond the room of an output.
    pub no_room: Units,
    /// Discarded by a forced stop.
    pub stopped: Units,
}

impl Lost {
    /// All of it.
    pub fn total(&self) -> Units {
        self.stage_panicked + self.no_room + self.stopped
    }
}

impl StageReport {
    /// in + created = out + dropped + absorbed + consumed + held, in all three units.
    pub fn is_balanced(&self) -> bool {
        let tally = &self.tally;
        let came = self.input + tally.created;
        let dropped = tally.dropped() + self.lost.total();
        came == self.output + dropped + tally.absorbed + tally.consumed + self.held
    }
}

/// What one actor counted.
#[derive(Clone, Debug)]
pub struct ActorReport {
    /// Name in the plan.
    pub name: String,
    /// Its stages in order.
    pub stages: Vec<StageReport>,
    /// Its home.
    pub home: HomeReport,
    /// Steps that did work, found nothing, and were blocked.
    pub steps: [u64; 3],
    /// Time of its thread, ns: in steps that did work, looking for some, asleep. Nothing in a simulation.
    pub times: [crate::Time; 3],
    /// Where it was pinned, the CPUs that the kernel lets its thread run on.
    pub cpus: Vec<usize>,
    /// It will not be stepped again.
    pub ended: bool,
    /// Rings it feeds.
    pub rings_out: Vec<RingOut>,
    /// Rings it reads.
    pub rings_in: Vec<RingIn>,
    /// A stage failed for good.
    pub failed: Option<String>,
    /// What was measured of its time, where that was asked for.
    pub profile: Option<crate::actor::Profile>,
}

/// A ring, from its producer's side.
#[derive(Clone, Debug)]
pub struct RingOut {
    /// Name in the plan.
    pub name: String,
    /// Slots.
    pub capacity: usize,
    /// Everything sent into it.
    pub sent: Units,
    /// Left in the stash by a forced stop.
    pub stopped: Units,
    /// What was counted.
    pub stats: crate::edge::EdgeStats,
}

/// A ring, from its consumer's side.
#[derive(Clone, Debug)]
pub struct RingIn {
    /// Name in the plan.
    pub name: String,
    /// Everything taken out of it.
    pub taken: Units,
    /// Left in the ring by a forced stop.
    pub stopped: Units,
}

impl RingOut {
    /// Whether what was sent is what came out, was dropped by the policy, or was left by a forced stop.
    pub fn is_balanced(&self, other_end: &RingIn) -> bool {
        let left = self.stopped + other_end.stopped;
        self.sent == other_end.taken + self.stats.dropped + left
    }
}
