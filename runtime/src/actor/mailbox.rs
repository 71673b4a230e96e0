//! Control messages to an actor: a closed set, over a ring of their own, read once a step.
//!
//! They never overtake packets on an edge; they say how the actor goes on.

use crate::exec::Waker;
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Messages that can wait at once; one of each kind is all that is ever sent.
const SLOTS: usize = 8;

/// What an actor can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Bring in nothing new; finish what was begun.
    Drain,
    /// End at once; what is left is discarded and counted.
    Stop,
}

/// The supervisor's hold on an actor.
pub struct ActorHandle {
    sender: Producer<Control>,
    waker: Arc<Waker>,
    failed: Arc<AtomicBool>,
}

impl ActorHandle {
    /// Tells the actor and wakes it. A message is lost only if eight others still wait unread.
    pub fn send(&mut self, control: Control) {
        if self.sender.push(control).is_ok() {
            self.waker.wake();
        }
    }

    /// Whether a stage of the actor failed for good, so that the run should be drained.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }
}

/// The actor's end.
pub(super) struct Mailbox {
    receiver: Consumer<Control>,
    failed: Arc<AtomicBool>,
}

impl Mailbox {
    pub(super) fn new(waker: Arc<Waker>) -> (ActorHandle, Mailbox) {
        let (sender, receiver) = RingBuffer::new(SLOTS);
        let failed = Arc::new(AtomicBool::new(false));
        let handle = ActorHandle { sender, waker, failed: Arc::clone(&failed) };
        (handle, Mailbox { receiver, failed })
    }

    pub(super) fn read(&mut self) -> Option<Control> {
        self.receiver.pop().ok()
    }

    pub(super) fn has_mail(&self) -> bool {
        !self.receiver.is_empty()
    }

    pub(super) fn report_failure(&self) {
        self.failed.store(true, Ordering::Release);
    }
}
