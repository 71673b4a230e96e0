//! The IPv6 header and the extension headers that stand before an upper layer (RFC 8200).
//!
//! It promises layouts, lengths in bytes, and the options of a hop-by-hop or destination header one
//! by one. It does not walk the chain: that is [`crate::layers()`].

use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Option type of the jumbo payload length (RFC 2675 section 2): data is the 32-bit payload length.
pub const JUMBO_OPTION: u8 = 0xc2;
/// Option type of the home address (RFC 6275 section 6.3): data is the address that stands for the
/// source.
pub const HOME_ADDRESS_OPTION: u8 = 0xc9;
/// Routing type of the deprecated source route (RFC 5095).
pub const ROUTING_SOURCE: u8 = 0;
/// Routing type of mobile IPv6 (RFC 6275 section 6.4).
pub const ROUTING_MOBILE: u8 = 2;
/// Routing type of segment routing (RFC 8754).
pub const ROUTING_SEGMENT: u8 = 4;

/// The IPv6 header, 40 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ipv6Header {
    /// Version (4 bits), traffic class (8 bits), flow label (20 bits).
    pub version_class_flow: U32,
    /// Bytes after this header; 0 with a jumbo option, or in packets too long for it (BIG TCP).
    pub payload_length: U16,
    /// What follows ([`crate::protocol`]).
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: [u8; 16],
    /// Destination address.
    pub dst: [u8; 16],
}

impl Ipv6Header {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<Ipv6Header>();
    /// Offset of the source address; the destination follows it.
    pub const SRC_AT: usize = 8;
    /// Offset of the destination address.
    pub const DST_AT: usize = 24;

    /// The first four bytes from their fields. Bits of `flow_label` above 20 are cut off.
    pub const fn first_word(traffic_class: u8, flow_label: u32) -> U32 {
        U32::new(6 << 28 | (traffic_class as u32) << 20 | flow_label & 0x000f_ffff)
    }

    /// Version; 6 if this is IPv6.
    #[inline]
    pub fn version(&self) -> u8 {
        (self.version_class_flow.get() >> 28) as u8
    }

    /// Differentiated services and ECN.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (self.version_class_flow.get() >> 20) as u8
    }

    /// ECN field (RFC 3168), 0..=3.
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.traffic_class() & 0x03
    }

    /// Flow label, 20 bits.
    #[inline]
    pub fn flow_label(&self) -> u32 {
        self.version_class_flow.get() & 0x000f_ffff
    }
}

/// The first 8 bytes that hop-by-hop, routing, destination, mobility, HIP and Shim6 headers share.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ExtensionHeader {
    /// What follows ([`crate::protocol`]).
    pub next_header: u8,
    /// Length in units of 8 bytes, the first 8 not counted.
    pub units: u8,
    /// In a routing header: its type. Otherwise the start of the body.
    pub routing_type: u8,
    /// In a routing header: addresses still to visit. Otherwise the second byte of the body.
    pub segments_left: u8,
    /// The rest of the first 8 bytes.
    pub rest: [u8; 4],
}

impl ExtensionHeader {
    /// Bytes of the shortest header.
    pub const LEN: usize = size_of::<ExtensionHeader>();

    /// Bytes of the whole header, 8..=2048.
    #[inline]
    pub fn header_len(&self) -> usize {
        (usize::from(self.units) + 1) * 8
    }
}

/// A fragment header, 8 bytes (RFC 8200 section 4.5).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct FragmentHeader {
    /// What follows in the first fragment ([`crate::protocol`]).
    pub next_header: u8,
    /// Reserved.
    pub reserved: u8,
    /// Offset in units of 8 bytes (13 bits), reserved (2), more fragments (1).
    pub offset_more: U16,
    /// Identification.
    pub id: U32,
}

impl FragmentHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<FragmentHeader>();

    /// Where this fragment belongs, in bytes, a multiple of 8.
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        self.offset_more.get() & 0xfff8
    }

    /// Whether more fragments follow.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.offset_more.get() & 1 != 0
    }
}

/// The fixed part of an authentication header, 12 bytes (RFC 4302), in IPv4 as well.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AuthenticationHeader {
    /// What follows ([`crate::protocol`]).
    pub next_header: u8,
    /// Length in units of 4 bytes, minus 2.
    pub units: u8,
    /// Reserved.
    pub reserved: U16,
    /// Security parameters index.
    pub spi: U32,
    /// Sequence number.
    pub sequence: U32,
}

impl AuthenticationHeader {
    /// Bytes of the fixed part.
    pub const LEN: usize = size_of::<AuthenticationHeader>();

    /// Bytes of the whole header, 8..=1028. Less than [`AuthenticationHeader::LEN`] is malformed.
    #[inline]
    pub fn header_len(&self) -> usize {
        (usize::from(self.units) + 2) * 4
    }
}

/// The options of a hop-by-hop or destination header, as (offset of the data in `header`, type,
/// data). `header` is the whole extension header. Padding is skipped; the first option that does
/// not fit ends the walk.
pub fn options(header: &[u8]) -> impl Iterator<Item = (usize, u8, &[u8])> {
    let mut at = 2;
    core::iter::from_fn(move || {
        while header.get(at) == Some(&0) {
            at += 1;
        }
        let (kind, len) = (*header.get(at)?, usize::from(*header.get(at + 1)?));
        let data_at = at + 2;
        let data = header.get(data_at..data_at + len)?;
        at = data_at + len;
        Some((data_at, kind, data))
    })
}

#[cfg(test)]
mod tests;
