//! A node: a stage in its place in an actor, its books, and what happens when it panics.

use super::Stopwatch;
use crate::Time;
use crate::counters::Lost;
use crate::edge::EdgeTx;
use crate::packet::{Buffers, Burst, Units};
use crate::port::QueueReport;
use crate::stage::spec::Factory;
use crate::stage::{Outputs, Progress, Source, Stage, StageContext, Tally, Target};
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is done about a stage that panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnPanic {
    /// Rebuild it, at most `max` times within `window` ns; then stop.
    Restart {
        /// Restarts allowed within the window.
        max: u32,
        /// Nanoseconds.
        window: Time,
    },
    /// Pass its packets on untouched from then on.
    Bypass,
    /// Drop its packets from then on, counted.
    Drop,
    /// End the run: drain the rest, exit with a failure.
    Stop,
}

impl Default for OnPanic {
    fn default() -> Self {
        OnPanic::Restart { max: 5, window: 10_000_000_000 }
    }
}

/// The working part of a node, as it is now.
pub(super) enum Body {
    Source(Box<dyn Source>),
    Stage(Box<dyn Stage>),
    /// Switched off after a panic; packets pass.
    Bypass,
    /// Switched off after a panic; packets are dropped.
    Discard,
}

/// How far a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeState {
    Running,
    Finished,
}

pub(super) struct Node {
    pub(super) stage: usize,
    pub(super) name: String,
    pub(super) targets: Vec<Target>,
    pub(super) sent: Vec<Units>,
    pub(super) reach: Vec<usize>,
    pub(super) tally: Tally,
    pub(super) lost: Lost,
    pub(super) panics: Vec<Time>,
    pub(super) bursts: u64,
    pub(super) body: Body,
    pub(super) factory: Option<Factory>,
    pub(super) on_panic: OnPanic,
    pub(super) multiplies: bool,
    pub(super) mirrors: bool,
    /// Nodes and rings before this one that have not finished.
    pub(super) upstream: usize,
    pub(super) state: NodeState,
    pub(super) deadline: Option<Time>,
    /// Its deadline has come, and it waits for room or buffers all the same.
    pub(super) stuck: bool,
    pub(super) held: Units,
    /// What the queue had counted when its stage was discarded.
    pub(super) final_queue: Option<QueueReport>,
    pub(super) panic_count: u64,
}

/// What a call to a stage came to.
pub(super) enum Call {
    /// It returned.
    Returned(Progress),
    /// It panicked; the books are still to be settled.
    Panicked,
}

/// What a node may reach during a call.
pub(super) struct Surroundings<'a> {
    pub(super) now: Time,
    pub(super) input: &'a mut Burst,
    /// Inputs of the nodes behind it.
    pub(super) behind: &'a mut [Burst],
    pub(super) first: usize,
    pub(super) edges: &'a mut [EdgeTx],
    pub(super) buffers: &'a mut Buffers,
    pub(super) watch: Option<&'a mut Stopwatch>,
}

/// What a node is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Bring in up to so many packets.
    Poll(usize),
    /// Handle what waits in the input.
    Process,
    /// The deadline has come.
    Tick,
    /// No more input: pass on what is held.
    Drain,
}

/// Calls code of a stage. `None` if it panicked; what it panicked with is leaked, since dropping that may
/// panic as well.
pub(super) fn contain<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).map_err(std::mem::forget).ok()
}

impl Body {
    fn work(
        &mut self,
        task: Task,
        room: usize,
        input: &mut Burst,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        match (self, task) {
            (Body::Source(source), Task::Poll(budget)) => source.poll(budget.min(room), out, ctx),
            (Body::Stage(stage), Task::Process) => {
                stage.process(input, out, ctx);
                Progress::Worked(0)
            }
            (Body::Stage(stage), Task::Tick) => stage.tick(out, ctx),
            (Body::Stage(stage), Task::Drain) => stage.drain(out, ctx),
            (Body::Bypass, _) => {
                input.drain().for_each(|packet| out.next(packet));
                Progress::Done
            }
            (Body::Discard | Body::Source(_) | Body::Stage(_), _) => Progress::Done,
        }
    }

    /// What a stage holds, and when it wants to be ticked.
    fn state(&self) -> Option<(Units, Option<Time>)> {
        match self {
            Body::Stage(stage) => Some((stage.held(), stage.next_deadline())),
            // When to poll next is what the poll itself said.
            Body::Source(source) => Some((source.held(), None)),
            Body::Bypass | Body::Discard => None,
        }
    }

    fn queue_report(&self) -> Option<QueueReport> {
        contain(|| match self {
            Body::Source(source) => source.queue_report(),
            Body::Stage(stage) => stage.queue_report(),
            Body::Bypass | Body::Discard => None,
        })
        .flatten()
    }
}

