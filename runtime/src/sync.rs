//! One switch between the standard atomics and loom's, for the two protocols that loom models: the sleep
//! protocol and the way buffers go home. Nothing else in this crate is modelled.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU8, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering, fence};
