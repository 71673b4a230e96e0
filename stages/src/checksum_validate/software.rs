//! Checking by computing: IPv4 headers, and TCP and UDP with the payload read at most once.

use super::counters::Outcome;
use super::scope::Scope;
use crate::payload::Sums;
use corelane_runtime::packet::{Level, Packet};
use corelane_sum::Sum;

/// Checks an L4 checksum.
pub(super) fn check(scope: &Scope, sums: &mut Sums<'_>) -> Outcome {
    let sum = scope.pseudo() + sums.range(scope.from, scope.to);
    match (sum.is_valid(), scope.looks_partial()) {
        (true, _) => Outcome::Good,
        (false, true) => Outcome::Partial,
        (false, false) => Outcome::Corrupt,
    }
}

/// Checks an IPv4 header; `None` where it is not all there.
pub(super) fn check_ipv4(packet: &Packet, level: &Level) -> Option<bool> {
    let l3 = usize::from(level.l3);
    let data = packet.data();
    let len = usize::from(*data.get(l3)? & 0x0f) * 4;
    Some(Sum::of(data.get(l3..l3 + len)?).is_valid())
}
