//! The UDP header (RFC 768), which UDP-Lite shares (RFC 3828).
//!
//! It promises the layout. It does not say what length 0 or checksum 0 mean: the walk and the
//! stages do.

use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A UDP or UDP-Lite header, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: U16,
    /// Destination port.
    pub dst_port: U16,
    /// Bytes of header and payload; UDP-Lite: bytes covered by the checksum. 0: as long as IP says
    /// (RFC 2675).
    pub length: U16,
    /// Checksum over pseudo header, header and payload; in UDP 0 says that there is none.
    pub checksum: U16,
}

impl UdpHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<UdpHeader>();
    /// Offset of the checksum field.
    pub const CHECKSUM_AT: usize = 6;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const BYTES: [u8; 8] = [0xc0, 0x00, 0x12, 0xb5, 0x00, 0x20, 0xca, 0xfe];

    fn value() -> UdpHeader {
        UdpHeader {
            src_port: U16::new(49_152),
            dst_port: U16::new(4789),
            length: U16::new(32),
            checksum: U16::new(0xcafe),
        }
    }

    #[test]
    fn deconstruct() {
        assert_eq!(view::<UdpHeader>(&BYTES, 0), Some(&value()));
    }

    #[test]
    fn construct() {
        assert_eq!(value().as_bytes(), BYTES);
        assert_eq!(value().as_bytes()[UdpHeader::CHECKSUM_AT..], [0xca, 0xfe]);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 10];
        *view_mut(&mut bytes, 1).unwrap() = value();
        assert_eq!(bytes[1..9], BYTES);
        assert_eq!((bytes[0], bytes[9]), (0xa5, 0xa5));
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<UdpHeader>(&BYTES, 1), None);
    }
}
