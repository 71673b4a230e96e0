//! From text to a [`Description`]: parameters put in, parts copied to their places, ports and chains split into
//! entries, common keys taken off. Each port and stage stays text of its own, so one bad stage never hides
//! another.
//!
//! Finds what is wrong with the shape of the file and goes on. What stages and ports there are, and whether
//! the whole makes sense, is for [`crate::check`].

mod address;
mod chains;
mod common;
mod cores;
mod frames;
mod parts;
mod ports;
mod read;
mod report;
mod scale;
mod stage;
mod tables;
mod trial;

pub(crate) use parts::{USE, USE_KEYS, USE_SUBJECT};
pub(crate) use report::{About, Common, report};

use crate::Overrides;
use crate::error::{Collector, instead, near};
use crate::scale::spec::ScaleSpec;
use crate::spec::{Cores, Description, Pools, Unknown, Word};
use crate::text::params::{self, Beside, Findings};
use crate::text::tree::{self, Call, Field, Kind, Node, Parsed};
use crate::text::{Mapped, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Keys of `Pipeline`, and what to write for those that must be given.
const KEYS: [(&str, Option<&str>); 11] = [
    ("name", Some("name: \"..\"")),
    ("params", None),
    ("ports", Some("ports: { \"in\": Pcap(\"in.pcap\") }")),
    ("parts", None),
    ("tables", None),
    ("chains", Some("chains: { \"main\": [Rx(\"in\"), ..] }")),
    ("cores", None),
    ("hash_seed", None),
    ("pools", None),
    ("tests", None),
    ("scale", None),
];
/// Keys of `Pipeline` that a later version has.
const LATER_KEYS: [(&str, &str); 1] = [("dpdk", "ports of kind `Dpdk` are to come with it")];

/// Most mistakes whose counterpart is looked up.
const LINES_MAX: usize = 50;

/// A description as far as it could be read, and what is wrong with it so far.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// `None` where the file is no description at all.
    pub(crate) description: Option<Description>,
    pub(crate) problems: Collector,
}

/// Reads the text of `file`, with what was said beside it.
pub(crate) fn load(file: &str, text: &str, overrides: &Overrides) -> Loaded {
    // Some editors put a mark in front that is no part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut problems = Collector::new(file, text);
    problems.set(overrides.sets.iter().map(|(name, _)| name.clone()));
    let beside = beside(overrides, &mut problems);
    reserved(text, 0, &mut problems);
    beside.iter().for_each(|given| reserved(&given.text, given.base, &mut problems));
    let (specs, caps) = beside.split_at(overrides.ports.len());
    let root = tree::parse(text).root;
    let unread = ports::replaced(text, &root, &overrides.ports);
    let mut expanded = params::expand(text, &root, &overrides.sets, specs, &unread);
    let caps = caps.iter().map(|given| expanded.append(given)).collect::<Vec<Span>>();
    let parsed = tree::parse_part(expanded.text.text(), expanded.file);
    let files = tables::read_files(&expanded, &parsed.root, &mut problems);
    files.values().flatten().for_each(|file| reserved(&file.text, file.base, &mut problems));
    let loaded = tables::put(&files, &mut expanded);
    let specs = std::mem::take(&mut expanded.beside);
    let (text, found) = expanded.finish();
    let mut loader = Loader {
        told_too_many: false,
        text,
        problems,
        given: Given::default(),
        loaded,
        meant_parts: BTreeSet::new(),
    };
    loader.parameters(&found);
    loader.mistakes(&parsed);
    loader.given(overrides, &specs, &caps);
    let unread = loader.given.unread || has_syntax_mistake(&parsed);
    let description = loader.pipeline(&parsed.root, unread);
    // What could not be read may use any of them.
    if !unread && loader.loaded.values().all(Result::is_ok) {
        loader.unused_parameters(found);
    }
    Loaded { description, problems: loader.problems }
}

/// The texts of ports and capabilities that were given beside the file, in this order.
fn beside(overrides: &Overrides, problems: &mut Collector) -> Vec<Beside> {
    let ports = overrides.ports.iter().map(|(name, text)| (format!("--port {name}"), text));
    let caps = overrides.caps.iter().map(|(name, text)| (format!("--caps {name}"), text));
    let all = ports.chain(caps);
    all.map(|(option, text)| Beside { base: problems.beside(&option, text), text: text.clone() })
        .collect()
}

/// A file that said so itself would have its mistakes passed over in silence.
fn reserved(text: &str, base: usize, problems: &mut Collector) {
    if let Some(start) = text.find(params::BROKEN) {
        let message = format!("`{}` is reserved", params::BROKEN);
        let span = Span::new(start, start + params::BROKEN.len()).moved(base);
        problems.error_at(span, "reserved", message, Some("use another name".to_owned()));
    }
}

fn has_syntax_mistake(parsed: &Parsed) -> bool {
    parsed.mistakes.iter().any(|mistake| mistake.code == "syntax")
}

