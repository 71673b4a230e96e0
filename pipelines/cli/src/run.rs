//! `corelane run`: from a file to a report.
//!
//! Ends when the inputs end, when `--duration` is over, or on a signal: the first drains, the second stops.
//! A drain that takes longer than `--drain-timeout` is ended by force. Never silent for long. A simulation is
//! supervised in the same way, in its virtual time, but for the signs of life.

use crate::args::{CpuList, Format, RunArgs};
use crate::exit::Exit;
use crate::out::Out;
use crate::say::{self, say};
use crate::signals::{self, Signals};
use crate::table;
use corelane::{
    Error, Failure, Handle, Machine, Pipeline, Plan, Registry, Report, SimConfig, Verdict, visible,
};
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(5);
/// How often a long run says that it still runs.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Largest description, bytes; a file that is none, such as a device, may never end.
const DESCRIPTION_MAX: u64 = 16 << 20;

/// Runs a pipeline and writes its report.
pub(crate) fn run(args: &RunArgs, registry: &Registry) -> Result<Exit, Failure> {
    let plan = plan(args, registry)?;
    if !plan.warnings().list.is_empty() {
        say!("{}", plan.warnings().to_string().trim_end());
    }
    signals::survive_file_limit()?;
    let out = Out::open(args, &plan)?;
    // First of all, so that no signal ends the process between start and supervision.
    let supervisor = Supervisor::new(args, Signals::listen()?);
    let report = match args.simulate {
        Some(seed) => simulate(plan, seed, supervisor)?,
        None => {
            let announcement = announcement(&plan);
            let handle = plan.start()?;
            say!("{announcement}");
            supervise(handle, supervisor)
        }
    };
    write(&report, args.format, out)?;
    for error in &report.errors {
        say!("error: {}", visible(error));
    }
    for complaint in &report.unbalanced {
        say!("error: not balanced: {}", visible(complaint));
    }
    Ok(Exit::after(&report))
}

fn plan(args: &RunArgs, registry: &Registry) -> Result<Plan, Failure> {
    let text = read(&args.file)?;
    let mut pipeline = Pipeline::load(&args.file, &text, &args.sets)?;
    if let Some(cores) = args.cores {
        pipeline = pipeline.with_cores(cores)?;
    }
    let machine = machine(args.cpus.as_ref())?;
    pipeline.plan(registry, &machine)
}

fn read(file: &str) -> Result<String, Error> {
    let bytes = match file {
        "-" => bounded(&mut std::io::stdin().lock()),
        path => File::open(path).and_then(|mut file| bounded(&mut file)),
    };
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    text.map_err(|error| {
        let message = format!("cannot be read: {error}; name a RON file that describes a pipeline");
        Error::user(file, message)
    })
}

fn bounded(from: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(DESCRIPTION_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DESCRIPTION_MAX {
        let megabytes = DESCRIPTION_MAX >> 20;
        return Err(std::io::Error::other(format!("it is longer than {megabytes} MiB")));
    }
    Ok(bytes)
}

/// This machine, or those of its CPUs that were named.
fn machine(cpus: Option<&CpuList>) -> Result<Machine, Error> {
    let mut machine = Machine::here();
    let Some(CpuList(wanted)) = cpus else { return Ok(machine) };
    let missing = wanted.iter().find(|cpu| !machine.cpus.iter().any(|known| known.id == **cpu));
    if let Some(missing) = missing {
        let allowed: Vec<String> = machine.cpus.iter().map(|cpu| cpu.id.to_string()).collect();
        let allowed = allowed.join(", ");
        let message =
            format!("this process may not use CPU {missing}; it may use {allowed} (see taskset)");
        return Err(Error::user("--cpus", message));
    }
    machine.cpus.retain(|cpu| wanted.contains(&cpu.id));
    Ok(machine)
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

/// When a run is to be drained, and when stopped.
struct Supervisor<'a> {
    args: &'a RunArgs,
    signals: Signals,
    draining: bool,
    /// When the drain has taken too long; `None` while there is none, and for never.
    stop_at: Option<Duration>,
}

impl Supervisor<'_> {
    fn new(args: &RunArgs, signals: Signals) -> Supervisor<'_> {
        Supervisor { args, signals, draining: false, stop_at: None }
    }

    /// What is to be done after `time` of the run; `draining`: the run drains of its own accord.
    fn look(&mut self, time: Duration, draining: bool) -> Verdict {
        let mut signals = self.signals.take();
        let mut verdict = Verdict::GoOn;
        if !self.draining {
            let over = self.args.duration.is_some_and(|duration| time >= duration);
            if signals == 0 && !over && !draining {
                return verdict;
            }
            if signals > 0 {
                say!("corelane: draining; Ctrl-C again stops at once");
                signals -= 1;
            }
            verdict = Verdict::Drain;
            self.draining = true;
            self.stop_at = time.checked_add(self.args.drain_timeout);
        }
        let too_long = self.stop_at.is_some_and(|until| time >= until);
        if signals > 0 || too_long {
            let why = if signals > 0 { "at once" } else { "since draining took too long" };
            say!("corelane: stopping {why}; what is inside is lost, and counted");
            return Verdict::Stop;
        }
        verdict
    }

    /// The time at which there will be something to do whatever else happens.
    fn next(&self) -> Duration {
        let next = if self.draining { self.stop_at } else { self.args.duration };
        next.unwrap_or(Duration::MAX)
    }
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

fn supervise(mut handle: Handle, mut supervisor: Supervisor<'_>) -> Report {
    let start = Instant::now();
    let mut stopped = false;
    let mut next_sign = SIGN_OF_LIFE;
    while !handle.wait_for(LOOK) {
        let time = start.elapsed();
        if !stopped {
            match supervisor.look(time, handle.is_draining()) {
                Verdict::GoOn => {}
                Verdict::Drain => handle.drain(),
                Verdict::Stop => {
                    handle.stop();
                    stopped = true;
                }
            }
        }
        if time >= next_sign {
            say!("{:4.0}s  running", time.as_secs_f64());
            next_sign += SIGN_OF_LIFE;
        }
    }
    handle.wait()
}

fn write(report: &Report, format: Format, out: Option<Out>) -> Result<(), Error> {
    let text = match format {
        Format::Table => table::write(report),
        Format::Json => report.to_json()? + "\n",
    };
    match out {
        Some(out) => out.write(&text),
        None => say::result(&text),
    }
}
