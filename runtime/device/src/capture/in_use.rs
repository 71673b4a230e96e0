//! Which files this process reads or writes as captures.
//!
//! It promises that no writer of this module truncates a file that is being read, and that two writers
//! never share one. It knows files by device and inode, so that links and other spellings of a path
//! count as the same file. It cannot see other processes.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

/// Files in use; taken only when a capture is opened or closed.
static FILES: Mutex<Vec<(u64, u64, Use)>> = Mutex::new(Vec::new());

/// A file is in use for as long as this lives.
#[derive(Debug)]
pub(super) struct InUse {
    entry: (u64, u64, Use),
}

impl InUse {
    /// Readers may share a file, but not with a writer.
    pub(super) fn reading(file: &Metadata) -> Result<Self, Refusal> {
        Self::claim(file, Use::Read)
    }

    /// A writer has its file alone.
    pub(super) fn writing(file: &Metadata) -> Result<Self, Refusal> {
        Self::claim(file, Use::Write)
    }

    fn claim(file: &Metadata, how: Use) -> Result<Self, Refusal> {
        let entry = (file.dev(), file.ino(), how);
        let mut files = files();
        for &(_, _, other) in files.iter().filter(|e| (e.0, e.1) == (entry.0, entry.1)) {
            match (other, how) {
                (Use::Read, Use::Read) => {}
                (Use::Read, Use::Write) => return Err(Refusal::BeingRead),
                (Use::Write, _) => return Err(Refusal::BeingWritten),
            }
        }
        files.push(entry);
        Ok(Self { entry })
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut files = files();
        if let Some(place) = files.iter().position(|&entry| entry == self.entry) {
            files.swap_remove(place);
        }
    }
}

/// A panic elsewhere cannot leave the list half changed, so a poisoned lock is as good as a whole one.
fn files() -> MutexGuard<'static, Vec<(u64, u64, Use)>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}
