//! Capture files that stages write: opened with the run, and their first failure told once.
//!
//! It promises that a file which could not be written makes the run fail, and that nothing is said twice. What is
//! written, and when, is the stages' business.

use corelane_device::capture::{CaptureError, CaptureWriter, Format};
use corelane_runtime::Error;
use corelane_runtime::packet::Packet;
use corelane_runtime::stage::CaptureSink;
use std::sync::{Arc, OnceLock};

/// What went wrong with a file, for the report.
type Failure = Arc<OnceLock<String>>;

/// The files of a run.
#[derive(Debug, Default)]
pub(super) struct Captures {
    failures: Vec<Failure>,
}

impl Captures {
    /// Opens a file, which is created, or emptied if it exists.
    ///
    /// # Errors
    /// Where it cannot be, or is in use in this run already.
    pub(super) fn open(&mut self, path: &str) -> Result<Box<dyn CaptureSink>, Error> {
        let writer = CaptureWriter::create(path, Format::PcapNg).map_err(|error| told(&error))?;
        let failure = Failure::default();
        self.failures.push(Arc::clone(&failure));
        Ok(Box::new(File { writer, failure }))
    }

    /// What went wrong, a line for each file.
    pub(super) fn failures(&self) -> impl Iterator<Item = String> {
        self.failures.iter().filter_map(|failure| failure.get().cloned())
    }
}

struct File {
    writer: CaptureWriter,
    failure: Failure,
}

impl File {
    /// Tells the first failure, in the log and for the report.
    fn tell(&self, error: &CaptureError) -> Error {
        let error = told(error);
        if self.failure.set(error.to_string()).is_ok() {
            tracing::error!(%error, "a capture is not written any more; packets pass all the same");
        }
        error
    }
}

impl CaptureSink for File {
    fn write(&mut self, packet: &Packet, captured_len: u32, comment: &str) -> Result<(), Error> {
        let orig_len = packet.meta().orig_len.max(packet.len());
        let written =
            self.writer.write_with(packet.time(), orig_len, packet.parts(), captured_len, comment);
        written.map_err(|error| self.tell(&error))
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.writer.flush().map_err(|error| self.tell(&error))
    }
}

/// The failure in the terms of a run.
fn told(error: &CaptureError) -> Error {
    let message = error.to_string();
    match error.is_refusal() {
        true => Error::user("capture", message),
        false => Error::system("capture", message),
    }
}
