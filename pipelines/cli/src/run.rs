//! `corelane run`: from a file to a report.
//!
//! Ends when the inputs end, when `--duration` is over, or on a signal: the first drains, the second stops.
//! A drain that takes longer than `--drain-timeout` is ended by force. Never silent for long. A simulation is
//! supervised in the same way, in its virtual time, but shows no live figures.

use crate::args::{Format, RunArgs};
use crate::exit::Exit;
use crate::figures;
use crate::out::Out;
use crate::paint::{Paint, Tone};
use crate::say::{self, say};
use crate::signals::{self, Signals};
use crate::supervise::Supervisor;
use crate::table;
use corelane::{
    Error, Expectation, Failure, Handle, Order, Plan, Registry, Report, SimConfig, visible,
};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How often a long run says that it still runs, where nothing else was asked for.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// The same on a terminal, where the line is replaced.
const REFRESH: Duration = Duration::from_secs(1);

/// Runs a pipeline and writes its report.
pub(crate) fn run(args: &RunArgs, registry: &Registry) -> Result<Exit, Failure> {
    unfit(args)?;
    let plan = args.given.plan(registry)?;
    let Some(expectations) = expectations(args, &plan) else { return Ok(Exit::Wrong) };
    if !plan.warnings().list.is_empty() {
        let warnings = plan.warnings().render(Paint::stderr().is_on());
        say!("{}", warnings.trim_end());
    }
    signals::survive_file_limit()?;
    let mut result = Results::new(args, Out::open(&args.given, Some(&plan))?);
    // First of all, so that no signal ends the process between start and supervision.
    let supervisor = Supervisor::new(args, Signals::listen()?);
    let report = match args.simulate {
        Some(seed) => simulate(plan, seed, supervisor)?,
        None => {
            let announcement = announcement(&plan);
            let plan = match args.idle {
                Some(idle) => plan.with_idle(idle.into()),
                None => plan,
            };
            let handle = plan.start()?;
            say!("{announcement}");
            supervise(handle, supervisor, &mut result)
        }
    };
    say::clear();
    result.last(&report)?;
    let exit = Exit::after(&report);
    tell(&report);
    Ok(if judge(&expectations, &report) || exit != Exit::Clean { exit } else { Exit::Failed })
}

/// What makes sense for a plan, but not for a run.
fn unfit(args: &RunArgs) -> Result<(), Error> {
    if args.given.topology.is_some() {
        let message = "only plans are made for another machine; a run is on this one: leave it out, or \
                       look at `corelane explain --topology`";
        return Err(Error::user("--topology", message));
    }
    if args.simulate.is_some() && args.idle.is_some() {
        let message =
            "a simulation has no threads that could be idle; leave --idle or --simulate out";
        return Err(Error::user("--idle", message));
    }
    if args.simulate.is_some() && args.stats.is_some() {
        let message = "a simulation has no live figures, it is over too soon; leave --stats or --simulate out";
        return Err(Error::user("--stats", message));
    }
    Ok(())
}

/// Reads what is expected; says everything that is wrong with it.
fn expectations(args: &RunArgs, plan: &Plan) -> Option<Vec<Expectation>> {
    let read = args.expectations.iter().map(|text| plan.expectation(text));
    let (good, bad): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
    for error in bad.iter().filter_map(|result| result.as_ref().err()) {
        say!("{}", labelled(&error.to_string()));
    }
    bad.is_empty().then(|| good.into_iter().filter_map(Result::ok).collect())
}

/// Whether all that was expected came true; says what did not.
fn judge(expectations: &[Expectation], report: &Report) -> bool {
    let mut all = true;
    for expectation in expectations {
        let judged = expectation.judge(report);
        if !judged.held {
            all = false;
            let right = judged.right.map_or(String::new(), |right| format!(" and {right}"));
            let text = format!("expected {expectation}, found {}{right}", judged.left);
            say!("{}", labelled(&text));
        }
    }
    all
}

/// What went wrong in the run.
fn tell(report: &Report) {
    for error in &report.errors {
        say!("{}", labelled(error));
    }
    for complaint in &report.unbalanced {
        say!("{}", labelled(&format!("not balanced: {complaint}")));
    }
}

