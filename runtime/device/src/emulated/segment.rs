//! The work of the transmit hardware on a superpacket: cutting it into frames. Slow and obvious.
//!
//! Written from the specifications: RFC 791, RFC 8200, RFC 768 and RFC 9293 for the headers, RFC 7348, RFC 8926 and
//! RFC 2784 for those around them; for what a cut repeats and what it leaves on one segment, the behaviour of TSO
//! as Linux documents it, and of `NETIF_F_GSO_PARTIAL` where headers are repeated. It believes its request, which has
//! been checked, and takes what stands in a checksum field for the sum of the pseudo header of the whole.

use super::arithmetic::{add, checksum, subtract, sum, words};
use super::faults::Lies;
use super::finish::{fill_ip, get, put};
use super::request::{Cut, Outer};
use crate::headers::{Family, GRE, Headers, UDP};

const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;
/// The shortest frame without its check sequence.
const SHORTEST: usize = 60;

/// Cuts a superpacket; gives each segment, and where in the superpacket its payload began, to `send`.
pub(super) fn cut(frame: &[u8], cut: &Cut, lies: Lies, mut send: impl FnMut(Vec<u8>, usize)) {
    for number in 0..cut.segments {
        let from = cut.payload + number * cut.gso_size;
        let to = frame.len().min(from + cut.gso_size);
        let mut segment = frame[..cut.payload].to_vec();
        segment.extend_from_slice(&frame[from..to]);
        if cut.repeats {
            repeat(&mut segment, frame.len(), cut, number, lies);
        } else {
            mend(&mut segment, frame.len(), cut, number, lies);
        }
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
    let counts = !cut.fixed_id && !lies.contains(Lies::SAME_IP_ID);
    mend_ip(segment, &cut.headers, if counts { number } else { 0 }, true);
    transport(segment, whole, cut, number, lies);
    if let Some(outer) = &cut.outer {
        mend_outer(segment, whole, outer, number, lies);
    }
}

/// Length, ID and header checksum of an IP header; the datagram goes to the end of the segment.
fn mend_ip(segment: &mut [u8], headers: &Headers, id_step: usize, lengths: bool) {
    let (l3, len) = (headers.l3, segment.len());
    match headers.family {
        Family::V4 => {
            if lengths {
                put(segment, l3 + 2, (len - l3) as u16);
            }
            let id = get(segment, l3 + 4).wrapping_add(id_step as u16);
            put(segment, l3 + 4, id);
            fill_ip(segment, l3);
        }
        Family::V6 if lengths => put(segment, l3 + 4, (len - l3 - 40) as u16),
        Family::V6 => {}
    }
}

/// The headers around those that were cut; last, as their checksum covers all of them.
fn mend_outer(segment: &mut [u8], whole: usize, outer: &Outer, number: usize, lies: Lies) {
    let lengths = !lies.contains(Lies::OUTER_LENGTH);
    mend_ip(segment, &outer.headers, outer_step(outer, number, lies), lengths);
    let Headers { l4, protocol, .. } = outer.headers;
    let len = segment.len() - l4;
    if protocol == UDP && lengths {
        put(segment, l4 + 4, len as u16);
    }
    let Some(field) = outer.field else { return };
    if lies.intersects(Lies::SKIP_CHECKSUM | Lies::SKIP_OUTER_CHECKSUM) {
        return;
    }
    // GRE has no pseudo header (RFC 2784 section 2.5).
    let seed = if protocol == GRE { 0 } else { reseed(get(segment, field), whole - l4, len) };
    put(segment, field, 0);
    put(segment, field, checksum(add(seed, sum(&segment[l4..])), protocol == UDP));
}

fn outer_step(outer: &Outer, number: usize, lies: Lies) -> usize {
    if outer.fixed_id || lies.contains(Lies::SAME_OUTER_IP_ID) { 0 } else { number }
}

/// Every header is that of one segment already: what is left to do is TCP, and the ID of the outer IPv4 header,
/// whose datagrams may not share one.
fn repeat(segment: &mut [u8], whole: usize, cut: &Cut, number: usize, lies: Lies) {
    transport(segment, whole, cut, number, lies);
    if let Some(outer) = &cut.outer {
        mend_ip(segment, &outer.headers, outer_step(outer, number, lies), false);
    }
}

/// The transport header of the level that is cut.
fn transport(segment: &mut [u8], whole: usize, cut: &Cut, number: usize, lies: Lies) {
    let l4 = cut.headers.l4;
    let len = segment.len() - l4;
    let is_udp = cut.headers.protocol == UDP;
    if is_udp {
        put(segment, l4 + 4, len as u16);
    } else {
        number_and_flag(&mut segment[l4..], cut, number);
    }
    if lies.contains(Lies::SKIP_CHECKSUM) {
        return;
    }
    let field = l4 + if is_udp { 6 } else { 16 };
    let seed = reseed(get(segment, field), whole - l4, len);
    put(segment, field, 0);
    put(segment, field, checksum(add(seed, sum(&segment[l4..])), is_udp));
}

/// The sum of the pseudo header of `whole` bytes, as one of `len` bytes.
fn reseed(seed: u16, whole: usize, len: usize) -> u16 {
    add(subtract(seed, words(whole as u32)), words(len as u32))
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
