//! The VXLAN header (RFC 7348) and the UDP ports by which it is known.
//!
//! It promises the layout and the network identifier. It does not read the extensions (GPE, group
//! policy) that use the reserved bits.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// UDP destination ports taken for VXLAN: the registered one, and the one Linux used before
/// registration.
pub const PORTS: [u16; 2] = [4789, 8472];

const HAS_VNI: u8 = 0x08;

/// A VXLAN header, 8 bytes; an Ethernet frame follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct VxlanHeader {
    /// Flags.
    pub flags: u8,
    /// Reserved.
    pub reserved: [u8; 3],
    /// Network identifier, 24 bits.
    pub vni: [u8; 3],
    /// Reserved.
    pub reserved_2: u8,
}

impl VxlanHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<VxlanHeader>();

    /// The header of RFC 7348 section 5. Bits of `vni` above 24 are cut off.
    pub const fn new(vni: u32) -> VxlanHeader {
        let [_, high, middle, low] = vni.to_be_bytes();
        VxlanHeader { flags: HAS_VNI, reserved: [0; 3], vni: [high, middle, low], reserved_2: 0 }
    }

    /// Whether the I flag is set, which every valid header has (RFC 7348 section 5).
    #[inline]
    pub fn has_vni(&self) -> bool {
        self.flags & HAS_VNI != 0
    }

    /// Network identifier.
    #[inline]
    pub fn vni(&self) -> u32 {
        let [high, middle, low] = self.vni;
        u32::from_be_bytes([0, high, middle, low])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const BYTES: [u8; 8] = [0x08, 0, 0, 0, 0x12, 0x34, 0x56, 0];

    #[test]
    fn deconstruct() {
        let header = view::<VxlanHeader>(&BYTES, 0).unwrap();
        assert!(header.has_vni());
        assert_eq!(header.vni(), 0x12_3456);
        assert!(!view::<VxlanHeader>(&[0xf7; 8], 0).unwrap().has_vni());
    }

    #[test]
    fn construct() {
        assert_eq!(VxlanHeader::new(0xff12_3456).as_bytes(), BYTES);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 10];
        *view_mut(&mut bytes, 1).unwrap() = VxlanHeader::new(0x12_3456);
        assert_eq!(bytes[1..9], BYTES);
        assert_eq!((bytes[0], bytes[9]), (0xa5, 0xa5));
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<VxlanHeader>(&BYTES, 1), None);
    }
}
