//! One packet: every checksum of every level, the payload read at most once, the results into meta.

use super::counters::{self, DEVICE_DISAGREED, Outcome};
use super::hardware;
use super::scope::{Scope, Subject, subjects};
use super::software;
use crate::payload::Sums;
use corelane_runtime::packet::{Csum, L3, L4, MetaFlags, Packet, Partial};
use corelane_runtime::stage::StageContext;

/// What came out for a packet, over all its checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// An IPv4 header is wrong.
    pub(super) ipv4: bool,
    /// A TCP checksum is wrong.
    pub(super) tcp: bool,
    /// A UDP checksum is wrong.
    pub(super) udp: bool,
    /// A checksum was never finished, and still is not asked to be.
    pub(super) partial: bool,
    /// Of a checksum nothing can be said.
    pub(super) unverifiable: bool,
}

/// What came out for one checksum.
#[derive(Clone, Copy)]
struct Result {
    udp: bool,
    outcome: Outcome,
    /// It is to be finished from now on, so it says so.
    request: Option<Partial>,
}

impl Result {
    fn new(udp: bool, outcome: Outcome) -> Result {
        Result { udp, outcome, request: None }
    }
}

/// Level by level what came out.
type Results = [Option<Result>; 2];

/// Checks a packet, writes its meta, counts. With `finish`, what was never finished is asked to be.
pub(super) fn verify(packet: &mut Packet, finish: bool, ctx: &mut StageContext<'_>) -> Found {
    let mut found = Found { ipv4: verify_ipv4(packet, ctx), ..Found::default() };
    let results = if packet.is_super() { joined(packet) } else { open(packet, finish, ctx) };
    for (level, result) in results.into_iter().enumerate() {
        let Some(Result { udp, outcome, request }) = result else { continue };
        let inner = is_inner(packet, level);
        ctx.count(counters::l4(inner, udp, outcome), 1);
        found.note(udp, outcome, request.is_some());
        let meta = packet.meta_mut();
        if let Some(request) = request {
            meta.request(level, request);
            continue;
        }
        meta.l4[level] = match outcome {
            Outcome::Good if meta.l4[level] == Csum::Partial => Csum::Partial,
            Outcome::Good => Csum::Good,
            Outcome::Corrupt => Csum::Bad,
            Outcome::Partial | Outcome::Overrun | Outcome::Unverifiable | Outcome::Zero => {
                Csum::Unknown
            }
        };
    }
    found
}

impl Found {
    fn note(&mut self, udp: bool, outcome: Outcome, finished: bool) {
        match outcome {
            Outcome::Corrupt if udp => self.udp = true,
            Outcome::Corrupt => self.tcp = true,
            Outcome::Partial => self.partial |= !finished,
            Outcome::Overrun | Outcome::Unverifiable => self.unverifiable = true,
            Outcome::Good | Outcome::Zero => {}
        }
    }
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

/// The fields of a packet that was joined are those of no packet: only those who joined it can know.
fn joined(packet: &Packet) -> Results {
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
        Some(Result::new(udp, outcome))
    })
}

/// An ordinary packet: by the device where it knows, else by computing. Remembers the payload's sum.
fn open(packet: &mut Packet, finish: bool, ctx: &mut StageContext<'_>) -> Results {
    let subjects = subjects(packet);
    let mut results: Results = [None; 2];
    let mut sums = Sums::of(packet);
    let mut unconfirmed = hardware::vouch(packet, &subjects, &mut sums);
    for (level, subject) in subjects.iter().enumerate().rev() {
        let unfinished = level == 0 && is_unfinished(packet, &results[1]);
        results[level] = match subject {
            Subject::Nothing => None,
            Subject::Settled { udp, outcome } => Some(Result::new(*udp, *outcome)),
            Subject::Open(scope) => {
                let outcome = hardware::verdict(packet, level, scope)
                    .or(unfinished.then_some(Outcome::Unverifiable))
                    .unwrap_or_else(|| check(scope, &mut sums, &mut unconfirmed, ctx));
                let request = (finish && outcome == Outcome::Partial).then(|| scope.request());
                Some(Result { udp: scope.udp, outcome, request: request.flatten() })
            }
        };
    }
    let (read, payload) = (sums.read(), sums.payload());
    ctx.payload_summed(read);
    let good = results.iter().flatten().any(|result| result.outcome == Outcome::Good);
    let finished = !packet.meta().l4.contains(&Csum::Partial);
    let whole = results.iter().flatten().all(|result| result.request.is_none());
    // A sum that was read is true whatever the checksums say; whoever finishes one needs it.
    let (vouched, taken) = (good && finished && whole, !whole && read > 0);
    if let (true, Some(sum)) = (vouched || taken, payload) {
        packet.set_payload_sum(sum.fold());
    }
    results
}

/// The bytes under an outer checksum are not final while an inner one is unfinished.
fn is_unfinished(packet: &Packet, inner: &Option<Result>) -> bool {
    packet.meta().l4[1] == Csum::Partial || inner.is_some_and(|inner| inner.request.is_some())
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
