//! What ports can do, and how that is known: of a profile, a record, a port written out, the ports of a file.
//!
//! Only [`of_port`] and [`Pipeline::ports`] ask a device, one that reads and writes no files; others are known
//! by their arguments. Tries nothing itself.

mod meaning;
mod table;
#[cfg(test)]
mod tests;

use super::types::{Origin, SCHEMA};
use super::{Style, json};
use crate::check::{self, CheckedPort};
use crate::error::{Collector, Failure, instead};
use crate::text::tree;
use crate::{Overrides, Pipeline};
use corelane_device::caps::Record;
use corelane_device::emulated::Lies;
use corelane_runtime::Error;
use corelane_runtime::offload::{Answer, Caps};
use serde::Serialize;

/// What some ports can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Known {
    /// Version of the keys.
    pub schema: u32,
    /// One at least.
    pub ports: Vec<KnownPort>,
}

/// What a port can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownPort {
    /// Name of the port or of the record.
    pub name: String,
    /// How it is known.
    pub origin: Origin,
    /// Who measured or documented it.
    pub source: String,
    /// Every capability there is.
    pub capabilities: Vec<Capability>,
    /// Most bytes of a packet that it cuts, headers included.
    pub tso_bytes: u32,
    /// Most segments of a packet that it cuts.
    pub tso_segments: u16,
    /// Most header bytes of a packet that it cuts.
    pub header_bytes: u16,
    /// Largest IP packet, if there is a limit.
    pub mtu: Option<u32>,
    /// UDP ports behind which it looks for VXLAN.
    pub vxlan_ports: Vec<u16>,
    /// UDP ports behind which it looks for Geneve.
    pub geneve_ports: Vec<u16>,
    /// Most queues per direction; null: as many as are asked for.
    pub queues: Option<u16>,
    /// What it does other than it says, in an emulation.
    pub lies: Vec<String>,
    #[serde(skip)]
    record: Record,
}

/// A capability of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// As written in descriptions.
    pub name: String,
    /// What it means.
    pub meaning: &'static str,
    /// Whether the port says that it can.
    pub advertised: bool,
    /// Whether it agreed to when asked.
    pub granted: bool,
    /// `yes`, `no` or `unknown`.
    pub answer: &'static str,
    /// Why not, where that is known.
    pub why: Option<String>,
    /// Whether any stage asks for it.
    pub asked: bool,
}

/// The profiles that come with corelane.
pub fn profiles() -> Known {
    let all = corelane_device::caps::profiles().filter_map(Record::named);
    known(all.map(|record| port(named(&record), record)))
}

/// The profile of that name.
pub fn profile(name: &str) -> Option<Known> {
    let record = Record::named(name)?;
    Some(known([port(named(&record), record)]))
}

/// What to write instead of the name of a profile that there is none of.
pub fn instead_of(name: &str) -> String {
    instead(name, corelane_device::caps::profiles()).unwrap_or_default()
}

/// The record in a text.
///
/// # Errors
/// Everything that is wrong with it.
pub fn of_record(file: &str, text: &str) -> Result<Known, Error> {
    let record = Record::parse(text).map_err(|message| Error::user(file, message))?;
    Ok(known([port(named(&record), record)]))
}

/// A port as a description would write it, such as `Emulated(caps: All)`: opened and asked; tried too, if it is to
/// be verified.
///
/// # Errors
/// What is wrong with it, or why it cannot be opened or tried.
pub fn of_port(written: &str, verify: bool) -> Result<Known, Failure> {
    let mut read = Collector::new("PORT", written);
    for mistake in tree::parse(written).mistakes.into_iter().filter(|found| found.code == "syntax")
    {
        read.error_at(mistake.span, mistake.code, mistake.message, mistake.help);
    }
    if read.has_errors() {
        return Err(read.finish().into());
    }
    // A line of its own, so that columns in messages are those of what was written.
    let text = format!(
        "Pipeline(name: \"caps\", chains: {{ \"main\": [Rx(\"port\")] }}, ports: {{ \"port\":\n{written}\n}})"
    );
    let known = Pipeline::load("PORT", &text, &Overrides::default());
    let known = known.map_err(Failure::from);
    known.and_then(|pipeline| pipeline.ports(None, verify)).map_err(as_written)
}

/// Counts lines from the first of what was written, which is the second of the description around it.
fn as_written(failure: Failure) -> Failure {
    let Failure::Description(mut problems) = failure else { return failure };
    for place in problems.list.iter_mut().filter_map(|problem| problem.place.as_mut()) {
        place.line = place.line.saturating_sub(1).max(1);
    }
    Failure::Description(problems)
}

