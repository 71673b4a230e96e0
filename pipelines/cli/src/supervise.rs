//! When a run is drained and when it is stopped: by a signal, by `--duration`, by `--drain-timeout`.
//!
//! Decides only; who asks it does what it says, on threads and in virtual time alike.

use crate::args::RunArgs;
use crate::say::say;
use crate::signals::Signals;
use corelane::Order;
use std::time::Duration;

/// When a run is to be drained, and when stopped.
pub(crate) struct Supervisor<'a> {
    pub(crate) args: &'a RunArgs,
    signals: Signals,
    draining: bool,
    /// When the drain has taken too long; `None` while there is none, and for never.
    stop_at: Option<Duration>,
}

impl Supervisor<'_> {
    /// From the start of a run.
    pub(crate) fn new(args: &RunArgs, signals: Signals) -> Supervisor<'_> {
        Supervisor { args, signals, draining: false, stop_at: None }
    }

    /// What is to be done after `time` of the run; `draining`: the run drains of its own accord.
    pub(crate) fn look(&mut self, time: Duration, draining: bool) -> Order {
        let mut signals = self.signals.take();
        let mut verdict = Order::GoOn;
        if !self.draining {
            let over = self.args.duration.is_some_and(|duration| time >= duration);
            if signals == 0 && !over && !draining {
                return verdict;
            }
            if signals > 0 {
                say!("corelane: draining; Ctrl-C again stops at once");
                signals -= 1;
            }
            verdict = Order::Drain;
            self.draining = true;
            self.stop_at = time.checked_add(self.args.drain_timeout);
        }
        let too_long = self.stop_at.is_some_and(|until| time >= until);
        if signals > 0 || too_long {
            let why = if signals > 0 { "at once" } else { "since draining took too long" };
            say!("corelane: stopping {why}; what is inside is lost, and counted");
            return Order::Stop;
        }
        verdict
    }

    /// The time at which there will be something to do whatever else happens.
    pub(crate) fn next(&self) -> Duration {
        let next = if self.draining { self.stop_at } else { self.args.duration };
        next.unwrap_or(Duration::MAX)
    }
}
