//! The sums that merging needs: of the pseudo header, of a payload nobody summed, of a packet nobody checked.
//!
//! It promises that a payload is read only where no checksum vouches for it yet, and that what was read is
//! booked. It works on clean segments only (`segment`).

use super::flow::FlowKey;
use super::segment::Segment;
use super::tunnel;
use crate::payload::Sums;
use corelane_runtime::packet::{Csum, Packet};
use corelane_runtime::stage::StageContext;
use corelane_sum::Sum;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::protocol;
use corelane_wire::tcp::TcpHeader;
use corelane_wire::udp::UdpHeader;

/// The pseudo-header sum for a transport datagram of `length` bytes, whose IP header is at `l3` of `data`.
pub(super) fn pseudo(data: &[u8], key: &FlowKey, l3: usize, length: u32) -> Sum {
    let addresses = if key.is_v6() {
        l3 + Ipv6Header::SRC_AT..l3 + Ipv6Header::LEN
    } else {
        l3 + Ipv4Header::LEN - 8..l3 + Ipv4Header::LEN
    };
    let number = if key.is_udp() { protocol::UDP } else { protocol::TCP };
    let addresses = data.get(addresses).unwrap_or(&[]);
    Sum::of(addresses) + Sum::from_u32(length) + Sum::from_u16(u16::from(number))
}

/// Bytes of transport header and payload.
fn transport_len(segment: &Segment) -> u32 {
    u32::from(segment.places.payload - segment.places.l4) + u32::from(segment.payload)
}

/// The sum of a payload, derived from the checksum of its packet, which is known to be right: everything
/// else it covers is headers. The payload is not read.
pub(super) fn derived_sum(data: &[u8], key: &FlowKey, segment: &Segment) -> Option<u16> {
    let header = data.get(usize::from(segment.places.l4)..usize::from(segment.places.payload))?;
    let covered =
        pseudo(data, key, usize::from(segment.places.l3), transport_len(segment)) + Sum::of(header);
    // Right means that everything adds up to zero, so the payload is what is missing.
    Some((Sum::ZERO - covered).fold())
}

/// Checks what nobody checked before; on success, the packet's meta says so.
pub(super) fn verify(
    packet: &mut Packet,
    key: &FlowKey,
    segment: &Segment,
    ctx: &mut StageContext<'_>,
) -> bool {
    let level = key.level();
    let network =
        key.is_v6() || packet.meta().l3[level] == Csum::Good || network_is_right(packet, segment);
    if !network || !transport_is_right(packet, key, segment, ctx) {
        return false;
    }
    let meta = packet.meta_mut();
    meta.l4[level] = Csum::Good;
    if !key.is_v6() {
        meta.l3[level] = Csum::Good;
    }
    true
}

/// Checks what nobody checked before around a segment in a tunnel, which is right itself.
pub(super) fn verify_around(
    packet: &mut Packet,
    key: &FlowKey,
    segment: &Segment,
    ctx: &mut StageContext<'_>,
) -> bool {
    let payload = packet.payload_sum().or_else(|| derived_sum(packet.data(), key, segment));
    tunnel::verify(packet, payload, ctx)
}

fn network_is_right(packet: &Packet, segment: &Segment) -> bool {
    let l3 = usize::from(segment.places.l3);
    let Some(&first) = packet.data().get(l3) else { return false };
    let header = packet.data().get(l3..l3 + usize::from(first & 0x0f) * 4);
    header.is_some_and(|header| Sum::of(header).is_valid())
}

fn transport_is_right(
    packet: &mut Packet,
    key: &FlowKey,
    segment: &Segment,
    ctx: &mut StageContext<'_>,
) -> bool {
    if packet.meta().l4[key.level()] == Csum::Good {
        return true;
    }
    let length = transport_len(segment);
    let pseudo = pseudo(packet.data(), key, usize::from(segment.places.l3), length);
    if looks_partial(packet.data(), key, segment, pseudo, length) {
        return false;
    }
    let from = u32::from(segment.places.l4);
    let mut sums = Sums::of(packet);
    if key.is_tunnelled() {
        tunnel::derive(packet, &mut sums);
    }
    let right = (pseudo + sums.range(from, from + length)).is_valid();
    let (read, payload) = (sums.read(), sums.payload());
    ctx.payload_summed(read);
    if let (true, Some(sum)) = (right, payload) {
        packet.set_payload_sum(sum.fold());
    }
    right
}

/// Whether the field holds just the pseudo-header sum, with or without the length: what a sender leaves for
/// its device. Such a packet is never merged, so its payload need not be read.
fn looks_partial(data: &[u8], key: &FlowKey, segment: &Segment, pseudo: Sum, length: u32) -> bool {
    let at = if key.is_udp() { UdpHeader::CHECKSUM_AT } else { TcpHeader::CHECKSUM_AT };
    let field =
        data.get(usize::from(segment.places.l4) + at..).and_then(|bytes| bytes.first_chunk());
    let Some(field) = field.map(|bytes| u16::from_be_bytes(*bytes)) else { return true };
    field == pseudo.canonical() || field == (pseudo - Sum::from_u32(length)).canonical()
}
