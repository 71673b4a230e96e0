//! Every request, under every set of capabilities, against frames whose checksums were right from the start.

mod requests;

use super::{ChecksumFill, INFO};
use crate::fixture::received;
use corelane_runtime::offload::{Caps, Limits, PortCaps};
use corelane_runtime::packet::{Csum, L4, Packet, Partial};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{slow_pseudo_header, slow_sum};
use std::sync::Arc;

fn port(caps: Caps) -> Arc<PortCaps> {
    Arc::new(PortCaps::new("exit", caps, Limits::default()))
}

fn harness(caps: Option<Caps>) -> Harness {
    Harness::new(ChecksumFill::new(caps.map(port)), &INFO).home(0, 64, 4)
}

/// Where a level's L4 data starts, where its field is, whether it is UDP, and its slow pseudo-header sum.
struct Place {
    start: usize,
    field: usize,
    udp: bool,
    pseudo: u16,
}

fn place(frame: &[u8], packet: &Packet, index: usize) -> Option<Place> {
    let level = packet.meta().layers.levels.get(index).copied()?;
    let udp = match level.l4_kind {
        L4::Tcp => false,
        L4::Udp => true,
        L4::Other | L4::None => return None,
    };
    let found = corelane_wire::layers(frame, frame.len() as u32);
    let end = found.levels()[index].l4_end as usize;
    let wire = &found.levels()[index];
    let len = if wire.l3_kind == corelane_wire::L3::V4 { 4 } else { 16 };
    let (src, dst) = (usize::from(wire.pseudo_src), usize::from(wire.pseudo_dst));
    let start = usize::from(level.l4);
    let (src, dst) = (&frame[src..src + len], &frame[dst..dst + len]);
    let pseudo = slow_pseudo_header(src, dst, (end - start) as u32, if udp { 17 } else { 6 });
    let field = start + if udp { 6 } else { 16 };
    Some(Place { start, field, udp, pseudo: slow_sum(&[&pseudo]) })
}

/// Takes the checksum of a level back to its partial form, in the bytes and in meta.
fn put_off(frame: &mut [u8], packet: &Packet, index: usize) -> Option<(usize, Partial)> {
    let place = place(frame, packet, index)?;
    frame[place.field..place.field + 2].copy_from_slice(&place.pseudo.to_be_bytes());
    let partial = Partial { start: place.start as u16, field: place.field as u16 };
    Some((index, partial))
}

/// A packet of `frame` in which the checksums of `levels` are put off; zero UDP checksums stay.
fn partial(
    harness: &mut Harness,
    frame: &[u8],
    cuts: &[usize],
    levels: [bool; 2],
) -> (Packet, Vec<u8>) {
    let mut bytes = frame.to_vec();
    let whole = received(harness, frame, &[]);
    let mut put = Vec::new();
    // Inner first: its field is among the bytes under the outer checksum.
    for index in [1, 0] {
        let has_field = place(frame, &whole, index)
            .is_some_and(|place| frame[place.field..place.field + 2] != [0, 0] || !place.udp);
        let tracked = index < usize::from(whole.meta().layers.count);
        if levels[index] && has_field && tracked {
            put.extend(put_off(&mut bytes, &whole, index));
        }
    }
    harness.release([whole]);
    let mut packet = received(harness, &bytes, cuts);
    for (index, partial) in put {
        packet.meta_mut().l4[index] = Csum::Partial;
        packet.meta_mut().partial[index] = partial;
    }
    (packet, bytes)
}

/// Whether a port with `caps` finishes the L4 checksum of a level: simple ones know TCP and UDP right behind
/// an outer IPv4 header or a bare IPv6 one.
fn is_granted(bytes: &[u8], index: usize, caps: Caps) -> bool {
    use corelane_wire::{Fragment, L3, L4 as Protocol};
    let found = corelane_wire::layers(bytes, bytes.len() as u32);
    let level = &found.levels()[index];
    let bit = match (level.l4_kind, level.l3_kind) {
        (Protocol::Tcp, L3::V4) => Caps::TX_TCP4,
        (Protocol::Tcp, _) => Caps::TX_TCP6,
        (_, L3::V4) => Caps::TX_UDP4,
        (_, _) => Caps::TX_UDP6,
    };
    let bare = level.l3_kind == L3::V4 || !level.options;
    let simple = index == 0 && bare && level.fragment == Fragment::No && caps.contains(bit);
    simple || caps.contains(Caps::TX_GENERIC)
}

/// What a port with `caps` does: finishes one checksum, from its start to the end of the datagram.
fn finish_as_port(packet: &mut Packet, bytes: &mut [u8], caps: Caps) {
    let meta = *packet.meta();
    let left: Vec<usize> = (0..2).filter(|&index| meta.l4[index] == Csum::Partial).collect();
    assert!(left.len() <= 1, "a port finishes one checksum");
    for index in left {
        assert!(is_granted(bytes, index, caps), "{caps:?} does not finish level {index}");
        let Partial { start, field } = meta.partial[index];
        let end = bytes.len() - usize::from(meta.trailer);
        let sum = slow_sum(&[&bytes[usize::from(start)..end]]);
        let udp = meta.layers.levels[index].l4_kind == L4::Udp;
        let checksum = match !sum {
            0 if udp => 0xffff,
            0xffff if !udp => 0,
            checksum => checksum,
        };
        bytes[usize::from(field)..][..2].copy_from_slice(&checksum.to_be_bytes());
    }
}

fn run_one(harness: &mut Harness, packet: Packet) -> Packet {
    harness.push(packet);
    harness.run();
    harness.take().pop().expect("one packet passes")
}
