//! Properties against the slow checker of `corelane-wire`, which adds byte by byte and parses on its own.

use super::super::OnBad;
use super::{harness, validate};
use crate::fixture::received;
use corelane_runtime::packet::{Csum, MetaFlags};
use corelane_wire::testing::{describe, problems, slow_sum, strategies};
use proptest::prelude::*;

/// How many checksums of a kind the oracle finds wrong.
fn wrong(frame: &[u8], kind: &str) -> u64 {
    let text = format!("wrong {kind} checksum");
    problems(frame).iter().filter(|problem| problem.ends_with(&text)).count() as u64
}

/// Whether the oracle's judgement counts: it looks no further behind an impossible length, and takes any
/// organisation in a SNAP header for Ethernet's.
fn counts(frame: &[u8]) -> bool {
    let ends = ["fit", "IPv4 header", "IPv6 header", "TCP header", "UDP header"];
    let problems = problems(frame);
    let impossible = problems.iter().any(|problem| ends.iter().any(|end| problem.ends_with(end)));
    !impossible && !describe(frame).contains("snap")
}

/// Sum over counters of both levels.
fn both(counters: &[(&'static str, u64)], names: &[&str]) -> u64 {
    let ours = counters.iter().filter(|(name, _)| names.iter().any(|end| name.ends_with(end)));
    ours.map(|(_, n)| n).sum()
}

proptest! {
    #[test]
    fn a_sound_frame_is_good_at_every_level_and_read_once(
        builder in strategies::frame(),
        cuts in prop::collection::vec(1_usize..400, 0..5),
    ) {
        let frame = builder.build();
        let mut harness = harness(OnBad::Mark);
        let packet = received(&mut harness, &frame, &cuts);
        let packet = validate(&mut harness, packet);
        let counters = harness.counters();
        let fine = [".good", ".zero", ".zero6"];
        prop_assert!(counters.iter().all(|(name, _)| fine.iter().any(|end| name.ends_with(end))), "{:?}", counters);
        let summed = both(&counters, &["tcp.good", "udp.good"]) > 0;
        let payload = if summed { u64::from(packet.payload_len()) } else { 0 };
        prop_assert_eq!(harness.tally().payload_bytes_summed, payload);
        if summed {
            let end = frame.len() - usize::from(packet.meta().trailer);
            let sum = packet.payload_sum().expect("remembered");
            // Inside a tunnel the inner frame may be padded, so the payload is looked for by its start.
            let layers = packet.meta().layers;
            let start = usize::from(layers.innermost().expect("a level").payload);
            let slow = slow_sum(&[&frame[start..start + payload as usize]]);
            prop_assert!(start + payload as usize <= end);
            prop_assert_eq!(sum % 0xffff, slow % 0xffff);
        }
        harness.release([packet]);
        harness.finish();
    }

    #[test]
    fn any_bytes_are_judged_as_by_the_oracle_and_left_as_they_are(
        frame in strategies::hostile(),
        cuts in prop::collection::vec(0_usize..300, 0..3),
    ) {
        let mut harness = harness(OnBad::Mark);
        let packet = received(&mut harness, &frame, &cuts);
        let packet = validate(&mut harness, packet);
        let payload = u64::from(packet.payload_len());
        // The oracle judges more than the innermost two levels.
        let deeper = packet.meta().flags.contains(MetaFlags::DEEPER);
        prop_assert_eq!(harness.unpack(packet), &frame[..]);
        let counters = harness.counters();
        if counts(&frame) && !deeper {
            prop_assert_eq!(both(&counters, &["ipv4.bad"]), wrong(&frame, "IPv4 header"), "{}", describe(&frame));
            prop_assert_eq!(both(&counters, &["gre.corrupt"]), wrong(&frame, "GRE"), "{}", describe(&frame));
            prop_assert_eq!(both(&counters, &["tcp.corrupt", "tcp.partial"]), wrong(&frame, "TCP"), "{}", describe(&frame));
            prop_assert_eq!(both(&counters, &["udp.corrupt", "udp.partial"]), wrong(&frame, "UDP"), "{}", describe(&frame));
        }
        prop_assert!(harness.tally().payload_bytes_summed <= payload);
        harness.finish();
    }

    #[test]
    fn what_a_device_knows_changes_the_cost_and_nothing_else(
        builder in strategies::frame(),
        flip in prop::option::of(any::<prop::sample::Index>()),
        told in any::<[bool; 4]>(),
    ) {
        let mut frame = builder.build();
        if let Some(at) = flip {
            // Behind the Ethernet header: its bytes are under no checksum.
            let at = 14 + at.index(frame.len() - 14);
            frame[at] ^= 0x10;
        }
        let mut software = harness(OnBad::Mark);
        let packet = received(&mut software, &frame, &[]);
        let plain = validate(&mut software, packet);
        let (l3, l4) = (plain.meta().l3, plain.meta().l4);
        let mut hardware = harness(OnBad::Mark);
        let mut packet = received(&mut hardware, &frame, &[]);
        // The device tells what is so, of some of the checksums.
        for level in 0..2 {
            if told[level] && l3[level] != Csum::Unknown {
                packet.meta_mut().l3[level] = l3[level];
            }
            if told[2 + level] && l4[level] != Csum::Unknown {
                packet.meta_mut().l4[level] = l4[level];
            }
        }
        let helped = validate(&mut hardware, packet);
        prop_assert_eq!((helped.meta().l3, helped.meta().l4), (l3, l4));
        prop_assert_eq!(hardware.counters(), software.counters());
        if let (Some(a), Some(b)) = (plain.payload_sum(), helped.payload_sum()) {
            prop_assert_eq!(a % 0xffff, b % 0xffff);
        }
        let read = hardware.tally().payload_bytes_summed;
        prop_assert!(read <= software.tally().payload_bytes_summed);
        software.release([plain]);
        hardware.release([helped]);
    }

    #[test]
    fn bursts_make_no_difference(
        frames in prop::collection::vec(strategies::hostile(), 1..12),
        split in prop::collection::vec(1_usize..5, 1..4),
    ) {
        let run = |split: &[usize]| {
            let mut harness = harness(OnBad::Drop);
            let packets: Vec<_> =
                frames.iter().map(|frame| received(&mut harness, frame, &[])).collect();
            harness.feed(packets, split);
            let out = harness.take_frames();
            let counters = harness.counters();
            harness.finish();
            (out, counters)
        };
        prop_assert_eq!(run(&[1]), run(&split));
    }
}
