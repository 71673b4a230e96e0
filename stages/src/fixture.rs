//! What the tests of several stages need: packets from frames, in one piece or many.

use crate::rx::describe;
use corelane_runtime::packet::{Buffers, Packet, SegFlags, SegKind, Segmentation};
use corelane_runtime::stage::{StageContext, Tally};
use corelane_runtime::testing::Harness;

/// Key of flow hashes in tests.
pub(crate) const KEY: u64 = 0x0123_4567_89ab_cdef;

/// A packet of parts with these bytes, received whole and not looked at.
pub(crate) fn chained(harness: &mut Harness, frame: &[u8], cuts: &[usize]) -> Packet {
    let mut bounds: Vec<usize> = cuts.iter().map(|&cut| cut.min(frame.len())).collect();
    bounds.extend([0, frame.len()]);
    bounds.sort_unstable();
    bounds.dedup();
    let mut parts = bounds.windows(2).map(|pair| &frame[pair[0]..pair[1]]);
    let mut packet = harness.packet(parts.next().unwrap_or(&[]));
    for part in parts {
        let more = harness.packet(part);
        append(&mut packet, more, &mut harness.buffers);
    }
    packet.meta_mut().orig_len = packet.len();
    packet
}

fn append(packet: &mut Packet, more: Packet, buffers: &mut Buffers) {
    let mut tally = Tally::new(0, 0);
    StageContext::new(0, buffers, &mut tally).absorb(packet, more, 0);
    let ordinary =
        Segmentation { kind: SegKind::None, gso_size: 0, count: 1, flags: SegFlags::empty() };
    packet.set_segmentation(ordinary);
}

/// A packet as it leaves `Rx`.
pub(crate) fn received(harness: &mut Harness, frame: &[u8], cuts: &[usize]) -> Packet {
    let mut packet = chained(harness, frame, cuts);
    describe(&mut packet, KEY, &mut harness.buffers).expect("a buffer");
    packet
}
