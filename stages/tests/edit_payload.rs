//! Payloads changed in place, and every frame judged by those who share no code with what changed it.
//!
//! What a frame should be comes from plain indices, and whether its checksums are right from the checker
//! of `corelane_wire::testing`, which adds byte by byte.

use corelane_runtime::packet::{
    Burst, Csum, L3, L4, Packet, Partial, SegFlags, SegKind, Segmentation,
};
use corelane_runtime::stage::spec::{Role, StageInfo};
use corelane_runtime::stage::{Outputs, Stage, StageContext, Unshared};
use corelane_runtime::testing::Harness;
use corelane_stages::EditPayload;
use corelane_stages::checksum_fill::{ChecksumFill, INFO as FILL};
use corelane_stages::checksum_validate::{ChecksumValidate, OnBad};
use corelane_stages::gro::{Gro, GroConfig, INFO as GRO};
use corelane_stages::gso::{Gso, INFO as GSO};
use corelane_stages::rx::describe;
use corelane_wire::testing::{
    Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan, assert_same_frames, assert_sound,
    problems, strategies,
};
use proptest::prelude::*;

const FLIP: StageInfo = StageInfo {
    name: "Flip",
    summary: "Changes payloads.",
    role: Role::Middle,
    subject: None,
    keys: &[],
    drop_reasons: &["short"],
    counters: &["edited"],
};

/// Changes each payload byte by where it stands in its frame's payload, but for the first `skip`.
#[derive(Clone, Copy)]
struct Flip {
    skip: u32,
}

/// Doing it twice changes nothing.
fn flipped(at: usize) -> u8 {
    (at as u8).wrapping_mul(37) ^ 0xa5
}

impl Stage for Flip {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for mut packet in burst.drain() {
            let change = |at: usize, piece: &mut [u8]| {
                piece.iter_mut().zip(at..).for_each(|(byte, at)| *byte ^= flipped(at));
            };
            let edited = packet.edit_payload(ctx, self.skip, change).unwrap_or(0);
            ctx.count(corelane_runtime::stage::CounterId(0), edited);
            out.next(packet);
        }
    }
}

fn flip_harness(skip: u32) -> Harness {
    Harness::new(Unshared(Flip { skip }), &FLIP).home(64, 512, 8)
}

/// What should come of a frame with that payload, but for its checksums.
fn by_hand(frame: &[u8], payload: std::ops::Range<usize>, skip: usize) -> Vec<u8> {
    let mut frame = frame.to_vec();
    for (at, byte) in frame[payload].iter_mut().enumerate().skip(skip) {
        *byte ^= flipped(at);
    }
    frame
}

/// A packet with the frame's bytes, in several parts where it is cut behind its headers.
fn arrive(harness: &mut Harness, frame: &[u8], cuts: &[usize]) -> Packet {
    let mut bounds: Vec<usize> = cuts.iter().map(|&cut| cut.min(frame.len())).collect();
    bounds.extend([0, frame.len()]);
    bounds.sort_unstable();
    bounds.dedup();
    let mut parts = bounds.windows(2).map(|pair| &frame[pair[0]..pair[1]]);
    let mut packet = harness.packet(parts.next().unwrap_or(&[]));
    let parts: Vec<Packet> = parts.map(|part| harness.packet(part)).collect();
    for part in parts {
        let mut tally = corelane_runtime::stage::Tally::new(0, 0);
        StageContext::new(0, &mut harness.buffers, &mut tally).absorb(&mut packet, part, 0);
        packet.set_segmentation(Segmentation { count: 1, ..Segmentation::default() });
    }
    packet.meta_mut().orig_len = packet.len();
    describe(&mut packet, 7, &mut harness.buffers).expect("a buffer");
    packet
}

