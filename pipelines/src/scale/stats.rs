//! The few statistics that a handful of rounds allows: median, spread, and an interval for the median.
//!
//! No distribution is assumed. The interval is made of order statistics: the chance that the true median is outside
//! the k-th smallest and the k-th largest of n is that of fewer than k heads, or as few tails, in n throws of a coin.

use serde::Serialize;

/// A median and where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// The median of the rounds.
    pub median: f64,
    /// Least and most that the true median can well be.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// How likely it is between them: 0.95 or more where there are rounds enough, else what they allow.
    pub confidence: f64,
}

/// What an interval is to hold the median with.
const CONFIDENCE: f64 = 0.95;

/// In rising order.
fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The middle value, or the mean of the two in the middle; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => 0.0,
        (n, half) if n % 2 == 1 => sorted[half],
        (_, half) => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// Which value is the middle one, or the lower of the two in the middle.
pub(crate) fn middle(values: &[f64]) -> Option<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order.get(values.len().saturating_sub(1) / 2).copied()
}

/// From the least to the most, as a part of the median; 0 where that is 0.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let (sorted, median) = (sorted(values), median(values));
    match (sorted.first(), sorted.last()) {
        (Some(least), Some(most)) if median > 0.0 => (most - least) / median,
        _ => 0.0,
    }
}

/// The median, with the narrowest interval that holds it with 95 %, or the widest there is.
pub(crate) fn interval(values: &[f64]) -> Interval {
    let sorted = sorted(values);
    let n = sorted.len();
    if n == 0 {
        return Interval::default();
    }
    let enough = (1..=n.div_ceil(2)).rev().find(|&k| confidence(n, k) >= CONFIDENCE);
    let k = enough.unwrap_or(1);
    Interval {
        median: median(values),
        low: sorted[k - 1],
        high: sorted[n - k],
        confidence: confidence(n, k),
    }
}

/// How likely the median is between the k-th smallest and the k-th largest of n: one, less twice the chance of fewer
/// than k heads in n throws.
fn confidence(n: usize, k: usize) -> f64 {
    let mut chance = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut fewer = 0.0;
    for heads in 0..k {
        fewer += chance;
        chance *= (n - heads) as f64 / (heads + 1) as f64;
    }
    (1.0 - 2.0 * fewer).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians_and_spreads_are_those_of_the_textbook() {
        assert_eq!([median(&[]), median(&[3.0]), median(&[3.0, 1.0])], [0.0, 3.0, 2.0]);
        assert_eq!(median(&[5.0, 1.0, 4.0, 2.0, 3.0]), 3.0);
        assert_eq!(spread(&[9.0, 10.0, 11.0]), 0.2);
        assert_eq!([spread(&[]), spread(&[0.0, 0.0]), spread(&[7.0])], [0.0; 3]);
        assert_eq!([middle(&[]), middle(&[1.0]), middle(&[9.0, 1.0])], [None, Some(0), Some(1)]);
        assert_eq!(middle(&[5.0, 1.0, 4.0, 2.0, 3.0]), Some(4));
    }

    /// Tables of confidence intervals for the median, such as Conover's, A3 and section 3.2: with n of 6 the least
    /// and the most (96.9 %), of 9 the second (96.1 %), of 15 the fourth (96.5 %), of 20 the sixth (95.9 %).
    #[test]
    fn the_interval_is_that_of_the_tables() {
        for (n, k, percent) in [(6, 1, 96.9), (9, 2, 96.1), (15, 4, 96.5), (20, 6, 95.9)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let found = interval(&values);
            assert_eq!((found.low, found.high), (f64::from(k), f64::from(n + 1 - k)), "{n}");
            assert!((found.confidence * 100.0 - percent).abs() < 0.05, "{n}: {found:?}");
        }
    }

    #[test]
    fn few_rounds_say_what_they_allow() {
        let found = interval(&[4.0, 2.0, 5.0, 1.0, 3.0]);
        let expected = Interval { median: 3.0, low: 1.0, high: 5.0, confidence: 0.9375 };
        assert_eq!(found, expected);
        assert_eq!(
            interval(&[2.0]),
            Interval { median: 2.0, low: 2.0, high: 2.0, confidence: 0.0 }
        );
    }

    proptest! {
        /// Against counting: of all 2^n ways for n values to be above or below the median, those in which it is
        /// inside.
        #[test]
        fn confidence_is_what_counting_finds(n in 1..14_usize, k in 1..8_usize) {
            prop_assume!(k <= n.div_ceil(2));
            let ways = 1_u32 << n;
            let inside = (0..ways).filter(|way| {
                let below = way.count_ones() as usize;
                below >= k && n - below >= k
            });
            let counted = inside.count() as f64 / f64::from(ways);
            prop_assert!((confidence(n, k) - counted).abs() < 1e-9, "{} {}", confidence(n, k), counted);
        }

        #[test]
        fn the_middle_value_is_the_median_or_next_below(
            values in prop::collection::vec(0.0..9.0_f64, 1..20),
        ) {
            let middle = values[middle(&values).expect("some")];
            prop_assert!(middle <= median(&values));
            let below = values.iter().filter(|&&value| value < middle).count();
            let above = values.iter().filter(|&&value| value > middle).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
            prop_assert!(spread(&values) >= 0.0);
        }
    }
}
