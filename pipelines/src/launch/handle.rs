//! A pipeline at work on threads: waiting for it, draining it, stopping it, and looking at its books meanwhile.
//!
//! The thread that holds the handle is the supervisor: nothing is watched while nobody waits or looks.

use super::watch::Watch;
use crate::report::{self, Facts, Mode, Report};
use corelane_runtime::counters::ActorReport;
use corelane_runtime::exec::threads::Running;
use std::time::{Duration, Instant};

/// How often a waiting supervisor looks at its actors while a run is young: short runs end at once.
const LOOK: Duration = Duration::from_millis(2);
/// The same later on, when looking is all that an idle run costs.
const LOOK_LATER: Duration = Duration::from_millis(20);
/// Until when a run is young.
const YOUNG: Duration = Duration::from_secs(1);
/// How long the books of actors are waited for. A step takes microseconds; a stage that hangs, for ever.
const BOOKS_WITHIN: Duration = Duration::from_millis(100);
/// How often that is done where nothing can be said without them.
const BOOKS_TRIES: usize = 20;
/// How often it is looked whether they have come.
const BOOKS_LOOK: Duration = Duration::from_micros(100);

/// A pipeline at work.
pub struct Handle {
    running: Running,
    facts: Facts,
    watch: Watch,
    started: Instant,
    drained: bool,
    stopped: bool,
    /// The latest books of each actor.
    books: Vec<Option<ActorReport>>,
}

impl Handle {
    pub(super) fn new(running: Running, facts: Facts, watch: Watch, started: Instant) -> Handle {
        let books = Vec::new();
        Handle { running, facts, watch, started, drained: false, stopped: false, books }
    }

    /// Whether every actor has finished.
    pub fn is_finished(&self) -> bool {
        self.running.is_finished()
    }

    /// Whether it has been told to bring nothing new in, or does so since a stage failed for good or a port lost
    /// what a stage requires of it.
    pub fn is_draining(&self) -> bool {
        self.drained
    }

    /// Stops bringing packets in; what is inside is passed on, then the run ends.
    pub fn drain(&mut self) {
        self.drained = true;
        self.running.drain();
    }

    /// Ends the run at once. What is inside is discarded and counted as `stopped`.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.running.stop();
    }

    /// Waits until the run has ended or `timeout` is over; whether it has ended. A stage that failed for good
    /// drains the run, and so does a port that lost what a stage requires of it.
    pub fn wait_for(&mut self, timeout: Duration) -> bool {
        // `None`: later than any clock will ever show.
        let until = Instant::now().checked_add(timeout);
        loop {
            self.look();
            if self.running.is_finished() {
                return true;
            }
            let look = if self.started.elapsed() < YOUNG { LOOK } else { LOOK_LATER };
            let left = until.map_or(look, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(look.min(left));
        }
    }

    /// Drains where there is a reason to.
    fn look(&mut self) {
        let lost = self.watch.look(self.started.elapsed());
        if self.drained || self.running.is_finished() {
            return;
        }
        if self.running.has_failed() {
            tracing::error!("a stage failed for good; draining");
            self.drain();
        } else if lost {
            tracing::error!("a port lost what a stage requires of it; draining");
            self.drain();
        }
    }

    /// The books as they are now, as a report that does not claim to be balanced: actors tell theirs one after
    /// the other, each between two of its steps. Waits at most a tenth of a second; of actors that did not
    /// answer by then, which [`Report::late`] names, it has what they told last.
    pub fn snapshot(&mut self) -> Report {
        self.look();
        let late = self.gather();
        let late = late.into_iter().map(|actor| self.facts.actors[actor].clone()).collect();
        let books: Vec<ActorReport> = self.books.iter().flatten().cloned().collect();
        let mode = Mode::Live { late, stopped: self.stopped };
        let mut report = report::make(&self.facts, &books, mode, self.started.elapsed());
        self.watch.tell(&mut report);
        report
    }

    /// The books of all actors as they are now.
    ///
    /// # Errors
    /// The names of those that did not answer in time.
    pub(crate) fn books(&mut self) -> Result<Vec<ActorReport>, Vec<String>> {
        let mut late = self.gather();
        // On a crowded machine an actor may not have its turn for a while.
        for _ in 1..BOOKS_TRIES {
            if !late.is_empty() {
                late = self.gather();
            }
        }
        match late.is_empty() {
            true => Ok(self.books.iter().flatten().cloned().collect()),
            false => Err(late.into_iter().map(|actor| self.facts.actors[actor].clone()).collect()),
        }
    }

    /// Asks every actor for its books; the numbers of those that did not answer in time.
    fn gather(&mut self) -> Vec<usize> {
        let handles = self.running.handles();
        self.books.resize_with(handles.len(), || None);
        handles.iter_mut().for_each(|handle| handle.ask());
        let until = Instant::now() + BOOKS_WITHIN;
        loop {
            for (handle, books) in handles.iter_mut().zip(&mut self.books) {
                if let Some(latest) = handle.books() {
                    *books = Some(*latest);
                }
            }
            let late: Vec<usize> =
                (0..handles.len()).filter(|&actor| handles[actor].is_asked()).collect();
            if late.is_empty() || Instant::now() >= until {
                return late;
            }
            std::thread::sleep(BOOKS_LOOK);
        }
    }

    /// Waits for the end and reads the books.
    pub fn wait(mut self) -> Report {
        while !self.wait_for(Duration::from_secs(3600)) {}
        let duration = self.started.elapsed();
        let mut actors = self.running.join();
        self.watch.look(duration);
        let mode = Mode::Threads { stopped: self.stopped };
        let mut report = report::make(&self.facts, &super::read(&mut actors), mode, duration);
        self.watch.tell(&mut report);
        report
    }
}
