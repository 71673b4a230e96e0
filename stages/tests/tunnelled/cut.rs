//! What leaves for one superpacket: the same frames whatever the port can do, and what of the work it was left.

use crate::build::{Stream, payload};
use crate::device::transmit;
use corelane_runtime::offload::{Caps, Limits, PortCaps, UdpPorts};
use corelane_runtime::packet::{Csum, Packet, SegFlags, Tunnel};
use corelane_runtime::testing::Harness;
use corelane_stages::{checksum_fill, gso};
use corelane_wire::testing::assert_same_frames;
use std::sync::Arc;

/// What came out of the two steps before a port.
pub(crate) struct Finished {
    pub(crate) frames: Vec<Vec<u8>>,
    /// Wire segments of each packet that was handed to the port.
    pub(crate) segments: Vec<u16>,
    /// Payload bytes read.
    pub(crate) read: u64,
}

/// A device that looks for VXLAN and Geneve behind the ports of their RFCs.
pub(crate) fn limits() -> Limits {
    let (vxlan_ports, geneve_ports) = (UdpPorts::one(4789), UdpPorts::one(6081));
    Limits { vxlan_ports, geneve_ports, ..Limits::default() }
}

/// Finishes a packet for a port with `caps`, and lets that do the rest.
#[track_caller]
pub(crate) fn through(
    make: impl FnOnce(&mut Harness) -> Packet,
    caps: Caps,
    limits: Limits,
) -> Finished {
    let port = Arc::new(PortCaps::new("wire", caps, limits));
    let cut = gso::Gso::new(Some(Arc::clone(&port)));
    let mut cut = Harness::new(cut, &gso::INFO).multiplies();
    let packet = make(&mut cut);
    cut.push(packet);
    cut.run();
    cut.assert_balanced();
    let fill = checksum_fill::ChecksumFill::new(Some(port));
    let mut fill = Harness::new(fill, &checksum_fill::INFO).home(0, 512, 4);
    let mut finished = Finished { frames: Vec::new(), segments: Vec::new(), read: 0 };
    for packet in cut.take() {
        fill.push(packet);
        fill.run();
        for packet in fill.take() {
            finished.segments.push(packet.segments());
            finished.frames.extend(transmit(&packet, caps.without_orphans(), &limits));
            fill.release([packet]);
        }
    }
    finished.read = fill.tally().payload_bytes_summed;
    fill.buffers.flush();
    cut.buffers.flush();
    cut.finish();
    finished
}

#[track_caller]
fn assert_leaves(stream: &Stream, caps: Caps, segments: &[u16]) -> Finished {
    let finished = through(|harness| stream.packet(harness, false), caps, limits());
    assert_same_frames(&finished.frames, &stream.frames());
    assert_eq!(finished.segments, segments, "{caps:?}");
    finished
}

fn tso() -> Caps {
    (Caps::TSO4 | Caps::TSO6).with_implied()
}

#[test]
fn every_tunnel_is_cut_in_software_and_no_payload_read_where_sums_are_known() {
    for tunnel in [Tunnel::Vxlan, Tunnel::Geneve, Tunnel::Gre, Tunnel::Ip] {
        for bits in 0..32_u8 {
            let on = |bit: u8| bits & 1 << bit != 0;
            let stream = Stream {
                tunnel,
                outer_v6: on(0),
                inner_v6: on(1),
                sum: on(2) && tunnel != Tunnel::Ip,
                options: if on(3) { 8 } else { 0 },
                ethernet: on(3),
                udp: on(4),
                tcp_flags: 0x19,
                ..Stream::default()
            };
            for joined in [false, true] {
                let make = |harness: &mut Harness| stream.packet(harness, joined);
                let finished = through(make, Caps::empty(), limits());
                assert_same_frames(&finished.frames, &stream.frames());
                assert_eq!(finished.read, if joined { 0 } else { 1700 }, "{stream:?}");
            }
        }
    }
}

#[test]
fn ids_of_both_levels_count_by_rules_of_their_own() {
    let all = [SegFlags::empty(), SegFlags::FIXED_ID, SegFlags::OUTER_FIXED_ID];
    for flags in all.into_iter().chain([SegFlags::FIXED_ID | SegFlags::OUTER_FIXED_ID]) {
        let stream = Stream { inner_id: 0xfffe, outer_id: 0xffff, flags, ..Stream::default() };
        for caps in [Caps::empty(), tso(), tso() | Caps::TSO_VXLAN, Caps::all()] {
            let finished = through(|harness| stream.packet(harness, true), caps, limits());
            assert_same_frames(&finished.frames, &stream.frames());
        }
    }
}

