//! The functions of `shim.c`, declared. Each does what its namesake there says; nothing is checked here.

use super::packets::Lengths;
use std::ffi::{c_char, c_int, c_void};

/// An mbuf.
pub(crate) enum Mbuf {}

unsafe extern "C" {
    pub(crate) fn cl_eal_init(argc: c_int, argv: *mut *mut c_char) -> c_int;
    pub(crate) fn cl_error() -> *const c_char;
    pub(crate) fn cl_version() -> *const c_char;
    pub(crate) fn cl_tsc_hz() -> u64;
    pub(crate) fn cl_tsc() -> u64;
    pub(crate) fn cl_thread_register() -> c_int;
    pub(crate) fn cl_thread_unregister();

    pub(crate) fn cl_pool_create(name: *const c_char, n: u32, cache: u32, room: u16)
    -> *mut c_void;
    pub(crate) fn cl_pool_free(pool: *mut c_void);
    pub(crate) fn cl_pool_used(pool: *mut c_void) -> u32;
    pub(crate) fn cl_packet(pool: *mut c_void, frame: *const u8, len: u32) -> *mut Mbuf;
    pub(crate) fn cl_chain(head: *mut Mbuf, tail: *mut Mbuf) -> c_int;
    pub(crate) fn cl_describe(
        packets: *mut *mut Mbuf,
        n: u32,
        kind: c_int,
        lengths: *const Lengths,
    ) -> u64;
    pub(crate) fn cl_mark_bad(packet: *mut Mbuf);
    pub(crate) fn cl_is_bad(packet: *const Mbuf) -> c_int;
    pub(crate) fn cl_len(packet: *const Mbuf) -> u32;
    pub(crate) fn cl_bytes(packet: *const Mbuf, out: *mut u8);
    pub(crate) fn cl_free(packets: *mut *mut Mbuf, n: u32);

    pub(crate) fn cl_gro_has(kind: c_int) -> c_int;
    pub(crate) fn cl_gro_burst(packets: *mut *mut Mbuf, n: u32, kind: c_int) -> u32;
    pub(crate) fn cl_gro_create(kind: c_int, flows: u16, items: u16) -> *mut c_void;
    pub(crate) fn cl_gro_destroy(ctx: *mut c_void);
    pub(crate) fn cl_gro_window(
        ctx: *mut c_void,
        kind: c_int,
        packets: *mut *mut Mbuf,
        n: u32,
        burst: u32,
        out: *mut *mut Mbuf,
    ) -> u32;

    pub(crate) fn cl_verify(packets: *mut *mut Mbuf, n: u32, kind: c_int) -> u32;
    pub(crate) fn cl_fill(packets: *mut *mut Mbuf, n: u32, kind: c_int);
    pub(crate) fn cl_raw_cksum(
        buffer: *const u8,
        len: usize,
        stride: usize,
        count: usize,
        times: usize,
    ) -> u64;
    pub(crate) fn cl_udptcp_cksum(
        buffer: *const u8,
        stride: usize,
        count: usize,
        times: usize,
    ) -> u64;
    pub(crate) fn cl_raw_cksum_chain(packet: *const Mbuf, from: u32, len: u32) -> i32;
    pub(crate) fn cl_load(
        buffer: *const u8,
        len: usize,
        stride: usize,
        count: usize,
        times: usize,
    ) -> u64;
    pub(crate) fn cl_copy(
        from: *const u8,
        to: *mut u8,
        len: usize,
        stride: usize,
        count: usize,
        times: usize,
    );

    pub(crate) fn cl_gso_cut(
        packet: *mut Mbuf,
        kind: c_int,
        direct: *mut c_void,
        indirect: *mut c_void,
        size: u16,
        out: *mut *mut Mbuf,
        room: u16,
    ) -> c_int;

    pub(crate) fn cl_ring_create(name: *const c_char, slots: u32) -> *mut c_void;
    pub(crate) fn cl_ring_free(ring: *mut c_void);
    pub(crate) fn cl_ring_same_core(ring: *mut c_void, burst: u32, turns: u64) -> u64;
    pub(crate) fn cl_ring_produce(ring: *mut c_void, burst: u32, total: u64);
    pub(crate) fn cl_ring_consume(ring: *mut c_void, burst: u32, total: u64) -> u64;
    pub(crate) fn cl_hop_produce(ring: *mut c_void, pool: *mut c_void, burst: u32, total: u64);
    pub(crate) fn cl_hop_consume(ring: *mut c_void, burst: u32, total: u64) -> u64;
}
