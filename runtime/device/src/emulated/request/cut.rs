//! How a superpacket is to be cut: as plain TCP or UDP, as TCP inside a tunnel that the device finds, or behind
//! headers that it repeats as they are.

use super::{
    Granted, Refusal, TCP_FIELD, UDP_FIELD, is_at, partials, simple_checksum, tunnel_bits,
};
use crate::headers::{Carrier, Family, Headers, Inside, TCP, UDP, be16};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Packet, Partial, SegFlags, SegKind};

/// A packet to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emulated) struct Cut {
    /// The level that is cut, the inner one of a tunnel. Where headers are repeated, only `l4` and `protocol` of it
    /// mean something.
    pub(in crate::emulated) headers: Headers,
    /// The level around it.
    pub(in crate::emulated) outer: Option<Outer>,
    /// Headers are repeated as they are, but for TCP and the outer ID.
    pub(in crate::emulated) repeats: bool,
    /// First byte behind the TCP or UDP header.
    pub(in crate::emulated) payload: usize,
    pub(in crate::emulated) gso_size: usize,
    pub(in crate::emulated) segments: usize,
    /// One IPv4 ID for all segments, in the level that is cut.
    pub(in crate::emulated) fixed_id: bool,
    /// It has CWR, which is the first segment's.
    pub(in crate::emulated) ecn: bool,
    /// It has CWR, which is every segment's.
    pub(in crate::emulated) cwr_all: bool,
    pub(in crate::emulated) pad_last: bool,
}

/// The outer level of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emulated) struct Outer {
    pub(in crate::emulated) headers: Headers,
    /// Where its checksum, that of UDP or GRE, is to be filled in each segment.
    pub(in crate::emulated) field: Option<usize>,
    /// One IPv4 ID for all segments.
    pub(in crate::emulated) fixed_id: bool,
}

impl Granted {
    pub(super) fn cut(&self, packet: &Packet, front: &[u8]) -> Result<Cut, Refusal> {
        let segmentation = packet.segmentation();
        self.check_kind(segmentation.kind)?;
        let outermost = Headers::parse(front).ok_or(Refusal::CutHeaders)?;
        let cut = match partials(packet) {
            _ if segmentation.flags.contains(SegFlags::PARTIAL) => {
                self.cut_repeating(packet, front, outermost)
            }
            [outer, Some(inner)] => self.cut_inside(packet, front, outermost, outer, inner),
            [one, None] => self.cut_plain(packet, front, outermost, one),
        }?;
        self.check_flags(&cut)?;
        self.check_size(packet, front, &cut)?;
        Ok(cut)
    }

    /// Outside any tunnel.
    fn cut_plain(
        &self,
        packet: &Packet,
        front: &[u8],
        headers: Headers,
        partial: Option<Partial>,
    ) -> Result<Cut, Refusal> {
        let partial = partial.ok_or(Refusal::CutHeaders)?;
        // The device is asked for TCP or UDP, and finds another protocol around it.
        if usize::from(partial.start) > headers.l4 {
            return Err(Refusal::Tunnel);
        }
        cut_of(packet, front, headers, partial).ok_or(Refusal::CutHeaders)
    }

    /// Inside a tunnel.
    fn cut_inside(
        &self,
        packet: &Packet,
        front: &[u8],
        headers: Headers,
        outer: Option<Partial>,
        inner: Partial,
    ) -> Result<Cut, Refusal> {
        let inside = headers.inside(front, &self.parses).ok_or(Refusal::Tunnel)?;
        let (bit, with_checksum) = tunnel_bits(inside.carrier);
        let kind = packet.segmentation().kind;
        if !self.caps.contains(bit) || !matches!(kind, SegKind::Tcp4 | SegKind::Tcp6) {
            return Err(Refusal::Cutting);
        }
        let numbered = matches!(inside.carrier, Carrier::Gre { sequence: true, .. });
        if numbered || (headers.options && headers.family == Family::V6) {
            return Err(Refusal::CutHeaders);
        }
        let field = outer_field(front, &headers, &inside, outer)?;
        if field.is_some() && !self.caps.contains(with_checksum) {
            return Err(Refusal::OuterChecksum);
        }
        let fixed_id = outer_fixed_id(packet, front, &headers)?;
        let cut = cut_of(packet, front, inside.headers, inner).ok_or(Refusal::CutHeaders)?;
        if cut.pad_last {
            return Err(Refusal::Padding);
        }
        let headers = Headers { end: packet.len() as usize, ..headers };
        Ok(Cut { outer: Some(Outer { headers, field, fixed_id }), ..cut })
    }

