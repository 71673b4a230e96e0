//! Tables: rows that stages name by `table: "t"`, written in the file or loaded from one beside it.
//!
//! It promises every row as text of its own, at its place, with parameters put in, and bounds on how much is read.
//! What stands in a row is for the stage that reads it; here a row is `(key: value, ..)` and nothing more.

use super::Loader;
use crate::error::{Collector, near};
use crate::spec::TableEntry;
use crate::text::Span;
use crate::text::params::{Beside, Expanded, string_value};
use crate::text::tree::{self, Call, Kind, Node};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// What stands in place of rows that are in a file of their own.
const LOAD: &str = "Load";
/// Most rows of a table.
pub(crate) const ROWS_MAX: usize = 100_000;
/// Most bytes of all files that a description loads.
const BYTES_MAX: u64 = 64 << 20;

/// Files that are loaded, by the place of what names them: their text and its first place, or why there is none.
pub(super) type Files = BTreeMap<Span, Result<Beside, Refused>>;

/// Where the texts of loaded files stand, by the place of what names them, or why they do not.
pub(super) type Loaded = BTreeMap<Span, Result<Span, Refused>>;

/// Why a file is not read: what is wrong, and what to do.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    message: String,
    help: String,
}

/// Reads every file that a table of the description names. What is wrong is told with the table.
pub(super) fn read_files(expanded: &Expanded<'_>, root: &Node, problems: &mut Collector) -> Files {
    let text = expanded.text.text();
    let slice = |span: Span| text.get(span.range()).unwrap_or_default();
    let Kind::Call(call) = &root.kind else { return Files::new() };
    // Misspelt it is told, and read as if it were right.
    let is_tables = |key: &str| near(key, ["tables"]).is_some();
    let tables = call.fields.iter().filter(|field| is_tables(slice(field.key)));
    let entries = tables.filter_map(|field| match &field.value.kind {
        Kind::Map(entries) => Some(entries),
        _ => None,
    });
    let named = entries.flatten().filter_map(|(_, value)| Some((value.span, named(value, text)?)));
    let mut files = Files::new();
    let mut left = BYTES_MAX;
    for (span, name) in named {
        let path = problems.folder(expanded.text.origin(span)).join(name);
        let read = read(&path, left).map(|text| {
            left = left.saturating_sub(text.len() as u64);
            let base = problems.loaded(&path.display().to_string(), &text);
            Beside { base, text }
        });
        files.insert(span, read);
    }
    files
}

/// Puts the texts of files behind that of the description, with parameters put in.
pub(super) fn put<'t>(files: &'t Files, expanded: &mut Expanded<'t>) -> Loaded {
    let mut loaded = Loaded::new();
    for (&at, file) in files {
        loaded.insert(at, file.as_ref().map(|file| expanded.add(file)).map_err(Clone::clone));
    }
    loaded
}

/// The file that `Load("..")` names.
fn named(value: &Node, text: &str) -> Option<String> {
    let slice = |span: Span| text.get(span.range()).unwrap_or_default();
    let Kind::Call(Call { name: Some(name), values, fields, .. }) = &value.kind else {
        return None;
    };
    match (slice(*name), values.as_slice(), fields.as_slice()) {
        (LOAD, [Node { span, kind: Kind::Str }], []) => string_value(slice(*span)),
        _ => None,
    }
}

fn read(path: &Path, left: u64) -> Result<String, Refused> {
    let shown = path.display();
    let refused = |why: String| Refused {
        message: format!("cannot load {shown}: {why}"),
        help: "name a file of rows [(key: value, ..), ..]; it is looked for beside this one"
            .to_owned(),
    };
    // Asked before it is opened: a pipe that nobody writes to would keep whoever opens it waiting.
    let found = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?;
    if !found.is_file() {
        return Err(refused("it is no file".to_owned()));
    }
    let file = std::fs::File::open(path).map_err(|error| refused(error.to_string()))?;
    let mut text = String::new();
    let read = file.take(left + 1).read_to_string(&mut text);
    read.map_err(|error| refused(error.to_string()))?;
    if text.len() as u64 > left {
        let limit = BYTES_MAX >> 20;
        return Err(refused(format!(
            "the files of a description have at most {limit} MiB together"
        )));
    }
    // Some editors put a mark in front that is no part of the text.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

impl Loader {
    pub(super) fn tables(&mut self, node: &Node) -> Vec<TableEntry> {
        let mut tables = Vec::new();
        for (key, value) in self.entries(node, "tables", "\"t\": [(..), ..]") {
            let Some(name) = self.name(key) else { continue };
            let mut table = TableEntry { name, rows: Vec::new(), whole: true };
            match self.is_load(value) {
                true => self.load(value, &mut table),
                false => self.rows(value, &mut table),
            }
            tables.push(table);
        }
        tables
    }

    fn is_load(&self, value: &Node) -> bool {
        let Kind::Call(Call { name: Some(name), .. }) = &value.kind else { return false };
        self.slice(*name) == LOAD
    }

    /// The rows of the file that a table names.
    fn load(&mut self, value: &Node, table: &mut TableEntry) {
        table.whole = false;
        match self.loaded.get(&value.span).cloned() {
            Some(Ok(place)) => {
                let parsed = tree::parse_part(self.text.text(), place);
                self.mistakes(&parsed);
                table.whole = true;
                self.rows(&parsed.root, table);
            }
            Some(Err(Refused { message, help })) => {
                self.advise(value.span, "cannot-load", message, help);
            }
            None if value.is_whole() => {
                let message = "`Load` takes the name of a file";
                self.advise(value.span, "bad-value", message, "write `Load(\"rows.ron\")`");
            }
            None => {}
        }
    }

    fn rows(&mut self, value: &Node, table: &mut TableEntry) {
        let Kind::List(nodes) = &value.kind else {
            table.whole = false;
            if value.is_whole() {
                let message = format!("table `{}` takes a list of rows", table.name.text);
                let help = "write [(key: value, ..), ..], or `Load(\"rows.ron\")`";
                self.advise(value.span, "bad-value", message, help);
            }
            return;
        };
        if nodes.len() > ROWS_MAX {
            let message = format!(
                "table `{}` has {} rows; {ROWS_MAX} are possible",
                table.name.text,
                nodes.len()
            );
            self.advise(table.name.span, "too-many-entries", message, "split it");
        }
        for node in nodes.iter().take(ROWS_MAX) {
            match self.is_row(node) {
                true => table.rows.push(node.span),
                false => table.whole = false,
            }
        }
    }

    fn is_row(&mut self, node: &Node) -> bool {
        match &node.kind {
            _ if !node.is_whole() => false,
            Kind::Call(Call { name: None, values, .. }) if values.is_empty() => true,
            Kind::Call(Call { name: None, values, .. }) => {
                let span = values.first().map_or(node.span, |value| value.span);
                let message = "a row takes no value without a key";
                self.advise(span, "mixed-arguments", message, "write `key: value`");
                false
            }
            _ => {
                let message = "a row is (key: value, ..)";
                self.advise(node.span, "bad-value", message, "put it in round brackets");
                false
            }
        }
    }
}
