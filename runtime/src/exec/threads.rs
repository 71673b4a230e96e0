//! Actors on threads, pinned to cores: one thread for the actors of one CPU.
//!
//! Actors that share a CPU take turns on one thread, so that none waits for the scheduler to let another go, and
//! sleep together. The supervisor keeps a handle to each actor; after `join` it has them back, with their books,
//! and every packet that a forced stop left anywhere has been discarded and counted.

use super::IdleProfile;
use super::bell::Bed;
use super::idle::Idle;
use super::names::thread_names;
use crate::Time;
use crate::actor::{Actor, ActorHandle, Control, Spent, Step};
use crate::clock::Clock;
use crate::error::Error;
use std::thread::{Builder, JoinHandle};

/// Actors at work.
pub struct Running {
    /// Each gives back its actors with their numbers.
    threads: Vec<JoinHandle<Vec<(usize, Actor)>>>,
    handles: Vec<ActorHandle>,
}

/// Threads for actors on these CPUs: one for each CPU, and one for each actor without one.
pub fn count(cpus: &[Option<usize>]) -> usize {
    let mut known: Vec<usize> = cpus.iter().flatten().copied().collect();
    known.sort_unstable();
    known.dedup();
    known.len() + cpus.iter().filter(|cpu| cpu.is_none()).count()
}

/// Starts actors on threads, actor `i` pinned to `cpus[i]` if that is given. Those of one CPU share a thread, any
/// other has one of its own.
pub fn start(
    actors: Vec<(Actor, ActorHandle)>,
    cpus: &[Option<usize>],
    profile: IdleProfile,
) -> Result<Running, Error> {
    let clock = Clock::start();
    let (actors, handles): (Vec<Actor>, Vec<ActorHandle>) = actors.into_iter().unzip();
    let mut running = Running { threads: Vec::new(), handles };
    let crews = crews(actors, cpus);
    let labels: Vec<String> = crews.iter().map(Crew::label).collect();
    for (crew, name) in crews.into_iter().zip(thread_names(&labels)) {
        let label = crew.label();
        match Builder::new().name(name).spawn(move || crew.run(clock, profile)) {
            Ok(thread) => running.threads.push(thread),
            Err(error) => {
                // Those that run already would never end by themselves.
                running.stop();
                running.join();
                let what = format!("its thread cannot be started: {error}; use fewer actors");
                return Err(Error::system(label, what));
            }
        }
    }
    Ok(running)
}

/// An actor in its place on a thread.
struct Seat {
    number: usize,
    actor: Actor,
    /// Until when its time is booked.
    booked: Time,
    done: bool,
}

/// The actors of one thread.
struct Crew {
    cpu: Option<usize>,
    seats: Vec<Seat>,
}

/// Actors by their CPUs, in the order of the first of each.
fn crews(actors: Vec<Actor>, cpus: &[Option<usize>]) -> Vec<Crew> {
    let mut crews: Vec<Crew> = Vec::new();
    for (number, actor) in actors.into_iter().enumerate() {
        let cpu = cpus.get(number).copied().flatten();
        let seat = Seat { number, actor, booked: 0, done: false };
        match crews.iter_mut().find(|crew| cpu.is_some() && crew.cpu == cpu) {
            Some(crew) => crew.seats.push(seat),
            None => crews.push(Crew { cpu, seats: vec![seat] }),
        }
    }
    crews
}

impl Crew {
    /// The name of its first actor, with the number of others.
    fn label(&self) -> String {
        let first = self.seats.first().map(|seat| seat.actor.name()).unwrap_or_default();
        match self.seats.len() {
            0 | 1 => first.to_owned(),
            several => format!("{first}+{}", several - 1),
        }
    }

    fn run(mut self, clock: Clock, profile: IdleProfile) -> Vec<(usize, Actor)> {
        let bed = Bed::new(self.seats.iter().any(|seat| seat.actor.has_devices()));
        self.pin(&bed);
        let mut idle = Idle::new(profile, bed);
        let mut now = clock.now();
        self.seats.iter_mut().for_each(|seat| seat.booked = now);
        while self.seats.iter().any(|seat| !seat.done) {
            let (worked, until) = self.round(&mut now, &clock);
            if worked {
                idle.reset();
                continue;
            }
            let waiting = self.seats.iter().filter(|seat| !seat.done);
            let spent = idle.wait(waiting.map(|seat| &seat.actor), until, now, &clock);
            now = clock.now();
            self.seats.iter_mut().for_each(|seat| seat.book(spent, now));
        }
        self.seats.into_iter().map(|seat| (seat.number, seat.actor)).collect()
    }

    /// A step of each actor. Whether one did work, and the earliest time that one named otherwise. `now` comes
    /// out as the time at the end.
    fn round(&mut self, now: &mut Time, clock: &Clock) -> (bool, Option<Time>) {
        let (mut worked, mut earliest) = (false, None);
        for seat in self.seats.iter_mut().filter(|seat| !seat.done) {
            // The clock is read for the next step anyway. An actor looks, as far as its books go, while the
            // others of its thread have their turns.
            seat.book(Spent::Looking, *now);
            let step = seat.actor.step(*now);
            *now = clock.now();
            let spent = match step {
                Step::Worked(_) => {
                    worked = true;
                    Spent::Working
                }
                Step::Idle(until) | Step::Blocked(_, until) => {
                    earliest = earliest.into_iter().chain(until).min();
                    Spent::Looking
                }
                Step::Done => {
                    (seat.done, worked) = (true, true);
                    Spent::Looking
                }
            };
            seat.book(spent, *now);
        }
        (worked, earliest)
    }

    /// Tells the actors which thread they are on, and pins it.
    fn pin(&mut self, bed: &Bed) {
        for seat in &self.seats {
            seat.actor.waker().set_bell(bed.bell());
        }
        let Some(id) = self.cpu else { return };
        if !core_affinity::set_for_current(core_affinity::CoreId { id }) {
            tracing::warn!(actor = self.label(), cpu = id, "could not be pinned; runs anywhere");
        }
        // What the kernel says, which may be another thing than what it was asked.
        let cpus = core_affinity::get_core_ids().unwrap_or_default();
        let cpus: Vec<usize> = cpus.iter().map(|cpu| cpu.id).collect();
        self.seats.iter_mut().for_each(|seat| seat.actor.note_cpus(cpus.clone()));
    }
}

impl Seat {
    /// Books the time since the last call.
    fn book(&mut self, on: Spent, now: Time) {
        if !self.done {
            self.actor.spend(on, now.saturating_sub(self.booked));
            self.booked = now;
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

    /// The supervisor's hold on each actor, in order.
    pub fn handles(&mut self) -> &mut [ActorHandle] {
        &mut self.handles
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
        let joined = self.threads.into_iter().flat_map(|thread| match thread.join() {
            Ok(actors) => actors,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let mut joined: Vec<(usize, Actor)> = joined.collect();
        joined.sort_by_key(|(number, _)| *number);
        let mut actors: Vec<Actor> = joined.into_iter().map(|(_, actor)| actor).collect();
        actors.iter_mut().for_each(Actor::discard_rest);
        actors
    }
}
