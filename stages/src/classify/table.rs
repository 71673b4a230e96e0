//! Looking a packet up: one search in each field that rules look at, and the rules that all of them allow.
//!
//! Bit vectors (Lakshman and Stiliadis, SIGCOMM 1998) with a summary above them (Baboescu and Varghese, SIGCOMM
//! 2001): each value of a field stands for the set of rules that it allows, and the first rule of their
//! intersection is the answer. It promises no allocation, and time that grows with the logarithm of the number of
//! rules up to [`CHUNK`], and with their number divided by that beyond.

use super::field::{FIELDS, Field};
use super::headers::{Headers, Value};

/// Rules that are looked up at once.
pub(super) const CHUNK: usize = 1024;
/// Largest value of a field whose rows are found without a search.
pub(super) const DIRECT_MAX: u64 = 255;

/// Rules, ready to be looked up.
#[derive(Debug, Default)]
pub(super) struct Classifier {
    pub(super) chunks: Vec<Chunk>,
}

/// Some of the rules, in order.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The number of the first of them.
    pub(super) first: usize,
    /// All of them, as a row.
    pub(super) all: Vec<u64>,
    pub(super) summary: u64,
    /// The fields that they look at.
    pub(super) columns: Vec<Column>,
}

/// What the values of one field allow.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) field: Field,
    pub(super) narrow: Index<u64>,
    /// Where rows begin, by value; empty for a field without wide values.
    pub(super) wide: Vec<(u128, u32)>,
    /// The row of packets without it.
    pub(super) absent: u32,
    /// Sets of rules, a bit each, row by row.
    pub(super) rows: Vec<u64>,
    /// Of each row, which of its words are not 0.
    pub(super) summaries: Vec<u64>,
}

/// How the row of a value is found.
#[derive(Debug)]
pub(super) enum Index<T> {
    /// Under the value.
    Direct(Vec<u32>),
    /// Where it begins: the last that is not above the value.
    Starts(Vec<(T, u32)>),
}

impl Classifier {
    /// The first rule that a packet matches.
    #[inline]
    pub(super) fn find(&self, headers: &Headers<'_>) -> Option<usize> {
        self.chunks.iter().find_map(|chunk| chunk.find(headers))
    }
}

impl Chunk {
    fn find(&self, headers: &Headers<'_>) -> Option<usize> {
        let words = self.all.len();
        let mut at = [0; FIELDS];
        let mut summary = self.summary;
        for (at, column) in at.iter_mut().zip(&self.columns) {
            let row = column.row(headers.value(column.field)) as usize;
            summary &= column.summaries[row];
            if summary == 0 {
                return None;
            }
            *at = row * words;
        }
        while summary != 0 {
            let word = summary.trailing_zeros() as usize;
            let mut bits = self.all[word];
            for (at, column) in at.iter().zip(&self.columns) {
                bits &= column.rows[at + word];
            }
            if bits != 0 {
                return Some(self.first + word * 64 + bits.trailing_zeros() as usize);
            }
            summary &= summary - 1;
        }
        None
    }
}

impl Column {
    #[inline]
    fn row(&self, value: Value) -> u32 {
        match (value, &self.narrow) {
            (Value::Narrow(value), Index::Direct(rows)) => {
                rows.get(value as usize).copied().unwrap_or(self.absent)
            }
            (Value::Narrow(value), Index::Starts(starts)) => {
                last(starts, value).unwrap_or(self.absent)
            }
            (Value::Wide(value), _) => last(&self.wide, value).unwrap_or(self.absent),
            (Value::Absent, _) => self.absent,
        }
    }
}

/// The row that begins last before a value; the first begins at 0.
#[inline]
fn last<T: Copy + Ord>(starts: &[(T, u32)], value: T) -> Option<u32> {
    let behind = starts.partition_point(|(at, _)| *at <= value);
    starts.get(behind.checked_sub(1)?).map(|(_, row)| *row)
}
