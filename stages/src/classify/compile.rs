//! From rules to tables that are looked up: per field, which rules each of its values allows.
//!
//! It promises that a value finds exactly the rules whose wishes hold it, and that equal answers are kept once. Time
//! and memory go with the number of ranges times the number of rules in a [chunk](super::table::CHUNK).

use super::field::Field;
use super::set::{Range, Set};
use super::table::{CHUNK, Chunk, Classifier, Column, DIRECT_MAX, Index};
use std::collections::{BTreeMap, HashMap};

/// What a rule asks for, field by field.
pub(super) type Wishes = BTreeMap<Field, Set>;

impl Classifier {
    /// Of rules in order: the first that matches counts.
    pub(super) fn new(rules: &[Wishes]) -> Classifier {
        let chunks = rules.chunks(CHUNK).enumerate();
        Classifier { chunks: chunks.map(|(number, rules)| chunk(number * CHUNK, rules)).collect() }
    }
}

fn chunk(first: usize, rules: &[Wishes]) -> Chunk {
    let mut all = vec![0; rules.len().div_ceil(64)];
    (0..rules.len()).for_each(|rule| set(&mut all, rule, true));
    let mut fields: Vec<Field> = rules.iter().flat_map(|rule| rule.keys().copied()).collect();
    fields.sort_unstable();
    fields.dedup();
    let mut columns: Vec<Column> =
        fields.into_iter().map(|field| column(field, rules, &all)).collect();
    // Those that tell most packets apart first: with a bit of luck no rule is left after one.
    columns.sort_by_key(|column| std::cmp::Reverse(column.summaries.len()));
    Chunk { first, summary: summary(&all), all, columns }
}

fn column(field: Field, rules: &[Wishes], all: &[u64]) -> Column {
    let mut rows = Rows { words: all.len(), known: HashMap::new(), bits: Vec::new() };
    let wishes: Vec<Option<&Set>> = rules.iter().map(|rule| rule.get(&field)).collect();
    let mut absent = all.to_vec();
    for (rule, wish) in wishes.iter().enumerate() {
        set(&mut absent, rule, wish.is_none_or(|wish| wish.absent));
    }
    let absent = rows.number(&absent);
    let any: Vec<u64> = {
        let mut any = all.to_vec();
        wishes.iter().enumerate().for_each(|(rule, wish)| set(&mut any, rule, wish.is_none()));
        any
    };
    let narrow = starts(&wishes, &any, &mut rows, |set| &set.narrow, |end| end.checked_add(1));
    let wide = starts(&wishes, &any, &mut rows, |set| &set.wide, |end| end.checked_add(1));
    let narrow = match field.largest() {
        max if max <= DIRECT_MAX => direct(&narrow, max),
        _ => Index::Starts(narrow),
    };
    let wide = if field.has_wide() { wide } else { Vec::new() };
    let summaries = rows.bits.chunks(all.len().max(1)).map(summary).collect();
    Column { field, narrow, wide, absent, rows: rows.bits, summaries }
}

/// Where the allowed rules change, from the value 0 on, with the number of the row from there.
fn starts<T: Copy + Ord + Default>(
    wishes: &[Option<&Set>],
    any: &[u64],
    rows: &mut Rows,
    ranges: impl Fn(&Set) -> &[Range<T>],
    next: fn(T) -> Option<T>,
) -> Vec<(T, u32)> {
    let mut changes: BTreeMap<T, Vec<(usize, bool)>> = BTreeMap::new();
    changes.entry(T::default()).or_default();
    for (rule, wish) in wishes.iter().enumerate() {
        for &(start, end) in wish.map(&ranges).unwrap_or_default() {
            changes.entry(start).or_default().push((rule, true));
            if let Some(after) = next(end) {
                changes.entry(after).or_default().push((rule, false));
            }
        }
    }
    let mut now = any.to_vec();
    let mut starts: Vec<(T, u32)> = Vec::with_capacity(changes.len());
    for (at, changed) in changes {
        changed.into_iter().for_each(|(rule, begins)| set(&mut now, rule, begins));
        let row = rows.number(&now);
        if starts.last().is_none_or(|(_, last)| *last != row) {
            starts.push((at, row));
        }
    }
    starts
}

/// The same with a row for every value.
fn direct(starts: &[(u64, u32)], max: u64) -> Index<u64> {
    let row = |value: u64| starts[starts.partition_point(|(at, _)| *at <= value) - 1].1;
    Index::Direct((0..=max).map(row).collect())
}

/// Sets of rules, each kept once.
struct Rows {
    words: usize,
    known: HashMap<Vec<u64>, u32>,
    bits: Vec<u64>,
}

impl Rows {
    fn number(&mut self, row: &[u64]) -> u32 {
        if let Some(&number) = self.known.get(row) {
            return number;
        }
        // As many as there are changes in a chunk, at most.
        let number = (self.bits.len() / self.words.max(1)) as u32;
        self.known.insert(row.to_vec(), number);
        self.bits.extend_from_slice(row);
        number
    }
}

fn set(bits: &mut [u64], rule: usize, value: bool) {
    let (word, bit) = (&mut bits[rule / 64], 1 << (rule % 64));
    if value { *word |= bit } else { *word &= !bit }
}

/// Which words of a row have a rule in them.
fn summary(row: &[u64]) -> u64 {
    row.iter().enumerate().fold(0, |all, (word, bits)| all | u64::from(*bits != 0) << word)
}
