//! The header that says what a packet asks for.
//!
//! It promises that nothing is asked for that the packet does not ask for, and that [`super::read`] takes it for the
//! same again. Two checksums of a packet that is not to be cut are more than a header can say: the outer one follows
//! from headers, and is given back to be written into the frame.

use super::{
    Flags, GsoType, Header, IPV4_LEN, IPV6_LEN, TCP_FIELD, TCP_LEN, UDP_FIELD, UDP_LEN,
    UDP_SEGMENTS_MAX, Unsayable, word,
};
use corelane_runtime::packet::{Csum, L3, MetaFlags, Packet, Partial, SegFlags, SegKind, Tunnel};

/// Refinements of cutting that the header has no words for.
const UNSAID: SegFlags = SegFlags::FIXED_ID.union(SegFlags::PAD_LAST).union(SegFlags::PARTIAL);
/// Where the flags are in a TCP header, and CWR among them.
const TCP_FLAGS: (u32, u8) = (13, 0x80);

/// What goes in front of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// The header.
    pub header: Header,
    /// Offset of a UDP checksum to be written into the frame first, and its value.
    pub outer: Option<(u16, u16)>,
}

/// Says what a packet asks for. Its headers are contiguous, as every stage leaves them.
///
/// # Errors
/// What there are no words for.
pub fn write(packet: &Packet) -> Result<Outgoing, Unsayable> {
    let meta = packet.meta();
    if meta.l3.contains(&Csum::Partial) {
        return Err(Unsayable::HeaderChecksum);
    }
    let partials =
        [0, 1].map(|level| (meta.l4[level] == Csum::Partial).then(|| meta.partial[level]));
    match partials {
        [None, None] if !packet.is_super() => Ok(Outgoing::default()),
        _ if packet.is_super() => {
            let header = cut(packet, partials)?;
            Ok(Outgoing { header, outer: None })
        }
        [Some(outer), Some(inner)] => {
            let checksum = around(packet, outer, inner).ok_or(Unsayable::ChecksumPlace)?;
            let header = finish(packet, inner)?;
            Ok(Outgoing { header, outer: Some((outer.field, checksum)) })
        }
        [one, other] => {
            let header = one.or(other).map(|partial| finish(packet, partial)).transpose()?;
            Ok(Outgoing { header: header.unwrap_or_default(), outer: None })
        }
    }
}

/// A checksum to be finished.
fn finish(packet: &Packet, partial: Partial) -> Result<Header, Unsayable> {
    let Partial { start, field } = partial;
    let offset = field.checked_sub(start).ok_or(Unsayable::ChecksumPlace)?;
    let end = u32::from(field) + 2;
    if end > packet.len() {
        return Err(Unsayable::ChecksumPlace);
    }
    let (hdr_len, flags) = (headers(packet, end), Flags::NEEDS_CSUM);
    Ok(Header { flags, hdr_len, csum_start: start, csum_offset: offset, ..Header::default() })
}

/// The hint how many bytes are headers, of which `least` are.
fn headers(packet: &Packet, least: u32) -> u16 {
    let payload =
        packet.len().saturating_sub(packet.payload_len() + u32::from(packet.meta().trailer));
    let hint = if payload >= packet.len() { least } else { payload.max(least) };
    u16::try_from(hint).unwrap_or(0)
}

/// A packet to be cut.
fn cut(packet: &Packet, partials: [Option<Partial>; 2]) -> Result<Header, Unsayable> {
    let request = packet.segmentation();
    let cwr = |partial: Partial| {
        let (at, bit) = TCP_FLAGS;
        let at = u32::from(partial.start) + at;
        packet.data().get(at as usize).is_some_and(|flags| flags & bit != 0)
    };
    let (partial, tunnel) = match partials {
        [Some(plain), None] => (plain, None),
        [outer, Some(inner)] => (inner, Some(tunnel(packet, outer, inner)?)),
        [None, None] => return Err(Unsayable::ChecksumPlace),
    };
    let (base, offset, is_udp) = match request.kind {
        SegKind::Tcp4 => (GsoType::TCP4, TCP_FIELD, false),
        SegKind::Tcp6 => (GsoType::TCP6, TCP_FIELD, false),
        SegKind::Udp4 | SegKind::Udp6 => (GsoType::UDP, UDP_FIELD, true),
        SegKind::None => return Err(Unsayable::Segments),
    };
    let marked = !is_udp && cwr(partial);
    if request.flags.intersects(UNSAID) || request.flags.contains(SegFlags::CWR_ALL) && marked {
        return Err(Unsayable::Segments);
    }
    if u32::from(partial.field) != u32::from(partial.start) + u32::from(offset) {
        return Err(Unsayable::ChecksumPlace);
    }
    let payload = payload_at(packet, partial, is_udp).ok_or(Unsayable::ChecksumPlace)?;
    check_count(packet, payload, is_udp)?;
    let mut header = finish(packet, partial)?;
    header.hdr_len = u16::try_from(payload).map_err(|_| Unsayable::ChecksumPlace)?;
    header.gso_size = request.gso_size;
    header.gso_type = if marked { base.with(GsoType::ECN) } else { base };
    if let Some(tunnel) = tunnel {
        header.flags |= tunnel.flags;
        header.gso_type = header.gso_type.with(tunnel.gso_type);
        header.outer_th_offset = tunnel.outer_th_offset;
        header.inner_nh_offset = tunnel.inner_nh_offset;
    }
    Ok(header)
}

