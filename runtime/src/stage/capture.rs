//! What a stage that records packets writes to. Files are opened by who builds the stages, not here.

use crate::Error;
use crate::packet::Packet;

/// A capture file that is being written. Writing may be a system call, so this is not for the fast path.
pub trait CaptureSink: Send {
    /// Writes the first `captured_len` bytes of a packet, with its receive time, its length on the wire and a comment, to
    /// a buffer at least.
    ///
    /// # Errors
    /// Where the system refuses, now or before; whoever opened the file reports it once.
    fn write(&mut self, packet: &Packet, captured_len: u32, comment: &str) -> Result<(), Error>;

    /// Hands everything written so far to the system.
    ///
    /// # Errors
    /// As [`CaptureSink::write`].
    fn flush(&mut self) -> Result<(), Error>;
}

/// Takes everything and keeps nothing, for a stage that is built outside of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoCapture;

impl CaptureSink for NoCapture {
    fn write(&mut self, _: &Packet, _: u32, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
