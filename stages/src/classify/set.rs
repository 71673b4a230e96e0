//! Which values of a field a rule is for: ranges, sorted and apart from each other, so that what is not in them is
//! as easily said as what is.
//!
//! A field that holds addresses has narrow values for those of IPv4 and wide ones for those of IPv6; every other
//! field has narrow values only.

/// A range, both ends included.
pub(super) type Range<T> = (T, T);

/// Values of one field, and whether a packet without it belongs to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) narrow: Vec<Range<u64>>,
    pub(super) wide: Vec<Range<u128>>,
    pub(super) absent: bool,
}

impl Set {
    /// The same with ranges in order that do not touch.
    pub(super) fn normal(mut self) -> Set {
        self.narrow = normal(self.narrow, |end| end.checked_add(1));
        self.wide = normal(self.wide, |end| end.checked_add(1));
        self
    }

    /// Every value of a field that this one has not: it must be there. Narrow values end at `max`; wide ones are
    /// there where a field has such.
    pub(super) fn negated(&self, max: u64, has_wide: bool) -> Set {
        let wide = match has_wide {
            true => gaps(&self.wide, 0, u128::MAX, |at| at.checked_sub(1), |at| at.checked_add(1)),
            false => Vec::new(),
        };
        let narrow = gaps(&self.narrow, 0, max, |at| at.checked_sub(1), |at| at.checked_add(1));
        Set { narrow, wide, absent: false }
    }
}

/// Sorts ranges and joins those that overlap or touch.
fn normal<T: Copy + Ord>(mut ranges: Vec<Range<T>>, next: fn(T) -> Option<T>) -> Vec<Range<T>> {
    ranges.sort_unstable();
    let mut joined: Vec<Range<T>> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match joined.last_mut() {
            Some(last) if next(last.1).is_none_or(|after| start <= after) => {
                last.1 = last.1.max(end);
            }
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// What lies between normal ranges, from `first` to `last`.
fn gaps<T: Copy + Ord>(
    ranges: &[Range<T>],
    first: T,
    last: T,
    before: fn(T) -> Option<T>,
    after: fn(T) -> Option<T>,
) -> Vec<Range<T>> {
    let mut found = Vec::with_capacity(ranges.len() + 1);
    let mut from = Some(first);
    for &(start, end) in ranges {
        if let (Some(from), Some(to)) = (from, before(start))
            && from <= to
        {
            found.push((from, to));
        }
        from = after(end);
    }
    if let Some(from) = from.filter(|from| *from <= last) {
        found.push((from, last));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(ranges: &[(u64, u64)]) -> Set {
        Set { narrow: ranges.to_vec(), ..Set::default() }
    }

    proptest! {
        #[test]
        fn a_value_is_in_a_set_or_in_its_negation(
            ranges in prop::collection::vec((0..=31_u64, 0..=31_u64), 0..6),
        ) {
            let ranges: Vec<_> = ranges.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
            let normal = set(&ranges).normal();
            let negated = normal.negated(31, false);
            let holds = |set: &Set, value| set.narrow.iter().any(|&(a, b)| a <= value && value <= b);
            for value in 0..=31 {
                let right = ranges.iter().any(|&(a, b)| (a..=b).contains(&value));
                prop_assert_eq!(holds(&normal, value), right);
                prop_assert_eq!(holds(&negated, value), !right);
            }
            for set in [&normal, &negated] {
                prop_assert!(set.narrow.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
            }
        }
    }

    #[test]
    fn ends_of_the_widest_values_do_not_overflow() {
        let all = Set { wide: vec![(0, u128::MAX)], narrow: vec![(0, u64::MAX)], absent: true };
        let all = all.normal();
        assert_eq!(all.negated(u64::MAX, true), Set::default());
        assert_eq!(Set::default().negated(9, true).wide, [(0, u128::MAX)]);
        assert_eq!(set(&[(0, u64::MAX), (3, 4)]).normal().narrow, [(0, u64::MAX)]);
    }
}
