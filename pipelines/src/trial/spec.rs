//! What a `tests:` block says, read and checked, with the places of its words in the file.
//!
//! Made by the loader, run by `run`. Spans are places in the file as its author wrote it.

use super::layout::Kind;
use crate::text::Span;

/// A word and where it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A test.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) name: At,
    pub(crate) caps: CapsChoice,
    /// Values of parameters, as on the command line.
    pub(crate) sets: Vec<(String, String)>,
    /// What comes in, port by port.
    pub(crate) send: Vec<(At, Vec<Sent>)>,
    /// What goes out, port by port; ports that are not named are not looked at.
    pub(crate) expect: Vec<(At, Expected)>,
    /// Numbers of the report.
    pub(crate) counters: Vec<(At, u64)>,
    /// Packets dropped by reason, all of them.
    pub(crate) drops: Option<Vec<(At, u64)>>,
    /// How many orders of the simulator are tried, from which seed on.
    pub(crate) seeds: u64,
    pub(crate) seed: u64,
}

/// Under which capabilities a test is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CapsChoice {
    /// Those that the description gives its ports.
    AsWritten,
    /// None, all, each alone, all but each.
    Every,
    /// Each a case: a name for all ports, or `port=name`, several apart by commas.
    These(Vec<At>),
}

/// A frame to send.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// When, ns of virtual time.
    pub(crate) at_ns: u64,
    /// How often.
    pub(crate) times: u32,
    pub(crate) frame: FrameSpec,
}

/// A frame as the file has it.
#[derive(Clone, Debug)]
pub(crate) enum FrameSpec {
    /// Header by header.
    Layers(Vec<Layer>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// All frames of a capture, beside the file.
    File(At),
}

/// What a port is to send.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// What that port received, in order.
    Same(At),
    /// What that port received, in any order.
    SameAsSet(At),
    /// These, in order.
    These(Vec<FrameSpec>),
    /// These, in any order.
    AnyOrder(Vec<FrameSpec>),
}

/// A header, with what is said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) kind: Kind,
    /// By name of the field.
    pub(crate) fields: Vec<(&'static str, Value)>,
    /// Options, a body, payload.
    pub(crate) tail: Option<Vec<u8>>,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// As the header has it.
    Raw(u128),
    /// The right checksum.
    Good,
    /// A wrong one.
    Bad,
}

impl Layer {
    /// What is said of a field.
    pub(crate) fn value(&self, name: &str) -> Option<Value> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

impl FrameSpec {
    /// How long a frame is at least, for a bound on what a test holds in memory.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            FrameSpec::Layers(layers) => layers
                .iter()
                .map(|layer| layer.kind.layout().len + layer.tail.as_ref().map_or(0, Vec::len))
                .sum(),
            FrameSpec::Bytes(bytes) => bytes.len(),
            FrameSpec::File(_) => 0,
        }
    }
}
