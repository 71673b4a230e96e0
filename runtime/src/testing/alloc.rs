//! A global allocator that counts what the current thread allocates, to prove that a warmed-up pipeline
//! allocates nothing. A test binary installs it with `#[global_allocator]`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts allocations per thread and leaves the work to the system's allocator.
#[derive(Debug)]
pub struct CountingAllocator;

/// Allocations of the current thread so far; 0 for ever where [`CountingAllocator`] is not installed.
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

fn count() {
    // A thread that is being torn down has no counter any more; nobody measures there.
    let _ = ALLOCATIONS.try_with(|counter| counter.set(counter.get() + 1));
}

// SAFETY: every call goes to `System` with the same arguments; counting touches only a thread-local cell
// without a destructor and never allocates.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) };
    }
}
