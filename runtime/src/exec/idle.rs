//! What a thread does while its actors have nothing to do: spin, yield, sleep.
//!
//! Sleeping is without a limit unless an actor named a time: the sleep protocol loses no wake-up, and a
//! limit would only hide it if it did.

use crate::Time;
use crate::actor::{Actor, Spent};
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

    /// An actor worked.
    pub(super) fn reset(&mut self) {
        self.quiet = 0;
    }

    /// None of the actors of a thread had anything to do until `until`. Returns what the time went to.
    pub(super) fn wait<'a>(
        &mut self,
        actors: impl Iterator<Item = &'a Actor> + Clone,
        until: Option<Time>,
        clock: &Clock,
    ) -> Spent {
        let (spins, yields) = self.profile.patience();
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet <= spins {
            std::hint::spin_loop();
            Spent::Looking
        } else if self.quiet - spins <= yields {
            std::thread::yield_now();
            Spent::Looking
        } else {
            sleep(actors, until, clock);
            Spent::Asleep
        }
    }
}

/// The sleeper's half of the protocol, for each actor of the thread: prepare, look again, block. Whichever of
/// them is rung wakes the thread.
fn sleep<'a>(actors: impl Iterator<Item = &'a Actor> + Clone, until: Option<Time>, clock: &Clock) {
    actors.clone().for_each(|actor| actor.waker().prepare_for(actor.wants()));
    let rests = |actor: &Actor| actor.waker().is_sleeping() && !actor.must_wake(clock.now());
    while actors.clone().all(rests) {
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
    actors.for_each(|actor| actor.waker().cancel());
}
