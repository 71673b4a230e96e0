//! What can come out for one checksum, and the counter for it.

use corelane_runtime::stage::CounterId;

/// What came out for a TCP or UDP checksum.
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

/// Counters of one level.
const PER_LEVEL: usize = 13;

/// Names, outer level first; within a level IPv4, TCP, UDP.
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
    }
}
