//! Originals go on as they came, whatever becomes of the copies; a copy is its original or what a capture would
//! have kept of it.

use super::Mirror;
use crate::checksum_validate::{ChecksumValidate, OnBad};
use crate::fixture::{KEY, received};
use crate::gro::{self, Gro, GroConfig};
use crate::gso::{self, Gso};
use crate::rewrite::Rewrite;
use crate::rewrite::tests::{Shape, Top, finished, put_off, stage, through};
use crate::rx::describe;
use corelane_runtime::packet::{Csum, Known, L4, Packet, SegKind};
use corelane_runtime::stage::Declared;
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{Tcp, assert_same_frames, strategies};
use proptest::prelude::*;

fn mirror(arguments: &str) -> Harness {
    stage::<Mirror>(arguments).mirrors()
}

fn bytes(packet: &Packet) -> Vec<u8> {
    packet.parts().flatten().copied().collect()
}

/// One packet through, and its copy.
fn both(harness: &mut Harness, packet: Packet) -> (Packet, Packet) {
    harness.push(packet);
    harness.run();
    let copy = harness.take_from(1).pop().expect("a copy");
    (harness.take().pop().expect("the packet"), copy)
}

/// Five segments of one flow, as they came.
fn segments() -> Vec<Vec<u8>> {
    let segment = |at: u32| {
        let mut shape = Shape::plain(false, false);
        shape.payload = (0..900_u32).map(|byte| (byte * 13 + at) as u8).collect();
        shape.top = Top::Tcp(Tcp { seq: 1 + at * 900, ..Tcp::default() });
        if let crate::rewrite::tests::Net::V4(ip) = &mut shape.net {
            ip.id = at as u16;
        }
        shape.build()
    };
    (0..5).map(segment).collect()
}

/// The segments joined.
fn joined(validate: &mut Harness, gro: &mut Harness) -> Packet {
    let packets: Vec<_> = segments().iter().map(|frame| received(validate, frame, &[])).collect();
    validate.feed(packets, &[32]);
    gro.feed(validate.take(), &[32]);
    let packet = gro.take().pop().expect("a superpacket");
    assert_eq!(packet.segments(), 5);
    packet
}

fn joiners() -> (Harness, Harness) {
    let validate = ChecksumValidate::spec();
    (
        Harness::new(ChecksumValidate::new(OnBad::Mark), validate.info()),
        Harness::new(Gro::new(GroConfig::default(), KEY), &gro::INFO),
    )
}

fn cut(packet: Packet) -> Vec<Vec<u8>> {
    let mut gso = Harness::new(Gso::new(None), &gso::INFO).multiplies();
    gso.feed([packet], &[1]);
    gso.drain();
    gso.take().into_iter().map(finished).collect()
}

/// Report D3: a copied superpacket is rewritten and cut, and so is the original; both are what came.
#[test]
fn d3_a_copied_superpacket_keeps_flags_that_fit() {
    let (mut validate, mut gro) = joiners();
    let packet = joined(&mut validate, &mut gro);
    let mut harness = mirror("(to: \"m\")");
    let (original, copy) = both(&mut harness, packet);
    assert_eq!(copy.segmentation(), original.segmentation());
    let mut rewrite = stage::<Rewrite>("(ttl: 3)");
    let copy = through(&mut rewrite, copy);
    assert_same_frames(&cut(original), &segments());
    let rewritten: Vec<Vec<u8>> = segments()
        .iter()
        .map(|frame| {
            let mut rewrite = stage::<Rewrite>("(ttl: 3)");
            let packet = received(&mut rewrite, frame, &[]);
            let packet = through(&mut rewrite, packet);
            bytes(&packet)
        })
        .collect();
    assert_same_frames(&cut(copy), &rewritten);
}

#[test]
fn a_superpacket_that_is_cut_short_is_one_frame_that_asks_for_nothing() {
    let (mut validate, mut gro) = joiners();
    let packet = joined(&mut validate, &mut gro);
    let len = packet.len();
    let mut harness = mirror("(to: \"m\", snap: 1000)");
    let (original, copy) = both(&mut harness, packet);
    assert_eq!(copy.segmentation().kind, SegKind::None);
    assert_eq!((copy.len(), copy.meta().orig_len, copy.segments()), (1000, len, 1));
    assert_eq!(copy.meta().l4[0], Csum::Unknown);
    assert!(copy.is_cut() && copy.pieces().next().is_none());
    assert_same_frames(&cut(original), &segments());
    harness.release([copy]);
}

