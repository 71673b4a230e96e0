//! Clocks against division and multiplication one step at a time.

use proptest::prelude::*;

use super::build::{ORDERS, options};
use crate::capture::interface::Clock;

/// Slow and obvious: floors compose, so dividing step by step cuts off the same parts.
fn slow(clock: Clock, ticks: u64) -> u64 {
    let exponent = clock.resolution & 0x7f;
    let mut ns = u128::from(ticks) * 1_000_000_000;
    for _ in 0..exponent {
        ns /= if clock.resolution & 0x80 == 0 { 10 } else { 2 };
    }
    let ns = i128::try_from(ns).unwrap() + i128::from(clock.offset_s) * 1_000_000_000;
    if ns < 0 { 0 } else { u64::try_from(ns).unwrap_or(u64::MAX) }
}

proptest! {
    #[test]
    fn every_resolution_and_offset_gives_the_same_time(
        resolution: u8,
        offset_s in prop_oneof![Just(0), -5_000_000_000i64..5_000_000_000, any::<i64>()],
        ticks: u64,
    ) {
        let clock = Clock { resolution, offset_s };
        prop_assert_eq!(clock.to_ns(ticks), slow(clock, ticks));
    }

    #[test]
    fn options_of_any_bytes_give_some_clock(bytes: Vec<u8>) {
        for order in ORDERS {
            let _ = Clock::from_options(order, &bytes);
        }
    }

    #[test]
    fn the_clock_is_found_among_other_options(
        before in proptest::collection::vec((10u16..14, any::<[u8; 5]>()), 0..4),
        resolution: u8,
        offset_s: i64,
    ) {
        for (order, offset) in ORDERS.into_iter().zip([offset_s.to_le_bytes(), offset_s.to_be_bytes()]) {
            let mut list: Vec<(u16, &[u8])> =
                before.iter().map(|(code, value)| (*code, &value[..])).collect();
            let resolution_value = [resolution];
            list.push((9, &[1, 2]));
            list.push((9, &resolution_value));
            list.push((9, &[3]));
            list.push((14, &offset));
            list.push((14, &[1; 4]));
            list.push((0, &[]));
            list.push((9, &[0]));
            let found = Clock::from_options(order, &options(order, &list));
            prop_assert_eq!(found, Clock { resolution, offset_s });
        }
    }
}

#[test]
fn known_times() {
    for (resolution, ticks, ns) in [
        (6, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (0, 1_700_000_000, 1_700_000_000_000_000_000),
        (12, 1_999, 1),
        (0x80, 2, 2_000_000_000),
        (0x80 | 20, 1 << 19, 500_000_000),
        (3, u64::MAX, u64::MAX),
        (0x7f, u64::MAX, 0),
        (0xff, u64::MAX, 0),
    ] {
        assert_eq!(Clock { resolution, offset_s: 0 }.to_ns(ticks), ns, "{resolution:#x}");
    }
}
