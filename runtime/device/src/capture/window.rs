//! A window on a file: the bytes around the place where a reader stands.
//!
//! It promises that reading onward costs one system call and no allocation for many records; that the
//! window grows for a record longer than itself, but never beyond what the file holds; and that a file
//! which became shorter since it was opened is a fault. It does not follow a file that grows.

use std::io;
use std::sync::Arc;

use super::error::Fault;
use super::source::ReadAt;

/// Bytes a window has at least: hundreds of frames a read, and little enough to stay in a core's cache.
pub(super) const WINDOW: usize = 256 << 10;

/// Part of a file in memory.
#[derive(Debug)]
pub(super) struct Window<S> {
    source: Arc<S>,
    /// Bytes of the file when it was opened; none behind are shown.
    len: u64,
    size: usize,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins, and how many bytes of it were read.
    start: u64,
    filled: usize,
}

impl<S: ReadAt> Window<S> {
    /// An empty window, of `size` bytes once it is looked through.
    pub(super) fn new(source: Arc<S>, len: u64, size: usize) -> Self {
        Self { source, len, size, buffer: Vec::new(), start: 0, filled: 0 }
    }

    /// Another window on the same file, empty as well.
    pub(super) fn another(&self) -> Self {
        Self::new(self.source.clone(), self.len, self.size)
    }

    /// Bytes from `offset` to the end of the file.
    pub(super) fn left(&self, offset: u64) -> usize {
        usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX)
    }

    /// The `len` bytes at `offset`, or all that are left there if those are fewer.
    ///
    /// # Errors
    /// [`Fault::FileCut`] or [`Fault::Unread`].
    pub(super) fn get(&mut self, offset: u64, len: usize) -> Result<&[u8], Fault> {
        let len = len.min(self.left(offset));
        let at = match self.place(offset, len) {
            Some(at) => at,
            None => self.fill(offset, len)?,
        };
        Ok(self.buffer.get(at..at + len).unwrap_or_default())
    }

    /// The four bytes at `offset`, without moving the window there: what comes next may lie before them.
    pub(super) fn word(&self, offset: u64) -> Result<[u8; 4], Fault> {
        let mut word = [0; 4];
        let known = self.place(offset, 4).and_then(|at| self.buffer.get(at..at + 4));
        match known {
            Some(bytes) => word.copy_from_slice(bytes),
            None => _ = self.read(&mut word, 4, offset)?,
        }
        Ok(word)
    }

    /// Where in the buffer these bytes stand, if all do.
    fn place(&self, offset: u64, len: usize) -> Option<usize> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        (at.checked_add(len)? <= self.filled).then_some(at)
    }

    /// Moves the window to `offset` and reads until it shows `want` bytes; they stand at the place given.
    fn fill(&mut self, offset: u64, want: usize) -> Result<usize, Fault> {
        match self.place(offset, 0) {
            Some(at) => {
                self.buffer.copy_within(at..self.filled, 0);
                self.filled -= at;
            }
            None => self.filled = 0,
        }
        self.start = offset;
        let room = if want > self.size { want + self.size } else { self.size };
        let room = room.min(self.left(offset));
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let (filled, missing) = (self.filled, want.saturating_sub(self.filled));
        let read = self.read(&mut buffer[filled..], missing, offset + filled as u64);
        self.buffer = buffer;
        self.filled += read?;
        Ok(0)
    }

    /// Reads at least `least` bytes that stand at `offset`, as many more as come with them.
    fn read(&self, into: &mut [u8], least: usize, offset: u64) -> Result<usize, Fault> {
        let mut done = 0;
        while done < least {
            match self.source.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => return Err(Fault::FileCut { length: self.len }),
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Fault::Unread { code: error.raw_os_error().unwrap_or_default() });
                }
            }
        }
        Ok(done)
    }
}