impl Node {
    /// What its device makes readable, if it is a source with such a device.
    pub(super) fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.body {
            Body::Source(source) => source.wait_fd(),
            Body::Stage(_) | Body::Bypass | Body::Discard => None,
        }
    }

    /// Calls the stage once, caught. Returns `None` if an output has no room.
    pub(super) fn call(&mut self, task: Task, around: Surroundings<'_>) -> Option<Call> {
        let Surroundings { now, input, behind, first, edges, buffers, watch } = around;
        let no_room = &mut self.lost.no_room;
        let mut out = Outputs::new(&self.targets, behind, first, edges, &mut self.sent, no_room)
            .mirroring(self.mirrors);
        let room = out.room();
        if room == 0 {
            return None;
        }
        // Only a stage that multiplies asks for room itself, and only while it is there.
        if task == Task::Process && !(self.multiplies && matches!(self.body, Body::Stage(_))) {
            input.limit(room);
        }
        let mut ctx = StageContext::new(now, buffers, &mut self.tally).watched(watch);
        let body = &mut self.body;
        let result = contain(|| (body.work(task, room, input, &mut out, &mut ctx), body.state()));
        if matches!(self.body, Body::Discard) {
            for packet in input.drain() {
                self.lost.stage_panicked += packet.units();
                drop(packet);
            }
        }
        if result.is_none() && task == Task::Process {
            // The rest of the burst goes with the stage that choked on it. What it was not shown stays.
            input.drain().for_each(drop);
        }
        input.unlimit();
        let Some((progress, state)) = result else { return Some(Call::Panicked) };
        self.bursts += 1;
        if let Some((held, deadline)) = state {
            (self.held, self.deadline) = (held, deadline);
        }
        Some(Call::Returned(progress))
    }

    /// A stage asked to be called again at a time, beside what it says of its deadline.
    pub(super) fn name_time(&mut self, until: Option<Time>) {
        self.deadline = self.deadline.into_iter().chain(until).min();
    }

    /// What the queue behind it counted, or had counted when it was discarded.
    pub(super) fn queue_report(&self) -> Option<QueueReport> {
        self.body.queue_report().or_else(|| self.final_queue.clone())
    }

    /// Discards the stage with what it holds, and keeps what its queue counted.
    pub(super) fn discard(&mut self, replacement: Body) {
        self.final_queue = self.queue_report();
        let old = std::mem::replace(&mut self.body, replacement);
        // A stage broken enough to panic while it is dropped must not take the actor with it.
        contain(|| drop(old));
    }

    /// Everything sent on so far.
    pub(super) fn output(&self) -> Units {
        self.sent.iter().fold(self.tally.transmitted, |sum, &units| sum + units)
    }

    /// After a panic: discards the stage, settles the books against `entered` (all that ever entered the
    /// stage), and puts in place what `on_panic` says. Returns whether the run must end.
    pub(super) fn recover(&mut self, entered: Units, now: Time) -> bool {
        self.panic_count += 1;
        let window = self.panic_window();
        self.panics.retain(|&time| now.saturating_sub(time) <= window);
        self.panics.push(now);
        let (body, fatal) = self.replacement();
        self.discard(body);
        let tally = &self.tally;
        let came = entered + tally.created;
        let known = self.output() + tally.dropped() + tally.absorbed + tally.consumed;
        self.lost.stage_panicked += came - known - self.lost.total();
        let state = contain(|| self.body.state()).flatten();
        (self.held, self.deadline) = state.unwrap_or_default();
        fatal
    }

    fn panic_window(&self) -> Time {
        match self.on_panic {
            OnPanic::Restart { window, .. } => window,
            OnPanic::Bypass | OnPanic::Drop | OnPanic::Stop => Time::MAX,
        }
    }

    fn replacement(&self) -> (Body, bool) {
        // A device queue cannot be opened again.
        if matches!(self.body, Body::Source(_)) {
            return (Body::Discard, true);
        }
        match self.on_panic {
            OnPanic::Restart { max, .. } if self.panics.len() as u64 <= u64::from(max) => {
                match self.factory.as_ref().and_then(contain) {
                    Some(stage) => (Body::Stage(stage), false),
                    None => (Body::Discard, true),
                }
            }
            OnPanic::Restart { .. } | OnPanic::Stop => (Body::Discard, true),
            // There is no next stage to pass its packets on to.
            OnPanic::Bypass if matches!(self.targets.first(), None | Some(Target::Nowhere)) => {
                (Body::Discard, true)
            }
            OnPanic::Bypass => (Body::Bypass, false),
            OnPanic::Drop => (Body::Discard, false),
        }
    }
}
