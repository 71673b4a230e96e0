//! How packets move: the runtime of corelane.
//!
//! A tour in the order a packet travels:
//!
//! 1. [`packet`] - a packet is a chain of parts; each part returns to its home ([`packet::Buffers`]).
//! 2. [`port`] - a port fills a [`packet::Burst`] from a receive queue and empties one into a transmit queue.
//! 3. [`stage`] - stages take a burst, and pass each packet on, drop it with a reason, or hold it.
//! 4. [`edge`] - a lock-free ring joins two actors; [`shared`] is a table that they read and write alike.
//! 5. [`actor`] - stages in a row are an actor; [`actor::Actor::step`] knows no thread and no clock.
//! 6. [`exec`] - the same actors run on pinned threads or in a seeded simulator.
//!
//! [`offload`] is the vocabulary in which ports and stages speak of hardware work, [`topology`] reads the
//! machine, [`counters`] keeps the books.
//!
//! This crate promises that every packet and every buffer is accounted for. It knows no protocol, no stage
//! and no pipeline: offsets and states in a packet's meta are set and read by others.

pub mod actor;
pub mod clock;
pub mod counters;
pub mod edge;
pub mod error;
pub mod exec;
pub mod offload;
pub mod packet;
pub mod port;
pub mod shared;
pub mod stage;
pub mod topology;

mod sync;

#[cfg(feature = "testing")]
pub mod testing;

pub use clock::Time;
pub use error::Error;
