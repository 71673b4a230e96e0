//! What is wrong with a header that was read, and what a header has no words for.

use std::fmt;

/// Why a header cannot be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum VnetError {
    /// The frame is shorter than an Ethernet header.
    Runt,
    /// Flags that mean nothing here: those of joined segments, unknown ones, that of a tunnel without one.
    Flags,
    /// The checksum, or a header in front of it, does not lie within the frame, behind an IP header.
    ChecksumPlace,
    /// A kind of cutting that does not exist, that nobody agreed to, or that contradicts the frame.
    GsoType,
    /// Segments of no bytes, of 65535, or more of them than can be.
    GsoSize,
    /// A packet to be cut without a checksum to be finished, or with that of another protocol.
    GsoChecksum,
    /// CWR with UDP or with nothing to be cut, or without agreement.
    Ecn,
    /// A transport header that does not end within the frame.
    Truncated,
    /// Offsets of a tunnel that are not in order, not within the frame, or without agreement.
    Tunnel,
}

impl VnetError {
    /// All of them, in the order of their numbers.
    pub const ALL: [VnetError; 9] = [
        VnetError::Runt,
        VnetError::Flags,
        VnetError::ChecksumPlace,
        VnetError::GsoType,
        VnetError::GsoSize,
        VnetError::GsoChecksum,
        VnetError::Ecn,
        VnetError::Truncated,
        VnetError::Tunnel,
    ];

    /// The name it is counted under in the report of the queue.
    pub fn drop_name(self) -> &'static str {
        if self == VnetError::Runt { "runt" } else { "bad_vnet_header" }
    }
}

impl fmt::Display for VnetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VnetError::Runt => "a frame shorter than an Ethernet header",
            VnetError::Flags => "flags that mean nothing here",
            VnetError::ChecksumPlace => "a checksum outside the frame or in front of its headers",
            VnetError::GsoType => {
                "a kind of cutting that is unknown, not agreed on, or not that of the frame"
            }
            VnetError::GsoSize => "segments of an impossible size or number",
            VnetError::GsoChecksum => "a packet to be cut without the checksum of its protocol",
            VnetError::Ecn => "congestion marks where there can be none",
            VnetError::Truncated => "a transport header that ends behind the frame",
            VnetError::Tunnel => "offsets of a tunnel that cannot be",
        })
    }
}

impl std::error::Error for VnetError {}

/// What a packet asks for that a header has no words for. Who heeds what the port granted never meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsayable {
    /// The checksum of an IPv4 header.
    HeaderChecksum,
    /// A checksum outside the packet, or not that of the protocol to be cut.
    ChecksumPlace,
    /// Segments with one IPv4 ID, with CWR on each, padded, or behind headers that are repeated.
    Segments,
    /// A number of segments that does not fit the packet.
    Count,
    /// A superpacket in something else than a UDP tunnel, in a tunnel in a tunnel, or with an outer checksum that is
    /// neither 0 nor to be finished.
    Tunnel,
}
