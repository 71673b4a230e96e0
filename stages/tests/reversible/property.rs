//! `gso(gro(x)) == x`, for any stream, any split into bursts, any settings: the property, and its runs.
//!
//! [`reversible`] and [`harmless`] are plain functions of frames, so that a fuzz target can wrap them as well.

use crate::oracle::assert_well_formed;
use crate::rig::{Frame, Proof, Rig};
use crate::stream::{Stream, flow_of, stream};
use corelane_stages::config::{Bytes, Nanoseconds};
use corelane_stages::gro::GroConfig;
use corelane_wire::testing::assert_same_frames;
use corelane_wire::testing::strategies::hostile;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::HashMap;

/// How frames are run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) config: GroConfig,
    pub(crate) proof: Proof,
    /// Sizes of bursts, over and over.
    pub(crate) split: Vec<usize>,
    /// Packets that fit behind each stage in one call.
    pub(crate) room: Option<usize>,
}

/// Merges and cuts frames. Every superpacket in between is well-formed, the books balance after each call,
/// nothing is left inside. Gives what came out, and the number of packets merged.
fn there_and_back(frames: &[Frame], run: &Run) -> (Vec<Frame>, u64) {
    let mut rig = Rig::new(run.config);
    if let Some(room) = run.room {
        rig.gro.set_room(room);
        rig.gso.set_room(room);
    }
    let mut out = Vec::new();
    let mut rest = frames;
    let mut sizes = run.split.iter().copied().cycle();
    while !rest.is_empty() {
        let (burst, after) = rest.split_at(sizes.next().unwrap_or(32).clamp(1, rest.len()));
        rest = after;
        rig.gro.now += 1000;
        let packets = rig.receive_by(run.proof, burst);
        let merged = rig.merge(packets);
        merged.iter().filter(|packet| packet.is_super()).for_each(assert_well_formed);
        out.extend(rig.cut(merged));
    }
    rig.gro.drain();
    let last = rig.gro.take();
    last.iter().filter(|packet| packet.is_super()).for_each(assert_well_formed);
    out.extend(rig.cut(last));
    let counters = rig.gro.counters();
    let ended = counters.iter().filter(|(name, _)| name.starts_with("ended."));
    let ended: u64 = ended.map(|(_, count)| count).sum();
    assert_eq!(ended, rig.gro.counter("superpackets"), "each superpacket ends for one reason");
    let merged = rig.gro.counter("merged");
    rig.finish();
    (out, merged)
}

/// Frames by flow, in order.
fn by_flow(frames: &[Frame]) -> HashMap<Vec<u8>, Vec<&Frame>> {
    let mut flows: HashMap<_, Vec<_>> = HashMap::new();
    for frame in frames {
        flows.entry(flow_of(&frame.bytes)).or_default().push(frame);
    }
    flows
}

/// The same frames, flow by flow in order, byte by byte, with receive times and wire lengths.
pub(crate) fn assert_same_by_flow(frames: &[Frame], out: &[Frame]) {
    let (before, after) = (by_flow(frames), by_flow(out));
    for (flow, frames) in &before {
        let out = after.get(flow).map_or(&[][..], |frames| frames);
        assert_same_frames(frames, out);
        assert_eq!(frames, out, "receive times or wire lengths differ");
    }
    assert_eq!(frames.len(), out.len());
}

/// What comes out is what went in. Returns the number of packets merged.
pub(crate) fn reversible(frames: &[Frame], run: &Run) -> u64 {
    let (out, merged) = there_and_back(frames, run);
    assert_same_by_flow(frames, &out);
    merged
}

/// For frames so broken that nobody can say which flow they belong to: the same frames come out.
pub(crate) fn harmless(frames: &[Frame], run: &Run) {
    let sorted = |frames: &[Frame]| {
        let mut frames = frames.to_vec();
        frames.sort_by(|a, b| (&a.bytes, a.time).cmp(&(&b.bytes, b.time)));
        frames
    };
    let (out, _) = there_and_back(frames, run);
    assert_eq!(sorted(frames), sorted(&out));
}

pub(crate) fn run() -> impl Strategy<Value = Run> {
    let hold = prop_oneof![
        2 => Just(None),
        1 => (1..5_000_u64).prop_map(|hold| Some(Nanoseconds(hold))),
        1 => Just(Some(Nanoseconds(1_000_000))),
    ];
    let flows = prop_oneof![Just(1_u16), Just(2), Just(64)];
    let max_size = prop_oneof![2 => Just(65_535_u64), 1 => 128..4_000_u64, 1 => Just(512 << 10)];
    let room = prop::option::weighted(0.4, 1..9_usize);
    let proof =
        prop_oneof![2 => Just(Proof::Stage), 1 => Just(Proof::Device), 1 => Just(Proof::Nobody)];
    (hold, flows, max_size, vec(1..65_usize, 1..5), room, proof).prop_map(
        |(hold, flows, max_size, split, room, proof)| {
            let config =
                GroConfig { hold, flows, max_size: Bytes(max_size), ..GroConfig::default() };
            Run { config, proof, split, room }
        },
    )
}

pub(crate) fn whole() -> Run {
    Run { config: GroConfig::default(), proof: Proof::Stage, split: vec![64], room: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn cutting_gives_back_what_was_merged(stream in stream(120), run in run()) {
        reversible(&stream.frames(), &run);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever the bytes are, nothing panics, nothing is lost, nothing is altered.
    #[test]
    fn hostile_frames_pass(frames in vec(hostile(), 1..40), run in run()) {
        let frames: Vec<Frame> = frames.into_iter().map(Frame::new).collect();
        // Twice, so that there is something to merge.
        harmless(&[&frames[..], &frames[..]].concat(), &run);
    }

    /// How a stream is split into bursts does not show in the packets that come out.
    #[test]
    fn bursts_do_not_show(stream in stream(80), split in vec(1..40_usize, 1..6)) {
        reversible(&stream.frames(), &Run { split, ..whole() });
        reversible(&stream.frames(), &Run { split: vec![1], ..whole() });
        reversible(&stream.frames(), &whole());
    }
}

/// Always the same `count` streams of up to `most` frames.
pub(crate) fn stream_run(count: usize, most: usize) -> Vec<Stream> {
    let mut runner = TestRunner::deterministic();
    let strategy = stream(most);
    let mut stream = || strategy.new_tree(&mut runner).expect("nothing is rejected").current();
    (0..count).map(|_| stream()).collect()
}

#[test]
fn random_streams_are_merged_at_all() {
    let mut merged = [0; 3];
    for stream in stream_run(20, 120) {
        let frames = stream.frames();
        for (merged, proof) in merged.iter_mut().zip([Proof::Stage, Proof::Device, Proof::Nobody]) {
            *merged += reversible(&frames, &Run { proof, ..whole() });
        }
    }
    assert!(merged[0] > 100, "only {merged:?} packets merged: the property proves nothing");
    assert_eq!(merged[0], merged[1], "by the word of a device as by that of a stage");
    assert_eq!(merged[0], merged[2], "by its own look as by that of a stage");
}
