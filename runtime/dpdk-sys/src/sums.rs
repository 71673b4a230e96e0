//! librte_net's checksums, and two loops that say what the machine could do at best.
//!
//! Loops are in the shim, where DPDK's inline functions are compiled into their callers, as they are meant to be.

use super::ffi;
use super::{Kind, Packets};

/// Buffers of one length in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Bytes of each that are read.
    pub len: usize,
    /// Bytes from the start of one to the start of the next.
    pub stride: usize,
    /// How many.
    pub count: usize,
}

impl Row {
    fn check(&self, bytes: &[u8]) {
        let last = self.stride * self.count.saturating_sub(1);
        let fits = self.len <= self.stride && self.count > 0 && last + self.len <= bytes.len();
        assert!(fits, "{self:?} in {} bytes", bytes.len());
    }
}

/// `rte_raw_cksum` of the buffers in turn, `times` in all; the sum of the results.
pub fn raw_cksum(bytes: &[u8], row: Row, times: usize) -> u64 {
    row.check(bytes);
    // SAFETY: every buffer lies in `bytes`.
    unsafe { ffi::cl_raw_cksum(bytes.as_ptr(), row.len, row.stride, row.count, times) }
}

/// `rte_ipv4_udptcp_cksum` of IPv4 packets without options in turn, `times` in all; the sum of the results.
pub fn udptcp_cksum(bytes: &[u8], row: Row, times: usize) -> u64 {
    row.check(bytes);
    for at in 0..row.count {
        let packet = &bytes[at * row.stride..][..row.len];
        let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        assert!(packet[0] == 0x45 && (20..=row.len).contains(&length), "no plain IPv4 packet");
    }
    // SAFETY: every packet lies in `bytes`, and its length, which the call goes by, in its buffer.
    unsafe { ffi::cl_udptcp_cksum(bytes.as_ptr(), row.stride, row.count, times) }
}

/// `rte_raw_cksum_mbuf` of the first packet from `from` on; `None` where it is shorter.
pub fn raw_cksum_chain(packets: &Packets, from: u32, len: u32) -> Option<u16> {
    let packet = packets.first()?;
    // SAFETY: a living mbuf; the call checks the range.
    u16::try_from(unsafe { ffi::cl_raw_cksum_chain(packet, from, len) }).ok()
}

/// How many of the packets have all their checksums right, by `rte_raw_cksum` and
/// `rte_ipv4_udptcp_cksum_verify` (v6: its sibling). Their length fields must be true.
#[inline]
pub fn verify(packets: &mut Packets, kind: Kind) -> usize {
    let (raw, n) = packets.parts();
    // SAFETY: `n` mbufs of one piece that were received whole from frames with true lengths, and described.
    unsafe { ffi::cl_verify(raw, n, kind as i32) as usize }
}

/// Reads the buffers in turn, `times` in all, and does next to nothing with it: no sum can be faster.
pub fn load(bytes: &[u8], row: Row, times: usize) -> u64 {
    row.check(bytes);
    // SAFETY: every buffer lies in `bytes`.
    unsafe { ffi::cl_load(bytes.as_ptr(), row.len, row.stride, row.count, times) }
}

/// Copies the buffers in turn, `times` in all: nothing that copies and sums can be faster.
pub fn copy(from: &[u8], to: &mut [u8], row: Row, times: usize) {
    row.check(from);
    row.check(to);
    // SAFETY: every buffer lies in `from` and in `to`, which are different.
    unsafe { ffi::cl_copy(from.as_ptr(), to.as_mut_ptr(), row.len, row.stride, row.count, times) }
}
