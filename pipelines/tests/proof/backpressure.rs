//! A stalled output loses nothing, grows nothing, and recovers.

use crate::support::{Lane, assert_same};
use corelane::SimConfig;
use corelane_device::emulated::{Faults, Frame, Stall};
use corelane_wire::testing::{FrameBuilder, Ipv4, Tcp};

/// One bulk flow: everything joins to 64 KiB.
fn bulk(count: u32) -> Vec<Frame> {
    let frame = |n: u32| {
        let ip = Ipv4 { id: n as u16, ..Ipv4::default() };
        let tcp = Tcp { seq: n.wrapping_mul(1448), ..Tcp::default() };
        let payload: Vec<u8> = (0..1448).map(|i| (i ^ n) as u8).collect();
        Frame::new(u64::from(n), FrameBuilder::new().ipv4(ip).tcp(tcp).payload(&payload).build())
    };
    (0..count).map(frame).collect()
}

fn lane(frames: &[Frame]) -> Lane {
    let stall = Stall::Windows(vec![10_000..3_000_000, 3_010_000..9_000_000]);
    Lane {
        gro: "Gro(hold: \"1ms\")".to_owned(),
        ring: 2,
        faults: Faults { stall, packets_per_call: Some(3), ..Faults::default() },
        ..Lane::new(frames.to_vec())
    }
}

#[test]
fn a_stalled_output_with_superpackets_and_tiny_rings_loses_nothing() {
    let frames = bulk(6000);
    let ran = lane(&frames).simulate(&SimConfig::new(1));
    ran.assert_clean("stalled");
    assert!(
        ran.outcome.as_ref().is_some_and(|outcome| outcome.finished && outcome.time > 9_000_000)
    );
    assert_same(&ran.frames, &frames, "stalled");
    assert!(ran.counter("Gso", "cut") > 100, "superpackets of 64 KiB were cut");
    let largest = 65_535 / 1448;
    assert!(ran.absorbed("Gro") >= 6000 - 6000 / largest - 40, "{}", ran.absorbed("Gro"));
    let ring = &ran.report.rings[0];
    assert!(ring.full > 0, "the ring was full");
    assert!(ring.stash_high <= 2 + 256, "the stash is bounded");
}

#[test]
fn the_same_on_threads() {
    let frames = bulk(6000);
    let ran = lane(&frames).run();
    ran.assert_clean("stalled on threads");
    assert_same(&ran.frames, &frames, "stalled on threads");
}
