//! Whether a packet may take part in a merge at all, asked of the packet alone.
//!
//! It promises that a [`Segment`] is one whole TCP or UDP segment in one plain frame or tunnel, that every length in
//! it agrees with every other, and that its checksum fields are those that cutting would compute again. It
//! does not ask whether the checksums are right, nor whether the segment fits any other; but all that such
//! a question needs is read here, once, into numbers.

use super::counters::Ended;
use super::flow::FlowKey;
use super::tunnel;
use corelane_runtime::packet::{Meta, MetaFlags, Packet};
use corelane_wire::tcp::TcpFlags;

/// Bytes of the shortest Ethernet frame, without its check sequence; shorter ones are padded to it.
pub(super) const FRAME_MIN: u32 = 60;

/// No packet to be merged has more parts, so that the parts of a merge can be counted in 16 bits.
pub(super) const PARTS_MAX: u16 = 256;

/// Flags of which a packet to be merged has just the first.
pub(super) const CLEAN: MetaFlags = MetaFlags::PARSED;
/// Flags that say whether it does.
pub(super) const TELLING: MetaFlags = MetaFlags::PARSED
    .union(MetaFlags::FRAGMENT)
    .union(MetaFlags::ODD_PSEUDO)
    .union(MetaFlags::OVERRUN)
    .union(MetaFlags::DEEPER);

/// Flags of segments that are never merged.
const CONTROL: TcpFlags = TcpFlags::SYN.with(TcpFlags::RST).with(TcpFlags::URG);

/// A packet that may be merged, as numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    pub(super) places: Places,
    /// Payload bytes, at least 1.
    pub(super) payload: u16,
    /// The frame is padded with zeros to [`FRAME_MIN`].
    pub(super) padded: bool,
    /// IPv4 identification; 0 for IPv6.
    pub(super) id: u16,
    /// TCP flags; none for UDP.
    pub(super) flags: TcpFlags,
    /// TCP sequence number; 0 for UDP.
    pub(super) seq: u32,
    /// What must be equal in the fixed IP header, but for addresses.
    pub(super) network: u64,
    /// What must be equal in the fixed TCP header, but for ports: ack, window, urgent pointer.
    pub(super) transport: u64,
}

/// Where the headers of a segment start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The IP header.
    pub(super) l3: u16,
    /// The TCP or UDP header.
    pub(super) l4: u16,
    /// The payload.
    pub(super) payload: u16,
}

/// The bits of [`Segment::transport`] that hold the window.
pub(super) const WINDOW: u64 = 0xffff << 16;

/// Whether a packet of the flow `key` may be merged, and then what it is as a segment; if not, what that means
/// for a merge in progress. (Filled in place: a copy right after so many small writes would wait for them.)
pub(super) fn read(packet: &Packet, key: &FlowKey, segment: &mut Segment) -> Result<(), Ended> {
    let meta = packet.meta();
    let index = key.level();
    let clean = meta.flags.intersection(TELLING) == CLEAN;
    let clean = clean && usize::from(meta.layers.count) == index + 1;
    let whole = meta.orig_len == packet.len() && packet.part_count() <= PARTS_MAX;
    let level = &meta.layers.levels[index];
    let places = Places { l3: level.l3, l4: level.l4, payload: level.payload };
    let end = u32::from(places.payload) + packet.payload_len();
    let agree = end + u32::from(meta.trailer) == packet.len();
    let at_hand = packet.data().len() >= usize::from(places.payload);
    let Ok(payload @ 1..) = u16::try_from(packet.payload_len()) else { return Err(Ended::Unfit) };
    if !(clean && whole && agree && at_hand) {
        return Err(Ended::Unfit);
    }
    segment.places = places;
    segment.payload = payload;
    if key.is_tunnelled() {
        tunnel::read(packet, end)?;
    }
    segment.padded = meta.trailer > 0 && padding(packet, meta, end)?;
    let data = packet.data();
    let datagram = end - u32::from(places.l3);
    let network = if key.is_v6() { v6(data, segment) } else { v4(data, segment) };
    if network != Some(datagram) {
        return Err(Ended::Unfit);
    }
    if key.is_udp() { udp(data, segment) } else { tcp(data, segment) }
}

