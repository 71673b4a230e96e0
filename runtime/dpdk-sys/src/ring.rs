//! rte_ring with one producer and one consumer.
//!
//! It promises that a ring has one of each: [`Sender`] and [`Receiver`] cannot be cloned. Loops are in the shim, where
//! the ring's inline functions are compiled into them.

use super::ffi;
use super::{Eal, Error, Pool};
use std::ffi::{CString, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most objects that are moved at once.
pub const BURST_MAX: u32 = 64;

#[derive(Debug)]
struct Ring(NonNull<c_void>);

// SAFETY: the ring's memory is DPDK's; the two ends synchronise by it.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: made by `ring`, freed once, after both ends are gone.
        unsafe { ffi::cl_ring_free(self.0.as_ptr()) };
    }
}

/// Where objects go in.
#[derive(Debug)]
pub struct Sender(Arc<Ring>);

/// Where they come out.
#[derive(Debug)]
pub struct Receiver(Arc<Ring>);

/// A ring of so many slots, a power of two; one fewer can be used.
///
/// # Errors
/// Without memory, or where the number is no power of two.
pub fn ring(_: Eal, slots: u32) -> Result<(Sender, Receiver), Error> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("corelane{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let c_name = CString::new(name).map_err(|_| Error("no name".to_owned()))?;
    // SAFETY: DPDK runs, as the argument proves; the name is copied.
    let ring = unsafe { ffi::cl_ring_create(c_name.as_ptr(), slots) };
    let ring = NonNull::new(ring).ok_or_else(|| Error::last("no ring"))?;
    let ring = Arc::new(Ring(ring));
    Ok((Sender(Arc::clone(&ring)), Receiver(ring)))
}

fn checked(burst: u32) -> u32 {
    assert!((1..=BURST_MAX).contains(&burst), "a burst of {burst}");
    burst
}

impl Sender {
    fn raw(&self) -> *mut c_void {
        self.0.0.as_ptr()
    }

    /// Sends so many objects, `burst` at once, as fast as there is room.
    pub fn produce(&mut self, burst: u32, total: u64) {
        // SAFETY: a living ring, of which this is the one producer.
        unsafe { ffi::cl_ring_produce(self.raw(), checked(burst), total) }
    }

    /// Sends so many packets from the pool, `burst` at once; [`Receiver::hop`] sends them back to it.
    pub fn hop(&mut self, pool: &Pool, burst: u32, total: u64) {
        // SAFETY: a living ring, of which this is the one producer, and a living pool.
        unsafe { ffi::cl_hop_produce(self.raw(), pool.raw(), checked(burst), total) }
    }
}

impl Receiver {
    fn raw(&self) -> *mut c_void {
        self.0.0.as_ptr()
    }

    /// Takes so many objects, `burst` at once; the sum of them.
    pub fn consume(&mut self, burst: u32, total: u64) -> u64 {
        // SAFETY: a living ring, of which this is the one consumer.
        unsafe { ffi::cl_ring_consume(self.raw(), checked(burst), total) }
    }

    /// Takes so many packets that [`Sender::hop`] sent, reads the length of each and frees it; the sum of the lengths.
    pub fn hop(&mut self, burst: u32, total: u64) -> u64 {
        // SAFETY: a living ring, of which this is the one consumer, and in which are mbufs.
        unsafe { ffi::cl_hop_consume(self.raw(), checked(burst), total) }
    }
}

/// In and out on one thread, `burst` at once, `turns` times; the sum of what came out. The ring is empty before.
pub fn same_core(sender: &mut Sender, _: &mut Receiver, burst: u32, turns: u64) -> u64 {
    // SAFETY: a living ring, both of whose ends are here.
    unsafe { ffi::cl_ring_same_core(sender.raw(), checked(burst), turns) }
}