#[test]
fn a_port_is_left_a_tunnel_it_cuts_inside() {
    let stream = Stream { gso_size: 500, ..Stream::default() };
    assert_leaves(&stream, tso(), &[1; 4]);
    assert_leaves(&stream, tso() | Caps::TSO_GENEVE, &[1; 4]);
    let finished = assert_leaves(&stream, tso() | Caps::TSO_VXLAN, &[4]);
    assert_eq!(finished.read, 0);
    let v6 = Stream { inner_v6: true, outer_v6: true, ..stream.clone() };
    assert_leaves(&v6, tso() | Caps::TSO_VXLAN, &[4]);
    assert_leaves(&v6, Caps::TSO4.with_implied() | Caps::TSO_VXLAN, &[1; 4]);
    for (tunnel, port, bit) in [
        (Tunnel::Geneve, 6081, Caps::TSO_GENEVE),
        (Tunnel::Gre, 0, Caps::TSO_GRE),
        (Tunnel::Ip, 0, Caps::TSO_IPIP),
    ] {
        let other = Stream { tunnel, port, ..stream.clone() };
        assert_leaves(&other, tso() | bit, &[4]);
        assert_leaves(&other, tso() | Caps::TSO_VXLAN, &[1; 4]);
    }
    let udp = Stream { udp: true, ..stream };
    let uso = (Caps::USO4 | Caps::USO6).with_implied();
    assert_leaves(&udp, tso() | uso | Caps::TSO_VXLAN | Caps::TX_GENERIC, &[1; 4]);
}

#[test]
fn b4_a_port_that_knows_another_udp_port_is_left_nothing() {
    let caps = tso() | Caps::TSO_VXLAN_CSUM.with_implied();
    for sum in [false, true] {
        let stream = Stream { sum, ..Stream::default() };
        assert_leaves(&stream, caps, &[4]);
        let elsewhere = Stream { port: 8472, ..stream };
        assert_leaves(&elsewhere, caps, &[1; 4]);
        let fixed = SegFlags::FIXED_ID | SegFlags::OUTER_FIXED_ID;
        let repeated = Stream { flags: fixed, ..elsewhere };
        assert_leaves(&repeated, caps | Caps::GSO_PARTIAL, &[3, 1]);
    }
}

#[test]
fn b5_tunnel_tso_without_outer_checksum() {
    let fixed = SegFlags::FIXED_ID | SegFlags::OUTER_FIXED_ID;
    let (plain, pair) = (Caps::TSO_VXLAN, Caps::TSO_VXLAN_CSUM.with_implied());
    for (sum, flags, caps, segments) in [
        (true, fixed, tso() | plain, &[1_u16, 1, 1, 1][..]),
        (true, fixed, tso() | plain | Caps::TX_OUTER_UDP, &[1, 1, 1, 1]),
        (true, fixed, tso() | plain | Caps::GSO_PARTIAL, &[3, 1]),
        (true, fixed, tso() | pair | Caps::TSO_FIXED_ID, &[4]),
        (true, SegFlags::empty(), tso() | plain | Caps::GSO_PARTIAL, &[1, 1, 1, 1]),
        (true, SegFlags::empty(), tso() | pair, &[4]),
        (false, SegFlags::empty(), tso() | plain, &[4]),
        (false, fixed, tso() | plain, &[1, 1, 1, 1]),
        (false, fixed, tso() | plain | Caps::GSO_PARTIAL, &[3, 1]),
    ] {
        assert_leaves(&Stream { sum, flags, ..Stream::default() }, caps, segments);
    }
}

#[test]
fn a_tail_is_split_off_behind_repeated_headers_and_limits_hold() {
    let flags = SegFlags::FIXED_ID | SegFlags::OUTER_FIXED_ID;
    let stream = |len| Stream { sum: true, flags, payload: payload(len), ..Stream::default() };
    let caps = tso() | Caps::GSO_PARTIAL;
    for (len, segments) in
        [(1500, &[3_u16][..]), (1001, &[2, 1]), (1000, &[2]), (999, &[1, 1]), (501, &[1, 1])]
    {
        assert_leaves(&stream(len), caps, segments);
    }
    for (most, segments) in [(2, &[2_u16, 1, 1][..]), (3, &[3, 1]), (1, &[1; 4])] {
        let few = Limits { tso_segments: most, ..limits() };
        let stream = stream(1700);
        let finished = through(|harness| stream.packet(harness, true), caps, few);
        assert_same_frames(&finished.frames, &stream.frames());
        assert_eq!(finished.segments, segments, "at most {most}");
    }
}

