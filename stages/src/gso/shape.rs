//! Whether a request to be cut can be believed, and what follows from it.
//!
//! A request comes from a port or another stage and is held against the packet: nothing that is cut later
//! can contradict its own numbers. It promises a verdict for any packet; it changes nothing.

use super::outer::is_repeatable;
use corelane_runtime::packet::{
    Csum, L3, L4, Level, MetaFlags, Packet, SMALL_ROOM, SegFlags, SegKind, Segmentation, Tunnel,
};
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::tcp::TcpHeader;
use corelane_wire::{protocol, view};

/// What a superpacket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One frame after all: the request means nothing.
    Single,
    /// Several segments of which all but the last have the same length, behind headers any port knows.
    Even,
    /// It can be cut, but is nothing for a port.
    Foreign,
    /// The request contradicts the packet.
    Bad,
}

/// Holds the request of a packet against the packet.
pub(super) fn shape(packet: &Packet) -> Shape {
    let request = packet.segmentation();
    let meta = packet.meta();
    let Some(level) = level_of(packet, request.kind) else { return Shape::Bad };
    let whole = u32::from(level.payload) + packet.payload_len() == packet.len();
    let index = usize::from(meta.layers.count > 1);
    let vouched = matches!(meta.l4[index], Csum::Good | Csum::Partial);
    let carried = index == 0 || is_repeatable(packet);
    let headers = u32::from(level.payload) <= SMALL_ROOM && has_headers(packet, level);
    if !whole || !vouched || !carried || !headers || packet.is_cut() || request.gso_size == 0 {
        return Shape::Bad;
    }
    match even(packet, request) {
        None => Shape::Bad,
        // The C6 of the field: a train of one is no train.
        Some(_) if request.count == 1 => Shape::Single,
        Some(even) => {
            let for_ports = even && meta.l4[index] == Csum::Partial;
            let for_ports = for_ports && (0..=index).all(|index| plain(packet, index));
            if for_ports { Shape::Even } else { Shape::Foreign }
        }
    }
}

/// The innermost level of the packet, if it is what the request says.
fn level_of(packet: &Packet, kind: SegKind) -> Option<&Level> {
    const UNKNOWABLE: MetaFlags = MetaFlags::FRAGMENT
        .union(MetaFlags::ODD_PSEUDO)
        .union(MetaFlags::OVERRUN)
        .union(MetaFlags::DEEPER);
    let meta = packet.meta();
    let odd = !meta.flags.contains(MetaFlags::PARSED) || meta.flags.intersects(UNKNOWABLE);
    if odd {
        return None;
    }
    let level = meta.layers.innermost()?;
    let kinds = match kind {
        SegKind::None => return None,
        SegKind::Tcp4 => (L3::V4, L4::Tcp),
        SegKind::Tcp6 => (L3::V6, L4::Tcp),
        SegKind::Udp4 => (L3::V4, L4::Udp),
        SegKind::Udp6 => (L3::V6, L4::Udp),
    };
    ((level.l3_kind, level.l4_kind) == kinds).then_some(level)
}

/// Whether the transport header ends where the payload starts. It need not be contiguous.
fn has_headers(packet: &Packet, level: &Level) -> bool {
    let Some(len) = level.payload.checked_sub(level.l4).map(usize::from) else { return false };
    if level.l4_kind == L4::Udp {
        return len == 8;
    }
    let l4 = u32::from(level.l4);
    let offset = packet.slices(l4 + 12, l4 + 13).next().and_then(|bytes| bytes.first());
    len >= TcpHeader::LEN && offset.is_some_and(|offset| usize::from(offset >> 4) * 4 == len)
}

/// Whether all segments but the last have the length asked for; `None` if the counts contradict each other.
fn even(packet: &Packet, request: Segmentation) -> Option<bool> {
    let (payload, size) = (packet.payload_len(), u32::from(request.gso_size));
    let count = u32::from(request.count);
    if !request.flags.contains(SegFlags::BY_PARTS) {
        return (payload > 0 && payload.div_ceil(size) == count).then_some(true);
    }
    let (mut found, mut sum, mut even) = (0, 0_u32, true);
    for piece in packet.pieces() {
        found += 1;
        sum = sum.saturating_add(piece.len);
        even &= piece.len == size || found == count && piece.len <= size;
        if piece.len == 0 {
            return None;
        }
    }
    (found == count && found > 0 && sum == payload).then_some(even)
}

/// Whether the transport header, or that of the tunnel, is the first behind the IP header's fixed part or options,
/// and the IPv4 header sum is known to be right or left to be made.
fn plain(packet: &Packet, index: usize) -> bool {
    let meta = packet.meta();
    let level = &meta.layers.levels[index];
    let l3 = usize::from(level.l3);
    let at = if level.l3_kind == L3::V6 { l3 + 6 } else { l3 + 9 };
    let next = packet.data().get(at).copied();
    let named = match (index, meta.layers.count, meta.layers.tunnel) {
        (0, 2, Tunnel::Gre) => next == Some(protocol::GRE),
        (0, 2, Tunnel::Ip) => next == Some(protocol::IPV4) || next == Some(protocol::IPV6),
        _ => next == Some(protocol::TCP) || next == Some(protocol::UDP),
    };
    named && (level.l3_kind == L3::V6 || network_is_sound(packet, index))
}

/// Whether computing the IPv4 header sum of a level anew repairs nothing: it is right, or the sender left it out
/// along with the length.
pub(super) fn network_is_sound(packet: &Packet, index: usize) -> bool {
    let l3 = usize::from(packet.meta().layers.levels[index].l3);
    let Some(header) = view::<Ipv4Header>(packet.data(), l3) else { return false };
    match packet.meta().l3[index] {
        Csum::Good => true,
        Csum::Bad | Csum::Partial => false,
        Csum::Unknown if header.total_length.get() == 0 => true,
        Csum::Unknown => {
            let bytes = packet.data().get(l3..l3 + header.header_len());
            bytes.is_some_and(|bytes| corelane_sum::Sum::of(bytes).is_valid())
        }
    }
}
