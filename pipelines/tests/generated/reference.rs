//! Every stage and port with its keys, as Markdown.

use crate::cell;
use corelane::catalogue::{self, Entry, Key, PORT_KEYS, STAGE_KEYS, Sort};
use corelane::presets;
use std::fmt::Write;

const INTRODUCTION: &str = "# Reference of descriptions

Every stage and every port that a description can name, with keys, defaults, drop reasons and counters. This page is
written by the program (`corelane stages NAME` prints the same) and held by a test; [language.md](language.md) says how
a description is put together.
";

pub(crate) fn text() -> String {
    let entries = catalogue::entries(&corelane::standard());
    let mut text = INTRODUCTION.to_owned();
    let of = |sort: Sort| entries.iter().filter(move |entry| entry.sort == sort);
    contents(&mut text, "Stages", of(Sort::Stage));
    contents(&mut text, "Ports", of(Sort::Port));
    let _ =
        writeln!(text, "\n**Presets**: {}.", list(presets::all().iter().map(|preset| preset.name)));
    text.push_str("\n## Stages\n\nEvery stage has these keys beside its own:\n");
    keys(&mut text, STAGE_KEYS.iter().map(|key| row(key.name, key.kind, key.default, key.doc)));
    of(Sort::Stage).for_each(|entry| section(&mut text, entry));
    text.push_str("\n## Ports\n\nEvery port has these keys beside its own:\n");
    keys(&mut text, PORT_KEYS.iter().map(|key| row(key.name, key.kind, key.default, key.doc)));
    of(Sort::Port).for_each(|entry| section(&mut text, entry));
    text.push_str("\n## Presets\n\n`corelane new NAME` prints one, with comments; `corelane run preset:NAME` runs it.\n\n");
    text.push_str("| preset | what it is for |\n|---|---|\n");
    for preset in presets::all() {
        let _ = writeln!(text, "| `{}` | {} |", preset.name, cell(&preset.about()));
    }
    text
}

fn contents<'e>(text: &mut String, title: &str, entries: impl Iterator<Item = &'e Entry>) {
    let links = entries.map(|entry| format!("[{0}](#{1})", entry.name, entry.name.to_lowercase()));
    let _ = writeln!(text, "\n**{title}**: {}.", links.collect::<Vec<_>>().join(", "));
}

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn row(name: &str, kind: &str, default: Option<&str>, doc: &str) -> String {
    let default =
        default.map_or("must be given".to_owned(), |default| format!("`{}`", cell(default)));
    format!("| `{name}` | {} | {default} | {} |", cell(kind), cell(doc))
}

fn keys(text: &mut String, rows: impl Iterator<Item = String>) {
    text.push_str("\n| key | value | default | what it is |\n|---|---|---|---|\n");
    rows.for_each(|row| {
        let _ = writeln!(text, "{row}");
    });
}

/// What a key is, and what its words mean.
fn key_row(key: &Key) -> String {
    let words = key.words.iter().map(|word| format!("`{}`: {}", word.word, word.doc));
    let words = words.collect::<Vec<_>>().join("; ");
    let doc = match (key.doc.is_empty(), words.is_empty()) {
        (false, false) => format!("{}. {words}", key.doc.trim_end_matches('.')),
        (true, false) => words,
        (_, true) => key.doc.to_owned(),
    };
    row(key.name, key.kind, key.default, &doc)
}

fn section(text: &mut String, entry: &Entry) {
    let _ = writeln!(text, "\n### {}\n\n{}", entry.name, entry.summary);
    if !entry.doc.is_empty() {
        let _ = writeln!(text, "\n{}", entry.doc);
    }
    if !entry.keys.is_empty() {
        keys(text, entry.keys.iter().map(key_row));
    }
    let mut facts: Vec<String> = Vec::new();
    if !entry.place.is_empty() {
        facts.push(format!("stands: {}", entry.place));
    }
    if let Some(subject) = entry.subject {
        facts.push(format!("`{0}(value)` is `{0}({subject}: value)`", entry.name));
    }
    let mut named = |what: &str, names: &[&'static str]| {
        if !names.is_empty() {
            facts.push(format!("{what}: {}", list(names.iter().copied())));
        }
    };
    named("outputs", &entry.outputs);
    named("drops", &entry.drops);
    named("counters", &entry.counters);
    if entry.sort == Sort::Stage && !entry.sharing.is_empty() {
        facts.push(format!("on several cores: {}", entry.sharing));
    }
    if !entry.example.is_empty() {
        facts.push(format!("example: `{}`", entry.example));
    }
    text.push('\n');
    facts.iter().for_each(|fact| {
        let _ = writeln!(text, "- {fact}");
    });
}
