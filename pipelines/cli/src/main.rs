//! The command `corelane`, with the stages that come with it.

use std::process::ExitCode;

fn main() -> ExitCode {
    corelane_cli::main_with(corelane::standard())
}