/// Places of the checksum fields above IP, and of the payload.
fn places(packet: &Packet) -> (Vec<usize>, std::ops::Range<usize>) {
    let layers = packet.meta().layers;
    let levels = &layers.levels[..usize::from(layers.count)];
    let field = |level: &corelane_runtime::packet::Level| match level.l4_kind {
        L4::Tcp => Some(usize::from(level.l4) + 16),
        L4::Udp => Some(usize::from(level.l4) + 6),
        L4::Other | L4::None => None,
    };
    let innermost = levels.iter().rev().find(|level| field(level).is_some());
    let start = innermost.map_or(0, |level| usize::from(level.payload));
    let end = start + packet.payload_len() as usize;
    (levels.iter().filter_map(field).collect(), start..end)
}

fn without(mut frame: Vec<u8>, fields: &[usize]) -> Vec<u8> {
    for &at in fields {
        frame.iter_mut().skip(at).take(2).for_each(|byte| *byte = 0);
    }
    frame
}

fn bytes(packet: &Packet) -> Vec<u8> {
    packet.parts().flatten().copied().collect()
}

/// One packet through the stage; its bytes.
fn flip(harness: &mut Harness, packet: Packet) -> Vec<u8> {
    harness.feed([packet], &[1]);
    let frames = harness.take_frames();
    assert_eq!(frames.len(), 1);
    frames.concat()
}

/// Who says what of a packet's checksums before it is changed.
#[derive(Clone, Copy, Debug)]
enum Word {
    /// Nobody anything.
    Nobody,
    /// A device: right or wrong, whatever it is; no sums.
    Device,
    /// `ChecksumValidate`, which leaves sums.
    Stage,
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![Just(Word::Nobody), Just(Word::Device), Just(Word::Stage)]
}

fn vouch(word: Word, packet: Packet, sound: bool) -> Packet {
    match word {
        Word::Nobody => packet,
        Word::Device => {
            let mut packet = packet;
            let state = if sound { Csum::Good } else { Csum::Bad };
            let levels = usize::from(packet.meta().layers.count);
            packet.meta_mut().l4[..levels].fill(state);
            packet
        }
        Word::Stage => {
            let mut harness = validate();
            harness.feed([packet], &[1]);
            harness.take().pop().expect("it marks, and passes on")
        }
    }
}

fn validate() -> Harness {
    use corelane_runtime::stage::Declared;
    let spec = ChecksumValidate::spec();
    Harness::new(ChecksumValidate::new(OnBad::Mark), spec.info())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_sound_frame_stays_sound(
        frame in strategies::frame(),
        cuts in prop::collection::vec(40_usize..500, 0..4),
        skip in prop_oneof![Just(0_u32), 0_u32..40],
        word in word(),
    ) {
        let frame = frame.build();
        let mut harness = flip_harness(skip);
        let packet = arrive(&mut harness, &frame, &cuts);
        let (fields, payload) = places(&packet);
        let packet = vouch(word, packet, true);
        let expected = by_hand(&frame, payload.clone(), skip as usize);
        let got = flip(&mut harness, packet);
        prop_assert_eq!(without(got.clone(), &fields), without(expected, &fields));
        prop_assert_eq!(problems(&got), Vec::<String>::new());
        prop_assert_eq!(harness.counter("edited"), (payload.len() as u64).saturating_sub(skip.into()));
        // Changed bytes count as new ones, and are read at most once.
        let tally = harness.tally();
        prop_assert!(tally.payload_bytes_summed <= tally.payload_bytes + payload.len() as u64);
        // And what is known of the payload is true: validating again finds nothing to complain about.
        let again = arrive(&mut harness, &got, &cuts);
        prop_assert_eq!(flip(&mut harness, again), frame);
        harness.finish();
    }

    #[test]
    fn any_bytes_survive_and_come_back(
        frame in strategies::hostile(),
        cuts in prop::collection::vec(40_usize..500, 0..3),
        skip in 0_u32..20,
        word in word(),
    ) {
        let mut harness = flip_harness(skip);
        let packet = arrive(&mut harness, &frame, &cuts);
        let (fields, payload) = places(&packet);
        let packet = vouch(word, packet, problems(&frame).is_empty());
        let once = flip(&mut harness, packet);
        let expected = by_hand(&frame, payload, skip as usize);
        prop_assert_eq!(without(once.clone(), &fields), without(expected, &fields));
        // What was wrong is wrong by the same difference, so that the way back leads to where it began.
        let packet = arrive(&mut harness, &once, &cuts);
        let packet = vouch(word, packet, problems(&frame).is_empty());
        let back = flip(&mut harness, packet);
        prop_assert_eq!(without(back.clone(), &fields), without(frame.clone(), &fields));
        for at in fields {
            let field = |frame: &[u8]| frame.get(at..at + 2).map(|f| u16::from_be_bytes([f[0], f[1]]) % 0xffff);
            prop_assert_eq!(field(&back), field(&frame));
        }
        harness.finish();
    }

    #[test]
    fn a_checksum_that_is_wrong_stays_wrong(
        payload in prop::collection::vec(any::<u8>(), 1..200),
        (udp, v6) in any::<(bool, bool)>(),
        off_by in 1_u16..0xfffe,
        word in word(),
    ) {
        let right = frame_of(udp, v6, Checksum::Right, &payload);
        let mut harness = flip_harness(0);
        let packet = arrive(&mut harness, &right, &[]);
        let (fields, _) = places(&packet);
        harness.release([packet]);
        let mut wrong = right.clone();
        let field = u16::from_be_bytes([wrong[fields[0]], wrong[fields[0] + 1]]);
        let value = ((u32::from(field) + u32::from(off_by)) % 0xffff) as u16;
        let value = if value == 0 { 0xffff } else { value };
        wrong[fields[0]..fields[0] + 2].copy_from_slice(&value.to_be_bytes());
        prop_assume!(!problems(&wrong).is_empty());
        let packet = arrive(&mut harness, &wrong, &[]);
        let packet = vouch(word, packet, false);
        let got = flip(&mut harness, packet);
        // Nobody's or the stage's word: it may look unfinished by chance, and is then left as it is.
        prop_assert!(!problems(&got).is_empty());
        harness.finish();
    }
}

