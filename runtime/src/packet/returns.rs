//! How buffers go home: a chain of parts is pushed onto the home's stack in one step, and the owner takes
//! the whole stack in one step. No lock, no bound, any number of cores pushing.
//!
//! Taking everything at once is what makes this safe without tags: no element is ever popped alone, so a
//! head that comes back (ABA) still heads a chain that this push may extend. It does not keep order.

use crate::sync::{AtomicPtr, Ordering};
use std::ptr;

/// A type that can stand in a [`ReturnStack`].
///
/// # Safety
/// `set_next` must write a link that only the holder of the pointer reads, and that `push` leaves alone once
/// the element is pushed.
pub(crate) unsafe trait Linked {
    /// Writes the link.
    ///
    /// # Safety
    /// `this` is valid and owned by the caller.
    unsafe fn set_next(this: *mut Self, next: *mut Self);
}

/// Parts on their way home.
#[derive(Debug)]
pub(crate) struct ReturnStack<T> {
    head: AtomicPtr<T>,
}

impl<T: Linked> ReturnStack<T> {
    /// An empty stack.
    pub(crate) fn new() -> ReturnStack<T> {
        ReturnStack { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Pushes the chain that starts at `first` and ends at `last`.
    ///
    /// # Safety
    /// The caller owns every element of the chain and gives them all up.
    pub(crate) unsafe fn push(&self, first: *mut T, last: *mut T) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller owns `last` until the exchange below succeeds.
            unsafe { T::set_next(last, head) };
            // Release: the owner that takes the stack must see the links and the parts' contents.
            match self.head.compare_exchange_weak(head, first, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes everything; the caller owns the chain, which ends in null.
    pub(crate) fn take(&self) -> *mut T {
        // A plain load first: the stack is empty most of the time and a swap would take the line.
        if self.head.load(Ordering::Relaxed).is_null() {
            return ptr::null_mut();
        }
        self.head.swap(ptr::null_mut(), Ordering::Acquire)
    }

    /// Whether something waits to be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed).is_null()
    }
}

impl<T: Linked> Default for ReturnStack<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(loom, test))]
#[path = "returns_loom.rs"]
mod models;
