//! How much memory the tables of rules take, found before any is made.
//!
//! It promises a bound that the tables stay under, in time that grows as sorting the rules' ranges does. Equal answers
//! are kept once, so what is made is often far less.

use super::rule::Rule;
use super::set::Range;
use super::table::CHUNK;
use super::value::Wanted;
use std::collections::BTreeMap;

/// Most bytes of tables that one stage may have; all its copies share them.
pub(super) const BYTES_MAX: u64 = 1 << 30;
/// Bytes that a place where rules begin or end takes beside its row: its value, the row's number and summary.
const PLACE: u64 = 40;

/// Rules whose tables would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge {
    /// The first rule of those that are one too many, from 0.
    pub(super) rule: usize,
    /// Bytes that all of them would take.
    pub(super) bytes: u64,
}

/// Holds the tables of these rules against a limit in bytes.
pub(super) fn check(rules: &[Rule], limit: u64) -> Result<(), TooLarge> {
    let (mut bytes, mut first) = (0_u64, None);
    for (number, chunk) in rules.chunks(CHUNK).enumerate() {
        bytes = bytes.saturating_add(of_chunk(chunk));
        if bytes > limit {
            first.get_or_insert(number * CHUNK);
        }
    }
    first.map_or(Ok(()), |rule| Err(TooLarge { rule, bytes }))
}

/// Bytes of the tables of rules that are looked up at once, at most.
fn of_chunk(rules: &[Rule]) -> u64 {
    let mut columns: BTreeMap<_, Vec<&Wanted>> = BTreeMap::new();
    for (field, wanted) in rules.iter().flat_map(|rule| &rule.wanted) {
        columns.entry(*field).or_default().push(wanted);
    }
    let row = 8 * rules.len().div_ceil(64) as u64;
    let rows = |wanted: &Vec<&Wanted>| {
        // Addresses of a port and numbers of ports are not known yet: few, and each begins and ends somewhere.
        let named: usize = wanted.iter().map(|wanted| wanted.own.len() + wanted.ports.len()).sum();
        let narrow = places(wanted.iter().flat_map(|wanted| &wanted.set.narrow));
        let wide = places(wanted.iter().flat_map(|wanted| &wanted.set.wide));
        (narrow + wide + 2 * named + 2) as u64
    };
    columns.values().map(|wanted| rows(wanted) * (row + PLACE)).sum()
}

/// Places at which one of the ranges begins, or has just ended.
fn places<'a, T: Copy + Ord + 'a>(ranges: impl Iterator<Item = &'a Range<T>>) -> usize {
    let (mut starts, mut ends): (Vec<T>, Vec<T>) = ranges.copied().unzip();
    [&mut starts, &mut ends].into_iter().for_each(|ends| {
        ends.sort_unstable();
        ends.dedup();
    });
    starts.len() + ends.len()
}

#[cfg(test)]
mod tests {
    use super::super::config::wishes;
    use super::super::table::{Classifier, Index};
    use super::*;
    use corelane_runtime::stage::Nowhere;
    use proptest::prelude::*;

    fn rule(text: &str) -> Rule {
        Rule::read(text).expect("a rule")
    }

    /// What was really made.
    fn made(rules: &[Rule]) -> u64 {
        let wishes: Vec<_> = rules.iter().map(|rule| wishes(rule, &Nowhere).unwrap()).collect();
        let classifier = Classifier::new(&wishes);
        let columns = classifier.chunks.iter().flat_map(|chunk| &chunk.columns);
        let bytes = columns.map(|column| {
            let narrow = match &column.narrow {
                Index::Direct(_) => 0, // never more than 1 KiB
                Index::Starts(starts) => size_of_val(starts.as_slice()),
            };
            let wide = size_of_val(column.wide.as_slice());
            let rows = size_of_val(column.rows.as_slice());
            narrow + wide + rows + size_of_val(column.summaries.as_slice())
        });
        bytes.sum::<usize>() as u64
    }

    proptest! {
        #[test]
        fn no_table_is_larger_than_was_said(
            ranges in prop::collection::vec((0..40_000_u32, 0..20_000_u32, 0..4_u8), 1..200),
        ) {
            let rules: Vec<Rule> = ranges.iter().map(|(start, len, not)| {
                let range = format!("{start}..={}", start + len);
                let port = if *not == 0 { format!("Not({range})") } else { range };
                rule(&format!("(udp_dst: {port}, dst: [\"10.0.{}.0/24\", \"2001:db8:{start:x}::/48\"])", start % 256))
            }).collect();
            prop_assert_eq!(check(&rules, u64::MAX), Ok(()));
            let bound = check(&rules, 0).unwrap_err();
            prop_assert_eq!(bound.rule, 0);
            prop_assert!(made(&rules) <= bound.bytes, "{} of {}", made(&rules), bound.bytes);
        }
    }

    #[test]
    fn the_first_rule_beyond_the_limit_is_told() {
        let rules: Vec<Rule> =
            (0..3 * CHUNK).map(|port| rule(&format!("(udp_dst: {port})"))).collect();
        let all = check(&rules, 0).unwrap_err().bytes;
        assert_eq!(check(&rules, all), Ok(()));
        assert_eq!(check(&rules, all - 1), Err(TooLarge { rule: 2 * CHUNK, bytes: all }));
        assert!(all < 3 * 2 * (CHUNK as u64 + 2) * (PLACE + 8 * CHUNK as u64 / 64), "{all}");
    }

    #[test]
    fn equal_values_count_once() {
        let one = vec![rule("(proto: Tcp)")];
        let many: Vec<Rule> = (0..CHUNK).map(|_| one[0].clone()).collect();
        let bytes = |rules: &[Rule]| check(rules, 0).unwrap_err().bytes;
        assert!(bytes(&many) < 5 * bytes(&one), "{} {}", bytes(&many), bytes(&one));
    }
}
