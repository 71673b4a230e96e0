//! What a thread does while its actor has nothing to do: spin, yield, sleep.
//!
//! Sleeping is without a limit unless the actor named a time: the sleep protocol loses no wake-up, and a
//! limit would only hide it if it did.

use super::Waker;
use crate::Time;
use crate::actor::Actor;
use crate::clock::Clock;
use std::time::Duration;

/// How much a quiet actor costs its core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleProfile {
    /// Spin for ever. Only for cores that nobody else uses.
    LowLatency,
    /// Spin, then yield, then sleep.
    #[default]
    Balanced,
    /// Yield at once, then sleep: for more actors than cores.
    Shared,
}

impl IdleProfile {
    /// The profile for so many actors on so many cores.
    pub fn for_load(actors: usize, cores: usize) -> IdleProfile {
        if actors > cores { IdleProfile::Shared } else { IdleProfile::Balanced }
    }

    /// Quiet steps to spin, and to yield after that; then sleep.
    fn patience(self) -> (u32, u32) {
        match self {
            IdleProfile::LowLatency => (u32::MAX, 0),
            IdleProfile::Balanced => (256, 16),
            IdleProfile::Shared => (0, 4),
        }
    }
}

/// Counts quiet steps and acts on them.
pub(super) struct Idle {
    profile: IdleProfile,
    quiet: u32,
}

impl Idle {
    pub(super) fn new(profile: IdleProfile) -> Idle {
        Idle { profile, quiet: 0 }
    }

    /// The actor worked.
    pub(super) fn reset(&mut self) {
        self.quiet = 0;
    }

    /// The actor had nothing to do until `until`.
    pub(super) fn wait(&mut self, actor: &Actor, until: Option<Time>, clock: &Clock) {
        let (spins, yields) = self.profile.patience();
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet <= spins {
            std::hint::spin_loop();
        } else if self.quiet - spins <= yields {
            std::thread::yield_now();
        } else {
            sleep(actor, until, clock);
        }
    }
}

/// The sleeper's half of the protocol: prepare, look again, block.
fn sleep(actor: &Actor, until: Option<Time>, clock: &Clock) {
    let waker: &Waker = actor.waker();
    waker.prepare_for(actor.wants());
    while waker.is_sleeping() && !actor.must_wake(clock.now()) {
        match until {
            None => std::thread::park(),
            Some(time) => {
                let left = time.saturating_sub(clock.now());
                if left == 0 {
                    break;
                }
                std::thread::park_timeout(Duration::from_nanos(left));
            }
        }
    }
    waker.cancel();
}
