//! SIGINT and SIGTERM, counted, as a question that is asked now and then.

use corelane::Error;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Signals that came since they were last asked for: each is a byte in a socket, so that two in quick
/// succession are two.
pub(crate) struct Signals {
    came: UnixStream,
}

impl Signals {
    /// From now on the two signals no longer end the process.
    pub(crate) fn listen() -> Result<Signals, Error> {
        let listen = || {
            let (came, sender) = UnixStream::pair()?;
            came.set_nonblocking(true)?;
            for signal in [SIGINT, SIGTERM] {
                signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
            }
            Ok(Signals { came })
        };
        listen().map_err(cannot)
    }

    /// How many came since the last call.
    pub(crate) fn take(&self) -> usize {
        let mut bytes = [0; 16];
        (&self.came).read(&mut bytes).unwrap_or(0)
    }
}

/// A file that reaches the limit on its size (`ulimit -f`) shall fail to be written, not end the process.
pub(crate) fn survive_file_limit() -> Result<(), Error> {
    let ignored = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, ignored).map(|_| ()).map_err(cannot)
}

fn cannot(error: std::io::Error) -> Error {
    Error::system("signals", format!("cannot be handled: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_counts() {
        let signals = Signals::listen().expect("signals");
        assert_eq!(signals.take(), 0);
        for signal in [SIGINT, SIGINT, SIGTERM] {
            signal_hook::low_level::raise(signal).expect("raised");
        }
        assert_eq!(signals.take(), 3);
        assert_eq!(signals.take(), 0);
    }
}
