//! Frames as the far end of the wire sees them, and what it does with those it gets.
//!
//! A [`Frame`] is bytes and a time, nothing about packets. Frames are kept per transmit queue in the order in
//! which they left.

use corelane_runtime::Time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One frame on the wire, without its frame check sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// When it was on the wire, ns.
    pub time_ns: Time,
    /// Its bytes from the Ethernet header on, as far as they were captured.
    pub data: Vec<u8>,
    /// How many bytes it had on the wire.
    pub orig_len: u32,
}

impl Frame {
    /// A frame that is all there.
    pub fn new(time_ns: Time, data: Vec<u8>) -> Frame {
        let orig_len = data.len() as u32;
        Frame { time_ns, data, orig_len }
    }

    /// A frame of `orig_len` bytes of which a capture kept only `data`.
    pub fn cut(time_ns: Time, data: Vec<u8>, orig_len: u32) -> Frame {
        let orig_len = orig_len.max(data.len() as u32);
        Frame { time_ns, data, orig_len }
    }

    /// Whether bytes are missing.
    pub fn is_cut(&self) -> bool {
        self.orig_len as usize > self.data.len()
    }
}

/// What becomes of the frames that an emulated NIC sends.
#[derive(Clone, Debug, Default)]
pub enum Sink {
    /// They are counted and gone. The work a real NIC does for nothing is then not done at all: requests
    /// are still checked and refused, but no frame is cut and no checksum computed.
    #[default]
    Discard,
    /// They are kept, for tests.
    Collect(Collector),
}

/// A handle to the frames that left; clones show the same.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    queues: Arc<Mutex<Vec<Vec<Frame>>>>,
}

impl Collector {
    /// Nothing yet.
    pub fn new() -> Collector {
        Collector::default()
    }

    /// All frames, queue after queue, each queue in the order in which it sent them.
    pub fn frames(&self) -> Vec<Frame> {
        self.lock().concat()
    }

    /// The frames of each queue, in the order in which it sent them.
    pub fn queues(&self) -> Vec<Vec<Frame>> {
        self.lock().clone()
    }

    /// Takes all frames away, queue after queue.
    pub fn take(&self) -> Vec<Frame> {
        self.lock().iter_mut().flat_map(std::mem::take).collect()
    }

    /// Takes the frames of each queue away.
    pub fn take_queues(&self) -> Vec<Vec<Frame>> {
        std::mem::take(&mut self.lock())
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.lock().iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds what a queue sent during one call; `frames` is empty then.
    pub(super) fn add(&self, queue: usize, frames: &mut Vec<Frame>) {
        if frames.is_empty() {
            return;
        }
        let mut queues = self.lock();
        if queues.len() <= queue {
            queues.resize_with(queue + 1, Vec::new);
        }
        queues[queue].append(frames);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<Frame>>> {
        // Whoever panicked with the lock held left whole frames behind.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
