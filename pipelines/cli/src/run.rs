//! `corelane run`: from a file to a report.
//!
//! Ends when the inputs end, when `--duration` is over, or on a signal: the first drains, the second stops.
//! A drain that takes longer than `--drain-timeout` is ended by force. Never silent for long.

use crate::args::{CpuList, Format, RunArgs};
use crate::exit::Exit;
use crate::signals::Signals;
use crate::table;
use corelane::{Error, Failure, Handle, Machine, Pipeline, Plan, Registry, Report};
use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(5);
/// How often a long run says that it still runs.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Runs a pipeline and writes its report.
pub(crate) fn run(args: &RunArgs, registry: &Registry) -> Result<Exit, Failure> {
    let plan = plan(args, registry)?;
    if !plan.warnings().list.is_empty() {
        eprint!("{}", plan.warnings());
    }
    let out = args.out.as_ref().map(|path| (path, File::create(path)));
    let out = match out {
        Some((path, Err(error))) => {
            let message = format!("cannot be created: {error}; name another file");
            return Err(Error::user(path.display().to_string(), message).into());
        }
        Some((_, Ok(file))) => Some(file),
        None => None,
    };
    let report = match args.simulate {
        Some(seed) => plan.simulate(seed)?,
        None => {
            // First of all, so that no signal ends the process between start and supervision.
            let signals = Signals::listen()?;
            let announcement = announcement(&plan);
            let handle = plan.start()?;
            eprintln!("{announcement}");
            supervise(handle, args, &signals)
        }
    };
    write(&report, args.format, out)?;
    for error in &report.errors {
        eprintln!("error: {error}");
    }
    for complaint in &report.unbalanced {
        eprintln!("error: not balanced: {complaint}");
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
    let read = match file {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        path => std::fs::read_to_string(path),
    };
    read.map_err(|error| {
        let message = format!("cannot be read: {error}; name a RON file that describes a pipeline");
        Error::user(file, message)
    })
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
        plan.name(),
        plan.hash(),
        if actors == 1 { "actor" } else { "actors" },
        if cpus == 1 { "CPU" } else { "CPUs" },
    )
}

fn supervise(mut handle: Handle, args: &RunArgs, signals: &Signals) -> Report {
    let start = Instant::now();
    let mut drain_until: Option<Instant> = None;
    let mut stopped = false;
    let mut next_sign = start + SIGN_OF_LIFE;
    while !handle.wait_for(LOOK) {
        let now = Instant::now();
        let signal = signals.take();
        let over = args.duration.is_some_and(|duration| now - start >= duration);
        match drain_until {
            None if signal || over || handle.is_draining() => {
                if signal {
                    eprintln!("corelane: draining; Ctrl-C again stops at once");
                }
                handle.drain();
                drain_until = Some(now + args.drain_timeout);
            }
            Some(until) if !stopped && (signal || now >= until) => {
                let why = if signal { "at once" } else { "since draining took too long" };
                eprintln!("corelane: stopping {why}; what is inside is lost, and counted");
                handle.stop();
                stopped = true;
            }
            None | Some(_) => {}
        }
        if now >= next_sign {
            eprintln!("{:4.0}s  running", (now - start).as_secs_f64());
            next_sign += SIGN_OF_LIFE;
        }
    }
    handle.wait()
}

fn write(report: &Report, format: Format, out: Option<File>) -> Result<(), Error> {
    let text = match format {
        Format::Table => table::write(report),
        Format::Json => report.to_json()? + "\n",
    };
    let written = match out {
        Some(mut file) => file.write_all(text.as_bytes()),
        None => std::io::stdout().write_all(text.as_bytes()),
    };
    match written {
        // Whoever reads stdout has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| {
            Error::system("report", format!("cannot be written: {error}; the run itself has ended"))
        }),
    }
}
