//! What can be written in a description: every kind of stage and port, with keys, outputs, counters and an example.
//!
//! It promises that what it says of a stage comes from the stage itself, and that each example is one that the
//! loader takes. Stages of a program's own are entries like any other. It prints nothing: [`Entry`] is data, and
//! [`Entry::page`] one way to show it.

mod ports;
#[cfg(test)]
mod tests;

use crate::check::ring;
use crate::error::instead;
use crate::load::{USE, USE_KEYS, USE_SUBJECT};
use corelane_runtime::Error;
use corelane_runtime::stage::spec::{KeyInfo, Role};
use corelane_runtime::stage::{Args, Registry, Sharing, StageSpec};
use serde::Serialize;
use std::fmt::Write;

/// Keys that every stage has.
pub const STAGE_KEYS: &[KeyInfo] = &[
    KeyInfo { name: "name", kind: "text", default: Some("none"), doc: "what reports call it" },
    KeyInfo {
        name: "offload",
        kind: "Auto | SoftwareOnly | Require",
        default: Some("Auto"),
        doc: "whether a port may, may not or must do its work",
    },
    KeyInfo {
        name: "on_panic",
        kind: "Restart(max: .., window: ..) | Bypass | Drop | Stop",
        default: Some("Restart(max: 5, window: \"10s\")"),
        doc: "what is done about it when it panics",
    },
];

pub use ports::PORT_KEYS;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Stands in a chain.
    Stage,
    /// Stands under `ports`.
    Port,
}

impl Sort {
    fn word(self) -> &'static str {
        match self {
            Sort::Stage => "stage",
            Sort::Port => "port",
        }
    }
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What kind of value, in words.
    pub kind: &'static str,
    /// The default as written; `None` where the key must be given.
    pub default: Option<&'static str>,
    /// What it does.
    pub doc: &'static str,
    /// Words it can be that have a meaning of their own, with the meaning.
    pub words: Vec<Word>,
}

/// A word that a key can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Word {
    /// As written.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// One kind of stage or port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What it is.
    pub sort: Sort,
    /// As written.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What there is to say beyond that.
    pub doc: &'static str,
    /// Where it may stand, and what becomes of its packets.
    pub place: &'static str,
    /// The key that a value without a key is for.
    pub subject: Option<&'static str>,
    /// Its own keys.
    pub keys: Vec<Key>,
    /// Keys that it has because every stage, or every port, has them.
    pub common_keys: Vec<Key>,
    /// Keys that name chains it sends to.
    pub outputs: Vec<&'static str>,
    /// Reasons for which it drops packets.
    pub drops: Vec<&'static str>,
    /// What it counts.
    pub counters: Vec<&'static str>,
    /// How copies on several cores share it.
    pub sharing: &'static str,
    /// A line that can be written.
    pub example: String,
}

/// Every kind: stages in the order they are registered, the ring, what puts parts in, ports.
pub fn entries(registry: &Registry) -> Vec<Entry> {
    let mut entries: Vec<Entry> = registry.iter().map(stage).collect();
    entries.extend([ring_entry(), use_entry()]);
    entries.extend(ports::entries());
    entries
}

/// The kind of that name.
///
/// # Errors
/// Where there is none; the error names a near one, or all there are.
pub fn entry(registry: &Registry, name: &str) -> Result<Entry, Error> {
    let entries = entries(registry);
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    let help = instead(name, names).unwrap_or_default();
    let found = entries.into_iter().find(|entry| entry.name == name);
    found.ok_or_else(|| Error::user(name, format!("no stage or port is called so; {help}")))
}

fn stage(spec: &dyn StageSpec) -> Entry {
    let info = spec.info();
    let words = |key: &str| {
        let of_key = spec.choices().iter().filter(|choice| choice.key == key);
        of_key.map(|choice| Word { word: choice.word, doc: choice.doc }).collect()
    };
    Entry {
        sort: Sort::Stage,
        name: info.name,
        summary: info.summary,
        doc: spec.doc(),
        place: place(info.role, info.keys),
        subject: info.subject,
        keys: info.keys.iter().map(|key| Key { words: words(key.name), ..Key::of(key) }).collect(),
        common_keys: STAGE_KEYS.iter().map(Key::of).collect(),
        outputs: info.keys.iter().filter(|key| names_chains(key)).map(|key| key.name).collect(),
        drops: info.drop_reasons.to_vec(),
        counters: info.counters.to_vec(),
        sharing: sharing(spec),
        example: spec.example().to_owned(),
    }
}

impl Key {
    fn of(key: &KeyInfo) -> Key {
        let KeyInfo { name, kind, default, doc } = *key;
        Key { name, kind, default, doc, words: Vec::new() }
    }
}

