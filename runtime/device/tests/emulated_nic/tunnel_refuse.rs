//! Superpackets in tunnels that the device refuses: each for one reason.

use crate::support::*;
use crate::tunnel::{Carrier, Sum, Wrap, wraps};
use crate::tunnel_cut::{bit, repeated, superpacket, tunnel_nic};
use corelane_device::emulated::Refusal;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, Packet, SegFlags, Segmentation};

fn refused(caps: Caps, refusal: Refusal, make: impl FnOnce(&mut Bench) -> Packet) {
    let mut bench = Bench::new();
    let packet = make(&mut bench);
    let mut nic = tunnel_nic(caps, &[]);
    bench.send_all(&mut *nic.tx, vec![packet]);
    assert_eq!((nic.refusals.total(), nic.refusals.of(refusal)), (1, 1), "{}", nic.refusals);
    assert!(nic.wire.is_empty());
    assert_eq!(nic.tx.report().drops, [(refusal.drop_name(), 1)]);
    bench.assert_nothing_out();
}

fn inner() -> Recipe {
    Recipe::tcp(vec![1; 300])
}

/// A superpacket of three segments.
fn of(wrap: Wrap, inner: Recipe, flags: SegFlags) -> impl FnOnce(&mut Bench) -> Packet {
    move |bench| superpacket(bench, &wrap, &inner, 100, flags)
}

#[test]
fn each_tunnel_without_its_bit() {
    for wrap in wraps() {
        let refusal = match wrap.carrier {
            // Who does not cut inside them does not find them.
            Carrier::Gre { .. } | Carrier::Ip => Refusal::Tunnel,
            _ => Refusal::Cutting,
        };
        let all = Caps::all() - Caps::TSO_GRE_CSUM;
        refused(all - bit(&wrap), refusal, of(wrap, inner(), SegFlags::empty()));
    }
}

#[test]
fn an_outer_checksum_without_its_bit() {
    for wrap in wraps().into_iter().filter(|wrap| wrap.carrier != Carrier::Ip) {
        let wrap = Wrap { sum: Sum::Seed, ..wrap };
        let caps = Caps::all() - bit(&wrap);
        refused(caps, Refusal::OuterChecksum, of(wrap, inner(), SegFlags::empty()));
    }
}

#[test]
fn an_outer_checksum_that_would_be_wrong_in_every_segment() {
    for wrap in wraps().into_iter().filter(|wrap| wrap.carrier != Carrier::Ip) {
        // It is there, and nobody is asked to fill it.
        let wrap = Wrap { sum: Sum::Right, ..wrap };
        refused(Caps::all(), Refusal::OuterChecksum, of(wrap, inner(), SegFlags::empty()));
    }
    let absent = Wrap::of(Carrier::Gre { key: true, sequence: false, ethernet: true });
    refused(Caps::all(), Refusal::OuterChecksum, |bench| {
        let mut packet = of(absent.clone(), inner(), SegFlags::empty())(bench);
        absent.mark_outer(&mut packet);
        packet
    });
}

#[test]
fn b4_a_port_that_the_device_does_not_know() {
    for port in [4788, 4790, 6081, 1] {
        let wrap = Wrap { port, ..Wrap::vxlan() };
        refused(Caps::all(), Refusal::Tunnel, of(wrap, inner(), SegFlags::empty()));
    }
    let geneve = Wrap::of(Carrier::Geneve { options: 0, ethernet: true });
    let geneve = Wrap { port: 6082, ..geneve };
    refused(Caps::all(), Refusal::Tunnel, of(geneve, inner(), SegFlags::empty()));
    // A device that was told no port finds no such tunnel.
    let mut bench = Bench::new();
    let packet = of(Wrap::vxlan(), inner(), SegFlags::empty())(&mut bench);
    let mut nic = nic(Caps::all(), &[]);
    bench.send_all(&mut *nic.tx, vec![packet]);
    assert_eq!((nic.refusals.of(Refusal::Tunnel), nic.wire.len()), (1, 0));
}

