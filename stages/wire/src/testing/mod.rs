//! What tests of packet code need: frames built from named fields, frames judged, frames compared,
//! and strategies.
//!
//! It promises to share no code with what it is used to test: checksums are added byte by byte
//! here, headers are put together and taken apart with plain indices. So it can serve as the oracle
//! for the formats, the walk, and every stage. It is slow, it allocates, and its assertions panic.
//! It knows what corelane handles, not every protocol.

mod builder;
mod checker;
mod dissect;
mod headers;
pub mod strategies;
mod tunnels;
mod write;

pub use builder::FrameBuilder;
pub use checker::{assert_same_frames, assert_sound, describe, problems};
pub use headers::{
    Arp, Checksum, Ethernet, Extension, Icmp, Ipv4, Ipv6, Tcp, Udp, Vlan, address_v6,
};
pub use tunnels::{Geneve, Gre, Vxlan};

/// The one's-complement sum, one byte at a time: even offsets weigh 256, odd ones 1 (RFC 1071). 0
/// only for zeros.
pub fn slow_sum(pieces: &[&[u8]]) -> u16 {
    let mut total: u64 = 0;
    for (offset, byte) in pieces.iter().flat_map(|piece| piece.iter()).enumerate() {
        total += if offset % 2 == 0 { u64::from(*byte) << 8 } else { u64::from(*byte) };
    }
    if total == 0 { 0 } else { ((total - 1) % 0xffff + 1) as u16 }
}

/// The pseudo header, in the layout of RFC 8200 section 8.1 (that of RFC 9293 has the same sum).
pub fn slow_pseudo_header(src: &[u8], dst: &[u8], length: u32, protocol: u8) -> Vec<u8> {
    let mut bytes = [src, dst].concat();
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0, protocol]);
    bytes
}

#[cfg(test)]
mod tests;
