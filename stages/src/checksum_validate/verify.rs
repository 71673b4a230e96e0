//! One packet: every checksum of every level, the payload read at most once, the results into meta.

use super::counters::{self, DEVICE_DISAGREED, Once, Outcome};
use super::scope::{Scope, Subject, subjects};
use super::{beyond, gre, hardware, software};
use crate::payload::Sums;
use bitflags::bitflags;
use corelane_runtime::packet::{Csum, L3, L4, MetaFlags, Packet, Partial};
use corelane_runtime::stage::StageContext;
use corelane_wire::udp::UdpHeader;
use corelane_wire::view;

bitflags! {
    /// What came out for a packet, over all its checksums; nothing where all is well.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Found: u8 {
        /// An IPv4 header is wrong.
        const IPV4 = 1;
        /// A TCP checksum is wrong.
        const TCP = 1 << 1;
        /// A UDP checksum is wrong.
        const UDP = 1 << 2;
        /// A GRE checksum is wrong.
        const GRE = 1 << 3;
        /// UDP over IPv6 has no checksum, and its port is not one that may do so.
        const ZERO6 = 1 << 4;
        /// A checksum was never finished, and still is not asked to be.
        const PARTIAL = 1 << 5;
        /// Of a checksum nothing can be said.
        const UNVERIFIABLE = 1 << 6;
    }
}

/// What the stage was told.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    /// What was never finished is asked to be.
    pub(super) finish: bool,
    /// UDP destination ports to which a checksum of 0 over IPv6 is accepted.
    pub(super) zero6_ports: &'a [u16],
}

impl Rules<'_> {
    /// Whether a UDP header at `l4`, over IPv6 and with a checksum of 0, is not accepted.
    pub(super) fn refuses(&self, packet: &Packet, l4: u16) -> bool {
        let header = view::<UdpHeader>(packet.data(), usize::from(l4));
        header.is_none_or(|header| !self.zero6_ports.contains(&header.dst_port.get()))
    }
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

/// Checks a packet, writes its meta, counts.
pub(super) fn verify(packet: &mut Packet, rules: &Rules<'_>, ctx: &mut StageContext<'_>) -> Found {
    let mut once = Once::default();
    let mut found = verify_ipv4(packet, &mut once, ctx);
    let results = match packet.is_super() {
        true => joined(packet),
        false => open(packet, rules, (&mut found, &mut once), ctx),
    };
    for (level, result) in results.into_iter().enumerate() {
        let Some(Result { udp, outcome, request }) = result else { continue };
        let inner = is_inner(packet, level);
        once.count(counters::l4(inner, udp, outcome), ctx);
        found.note(udp, outcome, request.is_some());
        if outcome == Outcome::Zero {
            let at = packet.meta().layers.levels[level];
            let refused = at.l3_kind == L3::V6 && rules.refuses(packet, at.l4);
            if refused {
                found |= Found::ZERO6;
                once.count(counters::zero6(inner), ctx);
            }
        }
        match request {
            Some(request) => packet.meta_mut().request(level, request),
            None => remember(packet, level, outcome),
        }
    }
    found
}

/// Writes into meta what is known of a checksum from now on.
fn remember(packet: &mut Packet, level: usize, outcome: Outcome) {
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

impl Found {
    pub(super) fn note_gre(&mut self, outcome: Outcome) {
        *self |= match outcome {
            Outcome::Corrupt => Found::GRE,
            Outcome::Overrun | Outcome::Unverifiable => Found::UNVERIFIABLE,
            Outcome::Partial | Outcome::Good | Outcome::Zero => Found::empty(),
        };
    }

    pub(super) fn note(&mut self, udp: bool, outcome: Outcome, finished: bool) {
        *self |= match outcome {
            Outcome::Corrupt if udp => Found::UDP,
            Outcome::Corrupt => Found::TCP,
            Outcome::Partial if !finished => Found::PARTIAL,
            Outcome::Overrun | Outcome::Unverifiable => Found::UNVERIFIABLE,
            Outcome::Partial | Outcome::Good | Outcome::Zero => Found::empty(),
        };
    }
}

/// Whether a tracked level lies inside a tunnel.
fn is_inner(packet: &Packet, level: usize) -> bool {
    level > 0 || packet.meta().flags.contains(MetaFlags::DEEPER)
}

/// Checks the IPv4 headers.
fn verify_ipv4(packet: &mut Packet, once: &mut Once, ctx: &mut StageContext<'_>) -> Found {
    let layers = packet.meta().layers;
    let mut found = Found::empty();
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
        once.count(counters::ipv4(is_inner(packet, index), good), ctx);
        if !good {
            found |= Found::IPV4;
        }
        let state = &mut packet.meta_mut().l3[index];
        if *state != Csum::Partial {
            *state = if good { Csum::Good } else { Csum::Bad };
        }
    }
    found
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
            Csum::Unknown if udp && has_none(packet, level) => Outcome::Zero,
            Csum::Unknown => Outcome::Unverifiable,
        };
        Some(Result::new(udp, outcome))
    })
}

/// Whether the UDP header of a level says that there is no checksum.
fn has_none(packet: &Packet, level: usize) -> bool {
    let at = usize::from(packet.meta().layers.levels[level].l4);
    view::<UdpHeader>(packet.data(), at).is_some_and(|header| header.checksum.get() == 0)
}

/// An ordinary packet: by the device where it knows, else by computing. Remembers the payload's sum.
fn open(
    packet: &mut Packet,
    rules: &Rules<'_>,
    (found, once): (&mut Found, &mut Once),
    ctx: &mut StageContext<'_>,
) -> Results {
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
                let request =
                    (rules.finish && outcome == Outcome::Partial).then(|| scope.request());
                Some(Result { udp: scope.udp, outcome, request: request.flatten() })
            }
        };
    }
    let unfinished = is_unfinished(packet, &results[1]);
    let gre = gre::check(packet, &mut sums, unfinished);
    let around = unfinished || is_unfinished(packet, &results[0]);
    *found |= beyond::check(packet, &mut sums, around, rules, once, ctx);
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
    if let Some(outcomes) = gre {
        book_gre(packet, outcomes, (found, once), ctx);
    }
    results
}

/// Counts and remembers what came out for GRE checksums, level by level.
#[cold]
fn book_gre(
    packet: &mut Packet,
    outcomes: [Option<Outcome>; 2],
    (found, once): (&mut Found, &mut Once),
    ctx: &mut StageContext<'_>,
) {
    for (level, outcome) in outcomes.into_iter().enumerate() {
        let Some(outcome) = outcome else { continue };
        once.count(counters::gre(is_inner(packet, level), outcome), ctx);
        found.note_gre(outcome);
        remember(packet, level, outcome);
    }
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
