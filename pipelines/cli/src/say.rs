//! Words to stderr and results to stdout.
//!
//! Whoever closed stderr, or gave it a full disk, still gets the run: what cannot be said there is dropped.
//! A result that cannot be written is an error, unless its reader merely has seen enough.

use corelane::Error;
use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// A line on stderr, written as a whole.
pub(crate) fn line(text: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// As [`line`], formatted.
macro_rules! say {
    ($($arg:tt)*) => { $crate::say::line(format_args!($($arg)*)) };
}
pub(crate) use say;

/// Writes a result to stdout.
///
/// # Errors
/// Where it cannot be written though somebody still reads.
pub(crate) fn result(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => {
            written.map_err(|error| Error::system("stdout", format!("cannot be written: {error}")))
        }
    }
}
