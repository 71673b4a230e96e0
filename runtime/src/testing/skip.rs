//! One way to skip a test: say so by name, and leave a record the test command counts.
//!
//! It does not decide whether a skip is allowed; `.ci/run` does, from the record.

use std::io::Write;

/// Prints `SKIP name: reason` and appends the line to the file that `CORELANE_SKIP_LOG` names.
pub fn skip(name: &str, reason: &str) {
    let line = format!("SKIP {name}: {reason}\n");
    eprint!("{line}");
    let Some(path) = std::env::var_os("CORELANE_SKIP_LOG") else { return };
    let log = std::fs::OpenOptions::new().create(true).append(true).open(path);
    if let Err(error) = log.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("the skip of {name} could not be recorded: {error}");
    }
}
