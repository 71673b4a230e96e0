//! The Geneve header (RFC 8926) and the UDP port by which it is known.
//!
//! It promises the layout of the fixed header and where the options end. It does not say what an
//! option means: [`options`] gives them one by one.

use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// UDP destination port (RFC 8926 section 3.3).
pub const PORT: u16 = 6081;

/// The most bytes of options there can be.
pub const OPTIONS_MAX: usize = 63 * 4;

const CONTROL: u8 = 0x80;
const CRITICAL: u8 = 0x40;

/// The fixed part of a Geneve header, 8 bytes; options and then the inner packet follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct GeneveHeader {
    /// Version, 2 bits, and length of the options in 4-byte words, 6 bits.
    pub version_and_length: u8,
    /// Control and critical bits, and reserved ones.
    pub flags: u8,
    /// EtherType of the inner packet.
    pub protocol: U16,
    /// Network identifier, 24 bits.
    pub vni: [u8; 3],
    /// Reserved.
    pub reserved: u8,
}

impl GeneveHeader {
    /// Bytes of the fixed part.
    pub const LEN: usize = size_of::<GeneveHeader>();

    /// A header without options before an inner packet of this EtherType. Bits of `vni` above 24
    /// are cut off.
    pub const fn new(vni: u32, protocol: u16) -> GeneveHeader {
        let [_, high, middle, low] = vni.to_be_bytes();
        GeneveHeader {
            version_and_length: 0,
            flags: 0,
            protocol: U16::new(protocol),
            vni: [high, middle, low],
            reserved: 0,
        }
    }

    /// Version; 0 is the only one there is.
    #[inline]
    pub fn version(&self) -> u8 {
        self.version_and_length >> 6
    }

    /// Bytes of fixed part and options: 8 to 260.
    #[inline]
    pub fn header_len(&self) -> usize {
        GeneveHeader::LEN + usize::from(self.version_and_length & 0x3f) * 4
    }

    /// Whether it carries a message of the tunnel's ends to each other (bit O).
    #[inline]
    pub fn is_control(&self) -> bool {
        self.flags & CONTROL != 0
    }

    /// Whether an option must be understood by who takes the header off (bit C).
    #[inline]
    pub fn has_critical(&self) -> bool {
        self.flags & CRITICAL != 0
    }

    /// Network identifier.
    #[inline]
    pub fn vni(&self) -> u32 {
        let [high, middle, low] = self.vni;
        u32::from_be_bytes([0, high, middle, low])
    }
}

/// One Geneve option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneveOption<'a> {
    /// Who defines the type.
    pub class: u16,
    /// Type; the high bit says that it is critical.
    pub kind: u8,
    /// Its data, a multiple of 4 bytes.
    pub data: &'a [u8],
}

/// The options of a header, from the bytes between its fixed part and the inner packet. Ends before
/// an option that does not fit.
pub fn options(bytes: &[u8]) -> impl Iterator<Item = GeneveOption<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&[high, low, kind, length], after) = rest.split_first_chunk()?;
        let (data, after) = after.split_at_checked(usize::from(length & 0x1f) * 4)?;
        rest = after;
        Some(GeneveOption { class: u16::from_be_bytes([high, low]), kind, data })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const BYTES: [u8; 8] = [0x02, 0x40, 0x65, 0x58, 0x12, 0x34, 0x56, 0];

    #[test]
    fn deconstruct() {
        let header = view::<GeneveHeader>(&BYTES, 0).unwrap();
        assert_eq!((header.version(), header.header_len(), header.vni()), (0, 16, 0x12_3456));
        assert!(header.has_critical() && !header.is_control());
        assert_eq!(header.protocol.get(), 0x6558);
        let full = view::<GeneveHeader>(&[0xff; 8], 0).unwrap();
        assert_eq!((full.version(), full.header_len()), (3, 8 + OPTIONS_MAX));
        assert!(full.is_control());
    }

    #[test]
    fn construct() {
        let header = GeneveHeader {
            version_and_length: 2,
            flags: 0x40,
            ..GeneveHeader::new(0xff12_3456, 0x6558)
        };
        assert_eq!(header.as_bytes(), BYTES);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 10];
        *view_mut(&mut bytes, 1).unwrap() = GeneveHeader::new(1, 0x0800);
        assert_eq!(bytes, [0xa5, 0, 0, 8, 0, 0, 0, 1, 0, 0xa5]);
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<GeneveHeader>(&BYTES, 1), None);
    }

    #[test]
    fn options_one_by_one_to_the_one_that_does_not_fit() {
        let bytes = [1, 2, 0x83, 1, 9, 8, 7, 6, 0, 5, 4, 0xe0, 0, 0, 0, 2, 1, 1, 1, 1];
        let found: Vec<_> = options(&bytes).collect();
        let first = GeneveOption { class: 0x0102, kind: 0x83, data: &[9, 8, 7, 6] };
        assert_eq!(found, [first, GeneveOption { class: 5, kind: 4, data: &[] }]);
        assert_eq!(options(&[]).count(), 0);
    }
}
