//! One mapping per pool: huge pages when there are any, bound to a NUMA node when asked.
//!
//! Knows nothing of parts. The system calls of the pool are all here.

use crate::Error;
use std::ptr::NonNull;

const HUGE: usize = 2 << 20;

/// An anonymous mapping, unmapped when dropped.
pub(super) struct Mapping {
    base: NonNull<u8>,
    len: usize,
    huge: bool,
}

// SAFETY: a mapping is plain memory; who may touch which byte is settled by the parts carved from it.
unsafe impl Send for Mapping {}
// SAFETY: as above; `&Mapping` only gives out the base address.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps at least `len` zeroed bytes, preferring huge pages, and `node` if given.
    pub(super) fn new(len: usize, node: Option<u32>) -> Result<Mapping, Error> {
        let huge_len = len.next_multiple_of(HUGE);
        let mapping = match map(huge_len, libc::MAP_HUGETLB) {
            Some(base) if len >= HUGE / 2 => Mapping { base, len: huge_len, huge: true },
            other => {
                if let Some(base) = other {
                    drop(Mapping { base, len: huge_len, huge: true });
                }
                let len = if len >= HUGE { huge_len } else { len.next_multiple_of(4096) };
                let base = map(len, 0).ok_or_else(|| {
                    let cause = std::io::Error::last_os_error();
                    Error::system("pool", format!("cannot map {len} bytes: {cause}; ask for fewer"))
                })?;
                Mapping { base, len, huge: false }
            }
        };
        mapping.advise(node);
        Ok(mapping)
    }

    /// First byte.
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Whether the pages are huge.
    pub(super) fn is_huge(&self) -> bool {
        self.huge
    }

    /// Both calls are hints: memory that is merely small-paged or remote is still right.
    fn advise(&self, node: Option<u32>) {
        let base = self.base.as_ptr().cast();
        // SAFETY: the range is this mapping.
        unsafe { libc::madvise(base, self.len, libc::MADV_HUGEPAGE) };
        let Some(node) = node.filter(|&node| node < 64) else { return };
        let mask = 1_u64 << node;
        let mode = libc::MPOL_PREFERRED;
        // SAFETY: mbind reads 64 bits of `mask` and changes only the policy of this mapping.
        unsafe { libc::syscall(libc::SYS_mbind, base, self.len, mode, &raw const mask, 64, 0) };
    }
}

fn map(len: usize, extra: i32) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | extra;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
    (base != libc::MAP_FAILED).then(|| NonNull::new(base.cast())).flatten()
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by mmap with this length; the home drops it only when every part is home.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
