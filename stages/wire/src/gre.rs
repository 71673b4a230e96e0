//! The GRE header (RFC 2784 with the key and sequence number of RFC 2890), and the ERSPAN headers
//! that may follow it.
//!
//! It promises layout and lengths of version 0. It does not read source routes (RFC 1701) or the
//! PPTP variant (version 1), which it only tells apart.

use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const VERSION: u16 = 0x0007;

/// The part every GRE header has, 4 bytes. By its flags there follow, 4 bytes each: checksum and
/// reserved bits, key, sequence number.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct GreHeader {
    /// Flags, reserved bits and version.
    pub flags: U16,
    /// EtherType of what is inside.
    pub protocol: U16,
}

impl GreHeader {
    /// Bytes of the part every header has.
    pub const LEN: usize = size_of::<GreHeader>();
    /// Offset of the checksum, where there is one.
    pub const CHECKSUM_AT: usize = 4;

    /// The first 4 bytes of a header with these of the optional fields.
    pub const fn new(protocol: u16, checksum: bool, key: bool, sequence: bool) -> GreHeader {
        let mut flags = 0;
        if checksum {
            flags |= CHECKSUM;
        }
        if key {
            flags |= KEY;
        }
        if sequence {
            flags |= SEQUENCE;
        }
        GreHeader { flags: U16::new(flags), protocol: U16::new(protocol) }
    }

    /// Version: 0, or 1 for PPTP (RFC 2637), whose header is another.
    #[inline]
    pub fn version(&self) -> u16 {
        self.flags.get() & VERSION
    }

    /// Whether a checksum over header and payload follows.
    #[inline]
    pub fn has_checksum(&self) -> bool {
        self.flags.get() & CHECKSUM != 0
    }

    /// Whether a source route follows (RFC 1701), which nobody uses any more.
    #[inline]
    pub fn has_routing(&self) -> bool {
        self.flags.get() & ROUTING != 0
    }

    /// Whether a key follows.
    #[inline]
    pub fn has_key(&self) -> bool {
        self.flags.get() & KEY != 0
    }

    /// Whether a sequence number follows.
    #[inline]
    pub fn has_sequence(&self) -> bool {
        self.flags.get() & SEQUENCE != 0
    }

    /// Bytes of the header of version 0 without a source route: 4 to 16.
    #[inline]
    pub fn header_len(&self) -> usize {
        let fields = self.flags.get() & (CHECKSUM | KEY | SEQUENCE);
        GreHeader::LEN + 4 * fields.count_ones() as usize
    }

    /// Where the key stands, from the start of the header, if there is one.
    #[inline]
    pub fn key_at(&self) -> Option<usize> {
        self.has_key().then(|| GreHeader::LEN + if self.has_checksum() { 4 } else { 0 })
    }
}

/// The header of ERSPAN type II, 8 bytes; a frame follows. Type I has none.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ErspanHeader {
    /// Version, 4 bits, and VLAN, 12 bits.
    pub version_and_vlan: U16,
    /// Class of service, encapsulation and truncation, 6 bits, and session, 10 bits.
    pub session: U16,
    /// Reserved, 12 bits, and port index, 20 bits.
    pub index: U32,
}

impl ErspanHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<ErspanHeader>();
}

/// The header of ERSPAN type III, 12 bytes; 8 more if the last bit says so, then a frame.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Erspan3Header {
    /// As in [`ErspanHeader::version_and_vlan`].
    pub version_and_vlan: U16,
    /// As in [`ErspanHeader::session`].
    pub session: U16,
    /// When the frame was seen.
    pub timestamp: U32,
    /// Security group.
    pub group: U16,
    /// Frame type, hardware, direction, granularity, and in the last bit whether 8 bytes follow.
    pub flags: U16,
}

impl Erspan3Header {
    /// Bytes of the part every header has.
    pub const LEN: usize = size_of::<Erspan3Header>();

    /// Bytes of the header with what its last bit announces: 12 or 20.
    #[inline]
    pub fn header_len(&self) -> usize {
        Erspan3Header::LEN + if self.flags.get() & 1 != 0 { 8 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const BYTES: [u8; 4] = [0x30, 0x00, 0x65, 0x58];

    #[test]
    fn deconstruct() {
        let header = view::<GreHeader>(&BYTES, 0).unwrap();
        assert!(header.has_key() && header.has_sequence());
        assert!(!header.has_checksum() && !header.has_routing());
        assert_eq!((header.version(), header.header_len(), header.key_at()), (0, 12, Some(4)));
        assert_eq!(header.protocol.get(), 0x6558);
        let all = view::<GreHeader>(&[0xf0, 0x01, 0x88, 0x0b], 0).unwrap();
        assert!(all.has_checksum() && all.has_routing());
        assert_eq!((all.version(), all.header_len(), all.key_at()), (1, 16, Some(8)));
        let plain = view::<GreHeader>(&[0, 0, 8, 0], 0).unwrap();
        assert_eq!((plain.header_len(), plain.key_at()), (4, None));
    }

    #[test]
    fn construct() {
        assert_eq!(GreHeader::new(0x6558, false, true, true).as_bytes(), BYTES);
        assert_eq!(GreHeader::new(0x0800, true, false, false).as_bytes(), [0x80, 0, 8, 0]);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 6];
        *view_mut(&mut bytes, 1).unwrap() = GreHeader::new(0x86dd, false, false, false);
        assert_eq!(bytes, [0xa5, 0, 0, 0x86, 0xdd, 0xa5]);
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<GreHeader>(&BYTES, 1), None);
        assert_eq!(view::<ErspanHeader>(&[0; 7], 0), None);
        assert_eq!(view::<Erspan3Header>(&[0; 11], 0), None);
    }

    #[test]
    fn erspan_of_type_three_has_two_lengths() {
        let mut bytes = [0; 12];
        assert_eq!(view::<Erspan3Header>(&bytes, 0).map(Erspan3Header::header_len), Some(12));
        bytes[11] = 1;
        assert_eq!(view::<Erspan3Header>(&bytes, 0).map(Erspan3Header::header_len), Some(20));
    }
}
