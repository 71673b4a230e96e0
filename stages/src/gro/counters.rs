//! What `Gro` counts, and the closed list of reasons why a merge ends.
//!
//! Every superpacket ends for exactly one reason, so the `ended.*` counters add up to `superpackets`.

use corelane_runtime::stage::CounterId;

/// Names in the order of [`CounterId`].
pub(super) const COUNTERS: &[&str] = &[
    "merged",
    "superpackets",
    "ended.size",
    "ended.short",
    "ended.push",
    "ended.flags",
    "ended.gap",
    "ended.header",
    "ended.unfit",
    "ended.time",
    "ended.burst",
    "ended.table",
    "ended.drain",
];

/// Packets that became part of another one.
pub(super) const MERGED: CounterId = CounterId(0);
/// Packets that left joined from several.
pub(super) const SUPERPACKETS: CounterId = CounterId(1);

/// Why a merge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Ended {
    /// It has, or the next segment would make, too many bytes or segments; or the next one is longer.
    Size,
    /// The last segment was shorter than the first.
    Short,
    /// The last segment had PSH or FIN.
    Push,
    /// The next packet has other flags, or SYN, RST or URG.
    Flags,
    /// The next segment's sequence number is not the one that follows.
    Gap,
    /// The next segment's headers differ in something that cutting could not restore.
    Header,
    /// The next packet of the flow may not be merged at all.
    Unfit,
    /// It was held as long as allowed.
    Time,
    /// The burst ended.
    Burst,
    /// Room was needed for another flow, or buffers ran low.
    Table,
    /// No more packets come.
    Drain,
}

impl Ended {
    /// The counter of this reason.
    pub(super) fn counter(self) -> CounterId {
        CounterId(2 + self as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_the_counter_of_its_name() {
        let name = |ended: Ended| COUNTERS[ended.counter().0];
        assert_eq!(name(Ended::Size), "ended.size");
        assert_eq!(name(Ended::Header), "ended.header");
        assert_eq!(name(Ended::Drain), "ended.drain");
        assert_eq!(Ended::Drain.counter().0 + 1, COUNTERS.len());
    }
}
