//! A header that came with a frame, turned into what the packet's meta says.
//!
//! It promises that whatever it returns lies within the frame and agrees with what it looked at of it; anything else
//! is an error. What is not worth an error is forgotten: a packet to be cut that fits into one segment is not to be
//! cut.

use super::{
    Agreed, ETHERNET_LEN, Flags, GsoType, Header, IPV4_LEN, IPV6_LEN, TCP_FIELD, TCP_LEN,
    UDP_FIELD, UDP_LEN, UDP_SEGMENTS_MAX, VnetError, word,
};
use corelane_runtime::packet::{Csum, Packet, Partial, SegFlags, SegKind, Segmentation};

const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
const TYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];
/// VLAN tags in front of an IP header that are looked behind.
const TAGS_MAX: u32 = 2;

/// What a header asks for, and says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Checksums to be finished. The first is that of the outermost level, unless the packet is one to be cut in a
    /// tunnel: then the second is what is inside, and the first that of the tunnel.
    pub partial: [Option<Partial>; 2],
    /// Checksums that were found right.
    pub good: [bool; 2],
    /// How the packet is to be cut, if it is.
    pub segmentation: Option<Segmentation>,
    /// The UDP destination port of the tunnel in which it is to be cut.
    pub tunnel_port: Option<u16>,
}

impl Request {
    /// Writes it into the meta of the packet that the frame has become.
    pub fn apply(&self, packet: &mut Packet) {
        if let Some(segmentation) = self.segmentation {
            packet.set_segmentation(segmentation);
        }
        let meta = packet.meta_mut();
        for level in 0..2 {
            if let Some(partial) = self.partial[level] {
                meta.request(level, partial);
            } else if self.good[level] {
                meta.l4[level] = Csum::Good;
            }
        }
    }
}

/// Reads the header of a frame of `len` bytes, of which `front` are the first: all of them, or enough for its headers.
///
/// # Errors
/// The first thing found that cannot be believed.
pub fn read(header: &Header, front: &[u8], len: u32, agreed: Agreed) -> Result<Request, VnetError> {
    if len < ETHERNET_LEN {
        return Err(VnetError::Runt);
    }
    let plain = header.flags.is_empty() && header.gso_type == GsoType::NONE;
    if plain {
        return Ok(Request::default());
    }
    Frame { front, len, agreed }.read(header)
}

/// What a header is held against.
struct Frame<'a> {
    front: &'a [u8],
    len: u32,
    agreed: Agreed,
}

/// The network header in front of what is asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    fn header_len(self) -> u32 {
        if self == Family::V4 { IPV4_LEN } else { IPV6_LEN }
    }
}

