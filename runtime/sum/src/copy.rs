//! Copy and sum in one pass over memory.
//!
//! It promises what `copy_from_slice` and [`Sum::of`] promise together. It does not fuse the two at
//! register level: up to the size of a cache block, copying first and summing the warm copy is as
//! fast or faster.

use crate::Sum;

/// Bytes copied before they are summed: stays in the first-level cache, and is even so that blocks
/// add up unshifted.
const BLOCK: usize = 4096;

/// Copies `src` to `dst` and gives the sum of what was copied, as [`Sum::of`] would.
///
/// # Panics
/// If the two slices differ in length, like `copy_from_slice`.
#[inline]
pub fn copy_and_sum(src: &[u8], dst: &mut [u8]) -> Sum {
    assert_eq!(src.len(), dst.len(), "copy_and_sum needs slices of one length");
    if src.len() <= BLOCK {
        dst.copy_from_slice(src);
        return Sum::of(dst);
    }
    let blocks = src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK));
    blocks
        .map(|(from, to)| {
            to.copy_from_slice(from);
            Sum::of(to)
        })
        .sum()
}
