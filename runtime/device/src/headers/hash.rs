//! The hash by which devices spread flows over their queues: the outermost addresses and ports, no key.

use super::Headers;

/// A hash of addresses and ports that is the same for both directions: what a NIC spreads flows by.
/// Frames without an IP header hash to 0.
pub(crate) fn flow_hash(frame: &[u8]) -> u32 {
    let Some(headers) = Headers::parse(frame) else { return 0 };
    let (source, destination) = headers.addresses(frame);
    let (from, to) = headers.ports(frame).unwrap_or_default();
    // Order the ends, so that both directions feed the same bytes.
    let ends = [(source, from), (destination, to)];
    let (low, high) = if ends[0] <= ends[1] { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut feed = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (address, port) in [low, high] {
        address.iter().copied().chain(port.to_be_bytes()).for_each(&mut feed);
    }
    feed(headers.protocol);
    // The low bits of such a hash are poor; the product's high half depends on all of it.
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
