//! A capture file mapped for reading, and the one `unsafe` call of this module.
//!
//! It promises a slice over a regular, non-empty file that no writer of this process touches. It does
//! not guard against another process that cuts the file while it is read; the system ends a process
//! that touches pages which are gone (SIGBUS), as it does for every reader of mappings.

use std::fs::File;
use std::path::Path;

use memmap2::{Advice, Mmap};

use super::error::Refusal;
use super::in_use::InUse;

/// The bytes of one file.
#[derive(Debug)]
pub(super) struct Mapping {
    map: Mmap,
    _in_use: InUse,
}

impl Mapping {
    /// Maps the whole file.
    pub(super) fn open(path: &Path) -> Result<Self, Refusal> {
        // Asked by name first: opening a pipe without a writer would wait for one.
        if !std::fs::metadata(path).map_err(Refusal::Open)?.is_file() {
            return Err(Refusal::NotAFile);
        }
        let file = File::open(path).map_err(Refusal::Open)?;
        let metadata = file.metadata().map_err(Refusal::Open)?;
        if !metadata.is_file() {
            return Err(Refusal::NotAFile);
        }
        let in_use = InUse::reading(&metadata)?;
        if metadata.len() == 0 {
            return Err(Refusal::Empty);
        }
        // SAFETY: the mapping is read-only and private, and `bytes` hands out slices no longer than it
        // lives. What the type system cannot see is a change of the file below: writers of this process
        // are kept away by `InUse`, and readers above never trust a byte twice - every length is copied
        // out of the mapping once and the copy is checked against the slice - so bytes changed by
        // another process give other packets, not accesses out of bounds. Cutting the file meanwhile
        // ends the process, as this file's first comment says; it does not give wrong memory.
        let map = unsafe { Mmap::map(&file) }.map_err(Refusal::Open)?;
        // Advice only: read ahead farther, since records are read in order. Refused, nothing changes.
        let _ = map.advise(Advice::Sequential);
        Ok(Self { map, _in_use: in_use })
    }

    /// All bytes of the file, as long as it was when it was opened.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }
}