proptest! {
    #[test]
    fn a_copy_is_its_original(frame in strategies::hostile(), cuts in prop::collection::vec(0..300_usize, 0..3), long in 0..900_usize) {
        let frame = [frame, vec![0x5a; long]].concat();
        let mut harness = mirror("(to: \"m\")");
        let packet = received(&mut harness, &frame, &cuts);
        let before = *packet.meta();
        let (original, copy) = both(&mut harness, packet);
        prop_assert_eq!(bytes(&original), frame.clone());
        prop_assert_eq!(bytes(&copy), frame);
        for meta in [original.meta(), copy.meta()] {
            prop_assert_eq!(meta.layers, before.layers);
            prop_assert_eq!((meta.l3, meta.l4, meta.flags), (before.l3, before.l4, before.flags));
            prop_assert_eq!((meta.hash, meta.orig_len), (before.hash, before.orig_len));
        }
        prop_assert_eq!(copy.units(), original.units());
        harness.release([original, copy]);
        harness.finish();
    }

    #[test]
    fn a_copy_cut_short_is_what_a_capture_would_have_kept(frame in strategies::frame(), snap in 1..300_u32, long in 0..900_usize, told in any::<bool>()) {
        let frame = frame.payload_len(long).build();
        let mut harness = mirror(&format!("(to: \"m\", snap: {snap})"));
        let mut packet = received(&mut harness, &frame, &[]);
        let level = packet.meta().layers.levels[0];
        let partial = told && matches!(level.l4_kind, L4::Tcp | L4::Udp);
        if partial {
            packet = put_off(packet);
        } else {
            packet.meta_mut().set_known(Known { from: 14, sum: 7 });
        }
        let whole = bytes(&packet);
        let (original, copy) = both(&mut harness, packet);
        prop_assert_eq!(bytes(&original), whole.clone());
        let kept = &whole[..whole.len().min(snap as usize)];
        prop_assert_eq!(bytes(&copy), kept);
        if kept.len() < whole.len() {
            let mut captured = harness.packet(kept);
            captured.meta_mut().orig_len = whole.len() as u32;
            describe(&mut captured, KEY, &mut harness.buffers).expect("a buffer");
            prop_assert_eq!(copy.meta().layers, captured.meta().layers);
            prop_assert_eq!(copy.meta().flags, captured.meta().flags);
            prop_assert_eq!(copy.meta().l4, [Csum::Unknown; 2]);
            prop_assert_eq!(copy.meta().known(), None);
            prop_assert_eq!(copy.payload_len(), captured.payload_len());
            prop_assert_eq!(copy.meta().orig_len as usize, whole.len());
            harness.release([captured]);
        } else {
            prop_assert_eq!(copy.meta().l4, original.meta().l4);
        }
        harness.release([original, copy]);
        harness.finish();
    }
}

fn frame(port: u16) -> Vec<u8> {
    let mut shape = Shape::plain(false, true);
    if let Top::Udp(udp) = &mut shape.top {
        udp.src_port = port;
    }
    shape.build()
}

#[test]
fn a_full_mirror_and_a_low_pool_cost_copies_and_nothing_else() {
    let mut harness = mirror("(to: \"m\")").home(64, 400, 4);
    let packets: Vec<Packet> =
        (0..250).map(|port| received(&mut harness, &frame(port), &[])).collect();
    for packet in packets {
        harness.push(packet);
    }
    harness.run();
    let (passed, copies) = (harness.take(), harness.take_from(1));
    assert_eq!(passed.len(), 250);
    assert_eq!(harness.counter("copies"), copies.len() as u64);
    assert!(harness.counter("no_buffer") > 0, "an eighth of the pool is for the others");
    assert_eq!(harness.counter("no_buffer") + harness.counter("copies"), 250);
    harness.release(passed);
    harness.release(copies);
    harness.finish();
    let mut harness = mirror("(to: \"m\")").home(64, 1024, 4);
    let mut shared = Vec::new();
    for port in 0..100 {
        let packet = received(&mut harness, &frame(port), &[]);
        shared.push(packet);
    }
    harness.set_room(40);
    shared.into_iter().for_each(|packet| harness.push(packet));
    harness.run();
    assert_eq!(harness.take().len(), 100);
    harness.take_from(1);
}

#[test]
fn the_originals_headers_stay_its_own_where_it_is_short() {
    let mut harness = mirror("(to: \"m\")");
    let packet = received(&mut harness, &frame(1), &[]);
    let (original, copy) = both(&mut harness, packet);
    assert!(original.is_unshared() && copy.is_unshared());
    let mut long = Shape::plain(false, false);
    long.payload = vec![7; 1448];
    let packet = received(&mut harness, &long.build(), &[]);
    let (original_long, copy_long) = both(&mut harness, packet);
    assert!(!original_long.is_unshared() && copy_long.is_unshared());
    assert_eq!(copy_long.part_count(), 2);
    harness.release([original, copy, original_long, copy_long]);
    harness.finish();
}

#[test]
fn one_of_so_many_is_copied() {
    let mut harness = mirror("(to: \"m\", sample: \"1/4\")");
    for port in 0..10 {
        let packet = received(&mut harness, &frame(port), &[]);
        harness.push(packet);
    }
    harness.run();
    let copies: Vec<u8> = harness.take_from(1).iter().map(|copy| copy.data()[35]).collect();
    assert_eq!(copies, [0, 4, 8]);
    assert_eq!(harness.take().len(), 10);
}
