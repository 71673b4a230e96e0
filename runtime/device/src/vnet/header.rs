//! The bytes of the header, field by field, in its four sizes. What the fields mean is not looked at.

use bitflags::bitflags;

/// Bytes of the oldest form, that of AF_PACKET.
pub const SIZE_LEGACY: usize = 10;
/// Bytes with the number of buffers.
pub const SIZE_MERGEABLE: usize = 12;
/// Bytes with the fields of UDP tunnels, the form used on taps.
pub const SIZE: usize = 24;

bitflags! {
    /// The first byte.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Flags: u8 {
        /// There is a checksum to be finished.
        const NEEDS_CSUM = 1;
        /// The checksum of the outermost level has been found right.
        const DATA_VALID = 2;
        /// The checksum fields hold counts of a device that joined segments.
        const RSC_INFO = 4;
        /// The checksum of the UDP tunnel is to be finished too, or was found right too.
        const TUNNEL_CSUM = 8;
        const _ = !0;
    }
}

/// What is to be cut, the second byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GsoType(pub u8);

impl GsoType {
    /// Nothing.
    pub const NONE: GsoType = GsoType(0);
    /// TCP over IPv4.
    pub const TCP4: GsoType = GsoType(1);
    /// UDP into IP fragments; nobody asks for it any more.
    pub const UFO: GsoType = GsoType(3);
    /// TCP over IPv6.
    pub const TCP6: GsoType = GsoType(4);
    /// UDP into datagrams, over either.
    pub const UDP: GsoType = GsoType(5);
    /// Added: inside a UDP tunnel over IPv4.
    pub const TUNNEL4: GsoType = GsoType(0x20);
    /// Added: inside a UDP tunnel over IPv6.
    pub const TUNNEL6: GsoType = GsoType(0x40);
    /// Added: TCP with CWR.
    pub const ECN: GsoType = GsoType(0x80);

    /// Whether `added` is part of it.
    pub const fn has(self, added: GsoType) -> bool {
        self.0 & added.0 != 0
    }

    /// With `added`.
    #[must_use]
    pub const fn with(self, added: GsoType) -> GsoType {
        GsoType(self.0 | added.0)
    }

    /// Without what may be added.
    #[must_use]
    pub const fn base(self) -> GsoType {
        GsoType(self.0 & !(0x20 | 0x40 | 0x80))
    }
}

/// A header. Offsets count from the first byte of the frame behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// What is said of checksums.
    pub flags: Flags,
    /// What is to be cut.
    pub gso_type: GsoType,
    /// Bytes of headers; a hint.
    pub hdr_len: u16,
    /// Payload bytes of each segment but the last.
    pub gso_size: u16,
    /// First byte under the checksum to be finished.
    pub csum_start: u16,
    /// Where its field is behind that.
    pub csum_offset: u16,
    /// The transport header of the tunnel.
    pub outer_th_offset: u16,
    /// The network header inside it.
    pub inner_nh_offset: u16,
}

impl Header {
    /// Reads little-endian fields; those that `bytes` is too short for are 0.
    pub fn from_bytes(bytes: &[u8]) -> Header {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let word = |at: usize| u16::from_le_bytes([byte(at), byte(at + 1)]);
        Header {
            flags: Flags::from_bits_retain(byte(0)),
            gso_type: GsoType(byte(1)),
            hdr_len: word(2),
            gso_size: word(4),
            csum_start: word(6),
            csum_offset: word(8),
            outer_th_offset: word(20),
            inner_nh_offset: word(22),
        }
    }

    /// The longest form, little-endian; shorter ones are its beginning. Number of buffers and hash are 0.
    pub fn to_bytes(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        (bytes[0], bytes[1]) = (self.flags.bits(), self.gso_type.0);
        for (at, word) in [
            (2, self.hdr_len),
            (4, self.gso_size),
            (6, self.csum_start),
            (8, self.csum_offset),
            (20, self.outer_th_offset),
            (22, self.inner_nh_offset),
        ] {
            bytes[at..at + 2].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}