fn names_chains(key: &KeyInfo) -> bool {
    key.kind == "chain" || key.kind.contains("of: chain") || key.kind.contains("Output(")
}

fn place(role: Role, keys: &[KeyInfo]) -> &'static str {
    match role {
        Role::Source => "first in a chain",
        Role::Middle => "within a chain; packets go on to the next stage",
        Role::Sink if keys.iter().any(names_chains) => "last in a chain; packets go to its outputs",
        Role::Sink => "last in a chain",
    }
}

/// As its example is configured; what its arguments do not change.
fn sharing(spec: &dyn StageSpec) -> &'static str {
    let example = spec.example();
    let arguments = example.strip_prefix(spec.info().name).filter(|rest| !rest.is_empty());
    let keyed = match (arguments, spec.info().subject) {
        (Some(rest), Some(subject)) if !rest.contains(':') => {
            format!("({subject}: {}", rest.trim_start_matches('('))
        }
        (Some(rest), _) => rest.to_owned(),
        (None, _) => "()".to_owned(),
    };
    match spec.configure(Args { text: &keyed }).map(|config| config.traits().sharing) {
        Ok(Sharing::Exclusive) => "one owner; other cores reach it by a ring",
        Ok(Sharing::ByFlow) => "split by flow",
        Ok(Sharing::Replica) | Err(_) => "each copy has its own",
    }
}

/// What stands in a chain and is no stage: it has its own keys and no others.
fn no_stage(
    name: &'static str,
    summary: &'static str,
    subject: &'static str,
    keys: &[KeyInfo],
) -> Entry {
    Entry {
        sort: Sort::Stage,
        name,
        summary,
        doc: "",
        place: "",
        subject: Some(subject),
        keys: keys.iter().map(Key::of).collect(),
        common_keys: Vec::new(),
        outputs: Vec::new(),
        drops: Vec::new(),
        counters: Vec::new(),
        sharing: "",
        example: String::new(),
    }
}

fn ring_entry() -> Entry {
    let summary = "Ends an actor and begins the next: what follows runs on another core.";
    Entry {
        place: "within a chain",
        sharing: "one from each copy before it to each behind it",
        example: "Ring(\"behind\")".to_owned(),
        ..no_stage(crate::check::RING, summary, ring::SUBJECT, ring::KEYS)
    }
}

fn use_entry() -> Entry {
    let summary = "Puts a copy of the stages of a part in its place.";
    Entry {
        doc: "Parts stand under `parts`; they may use parts themselves, but not in a circle.",
        place: "where the stages of the part may stand",
        sharing: "as its stages",
        example: "Use(\"part\")".to_owned(),
        ..no_stage(USE, summary, USE_SUBJECT, USE_KEYS)
    }
}

impl Entry {
    /// All of it, for people: plain text.
    pub fn page(&self) -> String {
        let mut page = format!("{}   {}\n", self.name, self.summary);
        let mut part = |title: &str, text: String| {
            if !text.is_empty() {
                let _ = write!(page, "\n{title}\n{text}");
            }
        };
        let lines = |lines: &mut dyn Iterator<Item = &'static str>| {
            lines.map(|line| format!("  {line}\n")).collect::<String>()
        };
        part("ABOUT", lines(&mut self.doc.lines()));
        let stands = format!("  {}\n", self.place);
        part("STANDS", stands);
        part("KEYS", self.keys.iter().map(key_lines).collect());
        if let Some(subject) = self.subject {
            part("SHORT", format!("  {0}(value) is {0}({subject}: value)\n", self.name));
        }
        part("OUTPUTS", lines(&mut self.outputs.iter().copied()));
        part("DROPS", lines(&mut self.drops.iter().copied()));
        part("COUNTERS", lines(&mut self.counters.iter().copied()));
        if self.sort == Sort::Stage {
            part("COPIES", format!("  {}\n", self.sharing));
        }
        part("EXAMPLE", self.example.lines().map(|line| format!("  {line}\n")).collect());
        let common = self.common_keys.iter().map(key_lines).collect();
        part(&format!("KEYS OF EVERY {}", self.sort.word().to_uppercase()), common);
        page
    }
}

fn key_lines(key: &Key) -> String {
    let default =
        key.default.map_or("must be given".to_owned(), |default| format!("default {default}"));
    let mut text = format!("  {}: {}; {default}\n", key.name, key.kind);
    if !key.doc.is_empty() {
        let _ = writeln!(text, "      {}", key.doc);
    }
    for Word { word, doc } in &key.words {
        let _ = writeln!(text, "      {word}: {doc}");
    }
    text
}
