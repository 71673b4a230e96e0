//! The checksum of a GRE header, which covers the header and all that it carries, and no pseudo header.
//!
//! Few senders ask for it. Where the flag is not set one byte is looked at; where it is, the headers are walked
//! once more, and the sum is put together from theirs and the payload's.

use super::counters::Outcome;
use crate::payload::Sums;
use corelane_runtime::packet::{L3, L4, Level, Packet};
use corelane_sum::Sum;
use corelane_wire::{Coverage, layers, protocol};

/// The bit that says there is a checksum, in the first byte.
const CHECKSUM: u8 = 0x80;

/// What came out for each level with a GRE checksum, if there are any. What is in an outer one is not final while an
/// inner checksum is `unfinished`.
#[inline]
pub(super) fn check(
    packet: &Packet,
    sums: &mut Sums<'_>,
    unfinished: bool,
) -> Option<[Option<Outcome>; 2]> {
    let layers = &packet.meta().layers;
    let levels = &layers.levels[..usize::from(layers.count.min(2))];
    let any = levels.iter().any(|level| may_have(packet, level));
    any.then(|| careful(packet, sums, unfinished))
}

/// Whether a level may have a GRE checksum. Behind extension headers only a walk can tell.
#[inline]
fn may_have(packet: &Packet, level: &Level) -> bool {
    if level.l4_kind != L4::Other {
        return false;
    }
    let (l3, l4) = (usize::from(level.l3), usize::from(level.l4));
    let byte = |at: usize| packet.data().get(at).copied();
    let is_gre = match level.l3_kind {
        L3::V4 => matches!(byte(l3 + 9), Some(protocol::GRE | protocol::AUTHENTICATION)),
        L3::V6 => l4 != l3 + 40 || byte(l3 + 6) == Some(protocol::GRE),
        L3::None => false,
    };
    is_gre && byte(l4).is_some_and(|flags| flags & CHECKSUM != 0)
}

#[cold]
fn careful(packet: &Packet, sums: &mut Sums<'_>, unfinished: bool) -> [Option<Outcome>; 2] {
    let found = layers(packet.data(), packet.len());
    let levels = found.levels().iter().filter(|level| level.l3_kind != corelane_wire::L3::None);
    let mut outcomes = [None; 2];
    for (outcome, level) in outcomes.iter_mut().zip(levels) {
        *outcome = check_level(packet, level, sums, unfinished);
    }
    outcomes
}

/// What came out for one level; `None` where it has no GRE checksum.
pub(super) fn check_level(
    packet: &Packet,
    level: &corelane_wire::Level,
    sums: &mut Sums<'_>,
    unfinished: bool,
) -> Option<Outcome> {
    let flags = packet.data().get(usize::from(level.l4))?;
    if level.l4_kind != corelane_wire::L4::Gre || flags & CHECKSUM == 0 {
        return None;
    }
    match level.coverage() {
        Coverage::None => None,
        Coverage::Overrun if !packet.is_cut() => Some(Outcome::Overrun),
        Coverage::Bytes { from, to, .. } if to <= packet.len() && !unfinished => {
            let sum: Sum = sums.range(from, to);
            Some(if sum.is_valid() { Outcome::Good } else { Outcome::Corrupt })
        }
        _ => Some(Outcome::Unverifiable),
    }
}
