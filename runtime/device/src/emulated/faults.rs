//! What can be made to go wrong with an emulated NIC: it stalls, it takes few packets at a time, it lies, and
//! units of it fail.
//!
//! All of it depends on the time given and on a seed only, so that a run can be repeated exactly.

use bitflags::bitflags;
use corelane_runtime::Time;
use corelane_runtime::offload::Caps;
use std::ops::Range;
use std::sync::Arc;

/// The faults of a port; none by default.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// When transmit queues take nothing.
    pub stall: Stall,
    /// Most packets a transmit queue takes in one call; at least one is always taken.
    pub packets_per_call: Option<usize>,
    /// What the device does other than it says.
    pub lies: Lies,
    /// What it no longer does from some moment on.
    pub fail: Vec<Failing>,
}

/// A part of the hardware that fails for good. From then on a transmit queue leaves what needs it in the burst,
/// and a receive queue no longer says what it found out by it; either takes the capabilities away from the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// What can no longer be done; what stands on it fails with it.
    pub caps: Caps,
    /// From when on.
    pub from: Onset,
}

/// The moment of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onset {
    /// At this time of the run, ns.
    At(Time),
    /// When a queue has handed over so many packets; each queue counts its own.
    After(u64),
}

impl Onset {
    /// Whether it has come, for a queue that has handed over `packets`.
    pub(super) fn has_come(self, now: Time, packets: u64) -> bool {
        match self {
            Onset::At(time) => now >= time,
            Onset::After(number) => packets >= number,
        }
    }
}

/// Failures of one queue that are still to come, each with the words it is told in.
#[derive(Debug)]
pub(super) struct ToFail(Vec<(Failing, Arc<str>)>);

impl ToFail {
    /// Those of `faults` that concern the capabilities in `side`.
    pub(super) fn new(faults: &Faults, side: Caps, verb: &str) -> ToFail {
        let own = faults
            .fail
            .iter()
            .map(|failing| Failing { caps: failing.caps & side, ..failing.clone() });
        let told = own.filter(|failing| !failing.caps.is_empty()).map(|failing| {
            let names = failing.caps.names();
            let from = match failing.from {
                Onset::At(time) => {
                    format!("from {}.{:06} ms of the run on", time / 1_000_000, time % 1_000_000)
                }
                Onset::After(packets) => format!("after {packets} packets"),
            };
            let why = format!("{verb} {names} {from}");
            (failing, Arc::from(why))
        });
        ToFail(told.collect())
    }

    /// Takes out a failure whose moment has come.
    pub(super) fn next(&mut self, now: Time, packets: u64) -> Option<(Caps, Arc<str>)> {
        let come = self.0.iter().position(|(failing, _)| failing.from.has_come(now, packets))?;
        let (failing, why) = self.0.swap_remove(come);
        Some((failing.caps, why))
    }

    /// Packets that may still be handed over before one happens that counts them.
    pub(super) fn left(&self, packets: u64) -> usize {
        let counts = self.0.iter().filter_map(|(failing, _)| match failing.from {
            Onset::After(number) => Some(number.saturating_sub(packets)),
            Onset::At(_) => None,
        });
        counts.min().map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX))
    }
}

/// When a transmit queue takes nothing, by the time of the run in ns.
#[derive(Clone, Debug, Default)]
pub enum Stall {
    /// Never.
    #[default]
    Never,
    /// During these times; they may touch and overlap.
    Windows(Vec<Range<Time>>),
    /// Once in every `period`, at a moment and for a time up to `longest` that depend on the seed.
    Seeded {
        /// Decides moments and lengths.
        seed: u64,
        /// ns from one beginning of a period to the next.
        period: Time,
        /// Longest stall, ns; cut to the period.
        longest: Time,
    },
}

impl Stall {
    /// When the stall that goes on at `now` ends, if one does.
    pub fn until(&self, now: Time) -> Option<Time> {
        match self {
            Stall::Never => None,
            Stall::Windows(windows) => {
                let mut end = now;
                // Windows may touch: look again from each end found. Every round passes a window for good.
                while let Some(next) = windows.iter().find(|window| window.contains(&end)) {
                    end = next.end;
                }
                (end > now).then_some(end)
            }
            Stall::Seeded { seed, period, longest } => seeded(*seed, *period, *longest, now),
        }
    }
}

fn seeded(seed: u64, period: Time, longest: Time, now: Time) -> Option<Time> {
    let period = period.max(1);
    let longest = longest.min(period);
    let start = now - now % period;
    let random = mix(seed ^ mix(now / period));
    let len = mix(random) % (longest + 1);
    let from = start + random % (period - len + 1);
    let until = from.saturating_add(len);
    (from..until).contains(&now).then_some(until)
}

/// Spreads a number over all 64 bits (the finalizer of SplitMix64).
pub(super) fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

bitflags! {
    /// Ways in which the device lies. A test that passes with one of these set proves nothing.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Lies: u16 {
        /// Leaves partial checksums as they are, in cut packets and around tunnels too.
        const SKIP_CHECKSUM = 1;
        /// Flips a payload bit in the last segment of what it cuts, behind the checksum's back.
        const CORRUPT_LAST_SEGMENT = 2;
        /// Gives every IPv4 segment the same ID though counting was asked for; inside a tunnel, in the inner header.
        const SAME_IP_ID = 4;
        /// Reports every checksum it looked at as good.
        const REPORT_BAD_AS_GOOD = 8;
        /// Leaves the lengths of the outer IP and UDP headers as they are in what it cuts inside tunnels.
        const OUTER_LENGTH = 16;
        /// Leaves the outer checksum of tunnels as it is, and finishes the inner one.
        const SKIP_OUTER_CHECKSUM = 32;
        /// Gives every outer IPv4 header the same ID though counting was asked for.
        const SAME_OUTER_IP_ID = 64;
        /// Leaves IPv4 header checksums as they are, but in what it cuts.
        const SKIP_IP_CHECKSUM = 128;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_that_touch_are_one_stall() {
        let stall = Stall::Windows(vec![20..30, 10..20, 25..28, 50..50]);
        assert_eq!(stall.until(9), None);
        assert_eq!(stall.until(10), Some(30));
        assert_eq!(stall.until(29), Some(30));
        assert_eq!((stall.until(30), stall.until(50)), (None, None));
    }

    proptest! {
        #[test]
        fn a_seeded_stall_ends_when_it_says_and_is_repeatable(
            seed: u64, period in 1..10_000_u64, longest in 0..20_000_u64, now in 0..1_000_000_u64,
        ) {
            let stall = Stall::Seeded { seed, period, longest };
            prop_assert_eq!(stall.until(now), stall.until(now));
            if let Some(until) = stall.until(now) {
                prop_assert!(until > now && until - now <= longest);
                prop_assert_eq!(stall.until(until - 1), Some(until));
            }
        }
    }

    #[test]
    fn a_seeded_stall_does_stall_and_does_go_on() {
        let stall = Stall::Seeded { seed: 7, period: 100, longest: 50 };
        let stalled = (0..10_000).filter(|&now| stall.until(now).is_some()).count();
        assert!((1_000..5_000).contains(&stalled), "{stalled} of 10000");
    }
}
