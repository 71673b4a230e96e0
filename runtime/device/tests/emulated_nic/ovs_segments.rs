//! TCP inside tunnels, cut by the device, against the frames of another program: rows G3 to G14 of its tests.
//!
//! The superpackets are made from the first frame of each row: its headers, all the payload, and the sums of pseudo
//! headers in the checksum fields.

use crate::support::*;
use crate::tunnel_cut::tunnel_nic;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Packet, Partial, SegFlags, SegKind, Segmentation};

const PAYLOAD: usize = 500;

/// Where things are in the frames of a row.
#[derive(Clone, Copy, Debug)]
struct Place {
    outer_l4: usize,
    /// Of UDP or GRE, if it has one.
    outer_field: Option<usize>,
    inner_l3: usize,
    inner_l4: usize,
}

fn rows() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let mut rows: Vec<(&str, Vec<Vec<u8>>)> = Vec::new();
    for line in include_str!("ovs_segments.txt").lines().filter(|line| !line.starts_with('#')) {
        match (line.starts_with('G'), rows.last_mut()) {
            (false, Some((_, frames))) => {
                frames.push([hex(line), vec![0; PAYLOAD]].concat());
            }
            _ => rows.push((line, Vec::new())),
        }
    }
    rows
}

/// What is in the frames follows from their lengths: the reference uses no options and one GRE key.
fn place(frame: &[u8]) -> Place {
    let v6 = frame[12] == 0x86;
    let outer_l4 = if v6 { 54 } else { 34 };
    let protocol = if v6 { frame[20] } else { frame[23] };
    let (outer_field, between) = match (protocol, frame[outer_l4] & 0x80 != 0) {
        (17, _) => (Some(outer_l4 + 6), 16),
        (47, true) => (Some(outer_l4 + 4), 12),
        (47, false) => (None, 8),
        other => panic!("{other:?}"),
    };
    let inner_l3 = outer_l4 + between + 14;
    let inner_l4 = inner_l3 + if frame[inner_l3] >> 4 == 6 { 40 } else { 20 };
    Place { outer_l4, outer_field, inner_l3, inner_l4 }
}

fn seed(frame: &[u8], l3: usize, l4: usize) -> u16 {
    let (addresses, protocol) = match frame[l3] >> 4 {
        6 => (&frame[l3 + 8..l3 + 40], frame[l3 + 6]),
        _ => (&frame[l3 + 12..l3 + 20], frame[l3 + 9]),
    };
    let sum = word_sum(addresses) + u64::from(protocol) + (frame.len() - l4) as u64;
    ((sum - 1) % 65_535 + 1) as u16
}

fn put(frame: &mut [u8], at: usize, field: u16) {
    frame[at..at + 2].copy_from_slice(&field.to_be_bytes());
}

/// The superpacket that must become `frames`, with its request. Without `outer` the UDP checksum is 0.
fn superpacket(bench: &mut Bench, frames: &[Vec<u8>], place: Place, outer: bool) -> Packet {
    let head = &frames[0][..frames[0].len() - PAYLOAD];
    let mut bytes = [head, &vec![0; PAYLOAD * frames.len()]].concat();
    let inner = seed(&bytes, place.inner_l3, place.inner_l4);
    put(&mut bytes, place.inner_l4 + 16, inner);
    let is_udp = place.outer_field == Some(place.outer_l4 + 6);
    let outer_seed = if outer && is_udp { seed(&bytes, 14, place.outer_l4) } else { 0 };
    if let Some(field) = place.outer_field {
        put(&mut bytes, field, outer_seed);
    }
    let mut packet = bench.packet(&bytes);
    let partial = |start: usize, field: usize| Partial { start: start as u16, field: field as u16 };
    packet.meta_mut().request(1, partial(place.inner_l4, place.inner_l4 + 16));
    if let Some(field) = place.outer_field.filter(|_| outer) {
        packet.meta_mut().request(0, partial(place.outer_l4, field));
    }
    let kind = if bytes[place.inner_l3] >> 4 == 6 { SegKind::Tcp6 } else { SegKind::Tcp4 };
    let (gso_size, count) = (PAYLOAD as u16, frames.len() as u16);
    let flags = SegFlags::empty();
    packet.set_segmentation(Segmentation { kind, gso_size, count, flags });
    packet
}

#[test]
fn every_row_leaves_as_the_reference_sends_it() {
    let rows = rows();
    assert_eq!(rows.len(), 12);
    for (name, frames) in rows {
        assert_eq!(frames.len(), 4, "{name}");
        let place = place(&frames[0]);
        let mut bench = Bench::new();
        let packet = superpacket(&mut bench, &frames, place, place.outer_field.is_some());
        let mut nic = tunnel_nic(Caps::all(), &[]);
        bench.send_all(&mut *nic.tx, vec![packet]);
        assert_eq!(nic.refusals.total(), 0, "{name}: {}", nic.refusals);
        assert_eq!(data_of(&nic.wire.frames()), frames, "{name}");
    }
}

#[test]
fn without_an_outer_checksum_every_row_leaves_with_zero_there() {
    for (name, mut frames) in rows() {
        let place = place(&frames[0]);
        let Some(field) = place.outer_field.filter(|&field| field == place.outer_l4 + 6) else {
            continue;
        };
        let mut bench = Bench::new();
        let packet = superpacket(&mut bench, &frames, place, false);
        let sums = Caps::TSO_VXLAN_CSUM | Caps::TSO_GENEVE_CSUM | Caps::TX_OUTER_UDP;
        let mut nic = tunnel_nic(Caps::all() - sums, &[]);
        bench.send_all(&mut *nic.tx, vec![packet]);
        frames.iter_mut().for_each(|frame| put(frame, field, 0));
        assert_eq!(nic.refusals.total(), 0, "{name}: {}", nic.refusals);
        assert_eq!(data_of(&nic.wire.frames()), frames, "{name}");
    }
}

#[test]
fn equal_segments_share_their_outer_checksum_so_headers_may_be_repeated() {
    // Row G16, and what GSO_PARTIAL lives from: the headers of the first frame serve for all.
    for (name, frames) in rows() {
        let place = place(&frames[0]);
        let mut bench = Bench::new();
        let mut packet = superpacket(&mut bench, &frames, place, false);
        packet.set_segmentation(Segmentation {
            flags: SegFlags::PARTIAL | SegFlags::FIXED_ID,
            ..packet.segmentation()
        });
        if let Some(field) = place.outer_field {
            let finished = u16::from_be_bytes([frames[0][field], frames[0][field + 1]]);
            packet.make_header_unique(100, &mut bench.buffers).unwrap();
            let header = packet.data_mut().unwrap();
            put(header, field, finished);
        }
        let expected = frames.iter().map(|frame| {
            let mut frame = frame.clone();
            if frame[place.inner_l3] >> 4 == 4 {
                // The inner ID is that of the headers that are repeated, with its header checksum.
                let header = place.inner_l3..place.inner_l4;
                frame[header.clone()].copy_from_slice(&frames[0][header]);
            }
            frame
        });
        // It finds no tunnel, and need not.
        let caps = (Caps::GSO_PARTIAL | Caps::TSO6).with_implied();
        let mut nic = nic(caps, &[]);
        bench.send_all(&mut *nic.tx, vec![packet]);
        assert_eq!(nic.refusals.total(), 0, "{name}: {}", nic.refusals);
        let wire = data_of(&nic.wire.frames());
        assert_eq!(wire, expected.collect::<Vec<_>>(), "{name}");
    }
}
