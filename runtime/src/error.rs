//! What can go wrong while a run is set up: what, where, and what to do about it.
//!
//! On the packet path there are no errors, only outputs and counted drops.

use std::fmt;

/// A failure to set something up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What it is about: a port, a stage, a pool.
    pub what: String,
    /// What happened and what to do, one sentence.
    pub message: String,
    /// Whether the description or the arguments are at fault (exit code 2) or the machine (1).
    pub user: bool,
}

impl Error {
    /// The description or the arguments are wrong; nothing has run.
    pub fn user(what: impl Into<String>, message: impl Into<String>) -> Error {
        Error { what: what.into(), message: message.into(), user: true }
    }

    /// The machine refused something, or a run failed.
    pub fn system(what: impl Into<String>, message: impl Into<String>) -> Error {
        Error { what: what.into(), message: message.into(), user: false }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.message)
    }
}

impl std::error::Error for Error {}