fn labelled(message: &str) -> String {
    format!("{}: {}", Paint::stderr().tone(Tone::Bad, "error"), visible(message))
}

fn announcement(plan: &Plan) -> String {
    for (actor, cpu) in plan.actors() {
        tracing::info!(actor, cpu, "placed");
    }
    let cpus = plan.cpus();
    let actors = plan.actors().count();
    format!(
        "corelane: {}, plan {}, {actors} {} on {cpus} {}; stop with Ctrl-C",
        visible(plan.name()),
        plan.hash(),
        if actors == 1 { "actor" } else { "actors" },
        if cpus == 1 { "CPU" } else { "CPUs" },
    )
}

fn simulate(plan: Plan, seed: u64, mut supervisor: Supervisor<'_>) -> Result<Report, Failure> {
    let mut config = SimConfig::new(seed);
    if supervisor.args.duration.is_some() {
        config.max_turns = u64::MAX; // the duration is its end
    }
    let mut look = |now| (supervisor.look(now, false), supervisor.next());
    let (report, _) = plan.simulate_under(&config, &mut look)?;
    Ok(report)
}

fn supervise(mut handle: Handle, mut supervisor: Supervisor<'_>, results: &mut Results) -> Report {
    let start = Instant::now();
    let mut stopped = false;
    let mut next = results.period;
    while !handle.wait_for(LOOK) {
        let time = start.elapsed();
        if !stopped {
            match supervisor.look(time, handle.is_draining()) {
                Order::GoOn => {}
                Order::Drain => handle.drain(),
                Order::Stop => {
                    handle.stop();
                    stopped = true;
                }
            }
        }
        if time >= next {
            results.live(time, &mut handle);
            // One that came late is not made up for.
            next = time.max(next + results.period);
        }
    }
    handle.wait()
}

/// Where live figures and the report go.
struct Results {
    out: Out,
    format: Format,
    period: Duration,
    /// Whether each set of figures is a report, on a line of its own.
    lines: bool,
    /// Whether figures replace each other on a terminal.
    in_place: bool,
    before: Option<(Duration, Report)>,
    /// What came of writing reports line by line; `None` before the first.
    written: Option<Result<(), Error>>,
}

impl Results {
    fn new(args: &RunArgs, out: Out) -> Results {
        let in_place = std::io::stderr().is_terminal();
        Results {
            out,
            format: args.format,
            period: args.stats.unwrap_or(if in_place { REFRESH } else { SIGN_OF_LIFE }),
            lines: args.stats.is_some() && args.format == Format::Json,
            in_place,
            before: None,
            written: None,
        }
    }

    /// Shows how the run stands.
    fn live(&mut self, time: Duration, handle: &mut Handle) {
        let now = handle.snapshot();
        if self.lines {
            self.line(&now);
            return;
        }
        let (since, before) = match &self.before {
            Some((since, before)) => (*since, Some(before)),
            None => (Duration::ZERO, None),
        };
        let line = figures::line(time, before, &now, time - since);
        match self.in_place {
            true => say::live(&line),
            false => say!("{line}"),
        }
        self.before = Some((time, now));
    }

    /// A report on a line of its own; none behind one that could not be written.
    fn line(&mut self, report: &Report) {
        let begun = self.written.take().unwrap_or_else(|| self.out.begin());
        let text = json_line(report);
        self.written = Some(begun.and(text).and_then(|text| self.out.add(&text)));
    }

    /// The report at the end.
    fn last(mut self, report: &Report) -> Result<(), Error> {
        if self.lines {
            self.line(report);
            return self.written.unwrap_or(Ok(()));
        }
        let text = match self.format {
            Format::Table => table::write(report, self.out.paint()),
            Format::Json => report.to_json()? + "\n",
        };
        self.out.write(&text)
    }
}

fn json_line(report: &Report) -> Result<String, Error> {
    let text = serde_json::to_string(report);
    text.map(|text| text + "\n").map_err(|error| Error::system("report", error.to_string()))
}
