//! The virtio-net header: the few bytes in front of a frame in which one side tells the other what is still to be
//! done to it (virtio 1.2, 5.1.6; UDP tunnels as Linux has them
//! since 6.17).
//!
//! Pure and safe: bytes in, meta out, and back; no system call is made here. [`read`] takes nothing on trust: a header
//! that contradicts itself, the frame behind it or what was agreed on is an error with a name, and no offset that it
//! lets through lies outside the frame. [`write()`] says only what the header has words for, and refuses the rest. Of
//! the frame it looks at the Ethernet type, the version of an IP header and the length of a TCP header, with code of
//! its own; everything else about headers is for the stages to find out.

mod error;
mod header;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use error::{Unsayable, VnetError};
pub use header::{Flags, GsoType, Header, SIZE, SIZE_LEGACY, SIZE_MERGEABLE};
pub use read::{Request, read};
pub use write::{Outgoing, write};

use bitflags::bitflags;

bitflags! {
    /// What the reading side agreed to finish itself. The values are those of TUNSETOFFLOAD.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Agreed: u32 {
        /// Checksums that are still to be finished.
        const CSUM = 0x01;
        /// TCP over IPv4 to be cut.
        const TSO4 = 0x02;
        /// TCP over IPv6 to be cut.
        const TSO6 = 0x04;
        /// TCP with CWR to be cut.
        const TSO_ECN = 0x08;
        /// UDP over IPv4 to be cut into datagrams.
        const USO4 = 0x20;
        /// UDP over IPv6 to be cut into datagrams.
        const USO6 = 0x40;
        /// Any of these inside a UDP tunnel whose checksum is 0.
        const TUNNEL = 0x80;
        /// The same, with the checksum of the tunnel still to be finished.
        const TUNNEL_CSUM = 0x100;
    }
}

/// Where the checksum is in a TCP header.
const TCP_FIELD: u16 = 16;
/// Where the checksum is in a UDP header.
const UDP_FIELD: u16 = 6;
const TCP_LEN: u32 = 20;
const UDP_LEN: u32 = 8;
const ETHERNET_LEN: u32 = 14;
const IPV4_LEN: u32 = 20;
const IPV6_LEN: u32 = 40;
/// Most datagrams that Linux lets one packet of UDP stand for.
const UDP_SEGMENTS_MAX: u32 = 128;

/// Two bytes of the frame, as they are on the wire.
fn word(front: &[u8], at: u32) -> Option<u16> {
    let at = at as usize;
    let &[high, low] = front.get(at..at + 2)? else { return None };
    Some(u16::from_be_bytes([high, low]))
}