    /// Behind headers that are those of one segment already. The device need not find the tunnel: what is between
    /// the outer IP header and TCP it does not look at.
    fn cut_repeating(
        &self,
        packet: &Packet,
        front: &[u8],
        headers: Headers,
    ) -> Result<Cut, Refusal> {
        if !self.caps.contains(Caps::GSO_PARTIAL) {
            return Err(Refusal::Cutting);
        }
        let [None, Some(inner)] = partials(packet) else { return Err(Refusal::OuterChecksum) };
        let l4 = usize::from(inner.start);
        // A level of its own is in between, if only an IPv4 header.
        let has_room = l4 >= headers.l4 + 20;
        let tcp = Headers { l4, protocol: TCP, end: packet.len() as usize, ..headers };
        let cut = shape(packet, front, tcp).filter(|_| has_room && is_at(inner, l4, TCP_FIELD));
        let cut = cut.ok_or(Refusal::CutHeaders)?;
        let kind = packet.segmentation().kind;
        let one = cut.payload + cut.gso_size;
        if !matches!(kind, SegKind::Tcp4 | SegKind::Tcp6) || headers.end != one || cut.pad_last {
            return Err(Refusal::CutHeaders);
        }
        if !(packet.len() as usize - cut.payload).is_multiple_of(cut.gso_size.max(1)) {
            return Err(Refusal::SegmentCount);
        }
        let fixed_id = outer_fixed_id(packet, front, &headers)?;
        let outer = Some(Outer { headers, field: None, fixed_id });
        // Repeating is no counting, whatever is asked for.
        Ok(Cut { outer, repeats: true, fixed_id: false, ..cut })
    }

    fn check_kind(&self, kind: SegKind) -> Result<(), Refusal> {
        let bit = match kind {
            SegKind::None => return Err(Refusal::CutHeaders),
            SegKind::Tcp4 => Caps::TSO4,
            SegKind::Tcp6 => Caps::TSO6,
            SegKind::Udp4 => Caps::USO4,
            SegKind::Udp6 => Caps::USO6,
        };
        if self.caps.contains(bit) { Ok(()) } else { Err(Refusal::Cutting) }
    }

    fn check_flags(&self, cut: &Cut) -> Result<(), Refusal> {
        // One ID for all is granted for TCP only.
        let is_udp = cut.headers.protocol == UDP;
        if cut.fixed_id && (is_udp || !self.caps.contains(Caps::TSO_FIXED_ID)) {
            return Err(Refusal::FixedId);
        }
        if cut.ecn && !self.caps.contains(Caps::TSO_ECN) {
            return Err(Refusal::Ecn);
        }
        if cut.cwr_all && !self.caps.contains(Caps::TSO_CWR_ALL) {
            return Err(Refusal::CwrAll);
        }
        if cut.pad_last && !self.caps.contains(Caps::TSO_PAD) {
            return Err(Refusal::Padding);
        }
        Ok(())
    }

    fn check_size(&self, packet: &Packet, front: &[u8], cut: &Cut) -> Result<(), Refusal> {
        let limits = &self.limits;
        let payload = packet.len() as usize - cut.payload;
        let single = cut.gso_size == 0 || payload <= cut.gso_size;
        if single || payload.div_ceil(cut.gso_size) != cut.segments {
            return Err(Refusal::SegmentCount);
        }
        let long = packet.len() > limits.tso_bytes;
        let many = cut.segments > usize::from(limits.tso_segments);
        if long || many || cut.payload > usize::from(limits.header_len) {
            return Err(Refusal::Limits);
        }
        self.check_mtu(front, cut.payload + cut.gso_size)
    }
}

