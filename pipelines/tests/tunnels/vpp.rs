//! Superpackets that were never cut go into a tunnel: the cases T1 to T5 of the tests of VPP for segmentation before
//! VXLAN (`test_gso.py`), with the numbers those expect.
//!
//! Five superpackets of 65,200 bytes of payload in segments of 1,460 are 225 frames, however much of it the port
//! does. In T5, where the segments do not fit, VPP cuts the datagram around the superpacket into 225 fragments;
//! here every segment has a datagram of its own, and each too long one becomes two fragments. So 5 last segments fit,
//! 220 others do not: 445 IP packets.

use crate::support::{HOP, Lane, VXLAN, assert_same, inside};
use crate::whole::Whole;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Partial, SegKind};
use corelane_wire::testing::{
    Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, assert_sound, slow_pseudo_header, slow_sum,
};
use std::collections::BTreeMap;

const PAYLOAD: usize = 65_200;
const SIZE: usize = 1460;
const SUPERS: u32 = 5;
const SEGMENTS: usize = 225;
const SUM: usize = 326_000;

/// Five superpackets of one flow.
fn supers(v6: bool, df: bool) -> Vec<Whole> {
    let (headers, kind) = if v6 { (74, SegKind::Tcp6) } else { (54, SegKind::Tcp4) };
    let make = |number: u32| {
        let seq = 1 + number * PAYLOAD as u32;
        let tcp = Tcp { seq, checksum: Checksum::Partial, ..Tcp::default() };
        let ip = Ipv4 { id: number as u16 * 100, dont_fragment: df, ..Ipv4::default() };
        let builder = FrameBuilder::new();
        let builder = if v6 { builder.ipv6(Ipv6::default()) } else { builder.ipv4(ip) };
        let bytes = builder.tcp(tcp).payload_len(PAYLOAD).build();
        let start = headers as u16 - 20;
        Whole::cut(bytes, kind, Partial { start, field: start + 16 }, headers, SIZE)
    };
    (0..SUPERS).map(make).collect()
}

fn encap(v6: bool, sum: &str, more: &str) -> String {
    let ends = match v6 {
        true => "local: \"2001:db8::1\", remote: \"2001:db8::9\"",
        false => "local: \"192.0.2.1\", remote: \"192.0.2.9\"",
    };
    format!("Encap(tunnel: Vxlan(vni: 10, {ends}, udp_checksum: {sum}, {HOP}){more}),")
}

/// Payload bytes of TCP in a frame of these families, which is sound.
fn payload(frame: &[u8], v6: bool) -> usize {
    assert_sound(frame);
    frame.len() - if v6 { 74 } else { 54 }
}

fn be16(frame: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]))
}

/// 225 frames in a sound tunnel, with the payload in order.
fn assert_segments(frames: &[&[u8]], (outer_v6, inner_v6): (bool, bool), summed: bool) {
    assert_eq!(frames.len(), SEGMENTS);
    let (mut total, mut next) = (0, 1_usize);
    for frame in frames {
        assert_sound(frame);
        let carried = inside(frame, &[VXLAN]).expect("a VXLAN datagram");
        // VNI 10.
        let (udp, length) =
            if outer_v6 { (54, be16(frame, 18)) } else { (34, be16(frame, 16) - 20) };
        assert_eq!(frame[udp + 12..udp + 15], [0, 0, 10]);
        assert_eq!(length - 16, carried.len(), "outer length");
        assert_eq!(be16(frame, udp + 6) != 0, summed, "outer UDP checksum");
        let l4 = if inner_v6 { 54 } else { 34 };
        let seq = be16(&carried, l4 + 4) << 16 | be16(&carried, l4 + 6);
        assert_eq!(seq, next, "in order");
        let len = payload(&carried, inner_v6);
        next += len;
        total += len;
    }
    assert_eq!(total, SUM);
}

/// What ports are tried with, and whether the port then cuts. Behind repeated headers it cuts what has no inner ID
/// that counts up: IPv6.
fn ports(inner_v6: bool) -> Vec<(Caps, bool)> {
    let tso = Caps::TSO4.with_implied() | Caps::TSO6.with_implied();
    vec![
        (Caps::empty(), false),
        (Caps::TX_CHECKSUMS | Caps::MULTI_PART, false),
        (Caps::TX_GENERIC.with_implied(), false),
        (tso, false),
        (tso | Caps::TSO_VXLAN_CSUM.with_implied(), true),
        (tso | Caps::GSO_PARTIAL, inner_v6),
        (Caps::asked(), true),
    ]
}

