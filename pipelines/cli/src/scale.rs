//! `corelane scale`: one pipeline on more and more cores, measured in rounds.
//!
//! What is measured stands in the description or beside it. Never silent for long: each window is announced on
//! stderr, on a terminal in one line. Ctrl-C ends it without a result.

use crate::args::{Format, Given, Output};
use crate::exit::Exit;
use crate::out::Out;
use crate::paint::{Paint, Tone};
use crate::say::{self, say};
use crate::values::{CpuList, assignment, cores, cpus, time};
use clap::Args;
use corelane::scale::{Moment, ScaleReport, Scaling};
use corelane::{Failure, Pipeline, Registry, visible};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Arguments of `corelane scale`.
#[derive(Debug, Args)]
#[command(after_help = "\
What the file says under `scale` is measured: numbers of cores, values of parameters, times. Without that: 1, 2, 4
and so on up to the CPUs there are, windows of 1 s after 200 ms, 5 rounds. A parameter given with --set is not swept.

corelane scale preset:scale_encap                      what more cores bring, and where the time goes
corelane scale mine.ron --cores 1,2 --measure 5s       longer windows, on quieter figures
corelane scale mine.ron --format json --out scale.json for programs

A step with more cores than there are is not measured, and stands there with `~`. Exit codes: 0 it was measured;
1 a run failed, or with --strict a step is noisy; 2 wrong description or arguments.")]
pub(crate) struct ScaleArgs {
    /// The description: a RON file, preset:NAME for a ready one, - for stdin
    pub(crate) file: String,
    /// Value for a parameter of the file; as text where its default is a text, else as RON
    #[arg(long = "set", value_name = "K=V", value_parser = assignment)]
    pub(crate) sets: Vec<(String, String)>,
    /// Another port in place of the file's, such as 'in=Emulated(traffic: ())'; common keys of the port stay
    #[arg(long = "port", value_name = "NAME=SPEC", value_parser = assignment)]
    pub(crate) ports: Vec<(String, String)>,
    /// What a port is taken to be able to do: a recorded profile by name, or a file with one
    #[arg(long = "caps", value_name = "PORT=FILE|NAME", value_parser = assignment)]
    pub(crate) caps: Vec<(String, String)>,
    /// How many CPUs, step by step, such as 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = cores)]
    pub(crate) cores: Vec<usize>,
    /// Which CPUs may be used, such as 2-5,7
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpus: Option<CpuList>,
    /// How often each step is measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,
    /// How long it is measured each time, such as 5s
    #[arg(long, value_name = "TIME", value_parser = window)]
    pub(crate) measure: Option<Duration>,
    /// How long it runs before that
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) warm_up: Option<Duration>,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Exits with 1 where a step is noisy
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Shorter windows hold too few steps, and reading the books would count.
const WINDOW_MIN: Duration = Duration::from_millis(10);
/// How often a run says that it goes on, where nobody sees a line that is replaced.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

fn window(text: &str) -> Result<Duration, String> {
    match time(text)? {
        short if short < WINDOW_MIN => {
            Err(format!("at least {}ms are needed", WINDOW_MIN.as_millis()))
        }
        window => Ok(window),
    }
}

/// Measures a pipeline and writes what came of it.
pub(crate) fn scale(args: &ScaleArgs, registry: &Registry) -> Result<Exit, Failure> {
    let given = args.given();
    let text = given.text()?;
    let machine = given.machine()?;
    let pipeline = Pipeline::load(&given.file, &text, &given.overrides())?;
    let scaling = args.scaling(pipeline.scaling(&machine));
    // One plan, for what ports read and write and for what there is to warn of.
    let least = scaling.cores.first().copied().unwrap_or(1).min(machine.cpus.len().max(1));
    let plan = Given { cores: Some(least), ..given.clone() };
    let plan = plan.plan_of(&text, &given.overrides(), registry)?;
    if !plan.warnings().list.is_empty() {
        say!("{}", plan.warnings().render(Paint::stderr().is_on()).trim_end());
    }
    let out = Out::open(&given, Some(&plan))?;
    announce(plan.name(), &scaling);
    let mut progress = Progress::new();
    let report = pipeline.scale(&scaling, registry, &machine, &mut |moment| progress.show(moment));
    say::clear();
    let report = report?;
    let text = match args.format {
        Format::Table => out.paint().lines(&report.table(), painted),
        Format::Json => report.to_json()? + "\n",
    };
    out.write(&text)?;
    Ok(args.verdict(&report))
}

impl ScaleArgs {
    /// What is given beside a description, as the other commands have it.
    fn given(&self) -> Given {
        Given {
            file: self.file.clone(),
            sets: self.sets.clone(),
            ports: self.ports.clone(),
            caps: self.caps.clone(),
            cores: None,
            cpus: self.cpus.clone(),
            topology: None,
            output: self.output.clone(),
        }
    }

    /// What the description says, and what goes before it.
    fn scaling(&self, said: Scaling) -> Scaling {
        let mut cores = self.cores.clone();
        cores.sort_unstable();
        cores.dedup();
        Scaling {
            cores: if cores.is_empty() { said.cores } else { cores },
            warm_up: self.warm_up.unwrap_or(said.warm_up),
            measure: self.measure.unwrap_or(said.measure),
            rounds: self.rounds.unwrap_or(said.rounds),
            sweep: said.sweep,
        }
    }

    fn verdict(&self, report: &ScaleReport) -> Exit {
        match self.strict && report.noisy {
            true => {
                let error = Paint::stderr().tone(Tone::Bad, "error");
                say!("{error}: --strict: a step is noisy; measure on quieter cores, or longer");
                Exit::Failed
            }
            false => Exit::Clean,
        }
    }
}

fn announce(name: &str, scaling: &Scaling) {
    let steps =
        scaling.sweep.iter().fold(scaling.cores.len(), |steps, sweep| steps * sweep.values.len());
    let once = (scaling.warm_up + scaling.measure).as_secs_f64();
    let seconds = once * steps as f64 * f64::from(scaling.rounds);
    say!(
        "corelane: {}, {steps} {} in {} {}, some {seconds:.0} s",
        visible(name),
        if steps == 1 { "step" } else { "steps" },
        scaling.rounds,
        if scaling.rounds == 1 { "round" } else { "rounds" },
    );
}

/// How far it is, for whoever waits.
struct Progress {
    terminal: bool,
    said: Instant,
}

impl Progress {
    fn new() -> Progress {
        Progress { terminal: std::io::stderr().is_terminal(), said: Instant::now() }
    }

    fn show(&mut self, moment: &Moment) {
        let Moment { round, rounds, step } = moment;
        let line = format!("  round {round} of {rounds}: {}", visible(step));
        if self.terminal {
            say::live(&line);
        } else if self.said.elapsed() >= SIGN_OF_LIFE {
            self.said = Instant::now();
            say!("{line}");
        }
    }
}

/// Heads of columns, and what is doubtful.
fn painted(paint: Paint, line: &str) -> String {
    if line.starts_with("cores ") {
        return paint.tone(Tone::Strong, line);
    }
    if line.starts_with("~ ") {
        return paint.tone(Tone::Faint, line);
    }
    match line.find("noisy: ") {
        Some(at) => line[..at].to_owned() + &paint.tone(Tone::Doubt, &line[at..]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_not_too_short() {
        assert_eq!(window("10ms"), Ok(Duration::from_millis(10)));
        assert!(window("9ms").is_err() && window("10").is_err());
    }
}
