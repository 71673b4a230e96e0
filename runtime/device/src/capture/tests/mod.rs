//! Tests over bytes in memory, built by hand from the formats' drafts and not by the writer under test.
//!
//! Files, other tools and the corpus are in the crate's integration tests.

mod build;
mod damage;
mod layouts;
mod shrink;
mod time;

use std::io;
use std::sync::Arc;

use super::error::{Fault, Refusal};
use super::reader::{Position, Record, Shape};
use super::source::ReadAt;
use super::window::{WINDOW, Window};

/// Bytes in memory, read a few at a time; those from `cut` on are there only until a read.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    bytes: Vec<u8>,
    cut: usize,
    at_once: usize,
}

impl ReadAt for Memory {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.bytes[..self.cut].get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(into.len()).min(self.at_once);
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

/// A window of `size` bytes on a file that is never cut.
pub(super) fn window(bytes: &[u8], size: usize) -> Window<Memory> {
    let memory = Memory { bytes: bytes.to_vec(), cut: bytes.len(), at_once: 3 * size };
    Window::new(Arc::new(memory), bytes.len() as u64, size)
}

pub(super) fn shape(bytes: &[u8]) -> Result<Shape, Refusal> {
    Shape::of(&mut window(bytes, WINDOW))
}

/// A record that outlives its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    number: u64,
    time_ns: u64,
    orig_len: u32,
    interface: u32,
    data: Vec<u8>,
}

impl From<Record<'_>> for Kept {
    fn from(record: Record<'_>) -> Kept {
        let Record { number, time_ns, orig_len, interface, data } = record;
        Kept { number, time_ns, orig_len, interface, data: data.to_vec() }
    }
}

/// What a walk over a file yields: all records, then the fault and where it is, if there is one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Walk {
    records: Vec<Kept>,
    fault: Option<(usize, Fault)>,
}

/// Walks a file that must open, through windows of several sizes, which must show the same.
pub(super) fn walk(bytes: &[u8]) -> Walk {
    let walk = walk_through(&mut window(bytes, WINDOW), bytes);
    for size in [1, 29, 64] {
        assert_eq!(walk_through(&mut window(bytes, size), bytes), walk, "a window of {size}");
    }
    walk
}

/// Checks what holds for any bytes: positions grow, records number from 1, each has the bytes of its
/// place in the file, and nothing comes after the end.
fn walk_through(window: &mut Window<Memory>, bytes: &[u8]) -> Walk {
    let shape = Shape::of(window).expect("the file opens");
    let mut position = Position::default();
    let mut walk = Walk { records: Vec::new(), fault: None };
    loop {
        let before = position.offset as usize;
        match shape.next(window, &mut position) {
            Some(Ok(record)) => {
                assert_eq!(record.number, walk.records.len() as u64 + 1);
                let (place, len) = (&bytes[before..position.offset as usize], record.data.len());
                let mut found = (0..=place.len() - len).map(|at| &place[at..at + len]);
                assert!(place.len() > len && found.any(|bytes| bytes == record.data), "elsewhere");
                walk.records.push(record.into());
            }
            Some(Err(fault)) => {
                walk.fault = Some((position.offset as usize, fault));
                break;
            }
            None => break,
        }
    }
    assert!(shape.next(window, &mut position).is_none(), "something came after the end");
    assert_eq!(position.records(), walk.records.len() as u64);
    walk
}
