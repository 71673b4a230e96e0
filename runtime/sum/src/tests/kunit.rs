//! The shapes of the Linux KUnit suite `lib/tests/checksum_kunit.c`, with expected values from a
//! byte-wise sum instead of stored ones: every alignment in 576 bytes, initial sums that carry,
//! largest sums that do not.

use super::{noise, one_to_ffff, slow_sum};
use crate::Sum;

const BUFFER: usize = 576;
const LENGTHS: usize = 512;

/// Calls `case` for each start and length that fits the buffer. Prefix totals keep the oracle
/// linear in the buffer.
fn for_each_piece(bytes: &[u8], mut case: impl FnMut(&[u8], u64)) {
    for start in 0..BUFFER {
        let mut total = 0;
        for len in 0..LENGTHS.min(BUFFER - start + 1) {
            if len > 0 {
                total += u64::from(bytes[start + len - 1]) * if len % 2 == 1 { 256 } else { 1 };
            }
            case(&bytes[start..start + len], total);
        }
    }
}

#[test]
fn fixed_random_bytes_with_an_initial_sum() {
    let initial = 0x0284_7aab_u32;
    for_each_piece(&noise(BUFFER, 0x6b75), |piece, total| {
        let sum = Sum::from_u32(initial) + Sum::of(piece);
        let expected = one_to_ffff(total + u64::from(initial >> 16) + u64::from(initial & 0xffff));
        assert_eq!(sum.fold(), expected, "length {}", piece.len());
    });
}

#[test]
fn all_ones_carry_everywhere() {
    for_each_piece(&[0xff; BUFFER], |piece, _| {
        let odd = piece.len() % 2 == 1;
        let from_ones = Sum::from_u32(0xffff_ffff) + Sum::of(piece);
        assert_eq!(!from_ones.fold(), if odd { 0x00ff } else { 0 }, "length {}", piece.len());
        let expected = match (piece.len(), odd) {
            (0, _) => 0xffff,
            (_, true) => 0x00ff,
            (_, false) => 0,
        };
        assert_eq!(!Sum::of(piece).fold(), expected, "length {}", piece.len());
    });
}

#[test]
fn the_largest_sum_without_a_carry_and_one_more() {
    for_each_piece(&[4; BUFFER], |piece, total| {
        let initial = u32::MAX - u32::try_from(total).expect("512 small bytes");
        let largest = Sum::from_u32(initial) + Sum::of(piece);
        assert_eq!(!largest.fold(), 0, "length {}", piece.len());
        let carried = largest + Sum::from_u16(1);
        assert_eq!(!carried.fold(), 0xfffe, "length {}", piece.len());
    });
}

#[test]
fn ipv4_headers_of_5_to_14_words() {
    let bytes = noise(BUFFER, 0x1934);
    for start in 0..181 {
        for words in 5..=14 {
            let mut header = bytes[start..start + 4 * words].to_vec();
            header[0] = 0x40 | words as u8;
            header[10..12].fill(0);
            let checksum = Sum::of(&header).checksum();
            assert_eq!(checksum, !slow_sum(&header));
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            assert_eq!(slow_sum(&header), 0xffff);
            assert!(Sum::of(&header).is_valid());
        }
    }
}

#[test]
fn ipv6_pseudo_headers() {
    let bytes = noise(BUFFER, 0x2460);
    for start in 0..200 {
        let addresses = &bytes[start..start + 32];
        let (length, protocol) = (0x0001_0000 + start as u32, bytes[start + 32]);
        let sum = Sum::of(addresses) + Sum::from_u32(length) + Sum::from_u16(u16::from(protocol));
        let mut pseudo_header = addresses.to_vec();
        pseudo_header.extend(length.to_be_bytes());
        pseudo_header.extend([0, 0, 0, protocol]);
        assert_eq!(sum.fold(), slow_sum(&pseudo_header));
    }
}
