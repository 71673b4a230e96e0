//! Segments inside a tunnel: what of the headers around them must be equal, what may count up, and what the outer
//! level of a finished merge says.
//!
//! It promises that a packet taken into a merge has outer headers that cutting writes again byte for byte: every
//! length agrees with every other, the inner frame ends where the outer datagram does, a UDP checksum is either
//! left out or known to be right. GRE with a checksum or a sequence number, and tunnels that are not known well
//! enough, are not merged.

use super::counters::Ended;
use super::hardware::Known;
use super::held::Ids;
use super::network::same;
use super::segment::Segment;
use crate::payload::Sums;
use corelane_runtime::packet::{Csum, L3, Level, Meta, Packet, Tunnel};
use corelane_runtime::stage::StageContext;
use corelane_sum::Sum;
use corelane_wire::gre::GreHeader;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::udp::UdpHeader;
use corelane_wire::{protocol, view};

/// Whether the outer level of a packet, whose inner datagram ends at `end`, is one that cutting writes again.
pub(super) fn read(packet: &Packet, end: u32) -> Result<(), Ended> {
    let meta = packet.meta();
    let [outer, inner] = &meta.layers.levels;
    let tunnel = match meta.layers.tunnel {
        Tunnel::Vxlan | Tunnel::Geneve => udp_agrees(packet.data(), outer, end),
        Tunnel::Gre => gre_is_plain(packet.data(), outer),
        Tunnel::Ip => true,
        Tunnel::None | Tunnel::Other => false,
    };
    let ends = end == packet.len() && network_agrees(packet.data(), outer, end);
    let inside = inner.l2 >= outer.payload && packet.data().len() >= usize::from(inner.payload);
    if tunnel && ends && inside { Ok(()) } else { Err(Ended::Unfit) }
}

/// Whether the IP length is that of all there is, and an IPv4 header sum is of the form that computing gives.
fn network_agrees(data: &[u8], outer: &Level, end: u32) -> bool {
    let l3 = usize::from(outer.l3);
    let datagram = end - u32::from(outer.l3);
    match outer.l3_kind {
        L3::V4 => view::<Ipv4Header>(data, l3).is_some_and(|header| {
            u32::from(header.total_length.get()) == datagram && header.checksum.get() != 0xffff
        }),
        L3::V6 => view::<Ipv6Header>(data, l3).is_some_and(|header| {
            u32::from(header.payload_length.get()) + Ipv6Header::LEN as u32 == datagram
        }),
        L3::None => false,
    }
}

fn udp_agrees(data: &[u8], outer: &Level, end: u32) -> bool {
    let header = view::<UdpHeader>(data, usize::from(outer.l4));
    header.is_some_and(|header| u32::from(header.length.get()) == end - u32::from(outer.l4))
}

/// Whether a GRE header has neither checksum nor sequence number.
fn gre_is_plain(data: &[u8], outer: &Level) -> bool {
    let header = view::<GreHeader>(data, usize::from(outer.l4));
    header.is_some_and(|header| !header.has_checksum() && !header.has_sequence())
}

/// The outer UDP checksum field, where the tunnel has one that is in use.
fn checksum(data: &[u8], meta: &Meta) -> Option<u16> {
    if !matches!(meta.layers.tunnel, Tunnel::Vxlan | Tunnel::Geneve) {
        return None;
    }
    let header = view::<UdpHeader>(data, usize::from(meta.layers.levels[0].l4))?;
    Some(header.checksum.get()).filter(|&checksum| checksum != 0)
}

/// What is known about the outer checksums of a packet.
pub(super) fn known(packet: &Packet) -> Known {
    let meta = packet.meta();
    let network = match meta.layers.levels[0].l3_kind {
        L3::V4 => meta.l3[0],
        L3::V6 | L3::None => Csum::Good,
    };
    let transport = match checksum(packet.data(), meta) {
        Some(_) => meta.l4[0],
        // There is none, so nobody can have looked; whoever says that it is bad or unfinished knows better.
        None if meta.l4[0] == Csum::Unknown => Csum::Good,
        None => meta.l4[0],
    };
    match (network, transport) {
        (Csum::Good, Csum::Good) => Known::Good,
        (Csum::Good | Csum::Unknown, Csum::Good | Csum::Unknown) => Known::Open,
        _ => Known::No,
    }
}

