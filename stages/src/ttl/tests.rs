//! One less for what goes on, nothing changed in what has come to its end.

use super::Ttl;
use crate::fixture::received;
use crate::rewrite::tests::{Net, Shape, Status, finished, stage, through, with_status};
use corelane_wire::testing::{Checksum, assert_same_frames, assert_sound, strategies};
use proptest::prelude::*;

fn with_ttl(shape: &Shape, ttl: u8) -> Shape {
    let mut shape = shape.clone();
    match &mut shape.net {
        Net::V4(ip) => ip.ttl = ttl,
        Net::V6(ip) => ip.hop_limit = ttl,
    }
    shape
}

#[test]
fn what_goes_on_has_one_less_in_every_state() {
    for (v6, udp) in [(false, false), (false, true), (true, false), (true, true)] {
        let shape = Shape::plain(v6, udp);
        for status in [Status::Unknown, Status::Good, Status::Bad, Status::Partial] {
            let mut harness = stage::<Ttl>("()");
            let packet = with_status(&mut harness, &with_ttl(&shape, 64).build(), status);
            let packet = through(&mut harness, packet);
            assert_same_frames(&[finished(packet)], &[with_ttl(&shape, 63).build()]);
        }
    }
}

#[test]
fn a_wrong_header_checksum_stays_wrong() {
    let wrong = |ttl: u8| {
        let mut shape = with_ttl(&Shape::plain(false, true), ttl);
        if let Net::V4(ip) = &mut shape.net {
            ip.checksum = Checksum::Wrong;
        }
        shape.build()
    };
    let mut harness = stage::<Ttl>("(decrement: 5)");
    let packet = with_status(&mut harness, &wrong(64), Status::Bad);
    let packet = through(&mut harness, packet);
    assert_same_frames(&[finished(packet)], &[wrong(59)]);
}

#[test]
fn what_has_expired_leaves_the_way_as_it_came() {
    for v6 in [false, true] {
        for (ttl, decrement) in [(0, 1), (1, 1), (5, 5), (4, 5)] {
            let frame = with_ttl(&Shape::plain(v6, true), ttl).build();
            let mut dropping = stage::<Ttl>(&format!("(decrement: {decrement})"));
            let packet = received(&mut dropping, &frame, &[]);
            dropping.push(packet);
            dropping.run();
            assert_eq!(dropping.dropped("ttl_expired").packets, 1);
            dropping.finish();
            let arguments = format!("(decrement: {decrement}, expired: Output(\"late\"))");
            let mut sending = stage::<Ttl>(&arguments);
            let packet = received(&mut sending, &frame, &[]);
            sending.push(packet);
            sending.run();
            assert!(sending.take().is_empty());
            let packet = sending.take_from(1).pop().expect("it went there");
            assert_same_frames(&[sending.unpack(packet)], &[&frame]);
            sending.finish();
        }
    }
}

proptest! {
    #[test]
    fn right_frames_stay_right_and_others_lose_nothing(frame in strategies::frame()) {
        let frame = frame.build();
        let mut harness = stage::<Ttl>("()");
        let packet = received(&mut harness, &frame, &[]);
        harness.push(packet);
        harness.run();
        for packet in harness.take() {
            let after = harness.unpack(packet);
            assert_sound(&after);
            let changed = frame.iter().zip(&after).filter(|(a, b)| a != b).count();
            prop_assert!(after.len() == frame.len() && (1..=3).contains(&changed), "{} bytes", changed);
        }
        harness.finish();
    }

    #[test]
    fn any_bytes_are_taken(frame in strategies::hostile(), cuts in prop::collection::vec(0..100_usize, 0..3)) {
        let mut harness = stage::<Ttl>("(expired: Output(\"late\"))");
        let packet = received(&mut harness, &frame, &cuts);
        harness.push(packet);
        harness.run();
        prop_assert_eq!(harness.take().len() + harness.take_from(1).len(), 1);
    }
}
