//! The time-stamp counter, fenced: what lies between two readings was done between them.
//!
//! It does not know what other work the machine did meanwhile.

use super::Eal;
use super::ffi;
use std::time::Duration;

/// Reads the counter, and knows what reading costs.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    per_ns: f64,
    /// Ticks between two readings with nothing between them.
    own: u64,
}

impl Clock {
    /// Asks DPDK how fast the counter runs, and measures what reading it costs.
    pub fn new(_: Eal) -> Clock {
        // SAFETY: DPDK runs, as the argument proves.
        let hz = unsafe { ffi::cl_tsc_hz() };
        let mut clock = Clock { per_ns: hz as f64 / 1e9, own: 0 };
        let pairs = (0..10_000).map(|_| clock.ticks(|| ()).0);
        clock.own = pairs.min().unwrap_or(0);
        clock
    }

    /// Ticks that `work` takes, reading left out, and what it gives.
    #[inline]
    pub fn ticks<R>(&self, work: impl FnOnce() -> R) -> (u64, R) {
        // SAFETY: reading the counter needs nothing.
        let start = unsafe { ffi::cl_tsc() };
        let result = work();
        // SAFETY: as above.
        let end = unsafe { ffi::cl_tsc() };
        (end.saturating_sub(start).saturating_sub(self.own), result)
    }

    /// Ticks as nanoseconds.
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 / self.per_ns
    }

    /// What one reading costs; left out by [`Clock::ticks`].
    pub fn own(&self) -> Duration {
        Duration::from_nanos(self.ns(self.own) as u64)
    }
}
