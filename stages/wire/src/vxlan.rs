//! The VXLAN header (RFC 7348) and the UDP ports by which it is known.
//!
//! It promises the layout, the network identifier, and the next protocol of the generic protocol
//! extension (draft-ietf-nvo3-vxlan-gpe). It does not read the other extensions (group policy,
//! remote checksum offload) that use the reserved bits.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The registered UDP destination port.
pub const PORT: u16 = 4789;
/// The UDP destination port Linux used before registration, and still does by default.
pub const PORT_LINUX: u16 = 8472;
/// The UDP destination port of VXLAN-GPE.
pub const PORT_GPE: u16 = 4790;
/// UDP destination ports taken for VXLAN.
pub const PORTS: [u16; 2] = [PORT, PORT_LINUX];

/// Next protocol of VXLAN-GPE: IPv4.
pub const NEXT_IPV4: u8 = 1;
/// Next protocol of VXLAN-GPE: IPv6.
pub const NEXT_IPV6: u8 = 2;
/// Next protocol of VXLAN-GPE: Ethernet.
pub const NEXT_ETHERNET: u8 = 3;

const HAS_VNI: u8 = 0x08;
const HAS_NEXT_PROTOCOL: u8 = 0x04;

/// A VXLAN header, 8 bytes; an Ethernet frame follows, or what the next protocol of GPE says.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct VxlanHeader {
    /// Flags.
    pub flags: u8,
    /// Reserved; in GPE the last is the next protocol.
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

    /// Whether the P flag is set: the header says what follows. Without GPE a reserved bit.
    #[inline]
    pub fn has_next_protocol(&self) -> bool {
        self.flags & HAS_NEXT_PROTOCOL != 0
    }

    /// What follows, where the P flag is set.
    #[inline]
    pub fn next_protocol(&self) -> Option<u8> {
        self.has_next_protocol().then_some(self.reserved[2])
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
    fn gpe_says_what_follows() {
        let header = view::<VxlanHeader>(&[0x0c, 0, 0, 1, 0, 0, 1, 0], 0).unwrap();
        assert_eq!((header.has_vni(), header.next_protocol()), (true, Some(NEXT_IPV4)));
        assert_eq!(VxlanHeader::new(1).next_protocol(), None);
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
