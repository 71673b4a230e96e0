//! Where `Gro` and the kernel may part, and why; anything that is not listed here fails.
//!
//! It promises to look at the frames of a stream as they were described, not at what either side made of them.

use crate::segment::Segment;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{Checksum, Extension};

/// What is known where two outcomes first part: the frame that one side joined to the merge before it and the
/// other did not, and everything of its flow that came earlier, in order.
pub(crate) struct Parting<'a> {
    pub(crate) earlier: &'a [Numbered<'a>],
    pub(crate) frame: Numbered<'a>,
    /// Whether it was `Gro` that joined it.
    pub(crate) joined_here: bool,
}

/// A segment and its number in the stream, which says what its payload is.
pub(crate) type Numbered<'a> = (&'a Segment, usize);

/// One reason for which they may part.
pub(crate) struct Reason {
    pub(crate) name: &'static str,
    /// Whether every kernel gives cause for it.
    pub(crate) everywhere: bool,
    pub(crate) holds: fn(&Parting<'_>) -> bool,
}

/// All reasons. Each is a case in `cases`, with its defence.
pub(crate) const REASONS: &[Reason] = &[
    Reason { name: "padding is no payload", everywhere: true, holds: padding },
    Reason { name: "equal IPv4 options join", everywhere: true, holds: options },
    Reason { name: "segments that all carry CWR join", everywhere: false, holds: cwr },
    Reason {
        name: "an urgent pointer is kept, with URG or without",
        everywhere: true,
        holds: urgent,
    },
    Reason {
        name: "what is wrong or a fragment does not overtake",
        everywhere: true,
        holds: overtaken,
    },
    Reason {
        name: "a right checksum that an unfinished one would be too is left alone",
        everywhere: false,
        holds: ambiguous,
    },
];

fn padding(parting: &Parting<'_>) -> bool {
    parting.joined_here && parting.frame.0.padded
}

fn options(parting: &Parting<'_>) -> bool {
    parting.joined_here && !parting.frame.0.v6 && !parting.frame.0.ip4.options.is_empty()
}

fn cwr(parting: &Parting<'_>) -> bool {
    let with = |segment: &Segment| segment.tcp.flags.contains(TcpFlags::CWR);
    // Old kernels join others to a first segment that carries it.
    let before = || parting.earlier.iter().any(|(segment, _)| with(segment));
    parting.frame.0.udp.is_none()
        && if parting.joined_here { with(parting.frame.0) } else { before() }
}

/// Kernel joins what differs in a field that it does not look at.
fn urgent(parting: &Parting<'_>) -> bool {
    let all = || parting.earlier.iter().map(|(segment, _)| segment.tcp.urgent);
    let urgent = parting.frame.0.tcp.urgent;
    !parting.joined_here && parting.frame.0.udp.is_none() && all().any(|other| other != urgent)
}

/// The kernel passes these at once and goes on with the merge that they interrupt.
fn overtaken(parting: &Parting<'_>) -> bool {
    !parting.joined_here && parting.earlier.last().is_some_and(|(segment, _)| passes(segment))
}

/// Once in some 30,000 frames the right checksum is what a sender leaves for its device, with the length or without.
/// Gro was told by nobody which of the two it is, and what it restored would be the other one.
fn ambiguous(parting: &Parting<'_>) -> bool {
    let before = parting.earlier.last();
    !parting.joined_here
        && (could_be_unfinished(parting.frame) || before.is_some_and(|&at| could_be_unfinished(at)))
}

fn could_be_unfinished((segment, number): Numbered<'_>) -> bool {
    let [right, seed] = [Checksum::Right, Checksum::Partial]
        .map(|what| segment.clone().checksum(what).build(number));
    let (field, l4) = match &segment.udp {
        Some(_) => (right.header - 2, right.header - 8),
        None => (right.header - 4, right.header - 20),
    };
    let back = segment.udp.as_ref().map_or(segment.tcp.options.len().div_ceil(4) * 4, |_| 0);
    let (field, l4) = (field - back, l4 - back);
    let word = |frame: &[u8]| u32::from(frame[field]) << 8 | u32::from(frame[field + 1]);
    let (right, seed) = (word(&right.bytes), word(&seed.bytes));
    let length = (right_length(segment, l4) % 0xffff) as u32;
    right == seed || right % 0xffff == (seed + 0xffff - length) % 0xffff
}

/// Bytes that the checksum covers.
fn right_length(segment: &Segment, l4: usize) -> usize {
    segment.build(0).header - l4 + segment.len
}

/// Whether the kernel lets this frame by without a look at what it holds of the flow.
pub(crate) fn passes(segment: &Segment) -> bool {
    let l4 = segment.udp.as_ref().map_or(segment.tcp.checksum, |udp| udp.checksum);
    let fragment = segment.ip4.more_fragments || segment.ip4.fragment_offset > 0;
    let fragment_v6 = segment
        .ip6
        .extensions
        .iter()
        .any(|extension| matches!(extension, Extension::Fragment { .. }));
    l4 != Checksum::Right
        || (!segment.v6 && (segment.ip4.checksum != Checksum::Right || fragment))
        || (!segment.v6 && !segment.ip4.options.is_empty())
        || (segment.v6 && fragment_v6)
        || segment.padded
        || segment.len == 0 && segment.udp.is_some()
}
