//! Files that another process cuts, and disks that fail, while they are read.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::build::{ORDERS, pcap_header, pcap_record};
use super::damage::any_file;
use super::{Kept, Memory, walk};
use crate::capture::error::Fault;
use crate::capture::reader::{Position, Shape};
use crate::capture::source::ReadAt;
use crate::capture::window::Window;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_file_cut_while_it_is_read_is_a_fault_behind_whole_records(
        (built, cut) in any_file().prop_flat_map(|built| {
            let cut = built.ends[0].0..built.bytes.len() + 1;
            (Just(built), cut)
        }),
        size in 1usize..200,
        at_once in 1usize..100,
    ) {
        let all = walk(&built.bytes).records;
        let bytes = built.bytes;
        let (length, whole) = (bytes.len() as u64, bytes.len());
        let mut memory = Memory { bytes, cut: whole, at_once };
        let shape = Shape::of(&mut Window::new(Arc::new(memory.clone()), length, size)).unwrap();
        memory.cut = cut;
        let mut window = Window::new(Arc::new(memory), length, size);
        let (mut position, mut records) = (Position::default(), Vec::<Kept>::new());
        let end = loop {
            match shape.next(&mut window, &mut position) {
                Some(Ok(record)) => records.push(record.into()),
                Some(Err(fault)) => break Some(fault),
                None => break None,
            }
        };
        let &(start, before) = built.ends.iter().rfind(|end| end.0 <= cut).unwrap();
        prop_assert_eq!(&records[..], &all[..before]);
        prop_assert_eq!(end, (cut < whole).then_some(Fault::FileCut { length }));
        prop_assert!(cut == whole || position.offset as usize == start);
        prop_assert!(shape.next(&mut window, &mut position).is_none());
    }
}

/// Interrupts every other read, and fails behind `good` bytes.
struct Bad(Vec<u8>, u64, AtomicBool);

impl ReadAt for Bad {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        if !self.2.fetch_not(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if offset >= self.1 {
            return Err(io::Error::from_raw_os_error(5));
        }
        into[0] = self.0[offset as usize];
        Ok(1)
    }
}

#[test]
fn a_failing_disk_is_a_fault_and_an_interruption_is_not() {
    let mut bytes = pcap_header(ORDERS[0], 0xa1b2_c3d4, 1);
    for _ in 0..2 {
        bytes.extend(pcap_record(ORDERS[0], (1, 2), 5, &[], b"bytes"));
    }
    let length = bytes.len() as u64;
    let bad = Bad(bytes, length - 1, false.into());
    let mut window = Window::new(Arc::new(bad), length, 16);
    let shape = Shape::of(&mut window).unwrap();
    let mut position = Position::default();
    assert_eq!(shape.next(&mut window, &mut position).unwrap().unwrap().data, b"bytes");
    let fault = shape.next(&mut window, &mut position).unwrap().unwrap_err();
    assert_eq!((fault, position.offset), (Fault::Unread { code: 5 }, 45));
    assert!(fault.to_string().starts_with("cannot be read: Input/output error"), "{fault}");
    assert!(shape.next(&mut window, &mut position).is_none());
}
