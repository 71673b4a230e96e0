//! librte_gro, both modes.
//!
//! It promises to call it as its documentation says: packets of one piece, described, checksums said to be good. It
//! mends nothing that the library leaves stale.

use super::ffi;
use super::{Eal, Error, Kind, Packets};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Most packets of a light call: the library keeps as many on its stack.
pub const BURST_MAX: usize = 128;

/// Whether this version of the library joins such packets at all.
pub fn joins(kind: Kind) -> bool {
    // SAFETY: the shim answers from a constant.
    unsafe { ffi::cl_gro_has(kind as i32) != 0 }
}

/// The light mode: `rte_gro_reassemble_burst` over all the packets, which become fewer. At most [`BURST_MAX`] are looked
/// at in one call; more are left alone.
#[inline]
pub fn burst(packets: &mut Packets, kind: Kind) {
    let (raw, n) = packets.parts();
    if n as usize > BURST_MAX {
        return;
    }
    // SAFETY: `n` mbufs that `packets` owns; those that remain are in front, the others are in their chains.
    unsafe {
        let left = ffi::cl_gro_burst(raw, n, kind as i32);
        packets.set_len(left as usize);
    }
}

/// The heavy mode: a table that outlives bursts.
#[derive(Debug)]
pub struct Heavy {
    ctx: NonNull<c_void>,
    kind: Kind,
}

impl Heavy {
    /// A table for so many flows, and packets of each.
    ///
    /// # Errors
    /// Without memory, or where the library does not join such packets.
    pub fn new(_: Eal, kind: Kind, flows: u16, items: u16) -> Result<Heavy, Error> {
        // SAFETY: DPDK runs, as the argument proves.
        let ctx = unsafe { ffi::cl_gro_create(kind as i32, flows, items) };
        let ctx = NonNull::new(ctx).ok_or_else(|| Error("no table of librte_gro".to_owned()))?;
        Ok(Heavy { ctx, kind })
    }

    /// `rte_gro_reassemble` over all of `packets` in bursts, then `rte_gro_timeout_flush` of all that is held; what
    /// comes out is put behind `out`, which must have room for all that went in.
    #[inline]
    pub fn window(&mut self, packets: &mut Packets, burst: u32, out: &mut Packets) {
        let (raw, n) = packets.parts();
        let have = out.len();
        let (room, free) = out.room();
        assert!(free >= n as usize, "room for {free} packets, {n} go in");
        let kind = self.kind as i32;
        // SAFETY: `n` mbufs that `packets` owns and gives up. What comes out is written to room for as many; the
        // table is empty then.
        unsafe {
            let made = ffi::cl_gro_window(self.ctx.as_ptr(), kind, raw, n, burst.max(1), room);
            packets.set_len(0);
            out.set_len(have + made as usize);
        }
    }
}

impl Drop for Heavy {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once; it holds no packet between calls.
        unsafe { ffi::cl_gro_destroy(self.ctx.as_ptr()) };
    }
}
