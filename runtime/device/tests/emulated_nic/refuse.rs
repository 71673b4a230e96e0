//! What the device was not granted, it does not do, and says so.

use crate::support::*;
use corelane_device::emulated::{EmulatedConfig, Refusal};
use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::{Csum, Packet, Partial, SegFlags, Segmentation};

/// Sends a packet to a device of these capabilities and expects this refusal, and nothing on the wire.
fn refused(caps: Caps, limits: Limits, refusal: Refusal, make: impl FnOnce(&mut Bench) -> Packet) {
    let mut nic = nic_of(EmulatedConfig { caps, limits, ..EmulatedConfig::new("nic") });
    let mut bench = Bench::new();
    let packet = make(&mut bench);
    let units = packet.units();
    bench.send_all(&mut *nic.tx, vec![packet]);
    assert_eq!((nic.refusals.total(), nic.refusals.of(refusal)), (1, 1), "{}", nic.refusals);
    assert!(nic.wire.is_empty());
    let report = nic.tx.report();
    assert_eq!(report.drops, [(refusal.drop_name(), 1)]);
    assert_eq!((report.packets, report.wire_packets), (1, 0));
    // For the pipeline the packet has left.
    assert_eq!(bench.tally.transmitted, units);
    bench.assert_nothing_out();
}

fn super_of(recipe: Recipe, flags: SegFlags) -> impl FnOnce(&mut Bench) -> Packet {
    move |bench| {
        let mut packet = bench.packet(&recipe.partial());
        recipe.mark_super(&mut packet, 100, flags);
        packet
    }
}

fn partial_of(recipe: Recipe) -> impl FnOnce(&mut Bench) -> Packet {
    move |bench| {
        let mut packet = bench.packet(&recipe.partial());
        recipe.mark_partial(&mut packet);
        packet
    }
}

fn all() -> Limits {
    Limits::default()
}

#[test]
fn a_checksum_without_its_bit() {
    let bits = [Caps::TX_TCP4, Caps::TX_TCP6, Caps::TX_UDP4, Caps::TX_UDP6];
    for (number, bit) in bits.into_iter().enumerate() {
        let recipe = Recipe { udp: number >= 2, v6: number % 2 == 1, ..Recipe::tcp(b"x".to_vec()) };
        let others = Caps::TX_CHECKSUMS - bit;
        refused(others, all(), Refusal::Checksum, partial_of(recipe));
    }
}

#[test]
fn a_cut_without_its_bit() {
    let bits = [Caps::TSO4, Caps::TSO6, Caps::USO4, Caps::USO6];
    for (number, bit) in bits.into_iter().enumerate() {
        let recipe = Recipe { udp: number >= 2, v6: number % 2 == 1, ..Recipe::tcp(vec![1; 300]) };
        refused(Caps::all() - bit, all(), Refusal::Cutting, super_of(recipe, SegFlags::empty()));
    }
}

#[test]
fn finer_points_of_a_cut() {
    let tcp = || Recipe { flags: 0x90, ..Recipe::tcp(vec![1; 301]) };
    let cases = [
        (Caps::TSO_FIXED_ID, SegFlags::FIXED_ID, Refusal::FixedId),
        (Caps::TSO_CWR_ALL, SegFlags::CWR_ALL, Refusal::CwrAll),
        (Caps::TSO_PAD, SegFlags::PAD_LAST, Refusal::Padding),
    ];
    for (bit, flag, refusal) in cases {
        refused(Caps::all() - bit, all(), refusal, super_of(tcp(), flag));
    }
    let first = super_of(tcp(), SegFlags::empty());
    refused(Caps::all() - Caps::TSO_ECN, all(), Refusal::Ecn, first);
    let v6 = Recipe { v6: true, ..tcp() };
    let first = super_of(v6, SegFlags::empty());
    refused(Caps::all() - Caps::TSO_ECN, all(), Refusal::Ecn, first);
    let udp = Recipe::udp(vec![1; 300]);
    refused(Caps::all(), all(), Refusal::FixedId, super_of(udp, SegFlags::FIXED_ID));
}

#[test]
fn limits_of_a_cut() {
    let make = || super_of(Recipe::tcp(vec![1; 300]), SegFlags::empty());
    let limits = [
        Limits { tso_bytes: 353, ..all() },
        Limits { tso_segments: 2, ..all() },
        Limits { header_len: 53, ..all() },
    ];
    for limits in limits {
        refused(Caps::all(), limits, Refusal::Limits, make());
    }
}

