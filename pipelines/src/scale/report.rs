//! What a scaling run found, for programs: keys are stable, later versions add some and change none.

use super::machine::MeasuredOn;
use super::spec::Scaling;
use super::stats::Interval;
use super::window::Round;
use crate::report::Named;
use serde::Serialize;

/// Version of the keys.
pub const SCHEMA: u32 = 1;

/// What a scaling run found.
#[derive(Clone, Debug, Serialize)]
pub struct ScaleReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the pipeline.
    pub pipeline: String,
    /// What it was measured on.
    pub machine: MeasuredOn,
    /// What was measured, how long and how often.
    pub settings: Scaling,
    /// One step of an actor in so many was timed, stage by stage.
    pub sample_every: u32,
    /// Whether any step is noisy.
    pub noisy: bool,
    /// For each combination of values of the swept parameters.
    pub points: Vec<Point>,
}

/// A combination of values of parameters, measured on more and more cores.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The values, by parameter.
    pub set: Named<String>,
    /// In rising order of cores.
    pub steps: Vec<Step>,
}

/// A number of cores.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// How many CPUs were asked for.
    pub cores: usize,
    /// Why it was not measured, where it was not.
    pub not_measured: Option<String>,
    /// Hash of its plan.
    pub plan: Option<String>,
    /// Actors of that plan.
    pub actors: usize,
    /// Threads that those are on: one a CPU.
    pub threads: usize,
    /// Why it is noisy, in words; nothing: it is not.
    pub noisy: Vec<String>,
    /// What came of it.
    pub figures: Option<Figures>,
    /// Window by window, in the order of the rounds.
    pub rounds: Vec<Round>,
}

/// What the rounds of a step came to.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Millions of frames a second that came in.
    pub mpps: Interval,
    /// From the least to the most of the rounds, as a part of the median.
    pub spread: f64,
    /// 10^9 bits a second on the wire, of the round in the middle.
    pub gbps_l1: f64,
    /// Frames a second over those of the first step, round by round.
    pub speed_up: Interval,
    /// Frames a second of processor time over those of the first step, round by round; `None` where no processor
    /// time is known.
    pub efficiency: Option<Interval>,
    /// Time of all cores together for a frame, in the round in the middle.
    pub ns_per_packet: f64,
    /// The same in cycles of the nominal clock, where that is known.
    pub cycles_per_packet: Option<f64>,
    /// Frames of the busiest receive queue over those of the average one.
    pub busiest_queue: f64,
    /// What kept it from more.
    pub limit: String,
    /// Where the time of the cores went in the round in the middle; the parts add up to `total_ns`.
    pub parts: Vec<Part>,
    /// The time of all cores together in that round.
    pub total_ns: u64,
}

/// A part of the time of the cores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What kind of work.
    pub kind: PartKind,
    /// As the table calls it.
    pub name: String,
    /// Identity of the stage, where it is the work of one or of the device behind it.
    pub stage: Option<String>,
    /// All cores together, the whole window.
    pub ns: u64,
    /// The same for a frame.
    pub ns_per_packet: f64,
    /// The same in cycles of the nominal clock, where that is known.
    pub cycles_per_packet: Option<f64>,
}

/// What kind of work a part of the time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// Frames made by an emulated port, and copied into buffers.
    Generator,
    /// Any other device's receiving and sending, behind `Rx` or `Tx`.
    Device,
    /// A stage.
    Stage,
    /// Looking for work, and asleep.
    Idle,
    /// Able to run, and without a CPU.
    Waiting,
    /// What lies between the stages.
    Other,
}

impl ScaleReport {
    /// The report as JSON, one object.
    ///
    /// # Errors
    /// Where a number cannot be written; none of these can be.
    pub fn to_json(&self) -> Result<String, corelane_runtime::Error> {
        serde_json::to_string_pretty(self)
            .map_err(|error| corelane_runtime::Error::system("report", error.to_string()))
    }

    /// The report for people.
    #[must_use]
    pub fn table(&self) -> String {
        super::table::write(self)
    }
}
