//! The command line: what can be asked for. A flag means the same in every command that has it.
//!
//! [`Given`] is what every command takes that works on a description; `given` makes a pipeline, a machine and a
//! plan of it. How single values are read is in `values`.

use crate::caps::CapsArgs;
use crate::explain::ExplainArgs;
use crate::scale::ScaleArgs;
use crate::test::TestArgs;
use crate::values::{CpuList, assignment, cores, cpus, period, time};
use clap::{Args, Parser, Subcommand, ValueEnum};
use corelane::IdleProfile;
use std::path::PathBuf;
use std::time::Duration;

/// Runs packet pipelines on many cores.
#[derive(Debug, Parser)]
#[command(
    name = "corelane",
    version,
    after_help = "\
Results go to stdout or to the file of --out, everything else to stderr. CORELANE_LOG=info shows more there.
Exit codes: 0 all is well; 1 something failed, or an expectation did not hold; 2 wrong description or
arguments; 3 a run was ended by force. Without a command: what to try next."
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows everything that is wrong with a description
    Check(CheckArgs),
    /// Shows what hardware and software do, stage by stage, where, and why
    Explain(ExplainArgs),
    /// Shows what a port can do, and how that is known
    Caps(CapsArgs),
    /// Lists the stages and ports there are, or shows one with its keys
    Stages(StagesArgs),
    /// Prints a ready description to start from, or lists them
    New(NewArgs),
    /// Shows what this machine has for corelane, and how to add what is missing
    Doctor(DoctorArgs),
    /// Runs a pipeline until its inputs end, and reports
    Run(RunArgs),
    /// Measures a pipeline on more and more cores: how much faster, and what keeps it from more
    Scale(ScaleArgs),
    /// Runs the tests that a description has, on emulated ports
    Test(TestArgs),
}

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs: one object, keys are stable
    Json,
}

/// What a thread does while nothing comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Idle {
    /// Looks again and again: only on cores that nobody else uses
    LowLatency,
    /// Looks for a while, then sleeps until something comes
    Balanced,
    /// Lets others have the core at once, then sleeps
    Shared,
}

impl From<Idle> for IdleProfile {
    fn from(idle: Idle) -> IdleProfile {
        match idle {
            Idle::LowLatency => IdleProfile::LowLatency,
            Idle::Balanced => IdleProfile::Balanced,
            Idle::Shared => IdleProfile::Shared,
        }
    }
}

/// Where a result goes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Output {
    /// Writes the result to a file instead of stdout; never over a file that the command reads, or the run writes
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// A description, and what is said beside it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Given {
    /// The description: a RON file, preset:NAME for a ready one, - for stdin
    pub(crate) file: String,
    /// Value for a parameter of the file; as text where its default is a text, else as RON
    #[arg(long = "set", value_name = "K=V", value_parser = assignment)]
    pub(crate) sets: Vec<(String, String)>,
    /// Another port in place of the file's, such as 'wan=Pcap("x.pcap")'; common keys of the port stay
    #[arg(long = "port", value_name = "NAME=SPEC", value_parser = assignment)]
    pub(crate) ports: Vec<(String, String)>,
    /// What a port is taken to be able to do: a recorded profile by name, or a file with one
    #[arg(long = "caps", value_name = "PORT=FILE|NAME", value_parser = assignment)]
    pub(crate) caps: Vec<(String, String)>,
    /// How many CPUs to use, whatever the file says; refused where it pins its actors
    #[arg(long, value_name = "N", value_parser = cores)]
    pub(crate) cores: Option<usize>,
    /// Which CPUs may be used, such as 2-5,7
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpus: Option<CpuList>,
    /// Plans for the machine that this file describes instead of this one; a run is always on this one
    #[arg(long, value_name = "FILE")]
    pub(crate) topology: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Arguments of `corelane check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every problem is shown at its place, all at once. Opens no port, and needs neither root nor the devices.
Exit codes: 0 it can be run (there may be warnings); 2 it cannot.")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// How the problems are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Arguments of `corelane stages`.
#[derive(Debug, Args)]
pub(crate) struct StagesArgs {
    /// The stage or port to show in full
    pub(crate) name: Option<String>,
    /// How they are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Arguments of `corelane new`.
#[derive(Debug, Args)]
#[command(after_help = "\
corelane new bump > mine.ron   starts a file of your own
corelane run preset:bump       runs one as it is")]
pub(crate) struct NewArgs {
    /// The ready description to print; without it they are listed
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Arguments of `corelane doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads and changes nothing. Exit codes: 0 a plain run is possible; 1 something that it needs is missing.")]
pub(crate) struct DoctorArgs {
    /// How the findings are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Arguments of `corelane run`.
#[derive(Debug, Args)]
#[command(after_help = "\
The first Ctrl-C (SIGINT, SIGTERM) drains: nothing new comes in, what is inside goes out. The second stops.
In a simulation --duration and --drain-timeout are virtual time, and there are no --stats.

An expectation is PATH OP VALUE with == != < <= > >=; the value is a number, true, false or another path:
  drops.LABEL              packets dropped for that reason, by stages and ports
  totals.KEY               such as totals.payload_bytes_summed
  ports.NAME.KEY           such as ports.out.tx_packets; ports.NAME.drops.REASON
  stages.ID.KEY            such as stages.main.1.packets_out; .drops.REASON, .counters.NAME
  rings.NAME.KEY           such as rings.cut.full; between copies rings.cut#0 from main#1.full
  balanced, duration_s

Exit codes: 0 clean and balanced; 1 the run failed, or an expectation did not hold; 2 wrong description or
arguments; 3 something was forced or lost at drain. CORELANE_LOG=info shows more on stderr.")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// How the report is written; with --stats, json is one report a line
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Drains after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<Duration>,
    /// Shows live figures this often, such as 1s
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) stats: Option<Duration>,
    /// Exits with 1 unless this holds at the end, such as 'totals.dropped == 0'; may be given often
    #[arg(long = "expect", value_name = "EXPECTATION")]
    pub(crate) expectations: Vec<String>,
    /// Stops by force where draining takes longer than this
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s")]
    pub(crate) drain_timeout: Duration,
    /// What threads do while nothing comes in; without it as fits their number
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) idle: Option<Idle>,
    /// Runs on one thread in virtual time, everything in an order drawn from the seed
    #[arg(long, value_name = "SEED")]
    pub(crate) simulate: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }
}
