//! `corelane caps`: what ports can do, how that is known, and a record of it that `--caps` reads.
//!
//! A port is a profile that comes with corelane, a record, one that is written out, or one of a description.
//! Opens only ports that touch no files. A record never goes over a file that is there; where told to, over a record.

use crate::args::{Format, Given, Output};
use crate::exit::Exit;
use crate::out::Out;
use crate::values::assignment;
use clap::Args;
use corelane::explain::Style;
use corelane::explain::caps::{self, Known};
use corelane::{Error, Failure, Pipeline, visible};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Bytes that no record has; a file that is longer is another.
const RECORD_MAX: u64 = 1 << 20;

/// Arguments of `corelane caps`.
#[derive(Debug, Args)]
#[command(after_help = "\
corelane caps                              the profiles that come with corelane, and where their facts are from
corelane caps i40e-like                    one of them, capability by capability
corelane caps 'Emulated(caps: All)'        a port, asked
corelane caps gw.ron                       the ports of a description
corelane caps lies --verify                the same, and tried with frames whose right answers are known
corelane caps gw.ron wan --record wan.ron  one of those, remembered; `--caps wan=wan.ron` then plans with it

Exit codes: 0 it is known; 2 wrong arguments.")]
pub(crate) struct CapsArgs {
    /// A profile, a file with a record or a description, preset:NAME, or a port as a description writes it
    pub(crate) what: Option<String>,
    /// The port of the description
    #[arg(value_name = "PORT")]
    pub(crate) of: Option<String>,
    /// Value for a parameter of the description
    #[arg(long = "set", value_name = "K=V", value_parser = assignment)]
    pub(crate) sets: Vec<(String, String)>,
    /// Another port in place of the description's
    #[arg(long = "port", value_name = "NAME=SPEC", value_parser = assignment)]
    pub(crate) ports: Vec<(String, String)>,
    /// What a port of the description is taken to be able to do
    #[arg(long = "caps", value_name = "PORT=FILE|NAME", value_parser = assignment)]
    pub(crate) caps: Vec<(String, String)>,
    /// Tries what the ports claim, with frames whose right answers are known
    #[arg(long, requires = "what")]
    pub(crate) verify: bool,
    /// Writes what one port can do to a file that `--caps PORT=FILE` reads
    #[arg(long, value_name = "FILE", requires = "what")]
    pub(crate) record: Option<PathBuf>,
    /// Lets --record replace another record
    #[arg(long, requires = "record")]
    pub(crate) force: bool,
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Shows the capabilities of ports.
pub(crate) fn caps(args: &CapsArgs) -> Result<Exit, Failure> {
    let known = known(args)?;
    let out = match &args.what {
        Some(what) if is_file(what) => Out::open(&given(args, what), None)?,
        _ => Out::plain(&args.output)?,
    };
    let style = Style { colour: out.paint().is_on(), ..Style::default() };
    let text = match (args.format, &args.what) {
        (Format::Json, _) => known.to_json()? + "\n",
        (Format::Table, None) => known.list(style),
        (Format::Table, Some(_)) => known.table(style),
    };
    if let Some(path) = &args.record {
        record(&known, path, args.force)?;
    }
    out.write(&text)?;
    Ok(Exit::Clean)
}

/// What was asked for.
fn known(args: &CapsArgs) -> Result<Known, Failure> {
    let Some(what) = &args.what else { return Ok(caps::profiles()) };
    if let (None, Some(profile)) = (&args.of, caps::profile(what)) {
        no_overrides(args, "a profile")?;
        return match args.verify {
            false => Ok(profile),
            true => {
                let mut tried = caps::of_port(&format!("Emulated(caps: {what:?})"), true)?;
                tried.ports.iter_mut().for_each(|port| port.name.clone_from(what));
                Ok(tried)
            }
        };
    }
    if is_file(what) {
        let given = given(args, what);
        let text = given.text()?;
        return of_file(args, &given, &text);
    }
    match &args.of {
        // Kinds of ports begin with a capital.
        None if what.starts_with(|c: char| c.is_uppercase()) => {
            no_overrides(args, "a port that is written out")?;
            caps::of_port(what, args.verify)
        }
        None => {
            let help = caps::instead_of(what);
            let message =
                format!("is no profile, no file, and no port as a description writes it; {help}");
            Err(Error::user(visible(what), message).into())
        }
        Some(_) => Err(no_file(what).into()),
    }
}

/// Whether the words name a file or a preset, as against a port that is written out: that begins with a
/// letter and has brackets, or is a single word.
fn is_file(what: &str) -> bool {
    let preset = what.starts_with("preset:") || what == "-";
    preset || Path::new(what).is_file() || (what.ends_with(".ron") && !what.contains('('))
}

fn no_file(what: &str) -> Error {
    let message = "there is no such file; write a description and the name of one of its ports";
    Error::user(visible(what), message)
}

/// Refuses what changes a description where there is none.
fn no_overrides(args: &CapsArgs, what: &str) -> Result<(), Error> {
    let options = [("--set", &args.sets), ("--port", &args.ports), ("--caps", &args.caps)];
    match options.into_iter().find(|(_, given)| !given.is_empty()) {
        None => Ok(()),
        Some((option, _)) => {
            let message =
                format!("changes a description, and has no effect on {what}; leave it out");
            Err(Error::user(option, message))
        }
    }
}

/// A record, or a description with its ports.
fn of_file(args: &CapsArgs, given: &Given, text: &str) -> Result<Known, Failure> {
    if args.of.is_none() && is_record(text) {
        if args.verify {
            let message = "is a record, which cannot be tried; name the port that it is of";
            return Err(Error::user(visible(&given.file), message).into());
        }
        no_overrides(args, "a record")?;
        return Ok(caps::of_record(&given.file, text)?);
    }
    let pipeline = Pipeline::load(&given.file, text, &given.overrides())?;
    pipeline.ports(args.of.as_deref(), args.verify)
}

/// Whether the first word behind comments and blanks is that of a record.
fn is_record(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with("//"));
    first.is_some_and(|line| line.starts_with("Caps"))
}

