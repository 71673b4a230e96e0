//! A capture file opened for reading: bytes at a place, and how many there were.
//!
//! It promises a regular, non-empty file that no writer of this process touches, and that opening never
//! waits, not even for the writer of a pipe. Another process may change or cut the file meanwhile: reading
//! then gives other bytes or fewer, and never a signal, since nothing is mapped.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::Refusal;
use super::in_use::InUse;

/// Bytes that can be read at any place.
pub(super) trait ReadAt {
    /// Reads some bytes that stand at `offset`; 0 where there are none.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// One file.
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    len: u64,
    _in_use: InUse,
}

impl Source {
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
        match metadata.len() {
            0 => Err(Refusal::Empty),
            len => Ok(Self { file, len, _in_use: in_use }),
        }
    }

    /// Bytes the file had when it was opened.
    pub(super) fn len(&self) -> u64 {
        self.len
    }
}

impl ReadAt for Source {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }
}
