//! The flow hash: one number for both directions of a flow.
//!
//! It promises symmetry, and that flows cannot be steered together without the key as long as the outputs
//! are not seen. It is no cryptographic hash. Fragments and packets without ports hash by addresses and
//! protocol, packets without IP by their Ethernet addresses.

use corelane_runtime::packet::{L3, L4, MetaFlags, Packet};
use corelane_wire::protocol;

/// An odd constant with no pattern in its bits (the golden ratio).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplies to 128 bits and folds: every bit of both factors reaches the result.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// 32 bits in which every bit of `value` and `key` counts; another number than the hash it is made of.
#[inline]
pub(crate) fn mix(value: u64, key: u64) -> u32 {
    let mixed = fold(value ^ key.rotate_left(29), MIX ^ key);
    (mixed >> 32) as u32 ^ mixed as u32
}

#[inline]
fn word<const N: usize>(frame: &[u8], at: usize) -> [u8; N] {
    let bytes = frame.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
    bytes.unwrap_or([0; N])
}

/// One end of a flow: an address of 4 or 16 bytes and a port.
#[inline]
fn end(frame: &[u8], at: usize, kind: L3, port: u16, key: u64) -> u64 {
    let address = match kind {
        L3::V6 => {
            let high = u64::from_be_bytes(word(frame, at));
            let low = u64::from_be_bytes(word(frame, at + 8));
            fold(high ^ key, low ^ key.rotate_left(32) ^ MIX)
        }
        L3::V4 => u64::from(u32::from_be_bytes(word(frame, at))),
        L3::None => u64::from_be_bytes(word(frame, at)) >> 16,
    };
    fold(address ^ key ^ u64::from(port).rotate_right(16), MIX ^ key.rotate_left(17))
}

/// What distinguishes a flow, by where it stands in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    kind: L3,
    src: u16,
    dst: u16,
    protocol: u8,
    /// Source and destination port, one behind the other.
    ports: Option<u16>,
}

impl Ends {
    /// Those of an IP header at `l3`, with TCP or UDP ports where there are any to rely on.
    #[inline]
    pub(crate) fn of_ip(kind: L3, l3: u16, protocol: u8, ports: Option<u16>) -> Ends {
        let (src, dst) = if kind == L3::V4 { (12, 16) } else { (8, 24) };
        Ends { kind, src: l3 + src, dst: l3 + dst, protocol, ports }
    }

    /// Those of an Ethernet header at `l2`; the destination stands first.
    pub(crate) fn of_ethernet(l2: u16) -> Ends {
        Ends { kind: L3::None, src: l2 + 6, dst: l2, protocol: 0, ports: None }
    }
}

/// The hash of a flow.
#[inline]
pub(crate) fn hash(frame: &[u8], ends: &Ends, key: u64) -> u32 {
    let port = |at: Option<u16>, n: usize| {
        at.map_or(0, |at| u16::from_be_bytes(word(frame, usize::from(at) + n)))
    };
    let a = end(frame, ends.src.into(), ends.kind, port(ends.ports, 0), key);
    let b = end(frame, ends.dst.into(), ends.kind, port(ends.ports, 2), key);
    // Addition does not care for order; unlike exclusive-or it does not lose both ends when they are equal.
    let both = fold(a.wrapping_add(b) ^ u64::from(ends.protocol), MIX ^ key);
    (both >> 32) as u32 ^ both as u32
}

/// The hash of a packet's innermost flow, from its bytes: that of a port is another for every port, and what leaves
/// must not depend on what ports can do. A fragment is known by its addresses alone, as later ones show no more.
#[inline]
pub(crate) fn hash_of(packet: &Packet, key: u64) -> u32 {
    let meta = packet.meta();
    let Some(level) = meta.layers.innermost() else {
        return hash(packet.data(), &Ends::of_ethernet(0), key);
    };
    let number = match level.l4_kind {
        _ if meta.flags.contains(MetaFlags::FRAGMENT) => 0,
        L4::Tcp => protocol::TCP,
        L4::Udp => protocol::UDP,
        L4::Other | L4::None => 0,
    };
    let ports = (number != 0).then_some(level.l4);
    hash(packet.data(), &Ends::of_ip(level.l3_kind, level.l3, number, ports), key)
}
