//! The pseudo header that TCP, UDP and ICMPv6 checksums cover besides their own bytes.
//!
//! It promises RFC 9293 section 3.1 (IPv4) and RFC 8200 section 8.1 (IPv6) in one function, from
//! the addresses the walk found. It does not know which length enters: that is the L4 length, 32
//! bits, from [`crate::Level::coverage`] or from the caller that writes the packet.

use corelane_sum::Sum;

use crate::{L3, Level};

/// The pseudo-header sum of a level: addresses, `length` and `protocol`.
///
/// `frame` is the contiguous prefix the level was found in, or one that has the same headers at the
/// same offsets. `length` is the L4 length in bytes. `None` if the level has no IP header, or its
/// addresses do not lie in `frame`.
#[inline]
pub fn sum(frame: &[u8], level: &Level, length: u32, protocol: u8) -> Option<Sum> {
    Some(addresses(frame, level)? + length_and_protocol(length, protocol))
}

/// The part of the pseudo-header sum that all datagrams between two addresses share. `None` as in
/// [`sum`].
#[inline]
pub fn addresses(frame: &[u8], level: &Level) -> Option<Sum> {
    let len = match level.l3_kind {
        L3::None => return None,
        L3::V4 => 4,
        L3::V6 => 16,
    };
    let (src, dst) = (usize::from(level.pseudo_src), usize::from(level.pseudo_dst));
    // The usual case is one piece of memory, and one sum.
    if dst == src + len {
        return Some(Sum::of(frame.get(src..dst + len)?));
    }
    Some(Sum::of(frame.get(src..src + len)?) + Sum::of(frame.get(dst..dst + len)?))
}

/// The rest of it. The fields have other widths in IPv4 and IPv6, and the same sum.
#[inline]
pub fn length_and_protocol(length: u32, protocol: u8) -> Sum {
    Sum::from_u32(length) + Sum::from_u16(u16::from(protocol))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol;

    #[test]
    fn known_sums() {
        let mut frame = [0; 60];
        frame[26..34].copy_from_slice(&[192, 0, 2, 1, 198, 51, 100, 2]);
        let level = Level { l3_kind: L3::V4, pseudo_src: 26, pseudo_dst: 30, ..Level::default() };
        // 0xc000 + 0x0201 + 0xc633 + 0x6402 = 0x1ec36.
        assert_eq!(addresses(&frame, &level).map(Sum::fold), Some(0xec37));
        let with_length = sum(&frame, &level, 0x0002_0016, protocol::TCP);
        assert_eq!(with_length.map(Sum::fold), Some(0xec37 + 2 + 0x16 + 6));
        // The same addresses in two places, as a routing header leaves them.
        frame[50..54].copy_from_slice(&[198, 51, 100, 2]);
        frame[30..34].fill(0);
        let apart = Level { pseudo_dst: 50, ..level };
        assert_eq!(addresses(&frame, &apart).map(Sum::fold), Some(0xec37));
    }

    #[test]
    fn no_addresses_no_sum() {
        let level = Level { pseudo_src: 22, pseudo_dst: 38, ..Level::default() };
        assert!(sum(&[0; 60], &level, 20, protocol::TCP).is_none());
        let v6 = Level { l3_kind: L3::V6, ..level };
        assert!(sum(&[0; 54], &v6, 20, protocol::TCP).is_some());
        assert!(sum(&[0; 53], &v6, 20, protocol::TCP).is_none());
        let apart = Level { pseudo_dst: 70, ..v6 };
        assert!(sum(&[0; 85], &apart, 20, protocol::TCP).is_none());
    }
}
