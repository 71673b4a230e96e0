//! The command line: what can be asked for, and how values are read.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Runs packet pipelines on many cores.
#[derive(Debug, Parser)]
#[command(name = "corelane", version, about)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a pipeline until its inputs end, and reports
    Run(RunArgs),
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs: one object, keys are stable
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The first Ctrl-C (SIGINT, SIGTERM) drains: nothing new comes in, what is inside goes out. The second stops.
In a simulation --duration and --drain-timeout are virtual time.

Exit codes: 0 clean and balanced; 1 the run failed; 2 wrong description or arguments; 3 something was forced
or lost at drain. CORELANE_LOG=info shows more on stderr.")]
pub(crate) struct RunArgs {
    /// The description, a RON file; - reads it from stdin
    pub(crate) file: String,
    /// Value for a parameter of the file; as text where its default is a text, else as RON
    #[arg(long = "set", value_name = "K=V", value_parser = assignment)]
    pub(crate) sets: Vec<(String, String)>,
    /// How the report is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Writes the report to a file instead of stdout, none that the run itself reads or writes
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Drains after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<Duration>,
    /// Stops by force where draining takes longer than this
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s")]
    pub(crate) drain_timeout: Duration,
    /// Runs on one thread in virtual time, everything in an order drawn from the seed
    #[arg(long, value_name = "SEED")]
    pub(crate) simulate: Option<u64>,
    /// CPUs that may be used, such as 2-5,7
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpus: Option<CpuList>,
    /// How many CPUs to use, whatever the file says
    #[arg(long, value_name = "N", value_parser = cores)]
    pub(crate) cores: Option<usize>,
}

/// CPU numbers, each once, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<usize>);

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Longer than anything runs, and short enough that no clock overflows.
const TIME_MAX: Duration = Duration::from_secs(1_000_000_000);

fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit: 500ms, 10s, 2min".to_owned();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let seconds = number * factor;
    if seconds > TIME_MAX.as_secs_f64() {
        return Err(format!("at most {}s are possible", TIME_MAX.as_secs()));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

fn cores(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a number of CPUs, at least 1".to_owned()),
        Ok(cores) => Ok(cores),
    }
}

/// More than any machine has; keeps a slip of the finger from filling memory.
const CPU_MAX: usize = 65_536;

fn cpus(text: &str) -> Result<CpuList, String> {
    let wrong = || "write CPU numbers and ranges: 2-5,7".to_owned();
    let number = |text: &str| {
        text.trim().parse::<usize>().ok().filter(|&cpu| cpu < CPU_MAX).ok_or_else(wrong)
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(CpuList(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(time("1.5ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(time("2 min"), Ok(Duration::from_secs(120)));
        for wrong in ["10", "s", "", "-1s", "1h", "1e400s", "nans", "10000000000000000000s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cpu_lists_are_sorted_and_each_cpu_is_there_once() {
        assert_eq!(cpus("7,2-4,3"), Ok(CpuList(vec![2, 3, 4, 7])));
        for wrong in ["", "5-2", "a", "1-", "99999999", "1,,2"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_may_hold_an_equals_sign() {
        assert_eq!(assignment("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(assignment("a="), Ok(("a".into(), String::new())));
        assert!(assignment("a").is_err() && assignment("=a").is_err());
    }
}
