//! Words to stderr and results to stdout.
//!
//! Whoever closed stderr, or gave it a full disk, still gets the run: what cannot be said there is dropped.
//! A result that cannot be written is an error, unless its reader merely has seen enough. On a terminal one
//! line may be live: it is replaced by the next, and cleared before anything else is said.

use corelane::Error;
use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the last line on stderr is live.
static LIVE: AtomicBool = AtomicBool::new(false);
/// To the start of the line, and all of it gone.
const CLEAR: &str = "\r\x1b[K";

/// A line on stderr, written as a whole.
pub(crate) fn line(text: Arguments<'_>) {
    let clear = if LIVE.swap(false, Ordering::Relaxed) { CLEAR } else { "" };
    let _ = std::io::stderr().lock().write_all(format!("{clear}{text}\n").as_bytes());
}

/// A line on a terminal that the next one replaces. What is wider than the terminal is cut off by it.
pub(crate) fn live(text: &str) {
    LIVE.store(true, Ordering::Relaxed);
    let text = format!("{CLEAR}\x1b[?7l{text}\x1b[?7h");
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Takes the live line away, if there is one.
pub(crate) fn clear() {
    if LIVE.swap(false, Ordering::Relaxed) {
        let _ = std::io::stderr().lock().write_all(CLEAR.as_bytes());
    }
}

/// stderr for logs, with the live line out of their way.
pub(crate) struct Logs;

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        clear();
        std::io::stderr().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
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
    clear();
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => {
            written.map_err(|error| Error::system("stdout", format!("cannot be written: {error}")))
        }
    }
}