/// The same arguments as other commands have them.
fn given(args: &CapsArgs, file: &str) -> Given {
    Given {
        file: file.to_owned(),
        sets: args.sets.clone(),
        ports: args.ports.clone(),
        caps: args.caps.clone(),
        cores: None,
        cpus: None,
        topology: None,
        output: args.output.clone(),
    }
}

/// Writes the record of one port.
fn record(known: &Known, path: &Path, force: bool) -> Result<(), Error> {
    let shown = visible(&path.display().to_string());
    let [port] = known.ports.as_slice() else {
        let names: Vec<&str> = known.ports.iter().map(|port| port.name.as_str()).collect();
        let message = format!("a record is of one port; name one of {}", names.join(", "));
        return Err(Error::user("--record", message));
    };
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let text = port.to_record(name.as_deref().unwrap_or("recorded"));
    match write_record(path, &text, force) {
        Ok(()) => Ok(()),
        Err(Unwritten::There) => {
            let message = "is there already; name another file, or replace a record with --force";
            Err(Error::user(shown, message))
        }
        Err(Unwritten::NoRecord) => {
            let message = "is no record, and --force replaces only those; name another file";
            Err(Error::user(shown, message))
        }
        Err(Unwritten::Failed(error)) => {
            Err(Error::user(shown, format!("cannot be written: {error}; name another file")))
        }
    }
}

/// Why a record was not written.
enum Unwritten {
    There,
    NoRecord,
    Failed(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Unwritten {
        match error.kind() {
            ErrorKind::AlreadyExists => Unwritten::There,
            _ => Unwritten::Failed(error),
        }
    }
}

/// A new file, or with `force` one in the place of another record: a description or a capture that was named by
/// mistake stays as it is.
fn write_record(path: &Path, text: &str, force: bool) -> Result<(), Unwritten> {
    let mut options = OpenOptions::new();
    options.read(force).write(true).create(force).truncate(false).create_new(!force);
    let mut file = options.open(path)?;
    let old = file.metadata()?;
    if force && old.is_file() && old.len() > 0 {
        let mut bytes = Vec::new();
        (&file).take(RECORD_MAX).read_to_end(&mut bytes)?;
        if !std::str::from_utf8(&bytes).is_ok_and(is_record) {
            return Err(Unwritten::NoRecord);
        }
        file.set_len(0)?;
        file.rewind()?;
    }
    Ok(file.write_all(text.as_bytes())?)
}
