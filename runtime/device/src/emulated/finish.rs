//! The work of the transmit hardware: finishing a checksum, cutting a superpacket. Slow and obvious.
//!
//! Written from the specifications (RFC 1071, RFC 768, RFC 791, RFC 8200, RFC 9293; for what a cut repeats and
//! what it leaves on one segment, the behaviour of TSO as Linux documents it). It believes its request, which
//! has been checked, and uses what stands in the checksum field as the sum of the pseudo header, whatever it
//! is, as hardware does.

use super::arithmetic::{add, checksum, subtract, sum, words};
use super::faults::Lies;
use super::request::{Cut, Finish};
use crate::headers::{Family, UDP};

const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;
/// Where the UDP checksum is in its header; a device that is told only offsets knows UDP by it.
const UDP_FIELD: usize = 6;
/// The shortest frame without its check sequence.
const SHORTEST: usize = 60;

/// Finishes a partial checksum in a frame.
pub(super) fn finish(frame: &mut [u8], request: &Finish, lies: Lies) {
    if lies.contains(Lies::SKIP_CHECKSUM) {
        return;
    }
    let &Finish { start, field, end } = request;
    let total = sum(&frame[start..end]);
    // The field may stand at an odd distance from the start of the sum only in a packet no protocol has.
    put(frame, field, checksum(total, field - start == UDP_FIELD));
}

/// Cuts a superpacket; gives each segment, and where in the superpacket its payload began, to `send`.
pub(super) fn cut(frame: &[u8], cut: &Cut, lies: Lies, mut send: impl FnMut(Vec<u8>, usize)) {
    for number in 0..cut.segments {
        let from = cut.payload + number * cut.gso_size;
        let to = frame.len().min(from + cut.gso_size);
        let mut segment = frame[..cut.payload].to_vec();
        segment.extend_from_slice(&frame[from..to]);
        mend(&mut segment, frame.len(), cut, number, lies);
        let last = number + 1 == cut.segments;
        if last && lies.contains(Lies::CORRUPT_LAST_SEGMENT) {
            segment[cut.payload] ^= 1;
        }
        if last && cut.pad_last && segment.len() < SHORTEST {
            segment.resize(SHORTEST, 0);
        }
        send(segment, from);
    }
}

/// Turns a copy of the superpacket's headers into those of one segment.
fn mend(segment: &mut [u8], whole: usize, cut: &Cut, number: usize, lies: Lies) {
    let (l3, l4) = (cut.headers.l3, cut.headers.l4);
    let len = segment.len();
    let is_udp = cut.headers.protocol == UDP;
    match cut.headers.family {
        Family::V4 => {
            put(segment, l3 + 2, (len - l3) as u16);
            if !cut.fixed_id && !lies.contains(Lies::SAME_IP_ID) {
                let id = get(segment, l3 + 4).wrapping_add(number as u16);
                put(segment, l3 + 4, id);
            }
            put(segment, l3 + 10, 0);
            let field = checksum(sum(&segment[l3..l4]), false);
            put(segment, l3 + 10, field);
        }
        Family::V6 => put(segment, l3 + 4, (len - l3 - 40) as u16),
    }
    if is_udp {
        put(segment, l4 + 4, (len - l4) as u16);
    } else {
        number_and_flag(&mut segment[l4..], cut, number);
    }
    let field = l4 + if is_udp { UDP_FIELD } else { 16 };
    if lies.contains(Lies::SKIP_CHECKSUM) {
        return;
    }
    // The seed has the length of the superpacket in it; a segment has its own.
    let seed = subtract(get(segment, field), words((whole - l4) as u32));
    let seed = add(seed, words((len - l4) as u32));
    put(segment, field, 0);
    put(segment, field, checksum(add(seed, sum(&segment[l4..])), is_udp));
}

/// Sequence number and flags of a TCP segment. FIN and PSH are the last one's; CWR is the first one's, unless
/// every segment is to have it (accurate ECN); all others are repeated.
fn number_and_flag(tcp: &mut [u8], cut: &Cut, number: usize) {
    let seq = u32::from(get(tcp, 4)) << 16 | u32::from(get(tcp, 6));
    let seq = seq.wrapping_add((number * cut.gso_size) as u32);
    tcp[4..8].copy_from_slice(&seq.to_be_bytes());
    if number + 1 < cut.segments {
        tcp[13] &= !FIN_AND_PSH;
    }
    if number > 0 && !cut.cwr_all {
        tcp[13] &= !CWR;
    }
}

fn get(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, field: u16) {
    bytes[at..at + 2].copy_from_slice(&field.to_be_bytes());
}