#[test]
fn a_superpacket_must_be_one() {
    let caps = Caps::all();
    let count = |count| {
        move |bench: &mut Bench| {
            let mut packet = super_of(Recipe::tcp(vec![1; 300]), SegFlags::empty())(bench);
            packet.set_segmentation(Segmentation { count, ..packet.segmentation() });
            packet
        }
    };
    refused(caps, all(), Refusal::SegmentCount, count(2));
    refused(caps, all(), Refusal::SegmentCount, count(4));
    let single = super_of(Recipe::tcp(vec![1; 100]), SegFlags::empty());
    refused(caps, all(), Refusal::SegmentCount, single);
    refused(caps, all(), Refusal::SegmentCount, |bench| {
        let mut packet = count(3)(bench);
        packet.set_segmentation(Segmentation { gso_size: 0, ..packet.segmentation() });
        packet
    });
}

#[test]
fn a_superpacket_has_the_headers_of_its_kind_and_a_partial_checksum() {
    let good = |bench: &mut Bench| super_of(Recipe::tcp(vec![1; 300]), SegFlags::empty())(bench);
    refused(Caps::all(), all(), Refusal::CutHeaders, |bench| {
        let mut packet = good(bench);
        packet.meta_mut().l4[0] = Csum::Good;
        packet
    });
    refused(Caps::all(), all(), Refusal::CutHeaders, |bench| {
        let mut packet = good(bench);
        packet.meta_mut().partial[0].start -= 2;
        packet
    });
    refused(Caps::all(), all(), Refusal::CutHeaders, |bench| {
        let mut packet = good(bench);
        let other = Recipe { v6: true, ..Recipe::tcp([]) }.kind();
        packet.set_segmentation(Segmentation { kind: other, ..packet.segmentation() });
        packet
    });
}

#[test]
fn several_parts_without_the_bit() {
    refused(Caps::empty(), all(), Refusal::Parts, |bench| {
        bench.packet_in_parts(&Recipe::tcp(vec![1; 30]).frame(), &[60])
    });
}

#[test]
fn checksums_no_device_can_finish() {
    let generic = Caps::TX_GENERIC.with_implied();
    let recipe = || Recipe::tcp(b"abc".to_vec());
    refused(generic, all(), Refusal::TwoChecksums, move |bench| {
        let mut packet = partial_of(recipe())(bench);
        packet.meta_mut().l4[1] = Csum::Partial;
        packet.meta_mut().partial[1] = Partial { start: 34, field: 50 };
        packet
    });
    refused(generic, all(), Refusal::ChecksumPlace, move |bench| {
        let mut packet = partial_of(recipe())(bench);
        packet.meta_mut().partial[0].field = 60;
        packet
    });
    refused(Caps::TX_TCP4, all(), Refusal::ChecksumPlace, move |bench| {
        let mut packet = partial_of(recipe())(bench);
        packet.meta_mut().partial[0].field -= 2;
        packet
    });
    refused(generic, all(), Refusal::Incomplete, move |bench| {
        let mut packet = partial_of(recipe())(bench);
        packet.meta_mut().orig_len = packet.len() + 1;
        packet
    });
}

#[test]
fn extension_headers_hide_the_transport_from_all_but_generic_hardware() {
    // A destination options header of padding only in front of UDP.
    let plain = Recipe { v6: true, ..Recipe::udp(b"data".to_vec()) };
    let mut frame = plain.partial();
    frame[20] = 60;
    frame[18..20].copy_from_slice(&20_u16.to_be_bytes());
    frame.splice(54..54, [17, 0, 1, 4, 0, 0, 0, 0]);
    let make = |bench: &mut Bench| {
        let mut packet = bench.packet(&frame);
        packet.meta_mut().l4[0] = Csum::Partial;
        packet.meta_mut().partial[0] = Partial { start: 62, field: 68 };
        packet
    };
    refused(Caps::TX_CHECKSUMS, all(), Refusal::Checksum, make);
    let mut bench = Bench::new();
    let packet = make(&mut bench);
    let mut nic = nic(Caps::TX_GENERIC.with_implied(), &[]);
    bench.send_all(&mut *nic.tx, vec![packet]);
    let sent = &nic.wire.frames()[0].data;
    assert_eq!(sent[68..70], plain.frame()[60..62]);
}

#[test]
fn what_exceeds_the_mtu_behind_tags() {
    let limits = Limits { mtu: Some(100), ..all() };
    let frame = |len| Recipe { tags: 2, ..Recipe::tcp(vec![1; len]) };
    refused(Caps::empty(), limits, Refusal::OverMtu, |bench| bench.packet(&frame(61).frame()));
    refused(Caps::all(), limits, Refusal::OverMtu, super_of(frame(300), SegFlags::empty()));
    let mut nic = nic_of(EmulatedConfig { limits, ..EmulatedConfig::new("nic") });
    let mut bench = Bench::new();
    let packet = bench.packet(&frame(60).frame());
    bench.send_all(&mut *nic.tx, vec![packet]);
    assert_eq!((nic.refusals.total(), nic.wire.len()), (0, 1));
}
