//! Bytes to one number, in portable Rust that compilers vectorise.
//!
//! It promises the sum modulo 2^64 - 1 of the slice read as native-endian words, the rest padded
//! with zero bytes. It does not detect instruction sets; `wide` does, for the loop over whole blocks.

use crate::wide::{BLOCK, wide};

/// From here on the wide loop pays for gathering its lanes at the end.
const WIDE_FROM: usize = 4 * BLOCK;

/// Adds `bytes` as native-endian words of any width up to 64 bits, modulo 2^64 - 1.
#[inline]
pub(crate) fn accumulate(bytes: &[u8]) -> u64 {
    if bytes.len() < WIDE_FROM {
        return wrap(narrow(bytes));
    }
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    wrap(wide(blocks) + narrow(rest))
}

/// Eight bytes at a time into 128 bits. The remainder goes in by halves: a copy of unknown length
/// into a padded word would cost more than the whole of an IPv4 header.
#[inline]
fn narrow(bytes: &[u8]) -> u128 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut total: u128 = words.iter().map(|word| u128::from(u64::from_ne_bytes(*word))).sum();
    let mut rest = rest;
    if let Some((word, after)) = rest.split_first_chunk::<4>() {
        total += u128::from(u32::from_ne_bytes(*word));
        rest = after;
    }
    if let Some((word, after)) = rest.split_first_chunk::<2>() {
        total += u128::from(u16::from_ne_bytes(*word));
        rest = after;
    }
    match rest {
        [odd] => total + u128::from(u16::from_ne_bytes([*odd, 0])),
        _ => total,
    }
}

/// Brings a 128-bit total below 2^64 with the carries wrapped round.
#[inline]
fn wrap(total: u128) -> u64 {
    let (low, carry) = (total as u64).overflowing_add((total >> 64) as u64);
    low + u64::from(carry)
}
