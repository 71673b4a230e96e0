//! From the command line to a pipeline, a machine and a plan: the same way for every command.
//!
//! Reads files, opens no port. A text is read once, since stdin can be read only once; what is made of it may
//! be made again with other overrides.

use crate::args::Given;
use crate::values::CpuList;
use corelane::{Error, Failure, Machine, Overrides, Pipeline, Plan, Registry, presets, visible};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Largest description, bytes; a file that is none, such as a device, may never end.
const DESCRIPTION_MAX: u64 = 16 << 20;

/// What a name of a description begins with that is no file.
const PRESET: &str = "preset:";

impl Given {
    /// The text of the description.
    ///
    /// # Errors
    /// Where there is no such file or preset, it is no text, or something is said twice beside it.
    pub(crate) fn text(&self) -> Result<String, Error> {
        once("--set", &self.sets)?;
        once("--port", &self.ports)?;
        once("--caps", &self.caps)?;
        match self.file.strip_prefix(PRESET) {
            Some(name) => Ok(presets::find(name)?.text.to_owned()),
            None => read(&self.file, "name a RON file that describes a pipeline"),
        }
    }

    /// What is said beside the description.
    pub(crate) fn overrides(&self) -> Overrides {
        let Given { sets, ports, caps, .. } = self.clone();
        Overrides { sets, ports, caps }
    }

    /// The machine that is planned for: this one or that of `--topology`, or those of its CPUs that were named.
    ///
    /// # Errors
    /// Where it cannot be read, or has not those CPUs.
    pub(crate) fn machine(&self) -> Result<Machine, Error> {
        let machine = match &self.topology {
            Some(path) => topology(path)?,
            None => Machine::here(),
        };
        match &self.cpus {
            Some(wanted) => only(machine, wanted, self.topology.as_deref()),
            None => Ok(machine),
        }
    }

    /// A plan of this text with these overrides, on the machine asked for.
    ///
    /// # Errors
    /// All problems of the description, or why it cannot be planned.
    pub(crate) fn plan_of(
        &self,
        text: &str,
        overrides: &Overrides,
        registry: &Registry,
    ) -> Result<Plan, Failure> {
        let mut pipeline = Pipeline::load(&self.file, text, overrides)?;
        if let Some(cores) = self.cores {
            pipeline = pipeline.with_cores(cores)?;
        }
        pipeline.plan(registry, &self.machine()?)
    }

    /// The plan of what was given.
    ///
    /// # Errors
    /// As for [`Given::plan_of`].
    pub(crate) fn plan(&self, registry: &Registry) -> Result<Plan, Failure> {
        self.plan_of(&self.text()?, &self.overrides(), registry)
    }

    /// Files that the command itself reads, with what they are.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let file = if self.file == "-" { "/dev/stdin" } else { &self.file };
        let caps = self.caps.iter().map(|(_, file)| ("a record of --caps", Path::new(file)));
        let topology = self.topology.iter().map(|file| ("the file of --topology", file.as_path()));
        std::iter::once(("the description", Path::new(file))).chain(caps).chain(topology)
    }
}

/// Refuses two values for one name, of which one would have no effect.
fn once(option: &str, given: &[(String, String)]) -> Result<(), Error> {
    let twice = given
        .iter()
        .enumerate()
        .find(|(at, (name, _))| given.iter().take(*at).any(|(known, _)| known == name));
    match twice {
        None => Ok(()),
        Some((_, (name, _))) => {
            let message = format!("`{}` is given twice; leave one of them out", visible(name));
            Err(Error::user(option, message))
        }
    }
}

/// A text file, or stdin for `-`.
fn read(file: &str, advice: &str) -> Result<String, Error> {
    let bytes = match file {
        "-" => bounded(&mut io::stdin().lock()),
        path => File::open(path).and_then(|mut file| bounded(&mut file)),
    };
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    text.map_err(|error| Error::user(visible(file), format!("cannot be read: {error}; {advice}")))
}

fn bounded(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(DESCRIPTION_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DESCRIPTION_MAX {
        let megabytes = DESCRIPTION_MAX >> 20;
        return Err(io::Error::other(format!("it is longer than {megabytes} MiB")));
    }
    Ok(bytes)
}

fn topology(path: &Path) -> Result<Machine, Error> {
    let name = path.display().to_string();
    let text = read(&name, "name a RON file that describes a machine")?;
    Machine::from_ron(&text).map_err(|message| Error::user(visible(&name), message))
}

/// Those CPUs of a machine.
fn only(mut machine: Machine, wanted: &CpuList, topology: Option<&Path>) -> Result<Machine, Error> {
    let CpuList(wanted) = wanted;
    let missing = wanted.iter().find(|cpu| !machine.cpus.iter().any(|known| known.id == **cpu));
    if let Some(missing) = missing {
        let known: Vec<String> = machine.cpus.iter().map(|cpu| cpu.id.to_string()).collect();
        let known = known.join(", ");
        let message = match topology {
            Some(file) => {
                let file = visible(&file.display().to_string());
                format!("the machine of {file} has no CPU {missing}; it has {known}")
            }
            None => {
                format!("this process may not use CPU {missing}; it may use {known} (see taskset)")
            }
        };
        return Err(Error::user("--cpus", message));
    }
    machine.others += machine.cpus.len() - wanted.len();
    machine.cpus.retain(|cpu| wanted.contains(&cpu.id));
    Ok(machine)
}
