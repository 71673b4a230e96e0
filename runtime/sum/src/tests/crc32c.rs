//! CRC32c against published values and a bit-wise division.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Crc32c, crc32c};

/// Polynomial division one bit at a time, on the unreflected polynomial 0x1EDC6F41 of RFC 9260
/// appendix A: another direction than the code under test.
fn slow_crc32c(bytes: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for &byte in bytes {
        register ^= u32::from(byte.reverse_bits()) << 24;
        for _ in 0..8 {
            let carry = register >> 31 == 1;
            register <<= 1;
            if carry {
                register ^= 0x1edc_6f41;
            }
        }
    }
    !register.reverse_bits()
}

#[test]
fn values_of_rfc_3720_appendix_b_4() {
    let ascending: Vec<u8> = (0..32).collect();
    let descending: Vec<u8> = (0..32).rev().collect();
    assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    assert_eq!(crc32c(&ascending), 0x46dd_794e);
    assert_eq!(crc32c(&descending), 0x113f_db5c);
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(b""), 0);
}

proptest! {
    #[test]
    fn equals_bit_wise_division_in_any_pieces(
        bytes in vec(any::<u8>(), 0..300),
        cut in 0usize..300,
    ) {
        let (head, tail) = bytes.split_at(cut.min(bytes.len()));
        let mut crc = Crc32c::default();
        crc.update(head);
        prop_assert_eq!(crc.finish(), slow_crc32c(head));
        crc.update(tail);
        prop_assert_eq!(crc.finish(), slow_crc32c(&bytes));
        prop_assert_eq!(crc32c(&bytes), slow_crc32c(&bytes));
    }
}
