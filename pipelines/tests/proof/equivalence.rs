//! The same packets leave under every capability set of the receiving and the sending port, byte for byte and
//! in order per flow; and a device that lies is found out.

use crate::stream::stream;
use crate::support::{Lane, assert_same, assert_same_bytes, received};
use corelane_device::emulated::{Faults, Frame, Lies};
use corelane_runtime::offload::{Caps, Limits};
use corelane_wire::testing::{FrameBuilder, Ipv4, Ipv6, Tcp, Udp};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Every set of capabilities, on the receiving port, on the sending port, on both.
#[test]
fn every_capability_set_sends_what_came() {
    let mut runner = TestRunner::new(Config::with_cases(cases(6)));
    let sets = Caps::every_set();
    let run = runner.run(&stream(160), |stream| {
        let frames = received(stream.frames());
        for &set in &sets {
            for (rx, tx) in [(set, Caps::MULTI_PART), (Caps::empty(), set), (set, set)] {
                let lane = Lane { rx, tx, ..Lane::new(frames.clone()) };
                let ran = lane.simulate(&corelane::SimConfig::new(1));
                let context = format!("rx {rx:?}, tx {tx:?}");
                ran.assert_clean(&context);
                if rx.contains(Caps::RX_HW_GRO) {
                    assert_same_bytes(&ran.frames, &frames, &context);
                } else {
                    assert_same(&ran.frames, &frames, &context);
                }
            }
        }
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Long clean trains of every kind, so that hardware cutting has much to do.
pub(crate) fn trains() -> Vec<Frame> {
    let mut frames = Vec::new();
    for n in 0..200_u32 {
        let payload: Vec<u8> = (0..1000).map(|i| (i * 7 + n) as u8).collect();
        let tcp = |port: u16| Tcp { src_port: port, seq: 5000 + n * 1000, ..Tcp::default() };
        let counting = Ipv4 { id: n as u16, ..Ipv4::default() };
        let fixed = Ipv4 { id: 7, ..Ipv4::default() };
        let udp = |port: u16| Udp { src_port: port, ..Udp::default() };
        let six = Ipv6::default;
        let builders = [
            FrameBuilder::new().ipv4(counting.clone()).tcp(tcp(1)),
            FrameBuilder::new().ipv4(fixed.clone()).tcp(tcp(2)),
            FrameBuilder::new().vlan(5).ipv6(six()).tcp(tcp(3)),
            FrameBuilder::new().ipv4(counting.clone()).udp(udp(4)),
            FrameBuilder::new().ipv6(six()).udp(udp(5)),
        ];
        let make =
            |builder: FrameBuilder| Frame::new(u64::from(n), builder.payload(&payload).build());
        frames.extend(builders.map(make));
    }
    frames
}

#[test]
fn hardware_is_given_what_it_can_do() {
    let frames = trains();
    let software = Lane::new(frames.clone()).simulate(&corelane::SimConfig::new(2));
    software.assert_clean("software");
    assert_same(&software.frames, &frames, "software");
    assert_eq!(software.counter("Gso", "left"), 0);
    assert!(software.counter("Gso", "cut") > 0);
    for (caps, why) in [
        (Caps::TSO4, "TCP over IPv4 whose IDs count"),
        (Caps::TSO_FIXED_ID, "TCP over IPv4 whose ID stands still"),
        (Caps::TSO6, "TCP over IPv6"),
        (Caps::USO4, "UDP over IPv4"),
        (Caps::USO6, "UDP over IPv6"),
    ] {
        let tx = caps.with_implied() | Caps::MULTI_PART;
        let hardware =
            Lane { tx, ..Lane::new(frames.clone()) }.simulate(&corelane::SimConfig::new(2));
        hardware.assert_clean(why);
        assert_same(&hardware.frames, &frames, why);
        assert!(hardware.counter("Gso", "left") > 0, "{why}: nothing was left to the port");
        assert!(hardware.counter("Gso", "cut") > 0, "{why}: the rest was not cut");
    }
    let all = Lane { tx: Caps::all(), ..Lane::new(frames) }.simulate(&corelane::SimConfig::new(2));
    assert_eq!(all.counter("Gso", "cut"), 0, "everything is left to a port that can do everything");
}

#[test]
fn a_port_with_small_limits_gets_smaller_superpackets() {
    let frames = trains();
    for (limits, why) in [
        (Limits { tso_bytes: 8000, ..Limits::default() }, "bytes"),
        (Limits { tso_segments: 5, ..Limits::default() }, "segments"),
        (Limits { header_len: 40, ..Limits::default() }, "header length"),
    ] {
        let lane = Lane { tx: Caps::all(), limits, ..Lane::new(frames.clone()) };
        let ran = lane.simulate(&corelane::SimConfig::new(3));
        ran.assert_clean(why);
        assert_same(&ran.frames, &frames, why);
    }
}

/// If the stages did the work in secret, a lying device would go unnoticed.
#[test]
fn a_device_that_lies_is_found_out() {
    let frames = trains();
    for lie in [Lies::SKIP_CHECKSUM, Lies::CORRUPT_LAST_SEGMENT, Lies::SAME_IP_ID] {
        let faults = Faults { lies: lie, ..Faults::default() };
        let lane = Lane { tx: Caps::all(), faults, ..Lane::new(frames.clone()) };
        let ran = lane.simulate(&corelane::SimConfig::new(4));
        let same = ran.frames.len() == frames.len()
            && frames.iter().all(|frame| ran.frames.iter().any(|other| other.data == frame.data));
        assert!(!same, "{lie:?} changed nothing: the device was never asked");
    }
}

#[test]
fn a_device_that_calls_bad_good_is_believed_and_nothing_is_repaired() {
    use corelane_wire::testing::Checksum;
    let bad = Tcp { checksum: Checksum::Wrong, ..Tcp::default() };
    let frame =
        FrameBuilder::new().ipv4(Ipv4::default()).tcp(bad).payload(b"not what was sent").build();
    let frames = vec![Frame::new(1, frame)];
    let honest = Lane { rx: Caps::all(), ..Lane::new(frames.clone()) };
    let ran = honest.simulate(&corelane::SimConfig::new(1));
    assert_eq!(ran.counter("ChecksumValidate", "outer.tcp.corrupt"), 1);
    assert_same(&ran.frames, &frames, "a bad packet passes as it is");
}

proptest! {
    #![proptest_config(Config::with_cases(cases(24)))]
    /// On threads, with whatever timing they have.
    #[test]
    fn threads_send_what_came(stream in stream(300), hold in any::<bool>()) {
        let frames = received(stream.frames());
        let gro = if hold { "Gro(hold: \"50us\")" } else { "Gro" };
        let lane = Lane { gro: gro.to_owned(), ring: 8, ..Lane::new(frames.clone()) };
        let ran = lane.run();
        ran.assert_clean("threads");
        assert_same(&ran.frames, &frames, "threads");
    }
}
