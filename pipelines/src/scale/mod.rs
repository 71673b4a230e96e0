//! One pipeline on more and more cores: how much faster, at what cost, and what keeps it from more.
//!
//! In the order of a run: `spec` is what a description says of it; `run` makes the plans and measures them in rounds,
//! all steps in each; `window` is one measurement; `split` finds where the time went; `load` and `machine` say what
//! else was on the CPUs and what they are; `stats` has medians and intervals; `figures` makes of rounds what is told;
//! [`ScaleReport`] says it, and `table` shows it.
//!
//! Nothing is measured that the machine has not got, and nothing is predicted. What it measures is real: threads on
//! CPUs, on this machine.

mod figures;
mod load;
mod machine;
mod report;
mod run;
pub(crate) mod spec;
mod split;
mod stats;
mod table;
mod window;

pub use load::Disturbance;
pub use machine::MeasuredOn;
pub use report::{Figures, Part, PartKind, Point, SCHEMA, ScaleReport, Step};
pub use run::Moment;
pub use spec::{Scaling, Sweep};
pub use stats::Interval;
pub use window::Round;