/// Padding that can be put back: zeros up to the length of the shortest frame.
#[cold]
fn padding(packet: &Packet, meta: &Meta, end: u32) -> Result<bool, Ended> {
    let zeros = || packet.slices(end, FRAME_MIN).flatten().all(|&byte| byte == 0);
    let shortest = packet.len() == FRAME_MIN && meta.trailer < FRAME_MIN as u16;
    if shortest && zeros() { Ok(true) } else { Err(Ended::Unfit) }
}

/// The `N` bytes of `data` from `at` on.
fn bytes<const N: usize>(data: &[u8], at: u16) -> Option<&[u8; N]> {
    data.get(usize::from(at)..)?.first_chunk()
}

fn be16(high: u8, low: u8) -> u16 {
    u16::from_be_bytes([high, low])
}

fn be32(bytes: [u8; 4]) -> u64 {
    u64::from(u32::from_be_bytes(bytes))
}

/// Reads the IPv4 header; gives the length of the datagram, 0 where its header sum is of a form that would
/// not be computed again.
fn v4(data: &[u8], segment: &mut Segment) -> Option<u32> {
    let ip: &[u8; 12] = bytes(data, segment.places.l3)?;
    segment.id = be16(ip[4], ip[5]);
    // Version, header length, TOS; flags, TTL, protocol.
    segment.network = u64::from(be16(ip[0], ip[1])) << 32 | be32([ip[6], ip[7], ip[8], ip[9]]);
    let length = if [ip[10], ip[11]] == [0xff, 0xff] { 0 } else { be16(ip[2], ip[3]) };
    Some(u32::from(length))
}

/// Reads the IPv6 header; gives the length of the datagram.
fn v6(data: &[u8], segment: &mut Segment) -> Option<u32> {
    const FIXED: u32 = 40;
    let ip: &[u8; 8] = bytes(data, segment.places.l3)?;
    // Version, class and label; next header, hop limit.
    segment.network = be32([ip[0], ip[1], ip[2], ip[3]]) << 16 | u64::from(be16(ip[6], ip[7]));
    Some(u32::from(be16(ip[4], ip[5])) + FIXED)
}

fn tcp(data: &[u8], segment: &mut Segment) -> Result<(), Ended> {
    let Places { l4, payload, .. } = segment.places;
    let tcp: &[u8; 20] = bytes(data, l4).ok_or(Ended::Unfit)?;
    let flags = TcpFlags::from_bits(be16(tcp[12], tcp[13]));
    if flags.intersects(CONTROL) {
        return Err(Ended::Flags);
    }
    segment.flags = flags;
    segment.seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
    let (window, urgent) = (be16(tcp[14], tcp[15]), be16(tcp[18], tcp[19]));
    let ack = be32([tcp[8], tcp[9], tcp[10], tcp[11]]);
    segment.transport = ack << 32 | u64::from(window) << 16 | u64::from(urgent);
    // 0xFFFF is a valid form of 0 that no computation gives (RFC 1071 arithmetic): it could not be restored.
    let restorable = [tcp[16], tcp[17]] != [0xff, 0xff];
    let header_len = u32::from(tcp[12] >> 4) * 4;
    let sound = header_len >= 20 && u32::from(l4) + header_len == u32::from(payload);
    if restorable && sound { Ok(()) } else { Err(Ended::Unfit) }
}

fn udp(data: &[u8], segment: &Segment) -> Result<(), Ended> {
    const FIXED: u32 = 8;
    let udp: &[u8; 8] = bytes(data, segment.places.l4).ok_or(Ended::Unfit)?;
    let length = u32::from(be16(udp[4], udp[5])) == u32::from(segment.payload) + FIXED;
    let place = u32::from(segment.places.l4) + FIXED == u32::from(segment.places.payload);
    // 0 says that there is no checksum (RFC 768); cutting would have to make one up.
    let checksum = [udp[6], udp[7]] != [0, 0];
    if length && place && checksum { Ok(()) } else { Err(Ended::Unfit) }
}
