//! Whether a frame can become a packet at all, however many buffers come home.
//!
//! Waiting for a buffer that does not exist would hang the run; a device counts such a frame as lost.

use corelane_runtime::packet::{Buffers, LARGE_ROOM, SMALL_ROOM};

/// Name of the device drop for frames that need more buffers than the pool has.
pub(crate) const TOO_LARGE: &str = "too_large_for_pool";

/// Whether the pool behind `buffers`, all of it at home, can hold a frame of `len` bytes.
pub(crate) fn can_ever_hold(len: usize, buffers: &Buffers) -> bool {
    let [_, small, large] = buffers.capacity();
    if len <= SMALL_ROOM as usize {
        return small > 0;
    }
    len.div_ceil(LARGE_ROOM as usize) <= large as usize
}
