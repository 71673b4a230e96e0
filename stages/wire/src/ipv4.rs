//! The IPv4 header (RFC 791), options included in its length but not looked into.
//!
//! It promises bit fields by name and units in bytes. It does not check the header sum, nor that a
//! field is plausible.

use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;

/// The fixed part of an IPv4 header, 20 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ipv4Header {
    /// Version (4 bits) and header length in 32-bit words (4 bits).
    pub version_ihl: u8,
    /// Differentiated services (6 bits) and ECN (2 bits).
    pub tos: u8,
    /// Bytes of the datagram with this header; 0 in packets too long for it (BIG TCP, TSO
    /// captures).
    pub total_length: U16,
    /// Identification.
    pub id: U16,
    /// Reserved, DF, MF (3 bits), fragment offset in units of 8 bytes (13 bits).
    pub flags_offset: U16,
    /// Time to live.
    pub ttl: u8,
    /// What follows ([`crate::protocol`]).
    pub protocol: u8,
    /// Header checksum, options included.
    pub checksum: U16,
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
}

impl Ipv4Header {
    /// Bytes of the header without options.
    pub const LEN: usize = size_of::<Ipv4Header>();
    /// Bytes of the longest header.
    pub const LEN_MAX: usize = 60;
    /// Offset of the checksum field.
    pub const CHECKSUM_AT: usize = 10;

    /// Version; 4 if this is IPv4.
    #[inline]
    pub fn version(&self) -> u8 {
        self.version_ihl >> 4
    }

    /// Bytes of the header with options, 0..=60. Less than [`Ipv4Header::LEN`] is malformed.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.version_ihl & 0x0f) * 4
    }

    /// ECN field (RFC 3168), 0..=3.
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.tos & 0x03
    }

    /// DF.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.flags_offset.get() & DONT_FRAGMENT != 0
    }

    /// MF.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.flags_offset.get() & MORE_FRAGMENTS != 0
    }

    /// Where this fragment's payload belongs, in bytes, a multiple of 8.
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        (self.flags_offset.get() & 0x1fff) << 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const BYTES: [u8; 20] = [
        0x46, 0xb9, 0x05, 0xdc, 0x12, 0x34, 0x60, 0x03, 0x40, 0x06, 0xab, 0xcd, 192, 0, 2, 1, 198,
        51, 100, 2,
    ];

    fn value() -> Ipv4Header {
        Ipv4Header {
            version_ihl: 0x46,
            tos: 0xb9,
            total_length: U16::new(1500),
            id: U16::new(0x1234),
            flags_offset: U16::new(0x6003),
            ttl: 64,
            protocol: crate::protocol::TCP,
            checksum: U16::new(0xabcd),
            src: [192, 0, 2, 1],
            dst: [198, 51, 100, 2],
        }
    }

    #[test]
    fn deconstruct() {
        let header = view::<Ipv4Header>(&BYTES, 0).unwrap();
        assert_eq!(header, &value());
        assert_eq!((header.version(), header.header_len(), header.ecn()), (4, 24, 1));
        assert!(header.dont_fragment() && header.more_fragments());
        assert_eq!(header.fragment_offset(), 24);
    }

    #[test]
    fn construct() {
        assert_eq!(value().as_bytes(), BYTES);
        assert_eq!(value().as_bytes()[Ipv4Header::CHECKSUM_AT..][..2], [0xab, 0xcd]);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 22];
        *view_mut(&mut bytes, 1).unwrap() = value();
        assert_eq!(bytes[1..21], BYTES);
        assert_eq!((bytes[0], bytes[21]), (0xa5, 0xa5));
    }

    #[test]
    fn too_short_and_extremes() {
        assert_eq!(view::<Ipv4Header>(&BYTES, 1), None);
        let ones = view::<Ipv4Header>(&[0xff; 20], 0).unwrap();
        assert_eq!((ones.version(), ones.header_len()), (15, Ipv4Header::LEN_MAX));
        assert_eq!(ones.fragment_offset(), 65_528);
        let zeros = view::<Ipv4Header>(&[0; 20], 0).unwrap();
        assert!(!zeros.dont_fragment() && !zeros.more_fragments());
        assert_eq!((zeros.header_len(), zeros.fragment_offset()), (0, 0));
    }
}
