//! The short way through `Gro`, which a packet's hash leads to, gives what the long way gives.
//!
//! A hash is only a guess at where the merge of a packet is. Here the same stream runs with hashes as `Rx` gives them, with
//! one for all packets, and with ones that lead nowhere near: then hardly any packet goes the short way.

use crate::property::Run;
use crate::rig::{Frame, Proof, Rig};
use crate::stream::stream;
use corelane_runtime::packet::Packet;
use corelane_stages::gro::GroConfig;
use proptest::prelude::*;

/// What can be seen of a packet; of one that stays alone not whether its payload happens to have been summed.
fn seen(packet: &Packet) -> String {
    let joined = packet.pieces().filter(|_| packet.is_super());
    let pieces: Vec<_> = joined.map(|piece| (piece.len, piece.sum.map(canonical))).collect();
    let bytes: Vec<u8> = packet.parts().flatten().copied().collect();
    let meta = packet.meta();
    let states = (meta.l3, meta.l4, meta.partial, meta.flags, meta.layers, meta.orig_len);
    format!("{:?} {pieces:?} {states:?} {bytes:02x?}", packet.segmentation())
}

/// 0 and 0xFFFF are one sum.
fn canonical(sum: u16) -> u16 {
    if sum == 0 { 0xffff } else { sum }
}

/// All that `Gro` makes of the frames, and what it counts.
fn merged(frames: &[Frame], run: &Run, hash: impl Fn(usize, u32) -> u32) -> Vec<String> {
    let mut rig = Rig::new(run.config);
    let mut sizes = run.split.iter().copied().cycle();
    let (mut out, mut rest, mut index) = (Vec::new(), frames, 0);
    while !rest.is_empty() {
        let (burst, after) = rest.split_at(sizes.next().unwrap_or(32).clamp(1, rest.len()));
        rest = after;
        let mut packets = rig.receive_by(run.proof, burst);
        for packet in &mut packets {
            let meta = packet.meta_mut();
            meta.hash = hash(index, meta.hash);
            index += 1;
        }
        let merged = rig.merge(packets);
        out.extend(merged.iter().map(seen));
        rig.gro.release(merged);
    }
    rig.gro.drain();
    let last = rig.gro.take();
    out.extend(last.iter().map(seen));
    rig.gro.release(last);
    out.push(format!("{:?} {:?}", rig.gro.counters(), rig.gro.tally().payload_bytes_summed));
    rig.finish();
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn hashes_do_not_show(
        stream in stream(80),
        split in prop::collection::vec(1..40_usize, 1..6),
        proof in prop::sample::select(vec![Proof::Stage, Proof::Device, Proof::Nobody]),
        hold in prop::option::of(Just(corelane_stages::config::Nanoseconds(5000))),
    ) {
        let config = GroConfig { hold, ..GroConfig::default() };
        let run = Run { config, proof, split, room: None };
        let frames = stream.frames();
        let right = merged(&frames, &run, |_, hash| hash);
        let nowhere = |index: usize, _| (index as u32).wrapping_mul(0x9e37_79b9);
        prop_assert_eq!(&right, &merged(&frames, &run, nowhere));
        prop_assert_eq!(&right, &merged(&frames, &run, |_, _| 0));
    }
}
