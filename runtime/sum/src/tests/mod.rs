//! Tests of the public face against slow oracles. The oracles share nothing with the code under
//! test: they add one byte at a time in plain integers and divide one bit at a time.

mod algebra;
mod crc32c;
mod kunit;
mod zero;

/// The one's-complement sum of `bytes`, one byte at a time: byte `i` of the packet weighs 256 if
/// `i` is even, 1 if odd. Reduced at the end only, to 1..=0xFFFF, or 0 where there was nothing but
/// zeros.
fn slow_sum(bytes: &[u8]) -> u16 {
    slow_sum_at(bytes, 0)
}

/// [`slow_sum`] of bytes that start at `offset`.
fn slow_sum_at(bytes: &[u8], offset: usize) -> u16 {
    let mut total: u64 = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        total += u64::from(byte) * if (offset + index).is_multiple_of(2) { 256 } else { 1 };
    }
    one_to_ffff(total)
}

/// A total modulo 0xFFFF, with a non-zero multiple of 0xFFFF written as 0xFFFF.
fn one_to_ffff(total: u64) -> u16 {
    if total == 0 { 0 } else { ((total - 1) % 0xffff + 1) as u16 }
}

/// Bytes that look random and are the same in every run (the multiplier of Knuth's MMIX generator).
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}