#[track_caller]
fn whole(outer_v6: bool, inner_v6: bool, sum: &str, summed: bool) {
    let stages = encap(outer_v6, sum, "");
    let mut software: Vec<Vec<u8>> = Vec::new();
    for (tx, cuts) in ports(inner_v6) {
        let lane = Lane { tx, ..Lane::of_host(&stages, supers(inner_v6, true)) };
        let ran = lane.simulate();
        let context = format!("{tx:?}");
        ran.assert_lossless(&context);
        assert_segments(&ran.bytes(), (outer_v6, inner_v6), summed);
        if software.is_empty() {
            software = ran.bytes().iter().map(|frame| frame.to_vec()).collect();
        }
        assert_same(&ran.bytes(), &software, &context);
        let left = ran.counter("Gso", "left") + ran.counter("Gso", "rechunked");
        assert_eq!(left > 0, cuts, "{context}: left to the port");
    }
}

#[test]
fn t1_ipv4_in_vxlan_over_ipv4() {
    whole(false, false, "Auto", false);
    whole(false, false, "On", true);
}

#[test]
fn t2_ipv6_in_vxlan_over_ipv4() {
    whole(false, true, "Auto", false);
    whole(false, true, "On", true);
}

#[test]
fn t3_ipv4_in_vxlan_over_ipv6_has_an_outer_checksum() {
    whole(true, false, "Auto", true);
}

#[test]
fn t4_ipv6_in_vxlan_over_ipv6_has_an_outer_checksum() {
    whole(true, true, "Auto", true);
}

/// The UDP datagrams of IPv4 packets, each with its pseudo header; those in fragments put together by identification.
fn reassembled(frames: &[&[u8]], mtu: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut whole = Vec::new();
    let mut parts: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for frame in frames {
        assert!(frame.len() <= 14 + mtu);
        assert_eq!(slow_sum(&[&frame[14..34]]), 0xffff, "IPv4 header");
        let (id, flags) = (be16(frame, 18), be16(frame, 20));
        let (offset, more) = ((flags & 0x1fff) * 8, flags & 0x2000 != 0);
        let datagram = match (offset, more) {
            (0, false) => Vec::new(),
            _ => parts.remove(&id).unwrap_or_default(),
        };
        assert_eq!(datagram.len(), offset, "fragments in order");
        let datagram = [&datagram, &frame[34..14 + be16(frame, 16)]].concat();
        if more {
            parts.insert(id, datagram);
            continue;
        }
        let (src, dst) = (&frame[26..30], &frame[30..34]);
        let pseudo = slow_pseudo_header(src, dst, datagram.len() as u32, 17);
        whole.push((datagram, pseudo));
    }
    assert!(parts.is_empty(), "every last fragment is there");
    whole
}

#[test]
fn t5_what_does_not_fit_is_carried_in_fragments() {
    for (sum, summed) in [("Auto", false), ("On", true)] {
        let stages = encap(false, sum, ", oversize: [FragmentOuter]");
        let mut software: Vec<Vec<u8>> = Vec::new();
        for (tx, _) in ports(false) {
            let lane = Lane { tx, mtu: Some(1500), ..Lane::of_host(&stages, supers(false, false)) };
            let ran = lane.simulate();
            ran.assert_lossless("fragments");
            let frames = ran.bytes();
            assert_eq!(frames.len(), 445);
            let fragments = frames.iter().filter(|frame| be16(frame, 20) & 0x3fff != 0).count();
            assert_eq!((fragments, ran.counter("Encap", "fragments")), (440, 440));
            let mut total = 0;
            let datagrams = reassembled(&frames, 1500);
            assert_eq!(datagrams.len(), SEGMENTS);
            for (datagram, pseudo) in &datagrams {
                assert_eq!(be16(datagram, 4), datagram.len(), "UDP length");
                let checked = be16(datagram, 6) != 0;
                assert_eq!(checked, summed, "a checksum where it is wanted");
                if checked {
                    assert_eq!(slow_sum(&[pseudo, datagram]), 0xffff, "outer UDP checksum");
                }
                total += payload(&datagram[16..], false);
            }
            assert_eq!(total, SUM);
            if software.is_empty() {
                software = frames.iter().map(|frame| frame.to_vec()).collect();
            }
            corelane_wire::testing::assert_same_frames(&frames, &software);
        }
    }
}