#[test]
fn gre_with_a_checksum_is_repeated_or_cut_here() {
    let flags = SegFlags::FIXED_ID | SegFlags::OUTER_FIXED_ID;
    let gre = Stream { tunnel: Tunnel::Gre, sum: true, flags, ..Stream::default() };
    assert_leaves(&gre, tso() | Caps::TSO_GRE_CSUM.with_implied(), &[1; 4]);
    assert_leaves(&gre, tso() | Caps::GSO_PARTIAL, &[3, 1]);
}

#[test]
fn an_outer_id_that_stays_counts_where_the_datagram_may_be_fragmented() {
    let stream = Stream { outer_df: false, ..Stream::default() };
    assert_leaves(&stream, tso() | Caps::TSO_VXLAN, &[1; 4]);
    assert_leaves(&stream, tso() | Caps::TSO_VXLAN | Caps::TSO_FIXED_ID, &[4]);
}

#[test]
fn what_contradicts_the_tunnel_is_dropped_by_name() {
    let vxlan = Stream::default;
    let gre = || Stream { tunnel: Tunnel::Gre, ..Stream::default() };
    type Spoil = fn(&mut Packet);
    let cases: [(Stream, Spoil); 7] = [
        (Stream { sum: true, ..vxlan() }, |packet| packet.meta_mut().l4[0] = Csum::Unknown),
        (Stream { sum: true, ..vxlan() }, |packet| packet.meta_mut().l4[0] = Csum::Bad),
        (vxlan(), |packet| packet.meta_mut().l4[1] = Csum::Bad),
        (vxlan(), |packet| packet.meta_mut().layers.tunnel = Tunnel::Other),
        (vxlan(), |packet| packet.meta_mut().layers.tunnel = Tunnel::None),
        (Stream { sum: true, ..gre() }, |packet| packet.meta_mut().l4[0] = Csum::Unknown),
        // A sequence number: one for all segments is none.
        (gre(), |packet| packet.data_mut().expect("its own bytes")[34] |= 0x10),
    ];
    for (number, (stream, spoil)) in cases.into_iter().enumerate() {
        let mut harness = Harness::new(gso::Gso::new(None), &gso::INFO).multiplies();
        let mut packet = stream.packet(&mut harness, false);
        spoil(&mut packet);
        harness.push(packet);
        harness.run();
        assert_eq!(harness.dropped("bad_segmentation").packets, 1, "case {number}");
        harness.finish();
    }
}

#[test]
fn c9_ids_after_a_software_cut_are_those_of_a_device() {
    let stream = Stream { inner_id: 5, flags: SegFlags::empty(), ..Stream::default() };
    let soft = through(|harness| stream.packet(harness, true), Caps::empty(), limits());
    let hard = through(|harness| stream.packet(harness, true), Caps::all(), limits());
    assert_eq!((soft.segments.len(), hard.segments.len()), (4, 1));
    assert_same_frames(&soft.frames, &hard.frames);
    let ids: Vec<u16> = soft.frames.iter().map(|f| u16::from_be_bytes([f[68], f[69]])).collect();
    assert_eq!(ids, [5, 6, 7, 8]);
}

/// Five superpackets of 45 segments each, as in VPP's tests: inner and outer of either family.
#[test]
fn t1_to_t4_five_superpackets_in_vxlan() {
    for (inner_v6, outer_v6) in [(false, false), (true, false), (false, true), (true, true)] {
        let stream = Stream {
            inner_v6,
            outer_v6,
            // RFC 8200: over IPv6 a sum is due.
            sum: outer_v6,
            gso_size: 1460,
            payload: payload(65_200),
            ..Stream::default()
        };
        let mut sent = 0;
        for _ in 0..5 {
            let finished =
                through(|harness| stream.packet(harness, false), Caps::empty(), limits());
            assert_same_frames(&finished.frames, &stream.frames());
            sent += finished.frames.len();
            for frame in &finished.frames {
                let (l3, udp) = (14, if outer_v6 { 54 } else { 34 });
                let len = usize::from(u16::from_be_bytes([frame[udp + 4], frame[udp + 5]]));
                assert_eq!(len, frame.len() - udp);
                assert_eq!(frame[udp + 6..udp + 8] != [0, 0], outer_v6);
                let field = l3 + if outer_v6 { 4 } else { 2 };
                let ip = usize::from(u16::from_be_bytes([frame[field], frame[field + 1]]));
                assert_eq!(ip, frame.len() - l3 - if outer_v6 { 40 } else { 0 });
            }
        }
        assert_eq!(sent, 225);
    }
}
