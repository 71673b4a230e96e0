//! Control messages to an actor: a closed set, over a ring of their own, read once a step; and its answers.
//!
//! They never overtake packets on an edge; they say how the actor goes on. An actor that nobody asks for its
//! books does nothing for it but look whether there is mail.

use crate::counters::ActorReport;
use crate::exec::Waker;
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Messages that can wait at once; one of each kind is all that is ever sent.
const SLOTS: usize = 8;
/// Books that can wait at once: those that were asked for, and those of the end.
const BOOKS: usize = 2;

/// What an actor can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Bring in nothing new; finish what was begun.
    Drain,
    /// End at once; what is left is discarded and counted.
    Stop,
    /// Publish the books as they are between two steps. Asked for by [`ActorHandle::ask`].
    Books,
}

/// The supervisor's hold on an actor.
pub struct ActorHandle {
    sender: Producer<Control>,
    waker: Arc<Waker>,
    failed: Arc<AtomicBool>,
    books: Consumer<Box<ActorReport>>,
    /// The books were asked for and have not come.
    asked: bool,
    /// The last books have come.
    ended: bool,
}

impl ActorHandle {
    /// Asks for the books and wakes the actor. One that has not answered yet is not asked again: its answer will
    /// be as of when it gives it.
    pub fn ask(&mut self) {
        if !self.asked && !self.ended && self.sender.push(Control::Books).is_ok() {
            self.asked = true;
            self.waker.wake();
        }
    }

    /// The latest books that came, if any did since the last call.
    pub fn books(&mut self) -> Option<Box<ActorReport>> {
        let mut latest = None;
        while let Ok(books) = self.books.pop() {
            self.asked = false;
            self.ended |= books.ended;
            latest = Some(books);
        }
        latest
    }

    /// Whether an answer is still to come.
    pub fn is_asked(&self) -> bool {
        self.asked && !self.ended
    }

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
    books: Producer<Box<ActorReport>>,
}

impl Mailbox {
    pub(super) fn new(waker: Arc<Waker>) -> (ActorHandle, Mailbox) {
        let (sender, receiver) = RingBuffer::new(SLOTS);
        let (publish, books) = RingBuffer::new(BOOKS);
        let failed = Arc::new(AtomicBool::new(false));
        let handle = ActorHandle {
            sender,
            waker,
            failed: Arc::clone(&failed),
            books,
            asked: false,
            ended: false,
        };
        (handle, Mailbox { receiver, failed, books: publish })
    }

    /// Publishes books. Where two still wait unread these are left out.
    pub(super) fn publish(&mut self, books: ActorReport) {
        let _ = self.books.push(Box::new(books));
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
