//! One packet: every checksum of every level, the payload read at most once, the results into meta.

use super::counters::{self, DEVICE_DISAGREED, Outcome};
use super::hardware;
use super::scope::{Scope, Subject, subjects};
use super::software;
use crate::payload::Sums;
use corelane_runtime::packet::{Csum, L3, L4, MetaFlags, Packet};
use corelane_runtime::stage::StageContext;

/// Which kinds of checksum are wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wrong {
    /// An IPv4 header.
    pub(super) ipv4: bool,
    /// A TCP checksum.
    pub(super) tcp: bool,
    /// A UDP checksum.
    pub(super) udp: bool,
}

/// Checks a packet, writes its meta, counts.
pub(super) fn verify(packet: &mut Packet, ctx: &mut StageContext<'_>) -> Wrong {
    let mut wrong = Wrong { ipv4: verify_ipv4(packet, ctx), ..Wrong::default() };
    let outcomes = if packet.is_super() { joined(packet) } else { open(packet, ctx) };
    for (level, outcome) in outcomes.into_iter().enumerate() {
        let Some((udp, outcome)) = outcome else { continue };
        let inner = is_inner(packet, level);
        ctx.count(counters::l4(inner, udp, outcome), 1);
        let bad = outcome == Outcome::Corrupt;
        wrong.tcp |= bad && !udp;
        wrong.udp |= bad && udp;
        let state = &mut packet.meta_mut().l4[level];
        *state = match outcome {
            Outcome::Good if *state == Csum::Partial => Csum::Partial,
            Outcome::Good => Csum::Good,
            Outcome::Corrupt => Csum::Bad,
            Outcome::Partial | Outcome::Overrun | Outcome::Unverifiable | Outcome::Zero => {
                Csum::Unknown
            }
        };
    }
    wrong
}

/// Whether a tracked level lies inside a tunnel.
fn is_inner(packet: &Packet, level: usize) -> bool {
    level > 0 || packet.meta().flags.contains(MetaFlags::DEEPER)
}

/// Checks the IPv4 headers; true if one is wrong.
fn verify_ipv4(packet: &mut Packet, ctx: &mut StageContext<'_>) -> bool {
    let layers = packet.meta().layers;
    let mut wrong = false;
    for (index, level) in layers.levels.iter().enumerate().take(usize::from(layers.count)) {
        if level.l3_kind != L3::V4 {
            continue;
        }
        let good = match packet.meta().l3[index] {
            Csum::Good | Csum::Partial => true,
            Csum::Bad => false,
            Csum::Unknown => match software::check_ipv4(packet, level) {
                Some(good) => good,
                None => continue,
            },
        };
        ctx.count(counters::ipv4(is_inner(packet, index), good), 1);
        wrong |= !good;
        let state = &mut packet.meta_mut().l3[index];
        if *state != Csum::Partial {
            *state = if good { Csum::Good } else { Csum::Bad };
        }
    }
    wrong
}

/// Level by level whether it is UDP, and what came out.
type Outcomes = [Option<(bool, Outcome)>; 2];

/// The fields of a packet that was joined are those of no packet: only those who joined it can know.
fn joined(packet: &Packet) -> Outcomes {
    let meta = packet.meta();
    std::array::from_fn(|level| {
        let udp = match meta.layers.levels[level].l4_kind {
            _ if level >= usize::from(meta.layers.count) => return None,
            L4::Tcp => false,
            L4::Udp => true,
            L4::Other | L4::None => return None,
        };
        let outcome = match meta.l4[level] {
            Csum::Good | Csum::Partial => Outcome::Good,
            Csum::Bad => Outcome::Corrupt,
            Csum::Unknown => Outcome::Unverifiable,
        };
        Some((udp, outcome))
    })
}

/// An ordinary packet: by the device where it knows, else by computing. Remembers the payload's sum.
fn open(packet: &mut Packet, ctx: &mut StageContext<'_>) -> Outcomes {
    let subjects = subjects(packet);
    let mut outcomes = [None; 2];
    let mut sums = Sums::of(packet);
    let mut unconfirmed = hardware::vouch(packet, &subjects, &mut sums);
    for (level, subject) in subjects.iter().enumerate().rev() {
        outcomes[level] = match subject {
            Subject::Nothing => None,
            Subject::Settled { udp, outcome } => Some((*udp, *outcome)),
            Subject::Open(scope) => {
                let outcome = hardware::verdict(packet, level, scope)
                    .or_else(|| unfinished_inside(packet, level))
                    .unwrap_or_else(|| check(scope, &mut sums, &mut unconfirmed, ctx));
                Some((scope.udp, outcome))
            }
        };
    }
    let (read, payload) = (sums.read(), sums.payload());
    ctx.payload_summed(read);
    let good = outcomes.iter().flatten().any(|(_, outcome)| *outcome == Outcome::Good);
    let finished = !packet.meta().l4.contains(&Csum::Partial);
    if let (true, true, Some(sum)) = (good, finished, payload) {
        packet.set_payload_sum(sum.fold());
    }
    outcomes
}

/// The bytes under an outer checksum are not final while an inner one is unfinished.
fn unfinished_inside(packet: &Packet, level: usize) -> Option<Outcome> {
    let inside = level == 0 && packet.meta().l4[1] == Csum::Partial;
    inside.then_some(Outcome::Unverifiable)
}

/// Computes. A datagram sum of the device that makes the checksum wrong may itself be what is wrong.
fn check(
    scope: &Scope,
    sums: &mut Sums<'_>,
    unconfirmed: &mut bool,
    ctx: &mut StageContext<'_>,
) -> Outcome {
    let outcome = software::check(scope, sums);
    if outcome != Outcome::Corrupt || !*unconfirmed {
        return outcome;
    }
    *unconfirmed = false;
    sums.distrust();
    let again = software::check(scope, sums);
    if again == Outcome::Good {
        ctx.count(DEVICE_DISAGREED, 1);
    }
    again
}
