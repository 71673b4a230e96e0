//! From a [`Plan`] to running actors: `assemble` opens ports, maps pools and builds stages; a [`Handle`], or the
//! simulator, runs them; `watch` looks at what ports lose on the way.
//!
//! Sets no signal handler and no logger.

mod assemble;
mod capture;
mod handle;
#[cfg(test)]
mod tests;
mod watch;

pub use handle::Handle;

use crate::error::Failure;
use crate::place::Plan;
use crate::report::{self, Mode, Report};
use assemble::{Assembled, assemble};
use corelane_runtime::Time;
use corelane_runtime::actor::{Actor, ActorHandle, Control};
use corelane_runtime::exec::sim::{self, SimConfig, SimOutcome};
use corelane_runtime::exec::threads;
use corelane_runtime::exec::{IdleProfile, ThreadMeter};
use corelane_runtime::port::Port;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

impl Plan {
    /// Starts the actors on threads of their own, pinned as planned.
    ///
    /// # Errors
    /// Where a port, a pool, a stage or a thread cannot be had; nothing runs then.
    pub fn start(self) -> Result<Handle, Failure> {
        self.start_timed(None)
    }

    /// As [`Plan::start`], one step in `every` of each actor timed, stage by stage.
    ///
    /// # Errors
    /// As for [`Plan::start`].
    pub(crate) fn start_measured(self, every: u32) -> Result<Handle, Failure> {
        self.start_timed(Some(every))
    }

    fn start_timed(self, every: Option<u32>) -> Result<Handle, Failure> {
        let cpus: Vec<Option<usize>> = self.actors.iter().map(|actor| actor.cpu).collect();
        let fitting = || IdleProfile::for_load(threads::count(&cpus), self.cpus);
        let profile = self.idle.unwrap_or_else(fitting);
        let key = self.hash_seed.unwrap_or_else(|| RandomState::new().hash_one("corelane"));
        let Assembled { mut crew, facts, watch } = assemble(self, key)?;
        if let Some(every) = every {
            let meter = ThreadMeter::start();
            crew.iter_mut().for_each(|(actor, _)| actor.measure(Box::new(meter), every));
        }
        let started = Instant::now();
        let running = threads::start(crew, &cpus, profile)?;
        Ok(Handle::new(running, facts, watch, started))
    }

    /// Runs the same actors in the simulator, in an order drawn from `seed`, in virtual time.
    ///
    /// # Errors
    /// As for [`Plan::start`], and where the run does not come to its end.
    pub fn simulate(self, seed: u64) -> Result<Report, Failure> {
        self.simulate_with(&SimConfig::new(seed)).map(|(report, _)| report)
    }

    /// As [`Plan::simulate`], with faults, and with what the simulator itself counted.
    ///
    /// # Errors
    /// As for [`Plan::simulate`].
    pub fn simulate_with(self, config: &SimConfig) -> Result<(Report, SimOutcome), Failure> {
        self.simulate_under(config, &mut |_| (Order::GoOn, Duration::MAX))
    }

    /// As [`Plan::simulate_with`], under a supervisor that is asked every few turns and told the virtual time.
    /// Beside its verdict it says at which time it is to be asked again at the latest. Its first
    /// [`Order::Drain`] drains the run, further ones change nothing.
    ///
    /// # Errors
    /// As for [`Plan::simulate`].
    pub fn simulate_under(
        self,
        config: &SimConfig,
        supervisor: &mut dyn FnMut(Duration) -> (Order, Duration),
    ) -> Result<(Report, SimOutcome), Failure> {
        let key = self.hash_seed.unwrap_or(config.seed);
        let Assembled { crew, facts, mut watch } = assemble(self, key)?;
        let (actors, mut handles): (Vec<Actor>, Vec<ActorHandle>) = crew.into_iter().unzip();
        let (mut drained, mut stopped) = (false, false);
        let (mut actors, outcome) = sim::run_while(actors, config, &mut |now| {
            let now = Duration::from_nanos(now);
            let lost = watch.look(now);
            let (order, next) = supervisor(now);
            if (lost || order == Order::Drain) && !drained {
                drained = true;
                handles.iter_mut().for_each(|handle| handle.send(Control::Drain));
            }
            stopped |= order == Order::Stop;
            (!stopped).then(|| Time::try_from(next.as_nanos()).unwrap_or(Time::MAX))
        });
        let mode = Mode::Simulated { seed: config.seed, turns: outcome.turns, stopped };
        let duration = Duration::from_nanos(outcome.time);
        watch.look(duration);
        let mut report = report::make(&facts, &read(&mut actors), mode, duration);
        watch.tell(&mut report);
        if !outcome.finished && !stopped {
            let turns = outcome.turns;
            report.errors.push(format!(
                "the simulation did not end within {turns} turns: an endless input, or actors that wait for each other"
            ));
        }
        Ok((report, outcome))
    }

    /// Says what the threads do while there is nothing to do, instead of what fits their number.
    #[must_use]
    pub fn with_idle(mut self, profile: IdleProfile) -> Plan {
        self.idle = Some(profile);
        self
    }

    /// Puts a port of the program's own in the place of the one that the description calls `name`. It is used
    /// as it is: it must be open, with queues enough.
    #[must_use]
    pub fn with_port(mut self, name: &str, port: Box<dyn Port>) -> Plan {
        self.own_ports.insert(name.to_owned(), port);
        self
    }
}

/// The books of actors that have ended.
fn read(actors: &mut [Actor]) -> Vec<corelane_runtime::counters::ActorReport> {
    actors.iter_mut().map(Actor::report).collect()
}

/// What the supervisor of a simulation wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    GoOn,
    /// Nothing more is to come in; what is inside is passed on, then the run ends.
    Drain,
    /// The run is to end at once. What is inside is discarded and counted as `stopped`.
    Stop,
}
