//! Pools, and packets out of them, owned.
//!
//! It promises that every mbuf is in one [`Packets`] or in its pool, and that a pool outlives what came out of it. What
//! it copies in are whole frames; it parses nothing: [`Lengths`] say where headers end, as librte_gro wants to be told.

use super::ffi::{self, Mbuf};
use super::{Eal, Error};
use std::ffi::{CString, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// TCP over IPv4.
    Tcp4 = 0,
    /// TCP over IPv6.
    Tcp6 = 1,
    /// TCP over IPv4 in VXLAN over IPv4.
    VxlanTcp4 = 2,
}

/// Bytes of the headers, as `rte_mbuf` has them: in a tunnel `l2` is everything from the outer UDP header to the inner
/// Ethernet header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Lengths {
    /// Outer link header; 0 without a tunnel.
    pub outer_l2: u16,
    /// Outer IP header; 0 without a tunnel.
    pub outer_l3: u16,
    /// Link header.
    pub l2: u16,
    /// IP header.
    pub l3: u16,
    /// TCP header.
    pub l4: u16,
}

#[derive(Debug)]
struct RawPool(NonNull<c_void>);

// SAFETY: a mempool may be used from any thread at once.
unsafe impl Send for RawPool {}
// SAFETY: as above.
unsafe impl Sync for RawPool {}

impl Drop for RawPool {
    fn drop(&mut self) {
        // SAFETY: made by `Pool::new`, freed once; every `Packets` out of it kept it alive.
        unsafe { ffi::cl_pool_free(self.0.as_ptr()) };
    }
}

/// A pool of buffers.
#[derive(Clone, Debug)]
pub struct Pool(Arc<RawPool>);

impl Pool {
    /// `n` buffers of `room` bytes each, headroom of 128 included, with caches of `cache` buffers a thread (at most 512).
    ///
    /// # Errors
    /// Without memory, or where a pool of that name is there already.
    pub fn new(_: Eal, name: &str, n: u32, cache: u32, room: u16) -> Result<Pool, Error> {
        let c_name = CString::new(name).map_err(|_| Error(format!("{name:?} is no name")))?;
        // SAFETY: DPDK runs, as the argument proves; the name is copied.
        let pool = unsafe { ffi::cl_pool_create(c_name.as_ptr(), n, cache, room) };
        let pool = NonNull::new(pool).ok_or_else(|| Error::last(&format!("no pool {name}")))?;
        Ok(Pool(Arc::new(RawPool(pool))))
    }

    /// Buffers that are not in the pool.
    pub fn used(&self) -> u32 {
        // SAFETY: the pool lives.
        unsafe { ffi::cl_pool_used(self.raw()) }
    }

    pub(crate) fn raw(&self) -> *mut c_void {
        self.0.0.as_ptr()
    }
}

/// Packets, owned. Room for them is kept over [`Packets::free`].
#[derive(Debug)]
pub struct Packets {
    raw: Vec<*mut Mbuf>,
    /// Where they came from; of packets that were cut, where their payload did.
    pools: Vec<Pool>,
}

// SAFETY: each mbuf has one owner, which may be any thread.
unsafe impl Send for Packets {}

impl Packets {
    /// None yet, with room for `n`, from this pool (and, of packets that were cut, others).
    pub fn new(pools: &[&Pool], n: usize) -> Packets {
        let pools = pools.iter().copied().cloned().collect();
        Packets { raw: Vec::with_capacity(n), pools }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Copies a frame into a buffer of the (first) pool.
    ///
    /// # Errors
    /// Where the pool is empty or its buffers are too short.
    pub fn receive(&mut self, frame: &[u8]) -> Result<(), Error> {
        let packet = self.buffer(frame)?;
        self.raw.push(packet);
        Ok(())
    }

    /// Copies a frame into a chain of buffers, one for each piece.
    ///
    /// # Errors
    /// As [`Packets::receive`]; also for more pieces than a chain may have.
    pub fn receive_chain<'a>(
        &mut self,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), Error> {
        let mut pieces = pieces.into_iter();
        self.receive(pieces.next().unwrap_or(&[]))?;
        let Some(&head) = self.raw.last() else { return Ok(()) };
        for piece in pieces {
            let mut tail = self.buffer(piece)?;
            // SAFETY: both are mbufs that this owns.
            if unsafe { ffi::cl_chain(head, tail) } != 0 {
                // SAFETY: the chain did not take it.
                unsafe { ffi::cl_free(&raw mut tail, 1) };
                return Err(Error("a chain of too many pieces".to_owned()));
            }
        }
        Ok(())
    }