#[test]
fn what_is_inside_needs_its_own_bits() {
    let v6 = Recipe { v6: true, ..inner() };
    let no_tso6 = Caps::all() - Caps::TSO6;
    refused(no_tso6, Refusal::Cutting, of(Wrap::vxlan(), v6, SegFlags::empty()));
    let udp = Recipe::udp(vec![1; 300]);
    refused(Caps::all(), Refusal::Cutting, of(Wrap::vxlan(), udp, SegFlags::empty()));
    for (caps, flags, refusal) in [
        (Caps::TSO_FIXED_ID, SegFlags::FIXED_ID, Refusal::FixedId),
        (Caps::TSO_CWR_ALL, SegFlags::CWR_ALL, Refusal::CwrAll),
        (Caps::TSO_ECN, SegFlags::empty(), Refusal::Ecn),
        (Caps::empty(), SegFlags::PAD_LAST, Refusal::Padding),
    ] {
        let inner = Recipe { flags: 0x90, ..inner() };
        refused(Caps::all() - caps, refusal, of(Wrap::vxlan(), inner, flags));
    }
}

#[test]
fn one_outer_id_for_datagrams_that_may_be_fragmented() {
    let wrap = Wrap { df: false, ..Wrap::vxlan() };
    refused(Caps::all(), Refusal::FixedId, of(wrap, inner(), SegFlags::OUTER_FIXED_ID));
}

#[test]
fn numbered_gre_and_a_checksum_that_is_not_partial() {
    let numbered = Wrap::of(Carrier::Gre { key: false, sequence: true, ethernet: true });
    refused(Caps::all(), Refusal::CutHeaders, of(numbered, inner(), SegFlags::empty()));
    refused(Caps::all(), Refusal::CutHeaders, |bench| {
        let mut packet = of(Wrap::vxlan(), inner(), SegFlags::empty())(bench);
        packet.meta_mut().l4[1] = Csum::Good;
        packet
    });
    refused(Caps::all(), Refusal::CutHeaders, |bench| {
        let mut packet = of(Wrap::vxlan(), inner(), SegFlags::empty())(bench);
        packet.meta_mut().partial[1].start += 2;
        packet
    });
}

#[test]
fn c6_a_single_segment_is_no_cut() {
    for gso in [300, 301] {
        refused(Caps::all(), Refusal::SegmentCount, |bench| {
            superpacket(bench, &Wrap::vxlan(), &inner(), gso, SegFlags::empty())
        });
    }
}

/// A superpacket with the headers of one segment in front, changed by `change`.
fn repeating(payload: usize, change: fn(&mut Packet)) -> impl FnOnce(&mut Bench) -> Packet {
    move |bench| {
        let inner = Recipe::tcp(vec![1; payload]);
        let mut packet = repeated(bench, &Wrap::vxlan(), &inner, 100);
        change(&mut packet);
        packet
    }
}

#[test]
fn headers_are_repeated_only_where_that_gives_right_frames() {
    let all = Caps::all();
    refused(all - Caps::GSO_PARTIAL, Refusal::Cutting, repeating(300, |_| {}));
    refused(all - Caps::TSO4, Refusal::Cutting, repeating(300, |_| {}));
    refused(all, Refusal::SegmentCount, repeating(301, |_| {}));
    refused(all, Refusal::SegmentCount, repeating(100, |_| {}));
    refused(
        all,
        Refusal::OuterChecksum,
        repeating(300, |packet| {
            Wrap::vxlan().mark_outer(packet);
        }),
    );
    // Lengths that are not those of one segment.
    refused(
        all,
        Refusal::CutHeaders,
        repeating(300, |packet| {
            packet.data_mut().unwrap()[17] += 1;
        }),
    );
    refused(
        all,
        Refusal::CutHeaders,
        repeating(300, |packet| {
            packet.meta_mut().partial[1].start = 34;
        }),
    );
    refused(
        all,
        Refusal::CutHeaders,
        repeating(300, |packet| {
            let flags = SegFlags::PARTIAL | SegFlags::PAD_LAST;
            packet.set_segmentation(Segmentation { flags, ..packet.segmentation() });
        }),
    );
}
