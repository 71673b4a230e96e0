//! 802.2 LLC after an 802.3 length, as far as SNAP carries an EtherType in it (RFC 1042).
//!
//! It promises to tell such frames from all other LLC. It does not look into any other LLC
//! protocol.

use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The largest value of the type field that is a length (IEEE 802.3 section 3.2.6).
pub const LENGTH_MAX: u16 = 1500;

/// LLC and SNAP headers together, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SnapHeader {
    /// Destination service access point, destination first; 0xAA for SNAP.
    pub dsap: u8,
    /// Source service access point; 0xAA for SNAP.
    pub ssap: u8,
    /// Control; 0x03 for unnumbered information.
    pub control: u8,
    /// Who defines the type that follows.
    pub oui: [u8; 3],
    /// An EtherType if [`SnapHeader::carries_ethertype`].
    pub ethertype: U16,
}

impl SnapHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<SnapHeader>();

    /// The header of RFC 1042 before `ethertype`.
    pub const fn new(ethertype: u16) -> SnapHeader {
        SnapHeader {
            dsap: 0xaa,
            ssap: 0xaa,
            control: 0x03,
            oui: [0; 3],
            ethertype: U16::new(ethertype),
        }
    }

    /// Whether the last field is an EtherType: SNAP with the OUI of RFC 1042 or of 802.1H bridging.
    #[inline]
    pub fn carries_ethertype(&self) -> bool {
        let snap = (self.dsap, self.ssap, self.control) == (0xaa, 0xaa, 0x03);
        snap && matches!(self.oui, [0, 0, 0] | [0, 0, 0xf8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const BYTES: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];

    #[test]
    fn deconstruct() {
        let header = view::<SnapHeader>(&BYTES, 0).unwrap();
        assert!(header.carries_ethertype());
        assert_eq!(header.ethertype.get(), 0x0800);
        for (at, value) in [(0, 0x42), (1, 0x42), (2, 0x13), (5, 0x0c)] {
            let mut other = BYTES;
            other[at] = value;
            assert!(!view::<SnapHeader>(&other, 0).unwrap().carries_ethertype(), "byte {at}");
        }
    }

    #[test]
    fn construct() {
        assert_eq!(SnapHeader::new(0x0800).as_bytes(), BYTES);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 10];
        *view_mut(&mut bytes, 1).unwrap() = SnapHeader { oui: [0, 0, 0xf8], ..SnapHeader::new(1) };
        assert_eq!(bytes, [0xa5, 0xaa, 0xaa, 0x03, 0, 0, 0xf8, 0, 1, 0xa5]);
        assert!(view::<SnapHeader>(&bytes, 1).unwrap().carries_ethertype());
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<SnapHeader>(&BYTES, 1), None);
    }
}
