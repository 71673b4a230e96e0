//! The command `corelane`, for any set of stages.
//!
//! In the order of a call: `args` reads the command line, `given` makes a plan of what was given, and a module
//! for each command does the rest: `check`, `explain`, `caps`, `stages`, `new`, `doctor`, `run`, `scale`, `test`. `out` is where a result
//! goes, `exit` says how it ended. Results go to stdout, everything else to stderr (`say`). A program with stages of
//! its own calls [`main_with`].
#![forbid(unsafe_code)]

mod args;
mod caps;
mod check;
mod doctor;
mod exit;
mod explain;
mod figures;
mod given;
mod logs;
mod new;
mod out;
mod paint;
mod run;
mod say;
mod scale;
mod signals;
mod stages;
mod supervise;
mod table;
mod test;
mod values;

use args::{Command, CommandLine};
use clap::Parser;
use corelane::{Failure, Registry};
use exit::Exit;
use std::process::ExitCode;

/// What `corelane` alone prints.
const GREETING: &str = "\
corelane runs packet pipelines. The first ten minutes, without root or a network card:

  corelane run preset:bump                               segments joined between two ports, and cut again
  corelane explain preset:bump --caps b=mlx5-like        what a network card would do of it, and why
  corelane new bump > mine.ron && corelane check mine.ron
                                                         a file of your own, and what is wrong with it
  corelane stages Gro                                    a stage with its keys, units and defaults
  corelane doctor                                        what this machine lacks, and how to add it

`corelane --help` lists the commands, `corelane new` the ready descriptions.
";

/// Runs the command with these stages; the exit code is 0 where all is well, 1 for a run that failed or
/// disappointed an expectation, 2 for a wrong description or wrong arguments, 3 where something was forced or lost
/// at drain.
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
    ended(dispatch(line.command, &registry))
}

fn dispatch(command: Option<Command>, registry: &Registry) -> Result<Exit, Failure> {
    match command {
        None => Ok(say::result(GREETING).map(|()| Exit::Clean)?),
        Some(Command::Check(args)) => check::check(&args, registry),
        Some(Command::Explain(args)) => explain::explain(&args, registry),
        Some(Command::Caps(args)) => caps::caps(&args),
        Some(Command::Stages(args)) => stages::stages(&args, registry),
        Some(Command::New(args)) => new::new(&args),
        Some(Command::Doctor(args)) => doctor::doctor(&args),
        Some(Command::Run(args)) => run::run(&args, registry),
        Some(Command::Scale(args)) => scale::scale(&args, registry),
        Some(Command::Test(args)) => test::test(&args, registry),
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