fn frame_of(udp: bool, v6: bool, checksum: Checksum, payload: &[u8]) -> Vec<u8> {
    let builder = FrameBuilder::new();
    let builder = if v6 { builder.ipv6(Ipv6::default()) } else { builder.ipv4(Ipv4::default()) };
    let builder = match udp {
        true => builder.udp(Udp { checksum, ..Udp::default() }),
        false => builder.tcp(Tcp { checksum, ..Tcp::default() }),
    };
    builder.payload(payload).build()
}

#[test]
fn a_checksum_that_was_left_to_be_finished_still_can_be() {
    for (udp, v6) in [(false, false), (false, true), (true, false), (true, true)] {
        for word in [Word::Nobody, Word::Stage] {
            let frame = frame_of(udp, v6, Checksum::Partial, b"some payload");
            let mut harness = flip_harness(0);
            let packet = arrive(&mut harness, &frame, &[]);
            let (_, payload) = places(&packet);
            let expected = by_hand(&frame, payload, 0);
            let packet = vouch(word, packet, false);
            assert_eq!(flip(&mut harness, packet), expected, "udp {udp} v6 {v6} {word:?}");
            harness.finish();
        }
    }
}

#[test]
fn a_request_to_finish_a_checksum_is_kept_and_nothing_is_read() {
    let frame = frame_of(false, false, Checksum::Partial, &[7; 300]);
    let mut harness = flip_harness(3);
    let mut packet = arrive(&mut harness, &frame, &[100]);
    packet.meta_mut().l4[0] = Csum::Partial;
    packet.meta_mut().partial[0] = Partial { start: 34, field: 50 };
    packet.set_payload_sum(1234);
    harness.feed([packet], &[1]);
    let packets = harness.take();
    assert_eq!(packets[0].meta().l4[0], Csum::Partial);
    assert_eq!(packets[0].payload_sum(), None);
    assert_eq!(bytes(&packets[0]), by_hand(&frame, 54..354, 3));
    assert_eq!(harness.tally().payload_bytes_summed, 0);
    assert_eq!(harness.tally().payload_bytes, 297);
    // Whoever finishes it, finishes it right.
    let mut fill = Harness::new(ChecksumFill::new(None), &FILL);
    fill.feed(packets, &[1]);
    let frames = fill.take_frames();
    assert_sound(&frames[0]);
    fill.finish();
    harness.finish();
}