/// The sum of the outer pseudo header for a UDP datagram of `length` bytes.
fn pseudo(data: &[u8], outer: &Level, length: u32) -> Sum {
    let l3 = usize::from(outer.l3);
    let addresses = match outer.l3_kind {
        L3::V6 => l3 + Ipv6Header::SRC_AT..l3 + Ipv6Header::LEN,
        L3::V4 | L3::None => l3 + Ipv4Header::LEN - 8..l3 + Ipv4Header::LEN,
    };
    let addresses = Sum::of(data.get(addresses).unwrap_or(&[]));
    addresses + Sum::from_u32(length) + Sum::from_u16(u16::from(protocol::UDP))
}

/// Derives the payload's sum from an outer checksum that is known to be right.
pub(super) fn derive(packet: &Packet, sums: &mut Sums<'_>) {
    let meta = packet.meta();
    let good = meta.l4[0] == Csum::Good && checksum(packet.data(), meta).is_some();
    if good && sums.payload().is_none() {
        let (from, to) = (u32::from(meta.layers.levels[0].l4), packet.len());
        let pseudo = pseudo(packet.data(), &meta.layers.levels[0], to - from);
        sums.derive(from, to, Sum::ZERO - pseudo);
    }
}

/// Checks what nobody checked before around an inner level that is right, and whose payload has this sum; on
/// success, the packet's meta says so.
pub(super) fn verify(
    packet: &mut Packet,
    payload: Option<u16>,
    ctx: &mut StageContext<'_>,
) -> bool {
    let outer = packet.meta().layers.levels[0];
    let l3 = usize::from(outer.l3);
    if outer.l3_kind == L3::V4 && packet.meta().l3[0] != Csum::Good {
        let len = packet.data().get(l3).map_or(0, |first| usize::from(first & 0x0f) * 4);
        let header = packet.data().get(l3..l3 + len);
        if !header.is_some_and(|header| Sum::of(header).is_valid()) {
            return false;
        }
        packet.meta_mut().l3[0] = Csum::Good;
    }
    if packet.meta().l4[0] == Csum::Good || checksum(packet.data(), packet.meta()).is_none() {
        return true;
    }
    let (from, to) = (u32::from(outer.l4), packet.len());
    let mut sums = Sums::resume(packet, payload.map(Sum::from_u16));
    let sum = pseudo(packet.data(), &outer, to - from) + sums.range(from, to);
    let read = sums.read();
    ctx.payload_summed(read);
    if sum.is_valid() {
        packet.meta_mut().l4[0] = Csum::Good;
    }
    sum.is_valid()
}

/// Whether what is around the inner IP header of a segment is what is around that of a merge's first packet, but
/// for lengths, sums and IPv4 identification.
pub(super) fn same_around(head: &Packet, data: &[u8]) -> bool {
    let (first, meta) = (head.data(), head.meta());
    let [outer, inner] = &meta.layers.levels;
    let (l3, l4) = (outer.l3, outer.l4);
    let network = match outer.l3_kind {
        // Version, header length, TOS; flags, TTL, protocol; addresses, options.
        L3::V4 => [(l3, l3 + 2), (l3 + 6, l3 + 10), (l3 + 12, l4)],
        // Version, class, label; next header, hop limit, addresses, extension headers.
        L3::V6 => [(l3, l3 + 4), (l3 + 6, l4), (l4, l4)],
        L3::None => return false,
    };
    let equal = |(from, to): (u16, u16)| same(first, data, from, to);
    let carried = match meta.layers.tunnel {
        Tunnel::Vxlan | Tunnel::Geneve => {
            // Ports; the tunnel's header and what is in front of IP inside.
            equal((l4, l4 + 4))
                && equal((l4 + 8, inner.l3))
                && checksum(first, meta).is_some() == checksum(data, meta).is_some()
        }
        Tunnel::Gre | Tunnel::Ip => equal((l4, inner.l3)),
        Tunnel::None | Tunnel::Other => false,
    };
    carried && equal((0, l3)) && network.into_iter().all(equal)
}

