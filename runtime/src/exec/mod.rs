//! Executors: the same actors on pinned threads, or in a seeded simulator.
//!
//! Both drive [`crate::actor::Actor::step`] and follow the sleep protocol of [`Waker`]; neither looks inside.

mod bell;
mod idle;
mod meter;
mod names;
pub mod sim;
pub mod threads;
mod waker;

pub use bell::Bell;
pub use idle::IdleProfile;
pub use meter::ThreadMeter;
pub use waker::{Reasons, Waker};
