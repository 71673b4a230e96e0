//! What comes back is what a receiver would have sent, and turning round twice changes nothing.

use super::Reflect;
use crate::fixture::received;
use crate::rewrite::tests::{Net, Shape, Status, Top, finished, stage, through, with_status};
use corelane_wire::testing::{Ethernet, assert_same_frames, strategies};
use proptest::prelude::*;
use std::mem::swap;

/// The frame with source and destination exchanged.
fn turned(mut shape: Shape, [eth, ip, port]: [bool; 3]) -> Shape {
    if eth {
        swap(&mut shape.ethernet.src, &mut shape.ethernet.dst);
    }
    match &mut shape.net {
        Net::V4(net) if ip => swap(&mut net.src, &mut net.dst),
        Net::V6(net) if ip => swap(&mut net.src, &mut net.dst),
        _ => {}
    }
    match &mut shape.top {
        Top::Tcp(tcp) if port => swap(&mut tcp.src_port, &mut tcp.dst_port),
        Top::Udp(udp) if port => swap(&mut udp.src_port, &mut udp.dst_port),
        _ => {}
    }
    shape
}

#[test]
fn what_is_named_is_exchanged_in_every_state() {
    for bits in 1..8_u8 {
        let what = [0, 1, 2].map(|bit| bits & 1 << bit != 0);
        let words = ["Eth", "Ip", "Port"];
        let named: Vec<&str> = words.into_iter().zip(what).filter(|w| w.1).map(|w| w.0).collect();
        for (v6, udp) in [(false, false), (false, true), (true, false), (true, true)] {
            let shape = Shape::plain(v6, udp);
            for status in [Status::Unknown, Status::Good, Status::Bad, Status::Partial] {
                let mut harness = stage::<Reflect>(&format!("(what: [{}])", named.join(", ")));
                let packet = with_status(&mut harness, &shape.build(), status);
                let packet = through(&mut harness, packet);
                let expected = turned(shape.clone(), what).build();
                assert_same_frames(&[finished(packet)], &[expected]);
            }
        }
    }
}

#[test]
fn a_stage_that_exchanges_nothing_is_refused() {
    let spec = <Reflect as corelane_runtime::stage::Declared>::spec();
    let args = corelane_runtime::stage::Args { text: "(what: [])" };
    let errors = spec.configure(args).err().expect("it does nothing");
    assert_eq!(errors[0].key.as_deref(), Some("what"));
    assert!(errors[0].message.starts_with("it exchanges nothing; "));
}

#[test]
fn what_is_for_a_group_is_not_turned_round() {
    let to = |dst: [u8; 6]| Shape {
        ethernet: Ethernet { dst, ..Ethernet::default() },
        ..Shape::plain(false, true)
    };
    let ip = |dst: [u8; 4]| {
        let mut shape = Shape::plain(false, true);
        if let Net::V4(ip) = &mut shape.net {
            ip.dst = dst;
        }
        shape
    };
    let mut v6 = Shape::plain(true, false);
    if let Net::V6(ip) = &mut v6.net {
        ip.dst[0] = 0xff;
    }
    let groups = [to([0xff; 6]), to([1, 0, 0x5e, 0, 0, 1]), ip([224, 0, 0, 1]), ip([255; 4]), v6];
    let mut harness = stage::<Reflect>("()");
    for shape in &groups {
        let packet = received(&mut harness, &shape.build(), &[]);
        harness.push(packet);
    }
    harness.run();
    assert!(harness.take().is_empty());
    assert_eq!(harness.dropped("to_a_group").packets, groups.len() as u64);
    harness.finish();
}

proptest! {
    #[test]
    fn turning_round_twice_changes_nothing(frame in strategies::hostile(), cuts in prop::collection::vec(0..100_usize, 0..3)) {
        let mut harness = stage::<Reflect>("()");
        let packet = received(&mut harness, &frame, &cuts);
        harness.push(packet);
        harness.run();
        for once in harness.take() {
            harness.push(once);
        }
        harness.run();
        for packet in harness.take() {
            prop_assert_eq!(harness.unpack(packet), frame.clone());
        }
        harness.finish();
    }

    #[test]
    fn right_frames_stay_right(frame in strategies::plain_frame()) {
        let frame = frame.build();
        let mut harness = stage::<Reflect>("()");
        let packet = received(&mut harness, &frame, &[]);
        harness.push(packet);
        harness.run();
        for packet in harness.take() {
            let after = harness.unpack(packet);
            corelane_wire::testing::assert_sound(&after);
        }
    }
}
