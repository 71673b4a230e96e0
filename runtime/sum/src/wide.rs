//! The loop over whole blocks, for any processor and for those with AVX2.
//!
//! It promises the same total whichever loop runs. Which one is asked of the processor at run time (the standard library
//! keeps the answer), so that one binary is as fast as each machine allows. This file has the only `unsafe` of the crate:
//! calling what was compiled for a processor that was just found to be there, and its loads.
#![allow(unsafe_code)]

/// Bytes taken per turn.
pub(crate) const BLOCK: usize = 64;

/// The sum of whole blocks, as native-endian words of 32 bits.
#[inline]
pub(crate) fn wide(blocks: &[[u8; BLOCK]]) -> u128 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as it was just asked.
        return unsafe { avx2(blocks) };
    }
    lanes(blocks)
}

/// Sixteen independent 64-bit lanes, so that no carry has to be looked at: a lane takes 2^32 blocks (256 GiB) before it
/// could overflow.
fn lanes(blocks: &[[u8; BLOCK]]) -> u128 {
    let mut lanes = [0u64; BLOCK / 4];
    for block in blocks {
        let (words, _) = block.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    lanes.iter().map(|&lane| u128::from(lane)).sum()
}

/// The same sixteen lanes in four registers: the halves of each 64-bit word apart, by a mask and by a shift, since
/// compilers turn the loop above into shuffles.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(blocks: &[[u8; BLOCK]]) -> u128 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_loadu_si256, _mm256_set1_epi64x,
        _mm256_setzero_si256, _mm256_srli_epi64,
    };
    let low = _mm256_set1_epi64x(0xffff_ffff);
    let mut lanes = [_mm256_setzero_si256(); 4];
    for block in blocks {
        let (halves, _) = block.as_chunks::<32>();
        for (lanes, half) in lanes.as_chunks_mut::<2>().0.iter_mut().zip(halves) {
            // SAFETY: `half` has the 32 bytes that are read, at any alignment.
            let words = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
            lanes[0] = _mm256_add_epi64(lanes[0], _mm256_and_si256(words, low));
            lanes[1] = _mm256_add_epi64(lanes[1], _mm256_srli_epi64::<32>(words));
        }
    }
    let sum_of = |lane: __m256i| {
        // SAFETY: both are 32 bytes, and any bytes are four numbers.
        let numbers: [u64; 4] = unsafe { std::mem::transmute(lane) };
        numbers.iter().map(|&number| u128::from(number)).sum::<u128>()
    };
    lanes.into_iter().map(sum_of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Word by word.
    fn slow(blocks: &[[u8; BLOCK]]) -> u128 {
        let words = blocks.iter().flat_map(|block| block.chunks(4));
        words.map(|word| u128::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))).sum()
    }

    proptest! {
        #[test]
        fn every_loop_gives_the_same_total(
            bytes in prop::collection::vec(prop_oneof![Just(0xff_u8), any::<u8>()], 0..3000),
            start in 0_usize..9,
        ) {
            let (blocks, _) = bytes.get(start..).unwrap_or(&[]).as_chunks::<BLOCK>();
            prop_assert_eq!(lanes(blocks), slow(blocks));
            prop_assert_eq!(wide(blocks), slow(blocks));
        }
    }

    #[test]
    fn lanes_do_not_overflow_into_each_other() {
        let full = vec![[0xff; BLOCK]; 70_000];
        let right = 16 * 70_000 * u128::from(u32::MAX);
        assert_eq!((lanes(&full), wide(&full)), (right, right));
    }
}
