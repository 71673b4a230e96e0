//! The part: 128 bytes of header in front of (or, on DPDK, in the private area of) a buffer.
//!
//! Holds the layout and the few raw operations on it. It decides nothing: who may write, and when a part
//! goes home, is settled in `handle`, `cut` and `home`.

use super::meta::Meta;
use std::marker::PhantomPinned;
use std::mem::{align_of, offset_of, size_of};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// Bytes of a part header; the size of the private area a DPDK mempool must reserve.
pub(crate) const PART_SIZE: usize = 128;

/// This part starts a piece: the payload of one received segment.
pub(crate) const PIECE_START: u8 = 1;
/// [`Part::piece_sum`] is known.
pub(crate) const PIECE_SUM: u8 = 2;

/// Header of a part. The first line is read for every packet; the second holds meta and the piece.
#[repr(C, align(64))]
pub(crate) struct Part {
    /// First byte of data.
    pub(crate) data: *mut u8,
    /// Next part of the packet, or next free part.
    pub(crate) next: *mut Part,
    /// The part whose buffer `data` points into: itself, except for a shell.
    pub(crate) owner: *mut Part,
    /// Receive time of the frame this part came in, ns.
    pub(crate) time: u64,
    /// Bytes of data in this part.
    pub(crate) len: u32,
    /// Bytes free in front of the data; 0 for a shell.
    pub(crate) head: u32,
    /// Bytes free behind the data; 0 for a shell.
    pub(crate) tail: u32,
    /// Length of the whole packet (first part only).
    pub(crate) total: u32,
    /// Claims on this part: the packet it is in, and each shell over its buffer.
    pub(crate) refs: AtomicU32,
    /// L4 payload bytes of the packet (first part only).
    pub(crate) payload: u32,
    /// Where this part returns to.
    pub(crate) home: u16,
    /// Wire segments of the packet (first part only).
    pub(crate) segments: u16,
    /// Parts of the packet (first part only).
    pub(crate) parts: u16,
    /// Size class within the home.
    pub(crate) class: u8,
    /// [`PIECE_START`], [`PIECE_SUM`].
    pub(crate) flags: u8,
    /// What is known about the packet (first part only).
    pub(crate) meta: Meta,
    /// Payload bytes of the piece that starts here; may run on into following parts.
    pub(crate) piece_len: u32,
    /// Folded sum of the piece, as if it started at an even offset.
    pub(crate) piece_sum: u16,
    /// What the description's own rules say of the packet (first part only).
    pub(crate) mark: u16,
    /// Other threads change `refs` while a packet's holder has a `&mut Part`: such a reference must not be
    /// taken for the only way to the part.
    pub(crate) shared: PhantomPinned,
}

// The DPDK placement: the header is the mbuf's private area, mbuf = header - 128, priv_size 128. So the
// header is exactly two cache lines, and the line read for every packet comes first.
const _: () = assert!(size_of::<Part>() == PART_SIZE);
const _: () = assert!(align_of::<Part>() == 64);
const _: () = assert!(offset_of!(Part, data) == 0);
const _: () = assert!(offset_of!(Part, flags) < 64, "the hot fields share the first line");
const _: () = assert!(offset_of!(Part, meta) == 64, "meta starts the second line");

/// Iterates a chain of parts.
pub(crate) struct Chain {
    next: *mut Part,
}

impl Chain {
    /// # Safety
    /// `first` is null or heads a chain that stays valid while the iterator is used.
    pub(crate) unsafe fn new(first: *mut Part) -> Chain {
        Chain { next: first }
    }
}

impl Iterator for Chain {
    type Item = NonNull<Part>;

    fn next(&mut self) -> Option<NonNull<Part>> {
        let part = NonNull::new(self.next)?;
        // SAFETY: `new` promised a valid chain; every element was valid when it was linked.
        self.next = unsafe { (*part.as_ptr()).next };
        Some(part)
    }
}

// SAFETY: writes the `next` field, which only a part's holder reads.
unsafe impl super::returns::Linked for Part {
    unsafe fn set_next(this: *mut Part, next: *mut Part) {
        // SAFETY: the caller owns `this`.
        unsafe { (*this).next = next };
    }
}
