//! Changing a checksum field for bytes that changed, without reading the rest of the packet (RFC
//! 1624).
//!
//! It promises that an intact packet stays intact and a damaged one stays damaged by the same
//! amount: nothing is repaired. It does not know which bytes a checksum covers.

use crate::Sum;

/// The checksum field after the covered bytes summing to `old` were replaced by bytes summing to
/// `new` (RFC 1624 section 3, equation 3). For IPv4, TCP, ICMP and GRE.
///
/// Both sums are taken as the bytes lie in the covered data: a piece at an odd offset must be
/// [`Sum::shifted`]. The result is never 0xFFFF, the other representation of 0; so a field that
/// held 0xFFFF comes back as 0 even when `old` and `new` are the same. A caller that must not touch
/// such a field does not call.
#[inline]
pub fn update(checksum: u16, old: Sum, new: Sum) -> u16 {
    (Sum::from_u16(!checksum) - old + new).checksum()
}

/// [`update`] for UDP: 0 means that there is no checksum and stays 0; a computed 0 becomes 0xFFFF
/// (RFC 768).
#[inline]
pub fn update_udp(checksum: u16, old: Sum, new: Sum) -> u16 {
    match checksum {
        0 => 0,
        _ => (Sum::from_u16(!checksum) - old + new).udp_checksum(),
    }
}