/// What was given beside the file, read.
#[derive(Debug, Default)]
struct Given {
    /// Ports by name.
    ports: Vec<(String, Node)>,
    /// Capabilities by name of the port.
    caps: Vec<(String, Word)>,
    /// Whether one of them has a mistake of syntax.
    unread: bool,
}

struct Loader {
    text: Mapped,
    problems: Collector,
    given: Given,
    /// Files that tables name.
    loaded: tables::Loaded,
    /// Parts whose names were found misspelt.
    meant_parts: BTreeSet<String>,
    /// Whether it was told that there are too many stages.
    told_too_many: bool,
}

impl Loader {
    /// Notes mistakes of syntax, and of keys given twice.
    fn mistakes(&mut self, parsed: &Parsed) {
        let names = self.names_in(&parsed.root);
        for (number, mistake) in parsed.mistakes.iter().enumerate() {
            // Lines are counted from the start of the file: not for more than anybody reads.
            let other = mistake.other.filter(|_| number < LINES_MAX);
            let other = other.and_then(|at| self.problems.line(self.text.origin(at)));
            let help = other.map(|line| match mistake.code {
                "syntax" => format!("it is opened on line {line}"),
                _ => format!("the first one is on line {line}; keep one"),
            });
            let (code, message) = match names.get(&mistake.span) {
                Some(what) => {
                    let name = self.slice(mistake.span).trim_matches('"');
                    ("duplicate-name", format!("there are two {what} called `{name}`"))
                }
                None => (mistake.code, mistake.message.clone()),
            };
            let help = mistake.help.clone().or(help);
            self.problems.error(&self.text, mistake.span, code, message, help);
        }
    }