/// How the outer identifications of a merge would go on with a packet of these bytes, or `None` if they would not.
pub(super) fn ids_with(ids: Ids, head: &Packet, data: &[u8]) -> Option<Ids> {
    let outer = &head.meta().layers.levels[0];
    if outer.l3_kind != L3::V4 {
        return Some(Ids::Open);
    }
    let id = |data| Some(view::<Ipv4Header>(data, usize::from(outer.l3))?.id.get());
    ids.with(id(data)?.wrapping_sub(id(head.data())?), head.segments())
}

/// Digest of what tells one tunnel from another: the outer addresses in its high half, and in its low half the
/// kind of tunnel and its identifier. It is never 0. Two tunnels that share one only get in each other's way.
pub(super) fn digest(data: &[u8], meta: &Meta) -> u64 {
    let outer = &meta.layers.levels[0];
    let at = usize::from(outer.payload);
    let id = match meta.layers.tunnel {
        Tunnel::Vxlan | Tunnel::Geneve => word(data, at + 4) >> 8,
        Tunnel::Gre => {
            let l4 = usize::from(outer.l4);
            let key = view::<GreHeader>(data, l4).and_then(GreHeader::key_at);
            key.map_or(0, |at| word(data, l4 + at))
        }
        Tunnel::None | Tunnel::Ip | Tunnel::Other => 0,
    };
    let kind = meta.layers.tunnel as u32;
    u64::from(pair(data, outer)) << 32 | u64::from(id.rotate_left(8) ^ kind) | 1
}

fn word(data: &[u8], at: usize) -> u32 {
    let bytes = data.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Digest of the addresses of a level.
pub(super) fn pair(data: &[u8], level: &Level) -> u32 {
    let l3 = usize::from(level.l3);
    let (at, words) = match level.l3_kind {
        L3::V6 => (l3 + Ipv6Header::SRC_AT, 8),
        L3::V4 | L3::None => (l3 + 12, 2),
    };
    // An odd factor keeps every bit; multiplying in turn keeps source and destination apart.
    (0..words).fold(0x6a09_e667, |digest: u32, index| {
        (digest ^ word(data, at + 4 * index)).wrapping_mul(0x9e37_79b1).rotate_left(13)
    })
}

/// Writes the outer level of a merge that is `len` bytes long.
pub(super) fn finish(packet: &mut Packet, len: u32) {
    let layers = packet.meta().layers;
    let outer = layers.levels[0];
    let udp = matches!(layers.tunnel, Tunnel::Vxlan | Tunnel::Geneve);
    let summed = checksum(packet.data(), packet.meta()).is_some();
    let length = len - u32::from(outer.l4);
    let seed = pseudo(packet.data(), &outer, length).canonical();
    let Some(data) = packet.data_mut() else { return };
    super::finish::write_network(data, usize::from(outer.l3), len, outer.l3_kind == L3::V6);
    if !udp {
        return;
    }
    if let Some(header) = corelane_wire::view_mut::<UdpHeader>(data, usize::from(outer.l4)) {
        header.length.set(u16::try_from(length).unwrap_or(0));
        if summed {
            header.checksum.set(seed);
        }
    }
    if summed {
        let field = outer.l4 + UdpHeader::CHECKSUM_AT as u16;
        let request = corelane_runtime::packet::Partial { start: outer.l4, field };
        packet.meta_mut().request(0, request);
    }
}

/// Where the outermost IP header of a merge starts.
pub(super) fn outermost(head: &Packet, first: &Segment) -> u16 {
    let layers = &head.meta().layers;
    if layers.count == 2 { layers.levels[0].l3 } else { first.places.l3 }
}
