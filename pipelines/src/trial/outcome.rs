//! What came of a test: whether it passed, and where not, what was expected and what came.
//!
//! Plain data for programs and for [`super::show`]; keys in JSON are stable.

use crate::report::Named;
use serde::Serialize;

/// A test, run once under some capabilities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Name of the test.
    pub test: String,
    /// The capabilities, as [`Selection::caps`](super::Selection::caps) takes them.
    pub caps: String,
    /// The seed of the simulator.
    pub seed: u64,
    /// Whether everything was as expected.
    pub passed: bool,
    /// Whether counters and drops were looked at. They are not where a port joins packets before any stage sees
    /// them.
    pub counted: bool,
    /// What was not as expected.
    pub mismatches: Vec<Mismatch>,
}

/// Something that was not as expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mismatch {
    /// A frame that left is not the one that was expected, or is missing, or nobody expected it.
    Frame(Box<FrameMismatch>),
    /// A number of the report.
    Number {
        /// As the test writes it.
        path: String,
        /// What it should be.
        expected: u64,
        /// What it is.
        received: u64,
    },
    /// The run itself: it could not be planned, its books do not balance, a port was asked for what it cannot do.
    Run {
        /// What is wrong, one sentence.
        message: String,
    },
}

/// A frame that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrameMismatch {
    /// The port it left by.
    pub port: String,
    /// Its number among the frames of the port, from 1.
    pub frame: usize,
    /// How many frames were expected of the port.
    pub frames_expected: usize,
    /// How many left.
    pub frames_received: usize,
    /// The first byte that differs; `None` where there is nothing to compare with.
    pub first: Option<Difference>,
    /// Further frames of this port that are not as expected.
    pub more: usize,
    /// The frame that was sent in the same place, if there is one.
    pub sent: Option<Vec<LayerView>>,
    /// The frame that was expected; of one that is written header by header, what is written.
    pub expected: Option<Vec<LayerView>>,
    /// The frame that left.
    pub received: Option<Vec<LayerView>>,
    /// Its bytes in hex.
    pub received_hex: Option<String>,
}

/// Where two frames begin to differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Bytes in front of it.
    pub byte: usize,
    /// The header it is in.
    pub layer: String,
    /// How many headers stand before that one.
    pub depth: usize,
    /// The field of that header, if it is in one.
    pub field: Option<String>,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub received: String,
}

/// A header of a frame as people read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LayerView {
    /// Its kind, as tests write it.
    pub layer: String,
    /// Its fields by name.
    pub fields: Named<String>,
}