/// The first byte behind the transport header at `partial.start`.
fn payload_at(packet: &Packet, partial: Partial, is_udp: bool) -> Option<u32> {
    let start = u32::from(partial.start);
    if is_udp {
        return Some(start + UDP_LEN);
    }
    let len = u32::from(packet.data().get(start as usize + 12)? >> 4) * 4;
    (len >= TCP_LEN).then_some(start + len)
}

fn check_count(packet: &Packet, payload: u32, is_udp: bool) -> Result<(), Unsayable> {
    let (request, bytes) = (packet.segmentation(), packet.len().saturating_sub(payload));
    let size = u32::from(request.gso_size);
    if matches!(request.gso_size, 0 | u16::MAX) || bytes <= size {
        return Err(Unsayable::Count);
    }
    let (count, most) = (bytes.div_ceil(size), if is_udp { UDP_SEGMENTS_MAX } else { u32::MAX });
    if count == u32::from(request.count) && count <= most { Ok(()) } else { Err(Unsayable::Count) }
}

/// The tunnel around what is cut: only its own fields of the header are filled in.
fn tunnel(packet: &Packet, outer: Option<Partial>, inner: Partial) -> Result<Header, Unsayable> {
    let (meta, data) = (packet.meta(), packet.data());
    let [around, inside] = &meta.layers.levels;
    let is_udp = matches!(meta.layers.tunnel, Tunnel::Vxlan | Tunnel::Geneve);
    let tracked = meta.layers.count == 2 && !meta.flags.contains(MetaFlags::DEEPER);
    let (gso_type, shortest) = match around.l3_kind {
        L3::V4 => (GsoType::TUNNEL4, IPV4_LEN),
        L3::V6 => (GsoType::TUNNEL6, IPV6_LEN),
        L3::None => return Err(Unsayable::Tunnel),
    };
    let ordered = u32::from(around.l4) >= u32::from(around.l3) + shortest
        && u32::from(inside.l3) >= u32::from(around.l4) + UDP_LEN
        && inside.l4 == inner.start
        && inside.l4 > inside.l3;
    let field = around.l4.saturating_add(UDP_FIELD);
    let flags = match outer {
        Some(outer) if outer == (Partial { start: around.l4, field }) => Flags::TUNNEL_CSUM,
        None if word(data, u32::from(field)) == Some(0) => Flags::empty(),
        _ => return Err(Unsayable::Tunnel),
    };
    if !is_udp || !tracked || !ordered {
        return Err(Unsayable::Tunnel);
    }
    let (outer_th_offset, inner_nh_offset) = (around.l4, inside.l3);
    Ok(Header { flags, gso_type, outer_th_offset, inner_nh_offset, ..Header::default() })
}

/// The UDP checksum of a tunnel around a packet whose inner checksum the other side finishes. What that covers adds
/// up to the complement of its seed then, so headers are all that is read.
fn around(packet: &Packet, outer: Partial, inner: Partial) -> Option<u16> {
    let data = packet.data();
    let headers = data.get(usize::from(outer.start)..usize::from(inner.start))?;
    let seed = word(data, u32::from(inner.field))?;
    // The outer field holds its own seed, the pseudo header, so it is summed as it is.
    let field = word(data, u32::from(outer.field))
        .filter(|_| u32::from(outer.field) + 2 <= u32::from(inner.start));
    field?;
    // What begins at an odd place of the outer sum counts with its bytes swapped.
    let odd = headers.len() % 2 != 0;
    let mut sum = u64::from(if odd { (!seed).swap_bytes() } else { !seed });
    for pair in headers.chunks(2) {
        sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let checksum = !(sum as u16);
    Some(if checksum == 0 { 0xffff } else { checksum })
}
