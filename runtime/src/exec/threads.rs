//! Actors on threads of their own, pinned to cores.
//!
//! The supervisor keeps a handle to each; after `join` it has the actors back, with their books, and every
//! packet that a forced stop left anywhere has been discarded and counted.

use super::idle::Idle;
use super::{IdleProfile, Waker};
use crate::actor::{Actor, ActorHandle, Control, Step};
use crate::clock::Clock;
use crate::error::Error;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Actors at work.
pub struct Running {
    threads: Vec<JoinHandle<Actor>>,
    handles: Vec<ActorHandle>,
}

/// Starts one thread per actor, actor `i` pinned to `cpus[i]` if that is given.
pub fn start(
    actors: Vec<(Actor, ActorHandle)>,
    cpus: &[Option<usize>],
    profile: IdleProfile,
) -> Result<Running, Error> {
    let clock = Clock::start();
    let mut running = Running { threads: Vec::new(), handles: Vec::new() };
    for (index, (actor, handle)) in actors.into_iter().enumerate() {
        let cpu = cpus.get(index).copied().flatten();
        let name = actor.name().to_owned();
        let builder = Builder::new().name(name.clone());
        match builder.spawn(move || run(actor, cpu, clock, profile)) {
            Ok(thread) => running.threads.push(thread),
            Err(error) => {
                // Those that run already would never end by themselves.
                running.stop();
                running.join();
                let what = format!("its thread cannot be started: {error}; use fewer actors");
                return Err(Error::system(name, what));
            }
        }
        running.handles.push(handle);
    }
    Ok(running)
}

fn run(mut actor: Actor, cpu: Option<usize>, clock: Clock, profile: IdleProfile) -> Actor {
    let waker: &Arc<Waker> = actor.waker();
    waker.set_thread(std::thread::current());
    if let Some(id) = cpu
        && !core_affinity::set_for_current(core_affinity::CoreId { id })
    {
        tracing::warn!(actor = actor.name(), cpu = id, "could not be pinned; runs anywhere");
    }
    let mut idle = Idle::new(profile);
    loop {
        match actor.step(clock.now()) {
            Step::Worked(_) => idle.reset(),
            Step::Idle(until) | Step::Blocked(_, until) => idle.wait(&actor, until, &clock),
            Step::Done => return actor,
        }
    }
}

impl Running {
    /// Whether every actor has finished.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Whether a stage failed for good, so that the run should be drained.
    pub fn has_failed(&self) -> bool {
        self.handles.iter().any(ActorHandle::has_failed)
    }

    /// Tells every actor to bring in nothing new and finish.
    pub fn drain(&mut self) {
        self.handles.iter_mut().for_each(|handle| handle.send(Control::Drain));
    }

    /// Tells every actor to end at once.
    pub fn stop(&mut self) {
        self.handles.iter_mut().for_each(|handle| handle.send(Control::Stop));
    }

    /// Waits for the actors and takes them back.
    ///
    /// # Panics
    /// If the engine itself panicked, which is a bug: panics of stages are caught inside.
    pub fn join(self) -> Vec<Actor> {
        let joined = self.threads.into_iter().map(|thread| match thread.join() {
            Ok(actor) => actor,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let mut actors: Vec<Actor> = joined.collect();
        actors.iter_mut().for_each(Actor::discard_rest);
        actors
    }
}
