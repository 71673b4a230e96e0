//! Logs on stderr, as many as `CORELANE_LOG` asks for: `warn` where it is not set or cannot be read.

use crate::paint::Paint;
use crate::say::{self, say};
use corelane::visible;
use tracing_subscriber::EnvFilter;

/// The variable that says what is logged, such as `info` or `corelane_runtime=debug`.
const VARIABLE: &str = "CORELANE_LOG";

pub(crate) fn start() {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_writer(|| say::Logs)
        // It would say on stderr, and panic, that stderr cannot be written.
        .log_internal_errors(false)
        .with_ansi(Paint::stderr().is_on())
        .with_target(false);
    // Fails only where a program that calls `main_with` has set its own, which then stays.
    let _ = subscriber.try_init();
}

fn filter() -> EnvFilter {
    let usual = || EnvFilter::new("warn");
    let Some(asked) = std::env::var_os(VARIABLE) else { return usual() };
    let asked = asked.to_string_lossy();
    EnvFilter::try_new(&asked).unwrap_or_else(|error| {
        let error = visible(&error.to_string());
        say!("corelane: {VARIABLE}={}: {error}; write a level such as `info`", visible(&asked));
        usual()
    })
}