/// Whether all outer IPv4 headers are to have one ID: for that they must not be fragmented on their way.
fn outer_fixed_id(packet: &Packet, front: &[u8], outer: &Headers) -> Result<bool, Refusal> {
    const DF: u16 = 0x4000;
    let asked = packet.segmentation().flags.contains(SegFlags::OUTER_FIXED_ID);
    if !asked || outer.family == Family::V6 {
        return Ok(false);
    }
    let flags = be16(front, outer.l3 + 6).unwrap_or(0);
    if flags & DF == 0 { Err(Refusal::FixedId) } else { Ok(true) }
}

/// Where the checksum of the tunnel is that is to be filled, if one is. One that is there and not to be filled
/// would be wrong in every segment.
fn outer_field(
    front: &[u8],
    outer: &Headers,
    inside: &Inside,
    partial: Option<Partial>,
) -> Result<Option<usize>, Refusal> {
    const GRE_FIELD: usize = 4;
    let (offset, absent) = match inside.carrier {
        Carrier::Vxlan | Carrier::Geneve => {
            (UDP_FIELD, be16(front, outer.l4 + UDP_FIELD) == Some(0))
        }
        Carrier::Gre { checksum, .. } => (GRE_FIELD, !checksum),
        Carrier::Ip => (0, true),
    };
    match partial {
        None if absent => Ok(None),
        Some(partial) if offset > 0 && is_at(partial, outer.l4, offset) => {
            let without = matches!(inside.carrier, Carrier::Gre { checksum: false, .. });
            if without { Err(Refusal::OuterChecksum) } else { Ok(Some(outer.l4 + offset)) }
        }
        _ => Err(Refusal::OuterChecksum),
    }
}

/// The cut of the level with these headers that a superpacket asks for, if they are of its kind and its checksum
/// is partial. Lengths in its headers are not looked at: they may not hold that of a superpacket.
fn cut_of(packet: &Packet, front: &[u8], headers: Headers, partial: Partial) -> Option<Cut> {
    let headers = Headers { end: packet.len() as usize, ..headers };
    let (_, field) = simple_checksum(&headers)?;
    let kind = match (headers.protocol, headers.family) {
        (TCP, Family::V4) => SegKind::Tcp4,
        (TCP, Family::V6) => SegKind::Tcp6,
        (_, Family::V4) => SegKind::Udp4,
        (_, Family::V6) => SegKind::Udp6,
    };
    if kind != packet.segmentation().kind || !is_at(partial, headers.l4, field) {
        return None;
    }
    shape(packet, front, headers)
}

/// The cut behind the transport header at `headers.l4`, if that is whole.
fn shape(packet: &Packet, front: &[u8], headers: Headers) -> Option<Cut> {
    let start = headers.l4;
    let header_len =
        if headers.protocol == UDP { 8 } else { usize::from(front.get(start + 12)? >> 4) * 4 };
    let payload = start + header_len;
    if header_len < 8 || (headers.protocol == TCP && header_len < 20) || front.len() < payload {
        return None;
    }
    let has_cwr = headers.protocol == TCP && front[start + 13] & 0x80 != 0;
    let segmentation = packet.segmentation();
    let flags = segmentation.flags;
    Some(Cut {
        headers,
        outer: None,
        repeats: false,
        payload,
        gso_size: usize::from(segmentation.gso_size),
        segments: usize::from(segmentation.count),
        fixed_id: flags.contains(SegFlags::FIXED_ID) && headers.family == Family::V4,
        ecn: has_cwr && !flags.contains(SegFlags::CWR_ALL),
        cwr_all: flags.contains(SegFlags::CWR_ALL) && has_cwr,
        pad_last: flags.contains(SegFlags::PAD_LAST),
    })
}
