//! Tests over bytes in memory, built by hand from the formats' drafts and not by the writer under test.
//!
//! Files, other tools and the corpus are in the crate's integration tests.

mod build;
mod damage;
mod layouts;
mod time;

use super::error::Fault;
use super::reader::{Position, Record, Shape};

/// What a walk over `bytes` yields: all records, then the fault and where it is, if there is one.
pub(super) struct Walk<'a> {
    records: Vec<Record<'a>>,
    fault: Option<(usize, Fault)>,
}

/// Walks a file that must open, and checks what holds for any bytes: positions grow, records number
/// from 1 and lie behind one another within the file, and nothing comes after the end.
pub(super) fn walk(bytes: &[u8]) -> Walk<'_> {
    let shape = Shape::of(bytes).expect("the file opens");
    let mut position = Position::default();
    let mut walk = Walk { records: Vec::new(), fault: None };
    let whole = bytes.as_ptr_range();
    let mut end = whole.start;
    while let Some(next) = shape.next(bytes, &mut position) {
        match next {
            Ok(record) => {
                assert_eq!(record.number, walk.records.len() as u64 + 1);
                let place = record.data.as_ptr_range();
                assert!(end < place.start && place.end <= whole.end, "outside or overlapping");
                end = place.end;
                walk.records.push(record);
            }
            Err(fault) => {
                walk.fault = Some((position.offset, fault));
                break;
            }
        }
    }
    assert!(shape.next(bytes, &mut position).is_none(), "something came after the end");
    assert_eq!(position.records(), walk.records.len() as u64);
    walk
}