impl Frame<'_> {
    fn read(&self, header: &Header) -> Result<Request, VnetError> {
        let flags = header.flags;
        let known = Flags::NEEDS_CSUM | Flags::DATA_VALID | Flags::TUNNEL_CSUM;
        let tunnelled =
            header.gso_type.has(GsoType::TUNNEL4) || header.gso_type.has(GsoType::TUNNEL6);
        let needs = flags.contains(Flags::NEEDS_CSUM);
        let valid = flags.contains(Flags::DATA_VALID) && !needs;
        let two = flags.contains(Flags::TUNNEL_CSUM);
        let agreed_two = self.agreed.contains(Agreed::TUNNEL_CSUM);
        if !known.contains(flags) || two && !(agreed_two && (tunnelled || valid)) {
            return Err(VnetError::Flags);
        }
        let partial = if needs { Some(self.checksum(header)?) } else { None };
        let good = [valid, valid && two];
        let plain = Request { partial: [partial, None], good, ..Request::default() };
        if header.gso_type == GsoType::NONE {
            return Ok(plain);
        }
        let partial = partial.ok_or(VnetError::GsoChecksum)?;
        let segmentation = self.cut(header, partial, tunnelled)?;
        if !tunnelled {
            return Ok(Request { segmentation, ..plain });
        }
        if flags.contains(Flags::DATA_VALID) {
            return Err(VnetError::Flags);
        }
        let outer = header.outer_th_offset;
        let outer = two.then(|| Partial { start: outer, field: outer + UDP_FIELD });
        let tunnel_port = word(self.front, u32::from(header.outer_th_offset) + 2);
        Ok(Request { partial: [outer, Some(partial)], segmentation, tunnel_port, ..plain })
    }

    /// The checksum to be finished: behind an Ethernet and the shortest IP header, and within the frame.
    fn checksum(&self, header: &Header) -> Result<Partial, VnetError> {
        if !self.agreed.contains(Agreed::CSUM) {
            return Err(VnetError::Flags);
        }
        let (start, offset) = (u32::from(header.csum_start), u32::from(header.csum_offset));
        let field = start + offset;
        let within = field + 2 <= self.len && start >= ETHERNET_LEN + IPV4_LEN;
        match u16::try_from(field) {
            Ok(field) if within => Ok(Partial { start: header.csum_start, field }),
            _ => Err(VnetError::ChecksumPlace),
        }
    }

    /// How the packet is to be cut; `None` where it fits into one segment.
    fn cut(
        &self,
        header: &Header,
        partial: Partial,
        tunnelled: bool,
    ) -> Result<Option<Segmentation>, VnetError> {
        let family = if tunnelled { self.inside(header)? } else { self.outermost(partial)? };
        let kind = self.kind(header, family)?;
        let is_udp = header.gso_type.base() == GsoType::UDP;
        let (offset, shortest) = if is_udp { (UDP_FIELD, UDP_LEN) } else { (TCP_FIELD, TCP_LEN) };
        if header.csum_offset != offset {
            return Err(VnetError::GsoChecksum);
        }
        if matches!(header.gso_size, 0 | u16::MAX) {
            return Err(VnetError::GsoSize);
        }
        let start = u32::from(partial.start);
        let header_len = if is_udp { UDP_LEN } else { self.tcp_len(start)? };
        let behind = self.len.checked_sub(start + header_len.max(shortest));
        let payload = behind.ok_or(VnetError::Truncated)?;
        if payload <= u32::from(header.gso_size) {
            return Ok(None);
        }
        let count = payload.div_ceil(u32::from(header.gso_size));
        let most = if is_udp { UDP_SEGMENTS_MAX } else { u32::from(u16::MAX) };
        let count = u16::try_from(count).ok().filter(|&count| u32::from(count) <= most);
        let count = count.ok_or(VnetError::GsoSize)?;
        // IDs count up and CWR stays on the first: what every sender on Linux means.
        let flags = SegFlags::empty();
        Ok(Some(Segmentation { kind, gso_size: header.gso_size, count, flags }))
    }

    /// What is to be cut, held against what was agreed on and what the frame is.
    fn kind(&self, header: &Header, family: Family) -> Result<SegKind, VnetError> {
        let (kind, needed) = match (header.gso_type.base(), family) {
            (GsoType::TCP4, Family::V4) => (SegKind::Tcp4, Agreed::TSO4),
            (GsoType::TCP6, Family::V6) => (SegKind::Tcp6, Agreed::TSO6),
            (GsoType::UDP, Family::V4) => (SegKind::Udp4, Agreed::USO4),
            (GsoType::UDP, Family::V6) => (SegKind::Udp6, Agreed::USO6),
            (GsoType::NONE, _) if header.gso_type.has(GsoType::ECN) => return Err(VnetError::Ecn),
            _ => return Err(VnetError::GsoType),
        };
        if header.gso_type.has(GsoType::ECN) {
            let tcp = matches!(kind, SegKind::Tcp4 | SegKind::Tcp6);
            if !tcp || !self.agreed.contains(Agreed::TSO_ECN) {
                return Err(VnetError::Ecn);
            }
        }
        if self.agreed.contains(needed) { Ok(kind) } else { Err(VnetError::GsoType) }
    }

    /// Bytes of the TCP header at `start`, options included.
    fn tcp_len(&self, start: u32) -> Result<u32, VnetError> {
        let byte = self.front.get(start as usize + 12).ok_or(VnetError::Truncated)?;
        let len = u32::from(byte >> 4) * 4;
        if len < TCP_LEN { Err(VnetError::Truncated) } else { Ok(len) }
    }

    /// The outermost network header, in front of `partial`.
    fn outermost(&self, partial: Partial) -> Result<Family, VnetError> {
        let (family, l3) = self.network().ok_or(VnetError::GsoType)?;
        let behind = l3 + family.header_len();
        if u32::from(partial.start) < behind { Err(VnetError::ChecksumPlace) } else { Ok(family) }
    }

    /// The network header inside the tunnel, whose offsets must be in order.
    fn inside(&self, header: &Header) -> Result<Family, VnetError> {
        let [over4, over6] =
            [GsoType::TUNNEL4, GsoType::TUNNEL6].map(|bit| header.gso_type.has(bit));
        let agreed = self.agreed.contains(Agreed::TUNNEL);
        let (outer, l3) = self.network().ok_or(VnetError::Tunnel)?;
        if over4 == over6 || !agreed || over4 != (outer == Family::V4) {
            return Err(VnetError::Tunnel);
        }
        let transport = u32::from(header.outer_th_offset);
        let inner = u32::from(header.inner_nh_offset);
        let version = self.front.get(inner as usize).map(|byte| byte >> 4);
        let family = match version {
            Some(4) => Family::V4,
            Some(6) => Family::V6,
            _ => return Err(VnetError::Tunnel),
        };
        let ordered = transport >= l3 + outer.header_len()
            && inner >= transport + UDP_LEN
            && u32::from(header.csum_start) >= inner + family.header_len();
        if ordered { Ok(family) } else { Err(VnetError::Tunnel) }
    }

    /// The network header behind Ethernet and its tags.
    fn network(&self) -> Option<(Family, u32)> {
        let mut l3 = ETHERNET_LEN;
        for _ in 0..=TAGS_MAX {
            match word(self.front, l3 - 2)? {
                TYPE_IPV4 => return Some((Family::V4, l3)),
                TYPE_IPV6 => return Some((Family::V6, l3)),
                tag if TYPES_VLAN.contains(&tag) => l3 += 4,
                _ => return None,
            }
        }
        None
    }
}
