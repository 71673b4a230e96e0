//! One of so many, in order; or whole flows, about one of so many.

use super::Sample;
use crate::fixture::received;
use crate::rewrite::tests::stage;
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{FrameBuilder, Ipv4, Udp};

/// Feeds `rounds` packets of each of `flows` flows, in turns; the flow is the source port.
fn feed(harness: &mut Harness, flows: u16, rounds: usize, split: &[usize]) {
    for _ in 0..rounds {
        for port in 0..flows {
            let udp = Udp { src_port: port, ..Udp::default() };
            let frame = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).build();
            let packet = received(harness, &frame, &[]);
            harness.feed([packet], split);
        }
    }
}

fn ports(frames: Vec<Vec<u8>>) -> Vec<u16> {
    frames.iter().map(|frame| u16::from_be_bytes([frame[34], frame[35]])).collect()
}

fn sampled(arguments: &str, flows: u16, rounds: usize) -> Vec<u16> {
    let mut harness = stage::<Sample>(arguments).home(0, 2048, 4);
    feed(&mut harness, flows, rounds, &[1]);
    let frames = harness.take_frames();
    assert_eq!(harness.counter("sampled"), frames.len() as u64);
    let dropped = harness.dropped("not_sampled").packets;
    assert_eq!(dropped + frames.len() as u64, u64::from(flows) * rounds as u64);
    harness.finish();
    ports(frames)
}

#[test]
fn every_so_many_packets_one_goes_on() {
    assert_eq!(sampled("(share: \"1/3\")", 10, 1), [0, 3, 6, 9]);
    assert_eq!(sampled("(share: \"1/1\")", 4, 1), [0, 1, 2, 3]);
    assert_eq!(sampled("(share: \"1/1000\")", 10, 100), [0]);
}

#[test]
fn a_flow_goes_on_whole_or_not_at_all() {
    let mut chosen = sampled("(share: \"1/8\", by: Flow)", 800, 2);
    let (first, second) = chosen.split_at(chosen.len() / 2);
    assert_eq!(first, second, "the same flows in both rounds");
    chosen.dedup();
    assert!((60..140).contains(&(chosen.len() / 2)), "{} of 800", chosen.len() / 2);
    assert_eq!(sampled("(share: \"1/1\", by: Flow)", 50, 1).len(), 50);
}

#[test]
fn the_rest_goes_elsewhere() {
    let mut harness = stage::<Sample>("(share: \"1/2\", otherwise: \"rest\")");
    feed(&mut harness, 6, 1, &[4]);
    assert_eq!(ports(harness.take_frames()), [0, 2, 4]);
    let rest = harness.take_from(1);
    let rest: Vec<Vec<u8>> = rest.into_iter().map(|packet| harness.unpack(packet)).collect();
    assert_eq!(ports(rest), [1, 3, 5]);
    harness.finish();
}
