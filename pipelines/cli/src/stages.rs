//! `corelane stages`: what can be written in a description, and one kind of it in full.
//!
//! Shows what the catalogue says, and adds nothing: stages of a program's own are listed like any other.

use crate::args::{Format, StagesArgs};
use crate::exit::Exit;
use crate::out::Out;
use crate::paint::{Paint, Tone};
use corelane::catalogue::{Entry, Sort, entries, entry};
use corelane::{Error, Failure, Registry, visible};
use serde::Serialize;

/// Shape of the JSON; goes up when a key changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// All kinds, as JSON has them.
#[derive(Serialize)]
struct All {
    schema: u32,
    stages: Vec<Entry>,
    ports: Vec<Entry>,
}

/// One kind, as JSON has it.
#[derive(Serialize)]
struct One {
    schema: u32,
    #[serde(flatten)]
    entry: Entry,
}

/// Lists what there is, or shows one kind.
pub(crate) fn stages(args: &StagesArgs, registry: &Registry) -> Result<Exit, Failure> {
    let one = args.name.as_deref().map(|name| entry(registry, name)).transpose()?;
    let out = Out::plain(&args.output)?;
    let text = match (one, args.format) {
        (Some(entry), Format::Table) => painted(&entry.page(), out.paint()),
        (Some(entry), Format::Json) => json(&One { schema: SCHEMA, entry })?,
        (None, Format::Table) => list(&entries(registry), out.paint()),
        (None, Format::Json) => {
            let (stages, ports) = sorted(entries(registry));
            json(&All { schema: SCHEMA, stages, ports })?
        }
    };
    out.write(&text)?;
    Ok(Exit::Clean)
}

fn sorted(entries: Vec<Entry>) -> (Vec<Entry>, Vec<Entry>) {
    entries.into_iter().partition(|entry| entry.sort == Sort::Stage)
}

fn list(entries: &[Entry], paint: Paint) -> String {
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let of = |sort: Sort| {
        let kinds = entries.iter().filter(|entry| entry.sort == sort);
        let lines = kinds
            .map(|kind| format!("  {:width$}  {}\n", visible(kind.name), visible(kind.summary)));
        lines.collect::<String>()
    };
    format!(
        "{}\n{}\n{}\n{}\ncorelane stages NAME shows one with its keys\n",
        paint.tone(Tone::Strong, "STAGES"),
        of(Sort::Stage),
        paint.tone(Tone::Strong, "PORTS"),
        of(Sort::Port)
    )
}

/// A page with its name and headings marked, and nothing in it that drives a terminal.
fn painted(page: &str, paint: Paint) -> String {
    let lines = page.lines().enumerate().map(|(number, line)| {
        let line = visible(line);
        let is_heading = !line.is_empty() && !line.starts_with(' ');
        match line.split_once("   ") {
            Some((name, summary)) if number == 0 => {
                format!("{}   {summary}\n", paint.tone(Tone::Strong, name))
            }
            _ if is_heading => paint.tone(Tone::Strong, &line) + "\n",
            _ => line + "\n",
        }
    });
    lines.collect()
}

fn json(value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| Error::system("catalogue", error.to_string()))
}
