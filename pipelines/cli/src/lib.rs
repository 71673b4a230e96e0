//! The command `corelane`, for any set of stages.
//!
//! In the order of a call: `args` reads the command line, `run` carries a pipeline from its file to its
//! report with `signals` in hand, `table` writes the report for people, `out` is the file it may go to, `exit`
//! says how it ended. Results go to stdout, everything else to stderr (`say`). A program with stages of its own
//! calls [`main_with`].
#![forbid(unsafe_code)]

mod args;
mod exit;
mod logs;
mod out;
mod run;
mod say;
mod signals;
mod table;

use args::{Command, CommandLine};
use clap::Parser;
use corelane::{Failure, Registry};
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
            if error.use_stderr() {
                // Nobody is left to tell if it cannot be printed.
                let _ = error.print();
                return Exit::Wrong.into();
            }
            // Help asked for is a result.
            return ended(say::result(&error.render().to_string()).map(|()| Exit::Clean));
        }
    };
    logs::start();
    match line.command {
        None => ended(say::result(GREETING).map(|()| Exit::Clean)),
        Some(Command::Run(args)) => ended(run::run(&args, &registry)),
    }
}

fn ended(end: Result<Exit, impl Into<Failure>>) -> ExitCode {
    match end {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let failure = failure.into();
            exit::tell(&failure);
            Exit::of(&failure).into()
        }
    }
}
