//! SIGINT and SIGTERM, as a question that is asked now and then.

use corelane::Error;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Signals that came since they were last asked for.
pub(crate) struct Signals {
    came: Arc<AtomicBool>,
}

impl Signals {
    /// From now on the two signals no longer end the process.
    pub(crate) fn listen() -> Result<Signals, Error> {
        let came = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&came))
                .map_err(|error| Error::system("signals", format!("cannot be handled: {error}")))?;
        }
        Ok(Signals { came })
    }

    /// Whether one came since the last call.
    pub(crate) fn take(&self) -> bool {
        self.came.swap(false, Ordering::Relaxed)
    }
}
