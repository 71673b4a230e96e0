//! Every request, under every set of capabilities, against frames whose checksums were right from the start.

mod requests;

use super::{ChecksumFill, INFO};
use crate::fixture::received;
use corelane_runtime::offload::{Caps, Limits, PortCaps, UdpPorts};
use corelane_runtime::packet::{Csum, L3, L4, Level, MetaFlags, Packet, Partial, Tunnel};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{slow_pseudo_header, slow_sum};
use std::sync::Arc;

fn port(caps: Caps) -> Arc<PortCaps> {
    Arc::new(PortCaps::new("exit", caps, limits()))
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
        packet.meta_mut().request(index, partial);
    }
    (packet, bytes)
}

/// A device that looks for VXLAN behind the port of its RFC, and for Geneve behind none.
fn limits() -> Limits {
    Limits { vxlan_ports: UdpPorts::one(4789), ..Limits::default() }
}

/// What a port must be able to do to finish an L4 checksum inside the tunnel around it.
fn tunnel(bytes: &[u8], packet: &Packet) -> Option<Caps> {
    let l4 = usize::from(packet.meta().layers.levels[0].l4);
    match packet.meta().layers.tunnel {
        Tunnel::Vxlan if bytes[l4 + 2..l4 + 4] == 4789_u16.to_be_bytes() => Some(Caps::TSO_VXLAN),
        Tunnel::Gre => Some(Caps::TSO_GRE),
        Tunnel::Ip => Some(Caps::TSO_IPIP),
        Tunnel::None | Tunnel::Vxlan | Tunnel::Geneve | Tunnel::Other => None,
    }
}

/// Whether a port with `caps` finishes the L4 checksum of a level: simple ones know TCP and UDP right behind
/// an IPv4 header or a bare IPv6 one, in tunnels those that they find.
fn is_granted(bytes: &[u8], packet: &Packet, index: usize, caps: Caps) -> bool {
    let layers = &packet.meta().layers;
    let level = &layers.levels[index];
    let bit = match (level.l4_kind, level.l3_kind) {
        (L4::Tcp, L3::V4) => Caps::TX_TCP4,
        (L4::Tcp, _) => Caps::TX_TCP6,
        (_, L3::V4) => Caps::TX_UDP4,
        (_, _) => Caps::TX_UDP6,
    };
    let bare = |level: &Level| level.l3_kind == L3::V4 || level.l4 == level.l3 + 40;
    let bare = layers.levels[..=index].iter().all(bare);
    let whole = !packet.meta().flags.contains(MetaFlags::FRAGMENT);
    let found = if index == 0 { Some(Caps::empty()) } else { tunnel(bytes, packet) };
    let named = found.is_some_and(|found| bare && whole && caps.contains(bit | found));
    named || caps.contains(Caps::TX_GENERIC)
}

/// What a port with `caps` does: finishes one checksum, from its start to the end of the datagram, or the two of a
/// tunnel in UDP, the inner one first.
fn finish_as_port(packet: &mut Packet, bytes: &mut [u8], caps: Caps) {
    let meta = *packet.meta();
    let left: Vec<usize> = [1, 0].into_iter().filter(|&i| meta.l4[i] == Csum::Partial).collect();
    let both = left.len() == 2;
    assert!(!both || caps.contains(Caps::TX_OUTER_UDP), "a port finishes one checksum");
    for index in left {
        let granted = is_granted(bytes, packet, index, caps) || both && index == 0;
        assert!(granted, "{caps:?} does not finish level {index}");
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
