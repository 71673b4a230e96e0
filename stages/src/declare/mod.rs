//! Writing a stage: `stage!` makes everything of one declaration that is not what the stage does to packets.
//!
//! A declaration names the keys with their types, defaults and meanings, the outputs, counters and drop reasons,
//! the state, and what the plan must know. It promises that each is written once: the struct that the stage
//! works on, how it is read from a description, its entry in the catalogue, its numbers for the books, and
//! how fresh copies are made all come from there, and a stage of this crate has nothing that another's has
//! not. The `impl Stage` beside it is the author's.
//!
//! - [`crate::stage!`]: the declaration
//! - [`crate::choice!`]: a value that is one of several words
//! - [`Key`]: what can be the type of a key
//! - [`support`]: what the macros expand to calls of; not for use by hand

mod choice;
mod key;
mod stage;
#[doc(hidden)]
pub mod support;
#[cfg(test)]
mod tests;

pub use key::{Hex, Key, OutputNames};

use corelane_runtime::stage::OutputId;

/// An output of a stage: in a description the name of a chain, in the stage where to send to.
pub type Output = OutputId;