impl Pipeline {
    /// What the ports of this description can do, or the one of them that is named; what stands on them is not
    /// looked at. They are tried too, if they are to be verified.
    ///
    /// # Errors
    /// What is wrong with the description, that it has no such port, or why a port cannot be opened or tried.
    pub fn ports(mut self, only: Option<&str>, verify: bool) -> Result<Known, Failure> {
        if let Some(description) = &mut self.loaded.description {
            let names: Vec<String> =
                description.ports.iter().map(|port| port.name.text.clone()).collect();
            if let Some(name) = only.filter(|name| !names.iter().any(|known| known == name)) {
                let help = instead(name, names.iter().map(String::as_str)).unwrap_or_default();
                let message = format!("there is none; {help}");
                return Err(Error::user(format!("port {name}"), message).into());
            }
            description.ports.retain(|port| only.is_none_or(|name| port.name.text == name));
            description.ports.iter_mut().for_each(|port| port.common.verify |= verify);
        }
        let (ports, problems) = check::ports(self.loaded);
        if ports.is_empty() || problems.has_errors() {
            return Err(problems.finish().into());
        }
        let ports = ports.into_iter().map(asked).collect::<Result<Vec<KnownPort>, Error>>()?;
        Ok(known(ports))
    }
}

fn known(ports: impl IntoIterator<Item = KnownPort>) -> Known {
    Known { schema: SCHEMA, ports: ports.into_iter().collect() }
}

fn named(record: &Record) -> (String, Origin) {
    (record.name.clone(), Origin::Recorded { record: record.name.clone() })
}

/// Asks a port, unless a record speaks for it or files would be touched.
fn asked(checked: CheckedPort) -> Result<KnownPort, Error> {
    let recorded = checked.common.record.is_some();
    let ask = !recorded && checked.config.files().is_empty();
    // What a plan goes by without asking is no news here.
    let origin = if ask { Origin::Asked } else { Origin::of(&checked) };
    let facts = match ask {
        true => checked.config.open(&checked.name, 1)?.caps().facts.clone(),
        false => checked.facts,
    };
    let known = checked.common.record.map(|record| (record.source, record.lies));
    let (source, lies) = known.unwrap_or((format!("{}, asked", checked.kind), Lies::empty()));
    let source = match (checked.common.verify, recorded) {
        (false, _) => source,
        (true, false) => format!("{source}; tried frame by frame"),
        // The device of the record is elsewhere.
        (true, true) => format!("{source}; an emulated copy of it was tried frame by frame"),
    };
    let record = Record { name: checked.name.clone(), source, facts, lies };
    Ok(port((checked.name, origin), record))
}

fn port((name, origin): (String, Origin), record: Record) -> KnownPort {
    let facts = &record.facts;
    let lies = record.lies.iter_names().map(|(name, _)| name.to_lowercase());
    KnownPort {
        name,
        origin,
        source: record.source.clone(),
        capabilities: Caps::all().iter().map(|bit| capability(&record, bit)).collect(),
        tso_bytes: facts.limits.tso_bytes,
        tso_segments: facts.limits.tso_segments,
        header_bytes: facts.limits.header_len,
        mtu: facts.limits.mtu,
        vxlan_ports: facts.limits.vxlan_ports.iter().collect(),
        geneve_ports: facts.limits.geneve_ports.iter().collect(),
        queues: facts.queues,
        lies: lies.collect(),
        record,
    }
}

fn capability(record: &Record, bit: Caps) -> Capability {
    let (facts, name) = (&record.facts, bit.names());
    Capability {
        meaning: meaning::meaning(&name),
        name,
        advertised: facts.advertised.contains(bit),
        granted: facts.granted.contains(bit),
        answer: match facts.answer(bit) {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Unknown => "unknown",
        },
        why: facts.why(bit).map(str::to_owned),
        asked: Caps::asked().contains(bit),
    }
}

impl Known {
    /// As JSON, one object.
    ///
    /// # Errors
    /// Where a number cannot be written; none of these can be.
    pub fn to_json(&self) -> Result<String, Error> {
        json(self)
    }

    /// For people: each port with every capability.
    #[must_use]
    pub fn table(&self, style: Style) -> String {
        table::full(self, style)
    }

    /// For people: a line for each port.
    #[must_use]
    pub fn list(&self, style: Style) -> String {
        table::list(self, style)
    }
}

impl KnownPort {
    /// A record of it, as RON that `caps: "FILE"` and `--caps PORT=FILE` read. `name` is what it is called there.
    pub fn to_record(&self, name: &str) -> String {
        Record { name: name.to_owned(), ..self.record.clone() }.to_ron()
    }
}
