//! `oversize: Segment`: TCP that does not fit is to be cut into segments that do.
//!
//! It promises a superpacket that `Gso`, or a port, cuts into frames of which the tunnel makes packets no longer than
//! the path takes, or a packet as it was. Only packets of which the checksums are known to be right are cut so: the
//! segments get checksums of their own, and nothing is repaired.

use super::super::inner::is_unfinished;
use corelane_runtime::packet::{
    Buffers, Csum, L3, L4, Level, MetaFlags, NoBuffer, Packet, Partial, SMALL_ROOM, SegFlags,
    SegKind, Segmentation,
};
use corelane_sum::Sum;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::tcp::TcpHeader;
use corelane_wire::{protocol, view};

/// SYN, RST and URG: whoever sent them did not mean data to be cut.
const UNCUTTABLE: u16 = 0x26;

/// Has the packet cut so that no segment's frame is longer than `most` bytes, if it can be. Its layers stay.
///
/// # Errors
/// [`NoBuffer`] where its header must be copied first and there is no buffer; nothing is changed then.
pub(super) fn segment(
    packet: &mut Packet,
    most: u32,
    buffers: &mut Buffers,
) -> Result<bool, NoBuffer> {
    let Some((level, request)) = request(packet, most) else { return Ok(false) };
    if packet.meta().l4[0] == Csum::Good {
        packet.make_header_unique(u32::from(level.payload), buffers)?;
        put_off(packet, &level);
    }
    packet.set_segmentation(request);
    Ok(true)
}

/// The request that makes segments short enough, if the packet is one that can be cut.
fn request(packet: &Packet, most: u32) -> Option<(Level, Segmentation)> {
    const UNKNOWABLE: MetaFlags = MetaFlags::FRAGMENT
        .union(MetaFlags::ODD_PSEUDO)
        .union(MetaFlags::OVERRUN)
        .union(MetaFlags::DEEPER);
    let meta = packet.meta();
    let level = meta.layers.levels[0];
    let kind = match (level.l3_kind, level.l4_kind) {
        (L3::V4, L4::Tcp) => SegKind::Tcp4,
        (L3::V6, L4::Tcp) => SegKind::Tcp6,
        _ => return None,
    };
    let vouched = matches!(meta.l4[0], Csum::Good | Csum::Partial);
    let whole = u32::from(level.payload) + packet.payload_len() == packet.len();
    let given = packet.segmentation();
    let usual = given.kind == kind || given.kind == SegKind::None;
    if meta.layers.count != 1 || meta.flags.intersects(UNKNOWABLE) || !vouched || !whole || !usual {
        return None;
    }
    let headers = u32::from(level.payload) <= SMALL_ROOM && network_is_right(packet, &level);
    if packet.is_cut() || !headers || !is_plain(packet, &level) {
        return None;
    }
    let size = most.checked_sub(u32::from(level.payload)).filter(|&size| size > 0)?;
    let gso_size = u16::try_from(size).unwrap_or(u16::MAX);
    let count = u16::try_from(packet.payload_len().div_ceil(u32::from(gso_size))).ok()?;
    let flags = given.flags - SegFlags::BY_PARTS - SegFlags::PAD_LAST;
    Some((level, Segmentation { kind, gso_size, count, flags }))
}

/// Whether it is a data segment without anything urgent about it, right behind the IP header.
fn is_plain(packet: &Packet, level: &Level) -> bool {
    let header = view::<TcpHeader>(packet.data(), usize::from(level.l4));
    let flags = packet.data().get(usize::from(level.l4) + 13).copied().map(u16::from);
    let near = level.l3_kind == L3::V4 || usize::from(level.l4 - level.l3) == Ipv6Header::LEN;
    header.is_some() && near && flags.is_some_and(|flags| flags & UNCUTTABLE == 0)
}

/// Computing the IPv4 header sum anew must repair nothing.
fn network_is_right(packet: &Packet, level: &Level) -> bool {
    if level.l3_kind == L3::V6 {
        return true;
    }
    let l3 = usize::from(level.l3);
    match packet.meta().l3[0] {
        Csum::Good | Csum::Partial => true,
        Csum::Bad => false,
        Csum::Unknown => {
            let len = view::<Ipv4Header>(packet.data(), l3).map_or(0, Ipv4Header::header_len);
            let header = packet.data().get(l3..l3 + len);
            header.is_some_and(|header| Sum::of(header).is_valid())
        }
    }
}

/// Turns a right TCP checksum into one that is still to be finished.
fn put_off(packet: &mut Packet, level: &Level) {
    debug_assert!(!is_unfinished(packet) || packet.is_super());
    let (l3, l4) = (usize::from(level.l3), usize::from(level.l4));
    let addresses = match level.l3_kind {
        L3::V4 => l3 + Ipv4Header::LEN - 8..l3 + Ipv4Header::LEN,
        _ => l3 + Ipv6Header::SRC_AT..l3 + Ipv6Header::LEN,
    };
    let length = packet.len() - u32::from(level.l4);
    let field = l4 + TcpHeader::CHECKSUM_AT;
    let Some(data) = packet.data_mut() else { return };
    let Some(addresses) = data.get(addresses).map(Sum::of) else { return };
    let seed = addresses + Sum::from_u16(u16::from(protocol::TCP)) + Sum::from_u32(length);
    let Some(place) = data.get_mut(field..field + 2) else { return };
    place.copy_from_slice(&seed.canonical().to_be_bytes());
    let meta = packet.meta_mut();
    meta.forget_known();
    meta.request(0, Partial { start: level.l4, field: field as u16 });
}
