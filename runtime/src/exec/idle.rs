//! What a thread does while its actors have nothing to do: spin, yield, sleep.
//!
//! Sleeping is without a limit unless an actor named a time: the sleep protocol loses no wake-up, and a
//! limit would only hide it if it did. How to sleep, the thread's bed knows.

use super::bell::Bed;
use crate::Time;
use crate::actor::{Actor, Spent};
use crate::clock::Clock;

/// How much a quiet actor costs its core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleProfile {
    /// Spin for ever. Only for cores that nobody else uses.
    LowLatency,
    /// Spin, then yield, then sleep.
    #[default]
    Balanced,
    /// Yield at once, then sleep: for more threads than cores.
    Shared,
}

impl IdleProfile {
    /// The profile for so many threads on so many cores.
    pub fn for_load(threads: usize, cores: usize) -> IdleProfile {
        if threads > cores { IdleProfile::Shared } else { IdleProfile::Balanced }
    }

    /// How long to spin, ns, and how often to yield after that; then sleep.
    ///
    /// Falling asleep and being woken costs some ten microseconds, much more on virtual machines. Who answers within
    /// a few of those, as the other end of a request does, must not be slept through.
    fn patience(self) -> (Time, u32) {
        match self {
            IdleProfile::LowLatency => (Time::MAX, 0),
            IdleProfile::Balanced => (50_000, 16),
            IdleProfile::Shared => (0, 4),
        }
    }
}

/// Follows how long there has been nothing to do, and acts on it.
pub(super) struct Idle {
    profile: IdleProfile,
    bed: Bed,
    /// Since when, while there is nothing.
    since: Option<Time>,
    yielded: u32,
}

impl Idle {
    pub(super) fn new(profile: IdleProfile, bed: Bed) -> Idle {
        Idle { profile, bed, since: None, yielded: 0 }
    }

    /// An actor worked.
    pub(super) fn reset(&mut self) {
        (self.since, self.yielded) = (None, 0);
    }

    /// None of the actors of a thread had anything to do at `now`, and none will until `until`. Returns what the time
    /// went to.
    pub(super) fn wait<'a>(
        &mut self,
        actors: impl Iterator<Item = &'a Actor> + Clone,
        until: Option<Time>,
        now: Time,
        clock: &Clock,
    ) -> Spent {
        let (spin, yields) = self.profile.patience();
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) < spin {
            std::hint::spin_loop();
            Spent::Looking
        } else if self.yielded < yields {
            self.yielded += 1;
            std::thread::yield_now();
            Spent::Looking
        } else {
            sleep(&self.bed, actors, until, clock);
            Spent::Asleep
        }
    }
}

/// The sleeper's half of the protocol, for each actor of the thread: prepare, look again, block. Whichever of
/// them is rung wakes the thread, as does a device that one of them waits for.
fn sleep<'a>(
    bed: &Bed,
    actors: impl Iterator<Item = &'a Actor> + Clone,
    until: Option<Time>,
    clock: &Clock,
) {
    actors.clone().for_each(|actor| actor.waker().prepare_for(actor.wants()));
    let rests = |actor: &Actor| actor.waker().is_sleeping() && !actor.must_wake(clock.now());
    while actors.clone().all(rests) {
        let left = until.map(|time| time.saturating_sub(clock.now()));
        if left == Some(0) || bed.sleep(actors.clone().flat_map(Actor::waits_on), left) {
            break;
        }
    }
    actors.for_each(|actor| actor.waker().cancel());
}
