//! Logs on stderr, as many as `CORELANE_LOG` asks for: `warn` where it is not set.

use tracing_subscriber::EnvFilter;

/// The variable that says what is logged, such as `info` or `corelane_runtime=debug`.
const VARIABLE: &str = "CORELANE_LOG";

pub(crate) fn start() {
    let filter = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new("warn"));
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(terminal)
        .with_target(false);
    // Fails only where a program that calls `main_with` has set its own, which then stays.
    let _ = subscriber.try_init();
}
