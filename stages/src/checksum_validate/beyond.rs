//! Levels that meta does not track: those around the innermost two.
//!
//! Their checksums are checked and counted like all others, the outermost as outer, the rest as inner. What came
//! out is nobody's to remember: a packet is dropped or passed by it, and its meta says nothing of them.

use super::counters::{self, Once, Outcome};
use super::scope::{Scope, Subject, careful_level};
use super::verify::{Found, Rules};
use super::{gre, software};
use crate::payload::Sums;
use corelane_runtime::packet::{MetaFlags, Packet};
use corelane_runtime::stage::StageContext;
use corelane_sum::Sum;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::{L3, Level, view};

/// Checks the levels of a packet that are not tracked, if there are any.
#[inline]
pub(super) fn check(
    packet: &Packet,
    sums: &mut Sums<'_>,
    unfinished: bool,
    rules: &Rules<'_>,
    once: &mut Once,
    ctx: &mut StageContext<'_>,
) -> Found {
    match packet.meta().flags.contains(MetaFlags::DEEPER) {
        true => untracked(packet, sums, unfinished, rules, once, ctx),
        false => Found::empty(),
    }
}

#[cold]
fn untracked(
    packet: &Packet,
    sums: &mut Sums<'_>,
    unfinished: bool,
    rules: &Rules<'_>,
    once: &mut Once,
    ctx: &mut StageContext<'_>,
) -> Found {
    let mut found = Found::empty();
    let layers = packet.meta().layers;
    let tracked = &layers.levels[..usize::from(layers.count.min(2))];
    let mut inner = false;
    corelane_wire::layers::each_level(packet.data(), packet.len(), |level| {
        if level.l3_kind != L3::None && tracked.iter().all(|tracked| tracked.l3 != level.l3) {
            if let Some(good) = check_ipv4(packet, level) {
                once.count(counters::ipv4(inner, good), ctx);
                if !good {
                    found |= Found::IPV4;
                }
            }
            if let Some(outcome) = gre::check_level(packet, level, sums, unfinished) {
                once.count(counters::gre(inner, outcome), ctx);
                found.note_gre(outcome);
            }
            let subject = careful_level(packet, level);
            if let Some((udp, outcome)) = judge(&subject, sums, unfinished) {
                once.count(counters::l4(inner, udp, outcome), ctx);
                found.note(udp, outcome, false);
                let zero6 = outcome == Outcome::Zero && level.l3_kind == L3::V6;
                if zero6 && rules.refuses(packet, level.l4) {
                    once.count(counters::zero6(inner), ctx);
                    found |= Found::ZERO6;
                }
            }
        }
        inner = true;
    });
    found
}

/// Whether the IPv4 header of a level is right, if it has one.
fn check_ipv4(packet: &Packet, level: &Level) -> Option<bool> {
    let l3 = usize::from(level.l3);
    let header = view::<Ipv4Header>(packet.data(), l3).filter(|_| level.l3_kind == L3::V4);
    let bytes = header.and_then(|header| packet.data().get(l3..l3 + header.header_len()));
    Some(Sum::of(bytes?).is_valid())
}

fn judge(subject: &Subject, sums: &mut Sums<'_>, unfinished: bool) -> Option<(bool, Outcome)> {
    match subject {
        Subject::Nothing => None,
        Subject::Settled { udp, outcome } => Some((*udp, *outcome)),
        Subject::Open(Scope { udp, .. }) if unfinished => Some((*udp, Outcome::Unverifiable)),
        Subject::Open(scope) => Some((scope.udp, software::check(scope, sums))),
    }
}
