//! `corelane stages`: the kinds of stages there are, and one of them in full.
//!
//! Shows what each kind says of itself, and adds nothing: stages of a program's own are listed like any other.

use crate::args::{Format, StagesArgs};
use crate::exit::Exit;
use crate::out::Out;
use crate::paint::{Paint, Tone};
use corelane::{Failure, Registry, StageSpec, stage_kind, visible};
use serde_json::{Value, json};
use std::fmt::Write;

/// Adds a line. Writing to a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        { let _ = writeln!($out, $($arg)*); }
    };
}

/// Lists the stages, or shows one.
pub(crate) fn stages(args: &StagesArgs, registry: &Registry) -> Result<Exit, Failure> {
    let one = args.name.as_deref().map(|name| stage_kind(registry, name)).transpose()?;
    let out = Out::plain(&args.output)?;
    let text = match (one, args.format) {
        (Some(kind), Format::Table) => page(kind, out.paint()),
        (Some(kind), Format::Json) => format!("{:#}\n", object(kind)),
        (None, Format::Table) => list(registry),
        (None, Format::Json) => {
            let all: Vec<Value> = registry.iter().map(object).collect();
            format!("{:#}\n", json!({ "schema": 1, "stages": all }))
        }
    };
    out.write(&text)?;
    Ok(Exit::Clean)
}

fn list(registry: &Registry) -> String {
    let mut text = String::new();
    let width = registry.iter().map(|kind| kind.info().name.len()).max().unwrap_or(0);
    for kind in registry.iter() {
        line!(text, "{:width$}  {}", visible(kind.info().name), visible(kind.info().summary));
    }
    text + "\ncorelane stages NAME shows one with its keys\n"
}

/// Everything about one kind.
fn page(kind: &dyn StageSpec, paint: Paint) -> String {
    let info = kind.info();
    let mut text = String::new();
    line!(text, "{}   {}", paint.tone(Tone::Strong, &visible(info.name)), visible(info.summary));
    if !kind.doc().is_empty() {
        line!(text, "\n{}", kind.doc().lines().map(visible).collect::<Vec<_>>().join("\n"));
    }
    if !info.keys.is_empty() {
        line!(text, "\n{}", paint.tone(Tone::Strong, "KEYS"));
        let width = info.keys.iter().map(|key| key.name.len()).max().unwrap_or(0);
        for key in info.keys {
            let default = key
                .default
                .map_or("must be given".to_owned(), |default| format!("default {default}"));
            line!(text, "  {:width$}  {}; {default}", key.name, key.kind);
            line!(text, "  {:width$}  {}", "", key.doc);
        }
    }
    if let Some(subject) = info.subject {
        line!(text, "\n{}(value) is short for {0}({subject}: value)", info.name);
    }
    for (title, names) in [("DROPS", info.drop_reasons), ("COUNTERS", info.counters)] {
        if !names.is_empty() {
            line!(text, "\n{}", paint.tone(Tone::Strong, title));
            names.iter().for_each(|name| line!(text, "  {name}"));
        }
    }
    line!(text, "\n{}\n  {}", paint.tone(Tone::Strong, "EXAMPLE"), visible(kind.example()));
    text
}

fn object(kind: &dyn StageSpec) -> Value {
    let info = kind.info();
    let keys: Vec<Value> = info
        .keys
        .iter()
        .map(|key| {
            json!({ "name": key.name, "kind": key.kind, "default": key.default, "doc": key.doc })
        })
        .collect();
    json!({
        "name": info.name,
        "summary": info.summary,
        "doc": kind.doc(),
        "subject": info.subject,
        "keys": keys,
        "drops": info.drop_reasons,
        "counters": info.counters,
        "example": kind.example(),
    })
}
