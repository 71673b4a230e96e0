//! One's-complement sums, word by word: slow, obvious, and shared with nobody (RFC 1071 section 1).
//!
//! All sums are folded to 16 bits and not complemented. Adding never makes a sum 0 that had a byte other
//! than zero in it, so a sum over a pseudo header or an IPv4 header has one representation.

use crate::headers::Headers;

/// The sum of bytes, as if they started at an even offset.
pub(super) fn sum(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0, |total, pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        add(total, u16::from_be_bytes([pair[0], low]))
    })
}

/// One's-complement addition.
pub(super) fn add(a: u16, b: u16) -> u16 {
    let total = u32::from(a) + u32::from(b);
    if total > 0xffff { (total - 0xffff) as u16 } else { total as u16 }
}

/// Takes a part out of a sum again.
pub(super) fn subtract(a: u16, b: u16) -> u16 {
    add(a, !b)
}

/// A 32-bit number as it counts in a sum.
pub(super) fn words(number: u32) -> u16 {
    add((number >> 16) as u16, number as u16)
}

/// The sum of the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1).
pub(super) fn pseudo(frame: &[u8], headers: &Headers, l4_len: usize) -> u16 {
    let (source, destination) = headers.addresses(frame);
    let addresses = add(sum(source), sum(destination));
    add(add(addresses, u16::from(headers.protocol)), words(l4_len as u32))
}

/// The field that goes with a sum. UDP sends 0xFFFF where 0 comes out, as 0 says "none" (RFC 768).
pub(super) fn checksum(sum: u16, is_udp: bool) -> u16 {
    match !sum {
        0 if is_udp => 0xffff,
        field => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
    }

    #[test]
    fn an_ipv4_header_of_common_knowledge() {
        // Checksum 0xb861: the worked example of many textbooks.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(checksum(sum(&header), false), 0xb861);
    }

    #[test]
    fn an_odd_byte_counts_as_the_high_half() {
        assert_eq!(sum(&[0x12, 0x34, 0x56]), add(0x1234, 0x5600));
    }

    #[test]
    fn subtracting_undoes_adding_and_zero_is_sent_by_udp_as_ones() {
        for (a, b) in [(1, 0xffff), (0xffff, 0xffff), (0x1234, 0xedcb), (7, 7)] {
            let back = subtract(add(a, b), b);
            assert_eq!(back % 0xffff, a % 0xffff);
            assert_ne!(back, 0);
        }
        assert_eq!((checksum(0xffff, true), checksum(0xffff, false)), (0xffff, 0));
    }
}
