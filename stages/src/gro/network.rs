//! Whether two frames are equal in everything up to the transport header that cutting repeats.
//!
//! Lengths, identification and the IPv4 header sum may differ: they are computed again. Addresses are not
//! compared here, the flow key has them. (VLANs, TTL, ECN and options that were not compared are the bugs of
//! other implementations: DPDK R1 to R5.)

use super::held::Held;
use super::segment::Segment;
use super::tunnel;

/// Bytes of the fixed IP headers.
const V4: u16 = 20;
const V6: u16 = 40;

/// `segment`, whose frame starts with `data`, is of the flow of the merge.
#[inline]
pub(super) fn same_headers(held: &Held, segment: &Segment, data: &[u8]) -> bool {
    let (first, head) = (&held.first, held.train.head());
    let places = first.places;
    if places != segment.places || first.network != segment.network {
        return false;
    }
    let before = match held.key.is_tunnelled() {
        true => tunnel::same_around(head, data),
        false => same(head.data(), data, 0, places.l3),
    };
    let fixed = if held.key.is_v6() { V6 } else { V4 };
    before && same(head.data(), data, places.l3 + fixed, places.l4)
}

/// Whether bytes `from..to` of both are there and equal.
#[inline]
pub(super) fn same(first: &[u8], second: &[u8], from: u16, to: u16) -> bool {
    let range = usize::from(from)..usize::from(to);
    if range.is_empty() {
        return true;
    }
    match (first.get(range.clone()), second.get(range)) {
        (Some(first), Some(second)) => equal(first, second),
        _ => false,
    }
}

/// `first == second` for slices of one length, inline: a call costs more than comparing so few bytes.
#[inline(always)]
fn equal(first: &[u8], second: &[u8]) -> bool {
    let (Some(a), Some(b)) = (first.last_chunk::<8>(), second.last_chunk::<8>()) else {
        return first.iter().zip(second).all(|(a, b)| a == b);
    };
    // The last eight bytes overlap those before where the length is no multiple of eight.
    let words = first.as_chunks::<8>().0.iter().zip(second.as_chunks::<8>().0);
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let tail = word(a) ^ word(b);
    words.fold(tail, |differing, (a, b)| differing | (word(a) ^ word(b))) == 0
}
