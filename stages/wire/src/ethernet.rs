//! Ethernet II (and the same 14 bytes of an 802.3 frame, whose type field is a length).
//!
//! It promises the header's layout and the EtherTypes corelane acts on. It does not follow tags:
//! that is [`crate::vlan`].

use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// EtherTypes (IEEE 802 numbers).
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// Customer VLAN tag (802.1Q).
    pub const VLAN: u16 = 0x8100;
    /// Service VLAN tag (802.1ad).
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// The tag type used for stacked VLANs before 802.1ad.
    pub const OLD_SERVICE_VLAN: u16 = 0x9100;

    /// An Ethernet frame, where an EtherType says what a tunnel carries (RFC 1701).
    pub const TRANSPARENT_ETHERNET: u16 = 0x6558;
    /// ERSPAN of type I or II, in GRE.
    pub const ERSPAN: u16 = 0x88be;
    /// ERSPAN of type III, in GRE.
    pub const ERSPAN_3: u16 = 0x22eb;

    /// Whether a VLAN tag follows ([`crate::vlan::VlanTag`]).
    #[inline]
    pub const fn is_vlan(ethertype: u16) -> bool {
        matches!(ethertype, VLAN | SERVICE_VLAN | OLD_SERVICE_VLAN)
    }
}

/// An Ethernet header, 14 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct EthernetHeader {
    /// Destination address.
    pub dst: [u8; 6],
    /// Source address.
    pub src: [u8; 6],
    /// EtherType, or an 802.3 length if at most [`crate::llc::LENGTH_MAX`].
    pub ethertype: U16,
}

impl EthernetHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<EthernetHeader>();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const BYTES: [u8; 14] = [0x02, 0, 0, 0, 0, 0xb0, 0x02, 0, 0, 0, 0, 0xa0, 0x86, 0xdd];

    fn value() -> EthernetHeader {
        EthernetHeader {
            dst: [0x02, 0, 0, 0, 0, 0xb0],
            src: [0x02, 0, 0, 0, 0, 0xa0],
            ethertype: U16::new(ethertype::IPV6),
        }
    }

    #[test]
    fn deconstruct() {
        assert_eq!(view::<EthernetHeader>(&BYTES, 0), Some(&value()));
    }

    #[test]
    fn construct() {
        assert_eq!(value().as_bytes(), BYTES);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 16];
        *view_mut(&mut bytes, 1).unwrap() = value();
        assert_eq!(bytes[1..15], BYTES);
        assert_eq!((bytes[0], bytes[15]), (0xa5, 0xa5));
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<EthernetHeader>(&BYTES, 1), None);
        assert_eq!(view::<EthernetHeader>(&BYTES, usize::MAX), None);
    }
}
