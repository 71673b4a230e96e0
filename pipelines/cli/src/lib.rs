//! The command `corelane`, for any set of stages.
//!
//! In the order of a call: `args` reads the command line, `run` carries a pipeline from its file to its
//! report with `signals` in hand, `table` writes the report for people, `exit` says how it ended. Results go
//! to stdout, everything else to stderr. A program with stages of its own calls [`main_with`].
#![forbid(unsafe_code)]

mod args;
mod exit;
mod logs;
mod run;
mod signals;
mod table;

use args::{Command, CommandLine};
use clap::Parser;
use corelane::Registry;
use exit::Exit;
use std::process::ExitCode;

/// What `corelane` alone prints.
const GREETING: &str = "\
corelane runs packet pipelines. Next:

  corelane run FILE.ron                          run a pipeline; its report comes at the end
  corelane run FILE.ron --set in=x.pcap          the same, with a value for its parameter `in`
  corelane run FILE.ron --format json --out r.json
  corelane run FILE.ron --simulate 7             on one thread, in an order drawn from the seed 7
  corelane run --help                            every option
";

/// Runs the command with these stages; the exit code is 0 for a clean and balanced run, 1 for one that
/// failed, 2 for a wrong description or wrong arguments, 3 where something was forced or lost at drain.
pub fn main_with(registry: Registry) -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => {
            // Help asked for is a result; nobody is left to tell if it cannot be printed.
            let _ = error.print();
            return if error.use_stderr() { Exit::Wrong.into() } else { Exit::Clean.into() };
        }
    };
    logs::start();
    match line.command {
        None => {
            print!("{GREETING}");
            Exit::Clean.into()
        }
        Some(Command::Run(args)) => match run::run(&args, &registry) {
            Ok(exit) => exit.into(),
            Err(failure) => {
                exit::tell(&failure);
                Exit::of(&failure).into()
            }
        },
    }
}