    fn buffer(&self, frame: &[u8]) -> Result<*mut Mbuf, Error> {
        let len = frame.len() as u32;
        let Some(pool) = self.pools.first() else { return Err(Error("no pool".to_owned())) };
        // SAFETY: the pool lives; the shim copies `len` bytes if they fit.
        let packet = unsafe { ffi::cl_packet(pool.raw(), frame.as_ptr(), len) };
        let short = || Error(format!("no buffer of {len} bytes"));
        if packet.is_null() { Err(short()) } else { Ok(packet) }
    }

    /// Says of all what a driver and a parser would have said: kind, lengths, checksums good. Their headers are in the
    /// nearest cache then.
    pub fn describe(&mut self, kind: Kind, lengths: &Lengths) {
        let (raw, n) = self.parts();
        // SAFETY: `n` mbufs that this owns.
        std::hint::black_box(unsafe { ffi::cl_describe(raw, n, kind as i32, lengths) });
    }

    /// [`Packets::describe`] of one whose headers are others.
    pub fn describe_one(&mut self, index: usize, kind: Kind, lengths: &Lengths) {
        let mut packet = self.raw[index];
        // SAFETY: an mbuf that this owns.
        std::hint::black_box(unsafe { ffi::cl_describe(&raw mut packet, 1, kind as i32, lengths) });
    }

    /// Says of one that the device found its checksum wrong.
    pub fn mark_bad(&mut self, index: usize) {
        let packet = self.raw[index];
        // SAFETY: an mbuf that this owns.
        unsafe { ffi::cl_mark_bad(packet) };
    }

    /// Whether one is still said to be wrong.
    pub fn is_bad(&self, index: usize) -> bool {
        let packet = self.raw[index];
        // SAFETY: an mbuf that this owns.
        unsafe { ffi::cl_is_bad(packet) != 0 }
    }

    /// The bytes of each.
    pub fn frames(&self) -> Vec<Vec<u8>> {
        self.raw.iter().map(|&packet| bytes_of(packet)).collect()
    }

    /// Sends all of them back to their pools.
    pub fn free(&mut self) {
        let (raw, n) = self.parts();
        // SAFETY: `n` mbufs that this owned, and forgets now.
        unsafe { ffi::cl_free(raw, n) };
        self.raw.clear();
    }

    pub(crate) fn parts(&mut self) -> (*mut *mut Mbuf, u32) {
        (self.raw.as_mut_ptr(), self.raw.len() as u32)
    }

    pub(crate) fn first(&self) -> Option<*mut Mbuf> {
        self.raw.first().copied()
    }

    /// Room behind the last, to be written by the shim: the vector's own, so many.
    pub(crate) fn room(&mut self) -> (*mut *mut Mbuf, usize) {
        let spare = self.raw.spare_capacity_mut();
        (spare.as_mut_ptr().cast(), spare.len())
    }

    /// # Safety
    /// `n` mbufs are in front that the shim handed over; those behind are somebody else's now.
    pub(crate) unsafe fn set_len(&mut self, n: usize) {
        // SAFETY: the caller's promise; at most the capacity, since the shim was told of no more.
        unsafe { self.raw.set_len(n.min(self.raw.capacity())) };
    }
}

fn bytes_of(packet: *const Mbuf) -> Vec<u8> {
    // SAFETY: a living mbuf; the shim writes as many bytes as it has.
    unsafe {
        let mut bytes = vec![0; ffi::cl_len(packet) as usize];
        ffi::cl_bytes(packet, bytes.as_mut_ptr());
        bytes
    }
}

impl Drop for Packets {
    fn drop(&mut self) {
        self.free();
    }
}
