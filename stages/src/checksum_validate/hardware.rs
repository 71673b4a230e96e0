//! What the device knows: a verdict on a checksum, or a sum from which the payload's follows.
//!
//! A device that says "bad" of a checksum that merely was never finished is right; the packet then looks
//! partial, and is treated as in software. Nothing here reads payload.

use super::counters::Outcome;
use super::scope::{Scope, Subject};
use crate::payload::Sums;
use corelane_runtime::offload::{Caps, Looks, Need};
use corelane_runtime::packet::{Csum, Packet};
use corelane_sum::Sum;

/// What a port may have checked before packets come here. A port that finds a tunnel tells of the innermost headers
/// what it tells of the outermost headers of other packets, and of the outer ones apart.
pub(super) const NEEDS: [Need; 5] = [
    Need::entry("outer ipv4", Looks::UNCHECKED_IPV4, Some(Caps::RX_IP), IPV4)
        .around(Caps::RX_OUTER_IP),
    l4("outer tcp", Looks::UNCHECKED_TCP, Caps::RX_TCP, L4),
    l4("outer udp", Looks::UNCHECKED_UDP, Caps::RX_UDP, L4).around(Caps::RX_OUTER_UDP),
    Need::entry("inner ipv4", Looks::UNCHECKED_INNER, Some(Caps::RX_IP), IPV4).within(),
    l4("inner tcp, udp", Looks::UNCHECKED_INNER, Caps::RX_TCP.union(Caps::RX_UDP), INNER).within(),
];

const IPV4: &str = "20 to 60 header bytes are read";
const L4: &str = "each payload byte is read once";
const INNER: &str = "from the outer sum at header cost where that one covers it, else each payload byte is read once";

const fn l4(work: &'static str, about: Looks, caps: Caps, software: &'static str) -> Need {
    Need::entry(work, about, Some(caps), software)
        .or(Caps::RX_COMPLETE, "its sum of the datagram leaves headers to read")
}

/// The device's verdict on the L4 checksum of a level, if there is one that can be relied on.
pub(super) fn verdict(packet: &Packet, level: usize, scope: &Scope) -> Option<Outcome> {
    match packet.meta().l4[level] {
        Csum::Good if scope.usual => Some(Outcome::Good),
        // By metadata: whoever made the packet vouches for it, and it will be finished.
        Csum::Partial => Some(Outcome::Good),
        Csum::Bad if scope.usual && scope.looks_partial() => Some(Outcome::Partial),
        Csum::Bad if scope.usual => Some(Outcome::Corrupt),
        Csum::Good | Csum::Bad | Csum::Unknown => None,
    }
}

/// Derives the payload's sum from what the device vouches for. True if it rests on a sum that the device
/// computed over the datagram, which nothing has confirmed yet.
#[inline]
pub(super) fn vouch(packet: &Packet, subjects: &[Subject; 2], sums: &mut Sums<'_>) -> bool {
    // Inner first: the closer the scope, the fewer bytes around the payload.
    for (level, subject) in subjects.iter().enumerate().rev() {
        if let Subject::Open(scope) = subject
            && scope.usual
            && packet.meta().l4[level] == Csum::Good
        {
            // Covered bytes and pseudo header add up to zero.
            sums.derive(scope.from, scope.to, Sum::ZERO - scope.pseudo());
        }
    }
    let meta = packet.meta();
    let known = meta.known().filter(|_| meta.trailer < u16::MAX && sums.payload().is_none());
    let Some(known) = known else { return false };
    let end = packet.len() - u32::from(meta.trailer);
    sums.derive(u32::from(known.from), end, Sum::from_u16(known.sum));
    sums.payload().is_some()
}