#[test]
fn an_outer_checksum_covers_what_an_inner_one_does_not() {
    for (inner, outer) in [(0, 1), (1, 1), (1, 0)] {
        let checksum = |on: i32| if on == 1 { Checksum::Right } else { Checksum::Value(0) };
        let inside = FrameBuilder::new()
            .ipv4(Ipv4::default())
            .udp(Udp { checksum: checksum(inner), ..Udp::default() })
            .payload(b"inside of a tunnel");
        let frame = FrameBuilder::new()
            .ipv4(Ipv4::default())
            .udp(Udp { checksum: checksum(outer), dst_port: 4789, ..Udp::default() })
            .vxlan(Vxlan::default())
            .payload(&inside.build())
            .build();
        for word in [Word::Nobody, Word::Device, Word::Stage] {
            let mut harness = flip_harness(2);
            let packet = arrive(&mut harness, &frame, &[]);
            let (_, payload) = places(&packet);
            assert_eq!(payload.len(), 18);
            let packet = vouch(word, packet, true);
            let got = flip(&mut harness, packet);
            assert_sound(&got);
            assert_ne!(got, frame);
            // A checksum that is not there is not made.
            assert_eq!(got[40..42] == [0, 0], outer == 0, "{inner} {outer} {word:?}");
            harness.finish();
        }
    }
}

#[test]
fn what_is_known_of_a_payload_afterwards_is_true() {
    let frame = frame_of(false, true, Checksum::Right, &[9; 101]);
    let mut harness = flip_harness(5);
    let packet = arrive(&mut harness, &frame, &[90]);
    let packet = vouch(Word::Stage, packet, true);
    assert!(packet.payload_sum().is_some());
    harness.feed([packet], &[1]);
    let packets = harness.take();
    let got = bytes(&packets[0]);
    let slow = corelane_wire::testing::slow_sum(&[&got[74..]]);
    assert_eq!(packets[0].payload_sum().map(|sum| sum % 0xffff), Some(slow % 0xffff));
    // The sum was known, so only what is new was read, and what was left as it is.
    assert_eq!(harness.tally().payload_bytes_summed, 101);
    harness.release(packets);
    harness.finish();
}

/// Segments of one flow, each with a payload of its own length.
fn train(v6: bool, sizes: &[usize]) -> Vec<Vec<u8>> {
    let (mut seq, mut id) = (100, 7);
    let segment = |&size: &usize| {
        let builder = FrameBuilder::new();
        let builder = match v6 {
            true => builder.ipv6(Ipv6::default()),
            false => builder.ipv4(Ipv4 { id, ..Ipv4::default() }),
        };
        let payload: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
        let frame = builder.tcp(Tcp { seq, ..Tcp::default() }).payload(&payload).build();
        seq += size as u32;
        id += 1;
        frame
    };
    sizes.iter().map(segment).collect()
}

fn through(mut harness: Harness, packets: Vec<Packet>) -> Vec<Packet> {
    let mut out = Vec::new();
    for packet in packets {
        harness.feed([packet], &[1]);
        out.extend(harness.take());
    }
    harness.drain();
    out.extend(harness.take());
    harness.buffers.flush();
    out
}

/// Cut and finished in software.
fn frames(packets: Vec<Packet>) -> Vec<Vec<u8>> {
    let cut = through(Harness::new(Gso::new(None), &GSO).multiplies(), packets);
    through(Harness::new(ChecksumFill::new(None), &FILL), cut).iter().map(bytes).collect()
}

fn flip_all(skip: u32, packets: Vec<Packet>) -> Vec<Packet> {
    through(flip_harness(skip), packets)
}

