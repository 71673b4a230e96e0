//! What can come out for one checksum, and the counter for it.

use corelane_runtime::stage::{CounterId, StageContext};

/// What came out for a TCP, UDP or GRE checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It fits.
    Good,
    /// It does not, and is no unfinished one either.
    Corrupt,
    /// It holds just the pseudo-header sum.
    Partial,
    /// The datagram ends behind the end of a frame that was captured whole.
    Overrun,
    /// Not all covered bytes are there, or nobody can say which they are.
    Unverifiable,
    /// UDP says that there is none.
    Zero,
}

/// What was counted for a packet so far. Counters are packets: where a packet has several inner levels, of which
/// the same comes out, it is counted once.
#[derive(Default)]
pub(super) struct Once(u64);

impl Once {
    pub(super) fn count(&mut self, id: CounterId, ctx: &mut StageContext<'_>) {
        let bit = 1 << id.0;
        if self.0 & bit == 0 {
            self.0 |= bit;
            ctx.count(id, 1);
        }
    }
}

/// Counters of one level.
const PER_LEVEL: usize = 18;

/// The first of a level's counters of GRE.
const GRE: usize = 14;

/// Names, outer level first; within a level IPv4, TCP, UDP, GRE.
pub(super) const NAMES: &[&str] = &[
    "outer.ipv4.good",
    "outer.ipv4.bad",
    "outer.tcp.good",
    "outer.tcp.corrupt",
    "outer.tcp.partial",
    "outer.tcp.overrun",
    "outer.tcp.unverifiable",
    "outer.udp.good",
    "outer.udp.corrupt",
    "outer.udp.partial",
    "outer.udp.overrun",
    "outer.udp.unverifiable",
    "outer.udp.zero",
    "outer.udp.zero6",
    "outer.gre.good",
    "outer.gre.corrupt",
    "outer.gre.overrun",
    "outer.gre.unverifiable",
    "inner.ipv4.good",
    "inner.ipv4.bad",
    "inner.tcp.good",
    "inner.tcp.corrupt",
    "inner.tcp.partial",
    "inner.tcp.overrun",
    "inner.tcp.unverifiable",
    "inner.udp.good",
    "inner.udp.corrupt",
    "inner.udp.partial",
    "inner.udp.overrun",
    "inner.udp.unverifiable",
    "inner.udp.zero",
    "inner.udp.zero6",
    "inner.gre.good",
    "inner.gre.corrupt",
    "inner.gre.overrun",
    "inner.gre.unverifiable",
    "device_disagreed",
];

/// A port's sum over a datagram was wrong.
pub(super) const DEVICE_DISAGREED: CounterId = CounterId(2 * PER_LEVEL);

/// The counter of an IPv4 header.
pub(super) fn ipv4(inner: bool, good: bool) -> CounterId {
    CounterId(usize::from(inner) * PER_LEVEL + usize::from(!good))
}

/// The counter of a TCP or UDP checksum.
pub(super) fn l4(inner: bool, udp: bool, outcome: Outcome) -> CounterId {
    CounterId(usize::from(inner) * PER_LEVEL + 2 + 5 * usize::from(udp) + outcome as usize)
}

/// The counter of UDP without a checksum over IPv6, to a port that is not accepted.
pub(super) fn zero6(inner: bool) -> CounterId {
    CounterId(usize::from(inner) * PER_LEVEL + GRE - 1)
}

/// The counter of a GRE checksum, of which there is no partial one.
pub(super) fn gre(inner: bool, outcome: Outcome) -> CounterId {
    let at = match outcome {
        Outcome::Good => 0,
        Outcome::Corrupt => 1,
        Outcome::Overrun => 2,
        Outcome::Partial | Outcome::Unverifiable | Outcome::Zero => 3,
    };
    CounterId(usize::from(inner) * PER_LEVEL + GRE + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_its_name() {
        let outcomes = [
            (Outcome::Good, "good"),
            (Outcome::Corrupt, "corrupt"),
            (Outcome::Partial, "partial"),
            (Outcome::Overrun, "overrun"),
            (Outcome::Unverifiable, "unverifiable"),
            (Outcome::Zero, "zero"),
        ];
        for (inner, level) in [(false, "outer"), (true, "inner")] {
            assert_eq!(NAMES[ipv4(inner, true).0], format!("{level}.ipv4.good"));
            assert_eq!(NAMES[ipv4(inner, false).0], format!("{level}.ipv4.bad"));
            assert_eq!(NAMES[zero6(inner).0], format!("{level}.udp.zero6"));
            for (outcome, name) in outcomes {
                if !matches!(outcome, Outcome::Partial | Outcome::Zero) {
                    assert_eq!(NAMES[gre(inner, outcome).0], format!("{level}.gre.{name}"));
                }
            }
            for (udp, protocol) in [(false, "tcp"), (true, "udp")] {
                for (outcome, name) in outcomes {
                    if udp || outcome != Outcome::Zero {
                        let expected = format!("{level}.{protocol}.{name}");
                        assert_eq!(NAMES[l4(inner, udp, outcome).0], expected);
                    }
                }
            }
        }
        assert_eq!(NAMES[DEVICE_DISAGREED.0], "device_disagreed");
        assert!(NAMES.len() <= u64::BITS as usize, "one bit a counter");
    }
}
