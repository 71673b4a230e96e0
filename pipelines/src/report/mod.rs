//! What a run did, in numbers that must add up.
//!
//! The keys are stable: later versions add some and change none. Stages are summed over the actors they run
//! in; `actors` has them apart. Counts are packets where nothing else is said; `segments_*` are frames as they
//! stand on the wire, a superpacket of n counting n; `bytes_*` are L4 payload bytes.

mod balance;
mod make;
mod named;
#[cfg(test)]
mod tests;

pub use named::Named;

pub(crate) use make::{Facts, make};

use serde::Serialize;

/// Version of the keys.
pub const SCHEMA: u32 = 1;

/// How the actors were run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// On threads.
    Threads { stopped: bool },
    /// On threads, and they still run; `late` did not say in time how far they are.
    Live { late: Vec<String>, stopped: bool },
    /// In the simulator.
    Simulated { seed: u64, turns: u64, stopped: bool },
}

/// The report of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the pipeline.
    pub pipeline: String,
    /// Hash of the plan.
    pub plan: String,
    /// Whether the run goes on: then nothing is said about balance, which can be told at the end only.
    pub live: bool,
    /// Of a run that goes on, the actors that did not say in time how far they are: what stands here of them
    /// is older, or missing.
    pub late: Vec<String>,
    /// Whether every packet and every buffer is accounted for; `None` while the run goes on.
    pub balanced: Option<bool>,
    /// What does not add up, in words.
    pub unbalanced: Vec<String>,
    /// What went wrong, in words: damaged input, a failed stage.
    pub errors: Vec<String>,
    /// Whether the run was ended before it had passed on what was inside.
    pub stopped: bool,
    /// Seconds from start to end; virtual ones in a simulation.
    pub duration_s: f64,
    /// Set where the run was a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
    /// By name, in the order of the file.
    pub ports: Named<PortReport>,
    /// In the order of the file.
    pub stages: Vec<StageReport>,
    /// In the order of the plan.
    pub actors: Vec<ActorReport>,
    /// In the order of the plan.
    pub rings: Vec<RingReport>,
    /// One per actor.
    pub homes: Vec<HomeReport>,
    /// Sums over everything.
    pub totals: Totals,
}

/// A simulated run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Simulation {
    /// Decides everything.
    pub seed: u64,
    /// Steps taken by all actors together.
    pub turns: u64,
}

/// A port.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PortReport {
    /// Its kind in the description.
    pub kind: String,
    /// Packets it handed over.
    pub rx_packets: u64,
    /// Bytes of those, link header included.
    pub rx_bytes: u64,
    /// Packets handed to it.
    pub tx_packets: u64,
    /// Bytes of those.
    pub tx_bytes: u64,
    /// Frames on the wire, both ways; more than packets where the port joins or cuts.
    pub wire_packets: u64,
    /// Those that came in.
    pub rx_wire_packets: u64,
    /// Those that went out.
    pub tx_wire_packets: u64,
    /// Losses inside the device, by reason.
    pub drops: Named<u64>,
    /// What it could do at the start and lost on the way, in the order it was seen.
    pub demoted: Vec<Demotion>,
    /// Queue by queue.
    pub queues: Vec<QueueReport>,
}

/// A capability that a port lost while packets flowed. Software did the work from then on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demotion {
    /// As written in descriptions: `tso4`.
    pub capability: String,
    /// What happened.
    pub why: String,
    /// When it was seen, seconds from the start; virtual ones in a simulation.
    pub at_s: f64,
}

/// A queue of a port.
#[derive(Clone, Debug, Serialize)]
pub struct QueueReport {
    /// `rx` or `tx`.
    pub direction: &'static str,
    /// The actor that owns it.
    pub actor: String,
    /// Packets handed over.
    pub packets: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Frames on the wire.
    pub wire_packets: u64,
    /// Losses inside the device, by reason.
    pub drops: Named<u64>,
    /// What ended it early.
    pub error: Option<String>,
}

/// A stage, or its share in one actor.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StageReport {
    /// `chain.index`; `chain.+Kind` for a stage that was added before a port.
    pub id: String,
    /// Its chain.
    pub chain: String,
    /// Its place in the chain as the file has it; for an added stage, that of the stage it stands before.
    pub index: usize,
    /// Its kind.
    pub kind: &'static str,
    /// The name the file gives it, or its kind.
    pub name: String,
    /// Whether it is not in the file.
    pub added: bool,
    /// From stages before it, rings and ports.
    pub packets_in: u64,
    /// To stages, rings and ports.
    pub packets_out: u64,
    /// Frames that came in.
    pub segments_in: u64,
    /// Frames that went out.
    pub segments_out: u64,
    /// Payload bytes that came in.
    pub bytes_in: u64,
    /// Payload bytes that went out.
    pub bytes_out: u64,
    /// Packets made by cutting, copying or answering.
    pub created: u64,
    /// Packets that became part of another.
    pub absorbed: u64,
    /// Packets answered or learned from.
    pub consumed: u64,
    /// Packets still inside at the end.
    pub held: u64,
    /// Packets dropped, by reason.
    pub drops: Named<u64>,
    /// What the stage counts itself.
    pub counters: Named<u64>,
    /// Payload bytes it read for checksums.
    pub payload_bytes_summed: u64,
    /// Times it panicked.
    pub panics: u64,
    /// Calls that handled packets or looked for some.
    pub bursts: u64,
}

