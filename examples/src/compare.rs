//! Says whether two captures hold the same frames, in the same order within each flow.
//!
//! Promises that equality means every byte, every captured length and every length on the wire, with
//! nothing missing and nothing added. Times are counted and compared only where asked for. The order
//! between flows is free: joining and cutting packets may change it.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use crate::captures::Frame;
use crate::flow::FlowKey;
use crate::inside::innermost;

/// What two equal captures have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Frames in each of them.
    pub frames: usize,
    /// Flows they belong to.
    pub flows: usize,
    /// Bytes captured in each of them.
    pub bytes: usize,
    /// Frames whose times are equal too, to the nanosecond.
    pub equal_times: usize,
}

/// The first difference, in the order of the first capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The flow in which it was found.
    pub flow: FlowKey,
    /// Number of the frame in the first capture, from 1; `None` where only the second has one.
    pub first: Option<usize>,
    /// Number of the frame in the second capture, from 1; `None` where only the first has one.
    pub second: Option<usize>,
    /// What differs.
    pub what: What,
}

/// How two frames differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The second capture has no further frame of this flow.
    Missing,
    /// The second capture has a frame of this flow that the first does not have.
    Added,
    /// The length on the wire, in bytes.
    OrigLen(u32, u32),
    /// The captured length, in bytes, where all bytes that both have are equal.
    Length(usize, usize),
    /// The byte at this offset.
    Byte(usize, u8, u8),
    /// The time of capture, second minus first, in nanoseconds.
    Time(i128),
}

/// How strictly frames are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Times may differ.
    Free,
    /// Times must be equal to the nanosecond.
    Equal,
}

/// Compares two captures, flow by flow. A flow inside a tunnel is one of its own.
///
/// # Errors
///
/// The first difference, in the order of `first`; frames that only `second` has come last.
pub fn compare(
    first: &[Frame],
    second: &[Frame],
    times: Times,
) -> Result<Summary, Box<Difference>> {
    let mut waiting: HashMap<FlowKey, VecDeque<usize>> = HashMap::new();
    for (index, frame) in second.iter().enumerate() {
        waiting.entry(FlowKey::of(innermost(&frame.data))).or_default().push_back(index);
    }
    let flows = waiting.len();
    let mut summary = Summary { flows, ..Summary::default() };
    for (index, frame) in first.iter().enumerate() {
        let flow = FlowKey::of(innermost(&frame.data));
        let partner = waiting.get_mut(&flow).and_then(VecDeque::pop_front);
        let what = match partner {
            None => Some(What::Missing),
            Some(partner) => frame_difference(frame, &second[partner], times),
        };
        if let Some(what) = what {
            let second = partner.map(|partner| partner + 1);
            return Err(Box::new(Difference { flow, first: Some(index + 1), second, what }));
        }
        summary.frames += 1;
        summary.bytes += frame.data.len();
        summary.equal_times +=
            usize::from(partner.is_some_and(|partner| second[partner].time == frame.time));
    }
    first_left_over(waiting).map_or(Ok(summary), Err)
}

fn frame_difference(first: &Frame, second: &Frame, times: Times) -> Option<What> {
    let differing = first.data.iter().zip(&second.data).position(|(a, b)| a != b);
    if let Some(at) = differing {
        return Some(What::Byte(at, first.data[at], second.data[at]));
    }
    if first.data.len() != second.data.len() {
        return Some(What::Length(first.data.len(), second.data.len()));
    }
    if first.orig_len != second.orig_len {
        return Some(What::OrigLen(first.orig_len, second.orig_len));
    }
    if times == Times::Equal && first.time != second.time {
        let nanoseconds = |frame: &Frame| frame.time.as_nanos() as i128;
        return Some(What::Time(nanoseconds(second) - nanoseconds(first)));
    }
    None
}

fn first_left_over(waiting: HashMap<FlowKey, VecDeque<usize>>) -> Option<Box<Difference>> {
    let added = waiting
        .into_iter()
        .filter_map(|(flow, left)| Some((*left.front()?, flow)))
        .min_by_key(|added| added.0)?;
    let (index, flow) = added;
    Some(Box::new(Difference { flow, first: None, second: Some(index + 1), what: What::Added }))
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.flow)?;
        match (self.first, self.second) {
            (Some(first), Some(second)) => write!(f, "frame {first} against frame {second}: ")?,
            (Some(number), None) | (None, Some(number)) => write!(f, "frame {number}: ")?,
            (None, None) => {}
        }
        match self.what {
            What::Missing => f.write_str("missing from the second capture"),
            What::Added => f.write_str("the first capture has no such frame"),
            What::OrigLen(a, b) => write!(f, "{a} bytes on the wire against {b}"),
            What::Length(a, b) => write!(f, "{a} bytes captured against {b}"),
            What::Byte(at, a, b) => write!(f, "byte {at} is {a:#04x} against {b:#04x}"),
            What::Time(by) => write!(f, "captured {by} ns apart"),
        }
    }
}
