//! Stages: what an actor does to packets, behind two small traits.
//!
//! A [`Source`] brings packets in; a [`Stage`] takes a burst and passes each packet on through [`Outputs`],
//! drops it with a reason, joins it to another, or holds it. Dispatch is once a burst. A stage knows no
//! thread and no clock: time is in its [`StageContext`].
//!
//! [`spec`] is the control path: how a stage is named, documented, configured and built.

mod capture;
mod context;
mod nowhere;
mod outputs;
mod registry;
pub mod spec;
mod unshared;

pub use capture::CaptureSink;
pub use context::{CounterId, Reason, StageContext, Tally};
pub use nowhere::Nowhere;
pub use outputs::{OutputId, Outputs, Target};
pub use registry::{Declared, Registry};
pub use spec::{
    Args, BuildContext, Built, ConfigError, PortInfo, Row, RowError, Sharing, StageConfig,
    StageInfo, StageSpec,
};
pub use unshared::Unshared;

use crate::Time;
use crate::packet::{Burst, Units};
use crate::port::QueueReport;
use std::os::fd::BorrowedFd;

/// What one call achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Handled this many packets; there may be more.
    Worked(usize),
    /// Nothing to do, until this time if one is given.
    Idle(Option<Time>),
    /// Cannot go on for want of a buffer.
    Starved,
    /// Will never have anything to do again (source), or holds nothing any more (drain).
    Done,
}

/// Where packets come from.
pub trait Source: Send {
    /// Brings in up to `budget` packets. `budget` never exceeds the room of the outputs.
    fn poll(
        &mut self,
        budget: usize,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress;

    /// Stops bringing in new packets; what was begun is finished. [`Source::poll`] then ends in `Done`.
    fn stop(&mut self);

    /// What it has booked as received and not passed on.
    fn held(&self) -> Units {
        Units::default()
    }

    /// What the queue behind it counted, if there is one.
    fn queue_report(&self) -> Option<QueueReport> {
        None
    }

    /// What becomes readable when there is something to bring in, as [`RxQueue::wait_fd`](crate::port::RxQueue).
    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// One step of a pipeline.
pub trait Stage: Send {
    /// Handles the burst. The engine has limited it to the room of the outputs; a stage that may emit more
    /// packets than it takes asks [`Outputs::room`] itself. What is left in the burst comes up again.
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>);

    /// Called when the time of [`Stage::next_deadline`] has come.
    fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let _ = (out, ctx);
        Progress::Idle(None)
    }

    /// Called when no more packets will come, until it returns `Done`: pass on what is held.
    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let _ = (out, ctx);
        Progress::Done
    }

    /// When [`Stage::tick`] wants to be called.
    fn next_deadline(&self) -> Option<Time> {
        None
    }

    /// What the stage keeps inside.
    fn held(&self) -> Units {
        Units::default()
    }

    /// What the queue behind it counted, if there is one.
    fn queue_report(&self) -> Option<QueueReport> {
        None
    }
}
