//! The work of the transmit hardware on a packet of one frame: filling checksums in. Slow and obvious.
//!
//! It believes its request, which has been checked, and uses what stands in the checksum field as the sum of the
//! pseudo header, whatever it is, as hardware does (RFC 1071, RFC 768, RFC 791).

use super::arithmetic::{checksum, sum};
use super::faults::Lies;
use super::request::{Finish, Sums};

/// Where the UDP checksum is in its header; a device that is told only offsets knows UDP by it.
const UDP_FIELD: usize = 6;

/// Fills in all that is asked for, from the inside out, as each sum covers what is inside.
pub(super) fn finish(frame: &mut [u8], sums: &Sums, lies: Lies) {
    for &l3 in sums.ip.iter().flatten().filter(|_| !lies.contains(Lies::SKIP_IP_CHECKSUM)) {
        fill_ip(frame, l3);
    }
    if let Some(inner) = sums.inner.filter(|_| !lies.contains(Lies::SKIP_CHECKSUM)) {
        fill(frame, &inner);
    }
    let skipped = Lies::SKIP_CHECKSUM | Lies::SKIP_OUTER_CHECKSUM;
    if let Some(outer) = sums.outer.filter(|_| !lies.intersects(skipped)) {
        fill(frame, &outer);
    }
}

fn fill(frame: &mut [u8], request: &Finish) {
    let &Finish { start, field, end } = request;
    let total = sum(&frame[start..end]);
    // The field may stand at an odd distance from the start of the sum only in a packet no protocol has.
    put(frame, field, checksum(total, field - start == UDP_FIELD));
}

/// The checksum of the IPv4 header at `l3`.
pub(super) fn fill_ip(frame: &mut [u8], l3: usize) {
    let end = l3 + usize::from(frame[l3] & 0x0f) * 4;
    put(frame, l3 + 10, 0);
    let field = checksum(sum(&frame[l3..end]), false);
    put(frame, l3 + 10, field);
}

/// The 16 bits at `at`.
pub(super) fn get(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Writes the 16 bits at `at`.
pub(super) fn put(bytes: &mut [u8], at: usize, field: u16) {
    bytes[at..at + 2].copy_from_slice(&field.to_be_bytes());
}
