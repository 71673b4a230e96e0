//! Which frames of a stream became one packet, read from the packets alone.
//!
//! It promises to parse no header: a frame is found by its payload, and one without a payload by all its bytes.

use crate::segment::Sent;
use crate::veth::Wire;
use corelane_runtime::testing::Harness;
use corelane_stages::gro::{Gro, GroConfig, INFO};
use corelane_stages::rx::describe;
use std::cmp::Reverse;
use std::fmt::Write as _;

/// Attempts at a stream: the kernel's clock may end a merge early, never join more.
const ATTEMPTS: usize = 40;
/// Attempts after which a result that was expected is believed.
const ATTEMPTS_EXPECTED: usize = 5;

/// Packets that left, by flow and then in order: the numbers of the frames in each, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups(pub(crate) Vec<Group>);

/// One packet that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) flow: u16,
    pub(crate) frames: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl Groups {
    /// How much was joined, for comparing: fewer packets first, then more frames in those that began earlier, then a
    /// later end of what was held. A clock that ends a merge makes all three less.
    fn merges(&self) -> (Reverse<usize>, Vec<usize>, Vec<usize>) {
        let mut by_head: Vec<&Group> = self.0.iter().collect();
        by_head.sort_by_key(|group| group.frames.first());
        let sizes = by_head.iter().map(|group| group.frames.len()).collect();
        let order = self.0.iter().flat_map(|group| group.frames.iter().copied()).collect();
        (Reverse(self.0.len()), sizes, order)
    }

    /// `0+1 2`: frames joined by `+`, packets between spaces, flows by `/`.
    pub(crate) fn shown(&self) -> String {
        let mut shown = String::new();
        let mut flow = None;
        for group in &self.0 {
            let gap = match flow.replace(group.flow) {
                None => "",
                Some(before) if before == group.flow => " ",
                Some(_) => " / ",
            };
            let numbers: Vec<String> = group.frames.iter().map(usize::to_string).collect();
            let _ = write!(shown, "{gap}{}", numbers.join("+"));
        }
        shown
    }
}

/// Finds the frames of `sent` in `packets`; `None` if they are not all there, once each.
pub(crate) fn find(sent: &[Sent], packets: &[Vec<u8>]) -> Option<Groups> {
    let mut missing: Vec<usize> = (0..sent.len()).collect();
    let mut groups = Vec::new();
    for packet in packets {
        let (head, bytes) = head_of(sent, &missing, packet)?;
        let mut frames = Vec::new();
        let mut rest = &bytes[sent[head].header..];
        let mut next = Some(head);
        while let Some(frame) = next {
            missing.retain(|at| *at != frame);
            frames.push(frame);
            rest = &rest[sent[frame].payload.len()..];
            next = missing.iter().copied().find(|at| {
                let frame = &sent[*at];
                frame.flow == sent[head].flow
                    && !frame.payload.is_empty()
                    && rest.starts_with(&frame.payload)
            });
        }
        let lone = frames.len() == 1 && bytes == sent[head].bytes;
        assert!(rest.is_empty() || lone, "{} bytes of nobody behind {frames:?}", rest.len());
        groups.push(Group { flow: sent[head].flow, frames, bytes });
    }
    groups.sort_by_key(|group| group.flow);
    missing.is_empty().then_some(Groups(groups))
}

/// The frame that a packet begins with, and the packet with the tag that the kernel keeps apart put back.
fn head_of(sent: &[Sent], missing: &[usize], packet: &[u8]) -> Option<(usize, Vec<u8>)> {
    for &at in missing {
        let frame = &sent[at];
        let mut bytes = packet.to_vec();
        if frame.tagged && bytes[12..16] != frame.bytes[12..16] {
            bytes.splice(12..12, frame.bytes[12..16].iter().copied());
        }
        let end = frame.header + frame.payload.len();
        let found = if frame.payload.is_empty() {
            bytes == frame.bytes
        } else {
            bytes.get(frame.header..end).is_some_and(|payload| payload == frame.payload)
        };
        if found {
            return Some((at, bytes));
        }
    }
    None
}

/// What the kernel makes of a stream: of several attempts the one that joined the most, earliest. Where that is not
/// `expected`, a loaded machine gets the benefit of many more attempts before it counts.
pub(crate) fn kernel(wire: &mut Wire, sent: &[Sent], expected: impl Fn(&Groups) -> bool) -> Groups {
    let frames: Vec<Vec<u8>> = sent.iter().map(|frame| frame.bytes.clone()).collect();
    let mut best: Option<Groups> = None;
    for attempt in 0..ATTEMPTS {
        let packets = wire.pass(&frames, |packets| find(sent, packets).is_some());
        let groups = find(sent, &packets).expect("it was whole");
        // Twice the same is no accident of the clock.
        let again = best.as_ref().is_some_and(|best| best.merges() == groups.merges());
        if best.as_ref().is_none_or(|best| groups.merges() > best.merges()) {
            best = Some(groups);
        }
        if (again || attempt >= ATTEMPTS_EXPECTED) && best.as_ref().is_some_and(&expected) {
            break;
        }
    }
    best.expect("there was an attempt")
}

/// What `Gro` makes of a stream that arrives in one burst, with nobody vouching for checksums.
pub(crate) fn ours(sent: &[Sent]) -> Groups {
    let mut gro = Harness::new(Gro::new(GroConfig::default(), 0x5eed), &INFO);
    for frame in sent {
        let mut packet = gro.packet(&frame.bytes);
        describe(&mut packet, 7, &mut gro.buffers).expect("headers are contiguous");
        gro.push(packet);
    }
    gro.run();
    gro.assert_balanced();
    let packets = gro.take_frames();
    gro.finish();
    find(sent, &packets).expect("Gro loses nothing")
}
