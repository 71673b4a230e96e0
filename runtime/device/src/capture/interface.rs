//! What a capture says of an interface: link type, snapshot length, and how to read its clock.
//!
//! It promises a time in nanoseconds for every tick count, clamped instead of wrapped. It does not
//! correct clocks that were wrong.

use super::format::{ByteOrder, OPTION_END, OPTION_TS_OFFSET, OPTION_TS_RESOLUTION, padding};
use super::link::LinkType;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// One interface of a capture; a classic file has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its link type; always [`LinkType::ETHERNET`] in a file that was opened.
    pub link: LinkType,
    /// Longest captured length it was asked for, in bytes; 0 means no limit. Records may exceed it.
    pub snaplen: u32,
    /// How its times read.
    pub clock: Clock,
}

/// Turns tick counts of an interface into nanoseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// As `if_tsresol` has it: a tick is 10^-n seconds, or 2^-n where the highest bit is set.
    pub resolution: u8,
    /// Seconds to add, as `if_tsoffset` has it.
    pub offset_s: i64,
}

impl Clock {
    /// Microseconds, the default of both formats.
    pub const MICROSECONDS: Self = Self { resolution: 6, offset_s: 0 };
    /// Nanoseconds.
    pub const NANOSECONDS: Self = Self { resolution: 9, offset_s: 0 };

    /// Nanoseconds since 1970 of a tick count. Parts of a nanosecond are cut off; times before 1970
    /// read 0 and times after the year 2554 read `u64::MAX`.
    pub fn to_ns(self, ticks: u64) -> u64 {
        let exponent = u32::from(self.resolution & 0x7f);
        let ticks = u128::from(ticks);
        // 2^64 * 10^9 < 2^94: neither product can overflow.
        let ns = if self.resolution & 0x80 != 0 {
            (ticks * u128::from(NS_PER_SECOND)) >> exponent
        } else if exponent <= 9 {
            ticks * 10u128.pow(9 - exponent)
        } else {
            10u128.checked_pow(exponent - 9).map_or(0, |divisor| ticks / divisor)
        };
        let offset = i128::from(self.offset_s) * i128::from(NS_PER_SECOND);
        let ns = (ns as i128 + offset).clamp(0, i128::from(u64::MAX));
        ns as u64
    }

    /// Nanoseconds since 1970 of classic pcap's pair of words, whose fraction may exceed a second.
    pub(super) fn pair_to_ns(self, seconds: u32, fraction: u32) -> u64 {
        u64::from(seconds) * NS_PER_SECOND + self.to_ns(u64::from(fraction))
    }

    /// The clock that an interface description's options describe; of an option that is repeated the
    /// first counts. Options that are cut, of the wrong size or unknown are passed over, as readers of
    /// the format are told to.
    pub(super) fn from_options(order: ByteOrder, options: &[u8]) -> Self {
        let (mut resolution, mut offset_s) = (None, None);
        let mut rest = options;
        while let (Some(code), Some(len)) = (order.u16(rest, 0), order.u16(rest, 2)) {
            let len = usize::from(len);
            let Some(value) = rest.get(4..4 + len) else { break };
            match (code, value) {
                (OPTION_END, _) => break,
                (OPTION_TS_RESOLUTION, &[value]) => _ = resolution.get_or_insert(value),
                (OPTION_TS_OFFSET, value) if len == 8 => {
                    offset_s = offset_s.or(order.u64(value, 0).map(u64::cast_signed));
                }
                _ => {}
            }
            let Some(next) = rest.get(4 + len + padding(len)..) else { break };
            rest = next;
        }
        let default = Self::MICROSECONDS;
        Self {
            resolution: resolution.unwrap_or(default.resolution),
            offset_s: offset_s.unwrap_or(default.offset_s),
        }
    }
}
