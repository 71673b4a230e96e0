//! Reads what a packet asks of the transmit hardware, and holds it against what the port granted.
//!
//! A NIC does not repair a request it cannot serve, and does not guess. Whatever goes beyond the granted
//! capabilities and limits, or contradicts the packet's own headers, is refused with a reason; the packet is
//! then lost and counted. A test over this port asserts that nothing was refused.

use crate::headers::{Family, Headers, TCP, UDP};
use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::{Csum, Packet, Partial, SegFlags, SegKind};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is to be done to a packet before it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Nothing.
    Nothing,
    /// Finish one checksum.
    Finish(Finish),
    /// Cut it into segments.
    Cut(Cut),
}

/// A checksum to be finished: the sum of `start..end`, complemented, goes to `field`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finish {
    pub(super) start: usize,
    pub(super) field: usize,
    pub(super) end: usize,
}

/// A packet to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) headers: Headers,
    /// First byte behind the TCP or UDP header.
    pub(super) payload: usize,
    pub(super) gso_size: usize,
    pub(super) segments: usize,
    pub(super) fixed_id: bool,
    /// It has CWR, which is the first segment's.
    pub(super) ecn: bool,
    /// It has CWR, which is every segment's.
    pub(super) cwr_all: bool,
    pub(super) pad_last: bool,
}

/// Why a packet was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Refusal {
    /// Several parts, without `MULTI_PART`.
    Parts,
    /// A partial checksum that no granted bit covers.
    Checksum,
    /// More than one partial checksum at once.
    TwoChecksums,
    /// A partial checksum with its start or field outside the packet, or not those of the header there.
    ChecksumPlace,
    /// Anything asked for a frame of which the capture lacks bytes.
    Incomplete,
    /// A superpacket of a kind that is not granted.
    Cutting,
    /// One ID for all segments, without `TSO_FIXED_ID`.
    FixedId,
    /// CWR on the first segment, without `TSO_ECN`.
    Ecn,
    /// CWR on all segments, without `TSO_CWR_ALL`.
    CwrAll,
    /// Padding of the last segment, without `TSO_PAD`.
    Padding,
    /// A superpacket whose headers are not those of its kind, or whose checksum is not partial.
    CutHeaders,
    /// A superpacket of one segment, or of another number of segments than it says.
    SegmentCount,
    /// A superpacket over the limits of bytes, segments or header length.
    Limits,
    /// A frame with more than the MTU behind its Ethernet header and VLAN tags.
    OverMtu,
}

impl Refusal {
    /// All of them, in the order of their numbers.
    pub const ALL: [Refusal; 14] = [
        Refusal::Parts,
        Refusal::Checksum,
        Refusal::TwoChecksums,
        Refusal::ChecksumPlace,
        Refusal::Incomplete,
        Refusal::Cutting,
        Refusal::FixedId,
        Refusal::Ecn,
        Refusal::CwrAll,
        Refusal::Padding,
        Refusal::CutHeaders,
        Refusal::SegmentCount,
        Refusal::Limits,
        Refusal::OverMtu,
    ];

    /// The name it is counted under in the report of the queue.
    pub fn drop_name(self) -> &'static str {
        if self == Refusal::OverMtu { "over_mtu" } else { "unsupported_request" }
    }
}

/// How often each [`Refusal`] happened on a port, all its queues together.
#[derive(Debug, Default)]
pub struct Refusals([AtomicU64; Refusal::ALL.len()]);

impl Refusals {
    pub(super) fn count(&self, refusal: Refusal) {
        self.0[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often this one happened.
    pub fn of(&self, refusal: Refusal) -> u64 {
        self.0[refusal as usize].load(Ordering::Relaxed)
    }

    /// All together; 0 says that nobody asked for anything that was not granted.
    pub fn total(&self) -> u64 {
        Refusal::ALL.iter().map(|&refusal| self.of(refusal)).sum()
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = Refusal::ALL.iter().map(|&refusal| (refusal, self.of(refusal)));
        let happened = counts.filter(|&(_, count)| count > 0);
        f.debug_map().entries(happened).finish()
    }
}

/// What a device may be asked, and how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granted {
    pub(super) caps: Caps,
    pub(super) limits: Limits,
}

impl Granted {
    /// Reads the request of a packet that starts with the bytes `front`: all of it, or enough for headers.
    pub(super) fn read(&self, packet: &Packet, front: &[u8]) -> Result<Work, Refusal> {
        if packet.part_count() > 1 && !self.caps.contains(Caps::MULTI_PART) {
            return Err(Refusal::Parts);
        }
        let mut partials = partials(packet);
        let partial = partials.next();
        if partials.next().is_some() {
            return Err(Refusal::TwoChecksums);
        }
        let asks = packet.is_super() || partial.is_some();
        if asks && packet.is_cut() && !packet.is_super() {
            return Err(Refusal::Incomplete);
        }
        if packet.is_super() {
            return self.cut(packet, front, partial).map(Work::Cut);
        }
        self.check_mtu(front, packet.len() as usize)?;
        match partial {
            None => Ok(Work::Nothing),
            Some(partial) => self.finish(packet, front, partial).map(Work::Finish),
        }
    }

