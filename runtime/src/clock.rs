//! Time as the runtime sees it: nanoseconds since the run began, handed to `step` from outside.
//!
//! Actors never read a clock themselves; that is what lets the simulator own time.

use std::time::Instant;

/// Nanoseconds since the run began; virtual in the simulator.
pub type Time = u64;

/// The real clock of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that reads 0 now.
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    /// Nanoseconds since [`Clock::start`].
    pub fn now(&self) -> Time {
        // A run of 584 years overflows; saturating costs nothing and cannot go backwards.
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