#[test]
fn a_joined_packet_is_changed_as_its_segments_would_be() {
    for (v6, skip) in [(false, 0), (false, 8), (true, 3), (true, 120)] {
        let segments = train(v6, &[120, 120, 120, 120, 77]);
        let mut rx = flip_harness(0);
        let packets: Vec<Packet> =
            segments.iter().map(|frame| arrive(&mut rx, frame, &[])).collect();
        let start = places(&packets[0]).1.start;
        let validated = through(validate(), packets);
        let mut gro = Harness::new(Gro::new(GroConfig::default(), 1), &GRO);
        gro.feed(validated, &[5]);
        gro.drain();
        let joined = gro.take();
        assert_eq!((joined.len(), joined[0].segments()), (1, 5));
        let got = frames(flip_all(skip, joined));
        assert_eq!(got.len(), 5);
        for (frame, segment) in got.iter().zip(&segments) {
            assert_sound(frame);
            let expected = by_hand(segment, start..segment.len(), skip as usize);
            let field = start - 4;
            assert_eq!(without(frame.clone(), &[field]), without(expected, &[field]));
        }
    }
}

/// A superpacket as a tap brings it: one linear buffer, a size to cut by, the checksum left partial.
fn request(harness: &mut Harness, size: u16, payload: usize) -> Packet {
    let bytes: Vec<u8> = (0..payload).map(|at| (at * 13) as u8).collect();
    let frame = frame_of(false, false, Checksum::Partial, &bytes);
    let mut packet = harness.packet(&frame);
    packet.set_segmentation(Segmentation {
        kind: SegKind::Tcp4,
        gso_size: size,
        count: payload.div_ceil(usize::from(size)) as u16,
        flags: SegFlags::empty(),
    });
    describe(&mut packet, 7, &mut harness.buffers).expect("a buffer");
    let meta = packet.meta_mut();
    meta.orig_len = frame.len() as u32;
    meta.l4[0] = Csum::Partial;
    meta.partial[0] = Partial { start: 34, field: 50 };
    assert_eq!(meta.layers.levels[0].l3_kind, L3::V4);
    packet
}

#[test]
fn cutting_and_changing_can_change_places() {
    for (size, payload, skip) in [(100, 1000, 0), (101, 1000, 7), (333, 5000, 40), (1, 9, 0)] {
        let mut rx = Harness::new(Flip { skip: 0 }, &FLIP);
        let (first, second) = (request(&mut rx, size, payload), request(&mut rx, size, payload));
        let changed_first = frames(flip_all(skip, vec![first]));
        // Segments cut by size share one buffer: each gets bytes of its own before it is changed.
        let cut = through(Harness::new(Gso::new(None), &GSO).multiplies(), vec![second]);
        assert!(cut.len() == 1 || cut.iter().any(|packet| !packet.is_unshared_throughout()));
        let filled = through(Harness::new(ChecksumFill::new(None), &FILL), cut);
        let cut_first: Vec<Vec<u8>> = flip_all(skip, filled).iter().map(bytes).collect();
        cut_first.iter().for_each(|frame| assert_sound(frame));
        assert_same_frames(&changed_first, &cut_first);
    }
}

#[test]
fn a_packet_waits_for_the_buffer_it_needs() {
    let mut rx = Harness::new(Flip { skip: 0 }, &FLIP);
    let packet = request(&mut rx, 100, 1000);
    let shared = through(Harness::new(Gso::new(None), &GSO).multiplies(), vec![packet]);
    let mut harness = flip_harness(0);
    let count = shared.len();
    harness.buffers.withhold([64, 512 - 3, 8]);
    shared.into_iter().for_each(|packet| harness.push(packet));
    harness.run();
    let mut got = harness.take();
    assert!(got.len() < count && harness.waiting() + got.len() == count, "none is lost");
    assert!(harness.buffers.starved());
    harness.buffers.withhold([0; 3]);
    harness.run();
    got.extend(harness.take());
    assert_eq!(got.len(), count);
    harness.assert_balanced();
    frames(got).iter().for_each(|frame| assert_sound(frame));
}

#[test]
#[should_panic(expected = "traits { edits_payload }")]
fn a_stage_that_edits_payload_must_say_so() {
    let mut harness = Harness::new(Flip { skip: 0 }, &FLIP);
    let frame = frame_of(false, false, Checksum::Right, b"payload");
    let packet = arrive(&mut harness, &frame, &[]);
    harness.feed([packet], &[1]);
}