    /// Whether a frame of `len` bytes may be sent.
    fn check_mtu(&self, front: &[u8], len: usize) -> Result<(), Refusal> {
        let Some(mtu) = self.limits.mtu else { return Ok(()) };
        let link = Headers::parse(front).map_or(14, |headers| headers.l3);
        if len > link + mtu as usize { Err(Refusal::OverMtu) } else { Ok(()) }
    }

    fn finish(&self, packet: &Packet, front: &[u8], partial: Partial) -> Result<Finish, Refusal> {
        let headers = Headers::parse(front);
        let len = packet.len() as usize;
        let (start, field) = (usize::from(partial.start), usize::from(partial.field));
        // Padding and trailers behind the datagram are not part of it.
        let end = headers.map(|headers| headers.end).filter(|&end| end <= len).unwrap_or(len);
        let finish = Finish { start, field, end };
        if field < start || field + 2 > end {
            return Err(Refusal::ChecksumPlace);
        }
        if self.caps.contains(Caps::TX_GENERIC) {
            return Ok(finish);
        }
        let headers = headers.ok_or(Refusal::Checksum)?;
        let Some((bit, offset)) = simple_checksum(&headers) else { return Err(Refusal::Checksum) };
        if !self.caps.contains(bit) {
            return Err(Refusal::Checksum);
        }
        let in_place = start == headers.l4 && field == headers.l4 + offset;
        if in_place { Ok(finish) } else { Err(Refusal::ChecksumPlace) }
    }

    fn cut(&self, packet: &Packet, front: &[u8], partial: Option<Partial>) -> Result<Cut, Refusal> {
        let segmentation = packet.segmentation();
        self.check_kind(segmentation.kind)?;
        let cut = cut_of(packet, front, partial).ok_or(Refusal::CutHeaders)?;
        self.check_flags(&cut)?;
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
        self.check_mtu(front, cut.payload + cut.gso_size)?;
        Ok(cut)
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
}

/// The checksums that are still to be finished.
fn partials(packet: &Packet) -> impl Iterator<Item = Partial> {
    let meta = packet.meta();
    let levels = meta.l4.iter().zip(meta.partial);
    levels.filter(|(state, _)| **state == Csum::Partial).map(|(_, partial)| partial)
}

/// The capability bit for a plain TCP or UDP checksum, and where the field is in the header. Devices that know
/// protocols do not look behind IPv6 extension headers.
fn simple_checksum(headers: &Headers) -> Option<(Caps, usize)> {
    if headers.fragment || (headers.options && headers.family == Family::V6) {
        return None;
    }
    match (headers.protocol, headers.family) {
        (TCP, Family::V4) => Some((Caps::TX_TCP4, 16)),
        (TCP, Family::V6) => Some((Caps::TX_TCP6, 16)),
        (UDP, Family::V4) => Some((Caps::TX_UDP4, 6)),
        (UDP, Family::V6) => Some((Caps::TX_UDP6, 6)),
        _ => None,
    }
}

/// The cut that a superpacket asks for, if its headers are of its kind and its checksum is partial. Lengths in
/// its headers are not looked at: they may not hold that of a superpacket.
fn cut_of(packet: &Packet, front: &[u8], partial: Option<Partial>) -> Option<Cut> {
    let segmentation = packet.segmentation();
    let headers = Headers { end: packet.len() as usize, ..Headers::parse(front)? };
    let (_, field) = simple_checksum(&headers)?;
    let kind = match (headers.protocol, headers.family) {
        (TCP, Family::V4) => SegKind::Tcp4,
        (TCP, Family::V6) => SegKind::Tcp6,
        (_, Family::V4) => SegKind::Udp4,
        (_, Family::V6) => SegKind::Udp6,
    };
    let start = headers.l4;
    let place = partial.map(|partial| (usize::from(partial.start), usize::from(partial.field)));
    if kind != segmentation.kind || place != Some((start, start + field)) {
        return None;
    }
    let header_len =
        if headers.protocol == UDP { 8 } else { usize::from(front.get(start + 12)? >> 4) * 4 };
    let payload = start + header_len;
    if header_len < 8 || (headers.protocol == TCP && header_len < 20) || front.len() < payload {
        return None;
    }
    let has_cwr = headers.protocol == TCP && front[start + 13] & 0x80 != 0;
    let flags = segmentation.flags;
    Some(Cut {
        headers,
        payload,
        gso_size: usize::from(segmentation.gso_size),
        segments: usize::from(segmentation.count),
        fixed_id: flags.contains(SegFlags::FIXED_ID) && headers.family == Family::V4,
        ecn: has_cwr && !flags.contains(SegFlags::CWR_ALL),
        cwr_all: flags.contains(SegFlags::CWR_ALL) && has_cwr,
        pad_last: flags.contains(SegFlags::PAD_LAST),
    })
}
