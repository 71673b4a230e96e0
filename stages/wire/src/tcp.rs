//! The TCP header (RFC 9293), options included in its length but not looked into.
//!
//! It promises bit fields by name and lengths in bytes. It does not check the checksum, nor that a
//! field is plausible.

use core::fmt;
use core::ops::BitOr;

use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The flags of a TCP header, AE (formerly NS) as bit 8 among them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(u16);

impl TcpFlags {
    /// No flag.
    pub const NONE: TcpFlags = TcpFlags(0);
    /// No more data from the sender.
    pub const FIN: TcpFlags = TcpFlags(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x002);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x004);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x008);
    /// The acknowledgment field counts.
    pub const ACK: TcpFlags = TcpFlags(0x010);
    /// The urgent field counts.
    pub const URG: TcpFlags = TcpFlags(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: TcpFlags = TcpFlags(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: TcpFlags = TcpFlags(0x080);
    /// Accurate ECN (RFC 9768).
    pub const AE: TcpFlags = TcpFlags(0x100);

    const NAMES: [(TcpFlags, &str); 9] = [
        (TcpFlags::FIN, "FIN"),
        (TcpFlags::SYN, "SYN"),
        (TcpFlags::RST, "RST"),
        (TcpFlags::PSH, "PSH"),
        (TcpFlags::ACK, "ACK"),
        (TcpFlags::URG, "URG"),
        (TcpFlags::ECE, "ECE"),
        (TcpFlags::CWR, "CWR"),
        (TcpFlags::AE, "AE"),
    ];

    /// Flags from their 12 bits, the three reserved ones included; higher bits are cut off.
    #[inline]
    pub const fn from_bits(bits: u16) -> TcpFlags {
        TcpFlags(bits & 0x0fff)
    }

    /// The 12 bits.
    #[inline]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether all of `flags` are set.
    #[inline]
    pub const fn contains(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether any of `flags` is set.
    #[inline]
    pub const fn intersects(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 != 0
    }

    /// These flags and `flags`.
    #[inline]
    pub const fn with(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | flags.0)
    }

    /// These flags except `flags`.
    #[inline]
    pub const fn without(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 & !flags.0)
    }
}

impl BitOr for TcpFlags {
    type Output = TcpFlags;

    #[inline]
    fn bitor(self, flags: TcpFlags) -> TcpFlags {
        self.with(flags)
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = *self;
        let mut separator = "";
        for (flag, name) in TcpFlags::NAMES {
            if self.contains(flag) {
                write!(f, "{separator}{name}")?;
                separator = "|";
                rest = rest.without(flag);
            }
        }
        match (rest.0, separator) {
            (0, "") => f.write_str("none"),
            (0, _) => Ok(()),
            (bits, _) => write!(f, "{separator}0x{bits:03x}"),
        }
    }
}

/// The fixed part of a TCP header, 20 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct TcpHeader {
    /// Source port.
    pub src_port: U16,
    /// Destination port.
    pub dst_port: U16,
    /// Sequence number of the first payload byte (of SYN, where that is set).
    pub seq: U32,
    /// Next sequence number expected, where ACK is set.
    pub ack: U32,
    /// Header length in 32-bit words (4 bits) and flags (12 bits).
    pub offset_flags: U16,
    /// Receive window, unscaled.
    pub window: U16,
    /// Checksum over pseudo header, header and payload.
    pub checksum: U16,
    /// Urgent pointer, where URG is set.
    pub urgent: U16,
}

impl TcpHeader {
    /// Bytes of the header without options.
    pub const LEN: usize = size_of::<TcpHeader>();
    /// Bytes of the longest header.
    pub const LEN_MAX: usize = 60;
    /// Offset of the checksum field.
    pub const CHECKSUM_AT: usize = 16;

    /// Bytes of the header with options, 0..=60. Less than [`TcpHeader::LEN`] is malformed.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.offset_flags.get() >> 12) * 4
    }

    /// The flags.
    #[inline]
    pub fn flags(&self) -> TcpFlags {
        TcpFlags::from_bits(self.offset_flags.get())
    }

    /// Replaces the flags, keeping the header length.
    #[inline]
    pub fn set_flags(&mut self, flags: TcpFlags) {
        self.offset_flags.set(self.offset_flags.get() & 0xf000 | flags.bits());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const BYTES: [u8; 20] = [
        0xc3, 0x50, 0x00, 0x50, 0x01, 0x02, 0x03, 0x04, 0x0a, 0x0b, 0x0c, 0x0d, 0x81, 0x18, 0x20,
        0x00, 0xbe, 0xef, 0x00, 0x07,
    ];

    fn value() -> TcpHeader {
        TcpHeader {
            src_port: U16::new(50_000),
            dst_port: U16::new(80),
            seq: U32::new(0x0102_0304),
            ack: U32::new(0x0a0b_0c0d),
            offset_flags: U16::new(0x8118),
            window: U16::new(0x2000),
            checksum: U16::new(0xbeef),
            urgent: U16::new(7),
        }
    }

    #[test]
    fn deconstruct() {
        let header = view::<TcpHeader>(&BYTES, 0).unwrap();
        assert_eq!(header, &value());
        assert_eq!(header.header_len(), 32);
        assert_eq!(header.flags(), TcpFlags::ACK | TcpFlags::PSH | TcpFlags::AE);
    }

    #[test]
    fn construct() {
        assert_eq!(value().as_bytes(), BYTES);
        assert_eq!(value().as_bytes()[TcpHeader::CHECKSUM_AT..][..2], [0xbe, 0xef]);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 22];
        let header = view_mut::<TcpHeader>(&mut bytes, 1).unwrap();
        *header = value();
        header.set_flags(TcpFlags::FIN.with(TcpFlags::CWR));
        assert_eq!(header.header_len(), 32);
        assert_eq!(bytes[13..15], [0x80, 0x81]);
        assert_eq!((bytes[0], bytes[21]), (0xa5, 0xa5));
    }

    #[test]
    fn too_short_and_extremes() {
        assert_eq!(view::<TcpHeader>(&BYTES, 1), None);
        let ones = view::<TcpHeader>(&[0xff; 20], 0).unwrap();
        assert_eq!((ones.header_len(), ones.flags().bits()), (TcpHeader::LEN_MAX, 0x0fff));
    }

    #[test]
    fn flags_are_a_set_and_print_as_one() {
        let flags = TcpFlags::SYN | TcpFlags::ACK;
        assert!(flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::SYN | TcpFlags::FIN));
        assert!(
            flags.intersects(TcpFlags::SYN | TcpFlags::FIN) && !flags.intersects(TcpFlags::FIN)
        );
        assert_eq!(flags.without(TcpFlags::SYN), TcpFlags::ACK);
        assert_eq!(format!("{flags:?} {:?}", TcpFlags::NONE), "SYN|ACK none");
        assert_eq!(
            format!("{:?}", TcpFlags::from_bits(0xffff)),
            "FIN|SYN|RST|PSH|ACK|URG|ECE|CWR|AE|0xe00"
        );
    }
}
