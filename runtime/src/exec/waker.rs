//! The sleep protocol between an actor and those who feed it.
//!
//! A sleeper: store `sleeping`; fence; look at every input, return stack and mailbox once more; block.
//! A publisher: publish; fence; load `sleeping`; wake once. Both fences are needed: without either, both
//! sides can read the old value and the wake-up is lost (`waker_loom.rs` shows it).
//!
//! A sleeper says what it waits for, so that a reader who makes room, or returns buffers, does not wake a
//! writer who has neither to wait for. The waker does not know what the inputs are, and it never blocks: the
//! executor does.

use super::Bell;
use crate::sync::{AtomicU8, Ordering, fence};
use bitflags::bitflags;
use std::sync::OnceLock;

bitflags! {
    /// What a sleeper may be woken for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Reasons: u8 {
        /// Packets to read, the end of a ring, mail.
        const NEWS = 1;
        /// Room in a ring.
        const ROOM = 2;
        /// Buffers that came home.
        const HOME = 4;
    }
}

/// What wakes one actor.
#[derive(Debug)]
pub struct Waker {
    /// What the sleeper may be woken for; 0: it is awake.
    sleeping: AtomicU8,
    bell: OnceLock<Bell>,
}

impl Default for Waker {
    fn default() -> Self {
        Self::new()
    }
}

impl Waker {
    /// That of an actor that is awake.
    pub fn new() -> Waker {
        Waker { sleeping: AtomicU8::new(0), bell: OnceLock::new() }
    }

    /// Says what to ring. In the simulator there is nothing.
    pub fn set_bell(&self, bell: Bell) {
        // Set once, by the thread itself, before its first step.
        let _ = self.bell.set(bell);
    }

    /// First step of the sleeper. It must look at all its inputs after this and before it blocks.
    pub fn prepare(&self) {
        self.prepare_for(Reasons::all());
    }

    /// [`Waker::prepare`] of one that waits for no more than this.
    pub fn prepare_for(&self, reasons: Reasons) {
        self.sleeping.store(reasons.bits(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The sleeper found work, or its time came.
    pub fn cancel(&self) {
        self.sleeping.store(0, Ordering::Relaxed);
    }

    /// Whether nobody has rung since [`Waker::prepare`].
    pub fn is_sleeping(&self) -> bool {
        self.sleeping.load(Ordering::Acquire) != 0
    }

    /// The publisher's side, after it has published: wakes the sleeper whatever it waits for.
    pub fn wake(&self) {
        self.wake_for(Reasons::all());
    }

    /// [`Waker::wake`], if the sleeper waits for one of these.
    pub fn wake_for(&self, reasons: Reasons) {
        fence(Ordering::SeqCst);
        if self.sleeping.load(Ordering::Relaxed) & reasons.bits() != 0
            && self.sleeping.swap(0, Ordering::AcqRel) != 0
            && let Some(bell) = self.bell.get()
        {
            bell.ring();
        }
    }
}

#[cfg(all(loom, test))]
#[path = "waker_loom.rs"]
mod models;
