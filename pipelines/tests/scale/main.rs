//! Measuring on more and more cores, for real: threads, windows of some milliseconds, and what must hold however fast
//! the machine is. Parts add up, ratios are those of the rounds, what cannot be measured says so.
//!
//! Nothing here asserts a speed.

mod block;
mod measured;
