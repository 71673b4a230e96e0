//! An actor: stages in a row, the bursts between them, the rings it reads and feeds, and its buffers.
//!
//! [`Actor::step`] does a bounded amount of work and says what it waits for. It knows no thread, reads no
//! clock, never blocks, and does not allocate once warm; that is what lets the same actor run pinned to a
//! core or in a simulator.

mod build;
mod mailbox;
mod node;
mod profile;
mod report;
mod step;

pub use build::{ActorBuilder, NodeBody, NodeConfig};
pub use mailbox::{ActorHandle, Control};
pub use node::OnPanic;
pub(crate) use profile::Stopwatch;
pub use profile::{Meter, NodeTime, Profile};

use crate::Time;
use crate::edge::{EdgeRx, EdgeTx};
use crate::exec::Waker;
use crate::packet::{Buffers, Burst};
use mailbox::Mailbox;
use node::Node;
use std::sync::Arc;

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Did work; step again.
    Worked(usize),
    /// Nothing to do, until this time if one is given, or until woken.
    Idle(Option<Time>),
    /// Cannot go on until something elsewhere moves, or until this time.
    Blocked(On, Option<Time>),
    /// Finished: all inputs ended and all is passed on.
    Done,
}

/// What a blocked actor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Room in a ring it feeds, by its number in this actor.
    Edge(usize),
    /// Buffers coming home.
    Home,
}

/// How far an actor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Stopped,
    Done,
}

/// A ring that this actor reads.
struct Intake {
    edge: EdgeRx,
    node: usize,
    finished: bool,
    stopped: crate::packet::Units,
}

/// See the module documentation.
pub struct Actor {
    name: String,
    nodes: Vec<Node>,
    /// `inputs[i]` waits to be handled by `nodes[i]`.
    inputs: Vec<Burst>,
    intakes: Vec<Intake>,
    edges: Vec<EdgeTx>,
    /// What the supervisor found left in the stash of each edge after a forced stop.
    edges_stopped: Vec<crate::packet::Units>,
    buffers: Buffers,
    waker: Arc<Waker>,
    mailbox: Mailbox,
    phase: Phase,
    /// The full ring that kept the last step from doing more, if one did.
    full_edge: Option<usize>,
    steps: [u64; 3],
    times: [Time; 3],
    cpus: Vec<usize>,
    failed: Option<String>,
    /// Where somebody wants to know what takes how long.
    watch: Option<Box<Stopwatch>>,
}

/// What an actor's thread spends its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Steps that did work.
    Working,
    /// Steps that did none, and what lies between them.
    Looking,
    /// Asleep until woken.
    Asleep,
}

impl Actor {
    /// Name in the plan.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bell that wakes this actor.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// Whether one of its sources has a device that can be slept on.
    pub fn has_devices(&self) -> bool {
        self.nodes.iter().any(|node| node.wait_fd().is_some())
    }

    /// Books time of its thread; the executor has the clock.
    pub fn spend(&mut self, on: Spent, time: Time) {
        self.times[on as usize] += time;
    }

    /// Times its stages by this clock, in one of `every` steps on average.
    pub fn measure(&mut self, meter: Box<dyn Meter>, every: u32) {
        self.watch = Some(Box::new(Stopwatch::new(meter, every, self.nodes.len())));
    }

    /// Notes which CPUs the kernel lets its thread run on, now that it is pinned.
    pub fn note_cpus(&mut self, cpus: Vec<usize>) {
        self.cpus = cpus;
    }

    /// Its buffers, for the simulator's faults.
    pub fn buffers_mut(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}
