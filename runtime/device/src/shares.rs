//! How the frames of one port are shared out to its receive queues.
//!
//! Queues are opened one by one before the run; how many there are is known only when the first of them is
//! polled. A queue that opened and is never polled keeps its share to itself, as on a NIC.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the queues of one port as they open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    opened: Arc<AtomicUsize>,
}

/// One queue's place among the queues of its port.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    index: usize,
    shares: Shares,
}

impl Shares {
    /// Opens the next queue, if there are not yet `most`.
    pub(crate) fn open(&self, most: usize) -> Option<Share> {
        let index = self.opened.load(Ordering::Relaxed);
        if index >= most {
            return None;
        }
        self.opened.store(index + 1, Ordering::Relaxed);
        Some(Share { index, shares: self.clone() })
    }
}

impl Share {
    /// The number of this queue, and of all. Ask when the run has begun.
    pub(crate) fn of_all(&self) -> (usize, usize) {
        (self.index, self.shares.opened.load(Ordering::Relaxed))
    }

    /// Whether this is the only queue, so that no frame needs to be looked at.
    pub(crate) fn has_all(&self) -> bool {
        self.of_all().1 <= 1
    }

    /// Whether the frame with this flow hash belongs to this queue.
    pub(crate) fn has(&self, flow_hash: u32) -> bool {
        let (index, queues) = self.of_all();
        flow_hash as usize % queues.max(1) == index
    }
}