    /// The keys that are names of things, with what they name.
    fn names_in(&self, root: &Node) -> BTreeMap<Span, &'static str> {
        let mut names = BTreeMap::new();
        let Kind::Call(call) = &root.kind else { return names };
        for field in &call.fields {
            let what = match self.slice(field.key) {
                "ports" => "ports",
                "chains" => "chains",
                "parts" => "parts",
                "tables" => "tables",
                "params" => "parameters",
                _ => continue,
            };
            let Kind::Map(entries) = &field.value.kind else { continue };
            names.extend(entries.iter().map(|(key, _)| (key.span, what)));
        }
        names
    }

    /// Reads what was given beside the file, of which the last counts.
    fn given(&mut self, overrides: &Overrides, ports: &[Span], caps: &[Span]) {
        for ((name, _), &span) in overrides.ports.iter().zip(ports) {
            let parsed = tree::parse_part(self.text.text(), span);
            self.given.unread |= has_syntax_mistake(&parsed);
            self.mistakes(&parsed);
            self.given.ports.retain(|(known, _)| known != name);
            self.given.ports.push((name.clone(), parsed.root));
        }
        for ((name, text), &span) in overrides.caps.iter().zip(caps) {
            self.given.caps.retain(|(known, _)| known != name);
            self.given.caps.push((name.clone(), Word { text: text.clone(), span }));
        }
    }

    /// Notes what was wrong with parameters.
    fn parameters(&mut self, found: &Findings) {
        for mistake in &found.mistakes {
            let (message, help) = (mistake.message.clone(), mistake.help.clone());
            self.problems.error_at(mistake.span, mistake.code, message, help);
        }
        for message in &found.unplaced {
            self.problems.unplaced("bad-set", message.clone(), None);
        }
    }

    fn unused_parameters(&mut self, found: Findings) {
        for (name, span) in found.unused {
            let message = format!("parameter `{name}` is used nowhere");
            let help = format!("write \"${name}\" where its value belongs, or leave it out");
            self.problems.warning_at(span, "unused-parameter", message, Some(help));
        }
    }

    fn pipeline(&mut self, root: &Node, unread: bool) -> Option<Description> {
        let call = match &root.kind {
            Kind::Call(call) if call.name.is_some_and(|name| self.slice(name) == "Pipeline") => {
                call
            }
            Kind::Broken | Kind::Missing => return None,
            _ if unread && !matches!(root.kind, Kind::Call(_)) => return None,
            kind => {
                let name = match kind {
                    Kind::Call(call) => call.name,
                    _ => None,
                };
                let start = name.unwrap_or(Span::new(root.span.start, root.span.start + 1));
                let close = near(self.slice(start), ["Pipeline"]).is_some();
                let help = if close { "did you mean `Pipeline`?" } else { "write `Pipeline(..)`" };
                let message = "a description is one `Pipeline(..)`";
                self.advise(start, "not-a-pipeline", message, help);
                return None;
            }
        };
        if let Some(value) = call.values.iter().find(|value| value.is_whole()) {
            let message = "`Pipeline` takes no value without a key";
            self.advise(value.span, "mixed-arguments", message, "write `key: value`");
        }
        let mut description = Description {
            text: self.text.clone(),
            name: String::new(),
            ports: Vec::new(),
            chains: Vec::new(),
            parts: Vec::new(),
            tables: Vec::new(),
            cores: Cores::Auto,
            cores_at: None,
            pinned: Vec::new(),
            hash_seed: None,
            pools: Pools::default(),
            pools_at: None,
            tests: Vec::new(),
            scale: ScaleSpec::default(),
            unread,
            unknown: Unknown::default(),
        };
        // Chains use parts, wherever those stand.
        let is_parts = |loader: &Loader, field: &Field| loader.slice(field.key) == "parts";
        let meant = |loader: &Loader, field: &Field| loader.meant(field, call) == Some("parts");
        let parts = call.fields.iter().find(|field| is_parts(self, field));
        let parts = parts.or_else(|| call.fields.iter().find(|field| meant(self, field)));
        let mut parts = self.parts(parts.map(|field| &field.value));
        for field in &call.fields {
            let written = self.slice(field.key).to_owned();
            let key = match self.meant(field, call) {
                Some(meant) => {
                    self.unknown_key(&written, field.key);
                    meant.to_owned()
                }
                None => written,
            };
            self.field(field, &key, &mut description, &mut parts);
        }
        let named = |key: &str| call.fields.iter().find(|field| self.slice(field.key) == key);
        let (tests, scale) = (named("tests"), named("scale"));
        description.tests = tests.map_or(Vec::new(), |field| self.tests(&field.value, call));
        description.scale = scale.map(|field| self.scale(&field.value, call)).unwrap_or_default();
        description.parts = self.finish_parts(parts, unread);
        // Where it is never closed, the rest of the file may be anywhere.
        if call.values.iter().all(Node::is_sound) {
            self.missing(root, call, &mut description);
        }
        Some(description)
    }

    fn missing(&mut self, root: &Node, call: &Call, description: &mut Description) {
        let start = call.name.unwrap_or(root.span);
        for (key, example) in KEYS {
            let Some(example) = example else { continue };
            let is_key = |field: &Field| {
                self.slice(field.key) == key || self.meant(field, call) == Some(key)
            };
            if !call.fields.iter().any(is_key) {
                description.unknown.chains |= key == "chains";
                let message = format!("`Pipeline` needs `{key}`");
                self.advise(start, "missing-key", message, format!("add `{example}`"));
            }
        }
    }

    /// The key that was meant by one that is misspelt, if it is not there itself: its value is read as if it were
    /// right, so that nothing follows.
    fn meant(&self, field: &Field, call: &Call) -> Option<&'static str> {
        let key = self.slice(field.key);
        let later = LATER_KEYS.iter().map(|(key, _)| *key);
        if KEYS.iter().any(|(known, _)| *known == key) || near(key, later).is_some() {
            return None;
        }
        let meant = near(key, KEYS.iter().map(|(key, _)| *key))?;
        let is_there = call.fields.iter().any(|field| self.slice(field.key) == meant);
        (!is_there).then_some(meant)
    }

    fn field(
        &mut self,
        field: &Field,
        key: &str,
        description: &mut Description,
        parts: &mut parts::Parts,
    ) {
        let value = &field.value;
        if matches!(value.kind, Kind::Broken | Kind::Missing) {
            description.unknown.chains |= key == "chains";
            description.unknown.tables |= key == "tables";
            return;
        }
        match key {
            "name" => description.name = self.value(value, key, "a text").unwrap_or_default(),
            "params" | "parts" | "tests" | "scale" => {} // read before and behind the rest
            "ports" => {
                description.ports = self.ports(value, &mut description.unknown.ports);
            }
            "tables" => {
                description.tables = self.tables(value);
                description.unknown.tables |= !matches!(value.kind, Kind::Map(_));
            }
            "chains" => {
                description.chains = self.chains(value, parts);
                description.unknown.chains |= !matches!(value.kind, Kind::Map(_));
            }
            "hash_seed" => {
                let what = "a whole number from 0 to 18446744073709551615";
                description.hash_seed = self.value(value, key, what);
            }
            "cores" => {
                description.cores_at = Some(value.span);
                let cores = self.cores(value);
                (description.cores, description.pinned) = cores.unwrap_or_default();
            }
            "pools" => {
                description.pools_at = Some(value.span);
                let mut args = Mapped::default();
                args.copy(self.text.text(), value.span);
                let about = About::new("`pools`", value.span, stage::POOL_KEYS);
                description.pools = self.typed(&args, &about).unwrap_or_default();
            }
            unknown => self.unknown_key(unknown, field.key),
        }
    }

    fn unknown_key(&mut self, key: &str, span: Span) {
        if let Some((key, until)) = LATER_KEYS.iter().find(|(later, _)| *later == key) {
            let message = format!("`{key}` does not exist yet in this version");
            self.advise(span, "not-yet", message, format!("leave it out; {until}"));
            return;
        }
        let later = LATER_KEYS.iter().map(|(key, _)| *key);
        let message = format!("`Pipeline` has no key `{key}`");
        let help = match near(key, later) {
            Some(later) => Some(format!("did you mean `{later}`? It does not exist yet")),
            None => instead(key, KEYS.iter().map(|(key, _)| *key)),
        };
        self.problems.error(&self.text, span, "unknown-key", message, help);
    }
}