/// An actor.
#[derive(Clone, Debug, Serialize)]
pub struct ActorReport {
    /// Name in the plan.
    pub name: String,
    /// The CPU it was to be pinned to.
    pub cpu: Option<usize>,
    /// Where it was to be pinned, the CPUs that the kernel says its thread may run on.
    pub pinned: Vec<usize>,
    /// Seconds its thread spent in steps that did work. This and the next two are 0 in a simulation.
    pub busy_s: f64,
    /// Seconds it spent looking for work.
    pub poll_s: f64,
    /// Seconds it was asleep.
    pub idle_s: f64,
    /// Steps that did work.
    pub steps_worked: u64,
    /// Steps that found nothing to do.
    pub steps_idle: u64,
    /// Steps that waited for a ring or for buffers.
    pub steps_blocked: u64,
    /// The stage that failed for good.
    pub failed: Option<String>,
    /// Its share of each stage.
    pub stages: Vec<StageReport>,
}

/// A ring.
#[derive(Clone, Debug, Serialize)]
pub struct RingReport {
    /// Name in the plan.
    pub name: String,
    /// Actor that feeds it.
    pub from: String,
    /// Actor that reads it.
    pub to: String,
    /// Packets it holds at most.
    pub capacity: usize,
    /// Packets sent into it.
    pub packets: u64,
    /// Frames of those.
    pub segments: u64,
    /// Payload bytes of those.
    pub bytes: u64,
    /// Times it had no room for all that waited.
    pub full: u64,
    /// Most packets seen waiting in front of it.
    pub stash_high: u64,
    /// Packets dropped by its policy.
    pub dropped: u64,
    /// Packets left in it by a forced stop.
    pub stopped: u64,
}

/// Numbers by size of buffer.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BySize {
    /// Headers that share another buffer's data.
    pub shells: u32,
    /// Buffers of 2 KiB.
    pub small: u32,
    /// Buffers of 64 KiB.
    pub large: u32,
}

impl From<[u32; 3]> for BySize {
    fn from([shells, small, large]: [u32; 3]) -> BySize {
        BySize { shells, small, large }
    }
}

/// The pool of an actor.
#[derive(Clone, Debug, Serialize)]
pub struct HomeReport {
    /// The actor's name.
    pub name: String,
    /// Buffers made.
    pub capacity: BySize,
    /// Buffers that have not come back; none in a balanced run.
    pub outstanding: BySize,
    /// Fewest free at any time.
    pub low_water: BySize,
    /// Requests that found the pool empty and waited.
    pub refused: u64,
    /// Packets dropped by falling out of scope.
    pub implicit_drops: u64,
    /// Whether its memory is in huge pages.
    pub huge: bool,
}

/// Sums over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Packets received from ports.
    pub rx_packets: u64,
    /// Packets handed to ports.
    pub tx_packets: u64,
    /// Packets made by cutting, copying or answering.
    pub created: u64,
    /// Packets that became part of another.
    pub absorbed: u64,
    /// Packets answered or learned from.
    pub consumed: u64,
    /// Packets dropped by stages, rings and the engine.
    pub dropped: u64,
    /// Packets still inside at the end.
    pub held: u64,
    /// L4 payload bytes, each counted once, when it was received or created.
    pub payload_bytes: u64,
    /// L4 payload bytes read for a checksum.
    pub payload_bytes_summed: u64,
    /// Packets copied because they could not leave as they were.
    pub copies: u64,
    /// Packets dropped by falling out of scope.
    pub implicit_drops: u64,
    /// Packets discarded by a forced stop.
    pub stopped: u64,
    /// Times a stage panicked.
    pub panics: u64,
    /// Capabilities that ports lost on the way.
    pub demoted: u64,
}

impl Report {
    /// The report as JSON, one object.
    ///
    /// # Errors
    /// Where a number cannot be written; none of these can be.
    pub fn to_json(&self) -> Result<String, corelane_runtime::Error> {
        serde_json::to_string_pretty(self)
            .map_err(|error| corelane_runtime::Error::system("report", error.to_string()))
    }

    /// Whether something failed: damaged input, a stage that panicked, a required capability lost, books that do
    /// not add up.
    pub fn has_failed(&self) -> bool {
        self.balanced == Some(false) || !self.errors.is_empty() || self.totals.panics > 0
    }

    /// Whether packets were discarded because the run was ended by force, or it may have been so.
    pub fn was_forced(&self) -> bool {
        self.stopped || self.totals.stopped > 0
    }
}
