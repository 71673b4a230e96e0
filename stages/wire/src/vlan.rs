//! VLAN tags (802.1Q, 802.1ad and 0x9100), stacked as deep as a frame likes.
//!
//! It promises the four bytes that follow a VLAN EtherType. It does not count or bound tags: the
//! walk does.

use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What follows an EtherType that [`is_vlan`](crate::ethernet::ethertype::is_vlan): 4 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct VlanTag {
    /// Tag control information: priority (3 bits), drop eligible (1), VLAN identifier (12).
    pub tci: U16,
    /// EtherType of what follows the tag.
    pub ethertype: U16,
}

impl VlanTag {
    /// Bytes of the tag.
    pub const LEN: usize = size_of::<VlanTag>();

    /// A tag of priority 0, not drop eligible. Bits of `vid` above 12 are cut off.
    pub const fn new(vid: u16, ethertype: u16) -> VlanTag {
        VlanTag { tci: U16::new(vid & 0x0fff), ethertype: U16::new(ethertype) }
    }

    /// Priority code point, 0..=7.
    #[inline]
    pub fn priority(&self) -> u8 {
        (self.tci.get() >> 13) as u8
    }

    /// Drop eligible indicator.
    #[inline]
    pub fn drop_eligible(&self) -> bool {
        self.tci.get() & 0x1000 != 0
    }

    /// VLAN identifier, 0..=4095.
    #[inline]
    pub fn vid(&self) -> u16 {
        self.tci.get() & 0x0fff
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::ethertype;
    use crate::{view, view_mut};

    const BYTES: [u8; 4] = [0xb1, 0x23, 0x08, 0x00];

    #[test]
    fn deconstruct() {
        let tag = view::<VlanTag>(&BYTES, 0).unwrap();
        assert_eq!((tag.priority(), tag.drop_eligible(), tag.vid()), (5, true, 0x123));
        assert_eq!(tag.ethertype.get(), ethertype::IPV4);
    }

    #[test]
    fn construct() {
        assert_eq!(VlanTag::new(0xf123, 0x0800).as_bytes(), [0x01, 0x23, 0x08, 0x00]);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 6];
        let tag = view_mut::<VlanTag>(&mut bytes, 1).unwrap();
        tag.tci.set(0xb123);
        tag.ethertype.set(0x0800);
        assert_eq!(bytes, [0xa5, 0xb1, 0x23, 0x08, 0x00, 0xa5]);
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<VlanTag>(&BYTES[..3], 0), None);
    }
}
