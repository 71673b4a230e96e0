//! One switch between the standard atomics and loom's, for the three protocols that loom models: the sleep
//! protocol, the way buffers go home, and the table that stages share. Nothing else in this crate is modelled.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering, fence};
