//! From text to a [`Description`]: parameters put in, ports and chains split into entries, common keys taken
//! off. Each port and stage stays text of its own, so one bad stage never hides another.
//!
//! Finds what is wrong with the shape of the file and goes on. What stages and ports there are, and whether
//! the whole makes sense, is for [`crate::check`].

use crate::error::{Collector, instead};
use crate::spec::{
    ChainEntry, Cores, Description, Entry, Misuse, Pools, PortEntry, StageEntry, Word,
};
use crate::text::params::{self, string_value};
use crate::text::tree::{self, Call, Field, Kind, Node};
use crate::text::{Mapped, Span};
use corelane_runtime::actor::OnPanic;
use corelane_runtime::stage::{Args, ConfigError};
use corelane_stages::config::{self, Nanoseconds};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Keys of `Pipeline`.
const KEYS: [&str; 7] = ["name", "params", "ports", "chains", "cores", "hash_seed", "pools"];
/// Keys that every stage has.
const STAGE_KEYS: [&str; 2] = ["name", "on_panic"];
/// Keys that every port has.
const PORT_KEYS: [&str; 1] = ["mtu"];
/// Every host must take an IPv4 packet of that size in one piece (RFC 791, section 3.2).
const MTU_MIN: u32 = 68;

/// A description as far as it could be read, and what is wrong with it so far.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// `None` where the file is no description at all.
    pub(crate) description: Option<Description>,
    pub(crate) problems: Collector,
}

/// Reads the text of `file`; `sets` are values for parameters.
pub(crate) fn load(file: &str, text: &str, sets: &[(String, String)]) -> Loaded {
    // Some editors put a mark in front that is no part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut problems = Collector::new(file, text);
    // A file that said so itself would have its mistakes passed over in silence.
    if let Some(start) = text.find(params::BROKEN) {
        let message = format!("`{}` is reserved; use another name", params::BROKEN);
        let span = Span::new(start, start + params::BROKEN.len());
        problems.error_at(span, "reserved", message, None);
    }
    let expanded = params::expand(text, &tree::parse(text).root, sets);
    for mistake in &expanded.mistakes {
        problems.error_at(mistake.span, mistake.code, mistake.message.clone(), None);
    }
    for message in expanded.unplaced {
        problems.unplaced("bad-set", message);
    }
    let parsed = tree::parse(expanded.text.text());
    for mistake in &parsed.mistakes {
        problems.error(&expanded.text, mistake.span, mistake.code, mistake.message.clone(), None);
    }
    let mut loader = Loader { text: expanded.text, problems };
    let description = loader.pipeline(&parsed.root);
    if !loader.problems.has_errors() {
        for (name, span) in expanded.unused {
            let message = format!("parameter `{name}` is used nowhere");
            loader.problems.warning_at(span, "unused-parameter", message);
        }
    }
    Loaded { description, problems: loader.problems }
}

struct Loader {
    text: Mapped,
    problems: Collector,
}

impl Loader {
    fn slice(&self, span: Span) -> &str {
        self.text.text().get(span.range()).unwrap_or_default()
    }

    fn error(&mut self, span: Span, code: &'static str, message: impl Into<String>) {
        self.problems.error(&self.text, span, code, message, None);
    }

    fn pipeline(&mut self, root: &Node) -> Option<Description> {
        let call = match &root.kind {
            Kind::Call(call) if call.name.is_some_and(|name| self.slice(name) == "Pipeline") => {
                call
            }
            Kind::Broken => return None,
            _ => {
                let start = Span::new(root.span.start, root.span.start + 1);
                self.error(start, "not-a-pipeline", "a description is one `Pipeline(..)`");
                return None;
            }
        };
        if let Some(value) = call.values.iter().find(|value| value.is_whole()) {
            self.error(value.span, "mixed-arguments", "`Pipeline` takes `key: value` only");
        }
        let mut description = Description {
            text: self.text.clone(),
            name: String::new(),
            ports: Vec::new(),
            chains: Vec::new(),
            cores: Cores::Auto,
            cores_span: None,
            hash_seed: None,
            pools: Pools::default(),
            pools_span: None,
            incomplete: !call.values.iter().all(Node::is_whole),
        };
        for field in &call.fields {
            self.field(field, &mut description);
        }
        // Where it is never closed, the rest of the file may be anywhere.
        if call.values.iter().all(Node::is_whole) {
            self.missing(root, call, &["name", "ports", "chains"]);
        }
        Some(description)
    }

    fn missing(&mut self, root: &Node, call: &Call, keys: &[&str]) {
        let start = call.name.unwrap_or(root.span);
        for key in keys {
            if !call.fields.iter().any(|field| self.slice(field.key) == *key) {
                self.error(start, "missing-key", format!("`Pipeline` needs `{key}`"));
            }
        }
    }

    fn field(&mut self, field: &Field, description: &mut Description) {
        let value = &field.value;
        if matches!(value.kind, Kind::Broken) {
            description.incomplete = true;
            return;
        }
        match self.slice(field.key) {
            "name" => description.name = self.value(value, "a text").unwrap_or_default(),
            "params" => {} // put in before
            "ports" => description.ports = self.ports(value, &mut description.incomplete),
            "chains" => description.chains = self.chains(value, &mut description.incomplete),
            "hash_seed" => description.hash_seed = self.value(value, "a number"),
            "cores" => {
                description.cores = self.cores(value).unwrap_or_default();
                description.cores_span = Some(value.span);
            }
            "pools" => {
                let mut args = Mapped::default();
                args.copy(self.text.text(), value.span);
                description.pools = self.typed(&args, value.span, "`pools`").unwrap_or_default();
                description.pools_span = Some(value.span);
            }
            unknown => {
                let message = format!("`Pipeline` has no key `{unknown}`");
                let help = instead(unknown, KEYS);
                self.problems.error(&self.text, field.key, "unknown-key", message, help);
            }
        }
    }

    /// A single value, read by `ron`.
    fn value<T: DeserializeOwned>(&mut self, node: &Node, what: &str) -> Option<T> {
        let read = ron::from_str(self.slice(node.span));
        if read.is_err() && node.is_whole() {
            self.error(node.span, "bad-value", format!("{what} is expected here"));
        }
        read.ok()
    }

    /// A struct, every mistake in it reported.
    fn typed<T: DeserializeOwned>(&mut self, args: &Mapped, span: Span, what: &str) -> Option<T> {
        match config::parse(Args { text: args.text() }) {
            Ok(value) => Some(value),
            Err(errors) => {
                report(&mut self.problems, &self.text, args, span, what, errors);
                None
            }
        }
    }

    fn entries<'n>(&mut self, node: &'n Node, what: &str) -> &'n [(Node, Node)] {
        match &node.kind {
            Kind::Map(entries) => entries,
            Kind::Broken => &[],
            _ => {
                let message = format!("{what} are written {{ \"name\": .. }}");
                self.error(node.span, "bad-value", message);
                &[]
            }
        }
    }

    fn name(&mut self, key: &Node) -> Option<Word> {
        let name = string_value(self.slice(key.span)).filter(|name| !name.is_empty());
        if name.is_none() && key.is_whole() {
            self.error(key.span, "bad-value", "a name is a text in quotes, and not empty");
        }
        name.map(|text| Word { text, span: key.span })
    }

    fn ports(&mut self, node: &Node, incomplete: &mut bool) -> Vec<PortEntry> {
        let mut ports = Vec::new();
        for (key, value) in self.entries(node, "ports") {
            let name = self.name(key);
            let port = self.call(value, &PORT_KEYS, "a port such as `Pcap(read: \"x.pcap\")`");
            let (Some(name), Some((entry, common))) = (name, port) else {
                *incomplete = true;
                continue;
            };
            let mut mtu = None;
            for field in &common {
                mtu = self.mtu(&field.value);
            }
            ports.push(PortEntry { name, entry, mtu });
        }
        ports
    }

    fn mtu(&mut self, node: &Node) -> Option<u32> {
        let mtu = self.value(node, "a number of bytes")?;
        if mtu < MTU_MIN {
            let message = format!("an mtu of {mtu} bytes; IPv4 needs at least {MTU_MIN} (RFC 791)");
            self.error(node.span, "bad-value", message);
        }
        Some(mtu)
    }

    fn chains(&mut self, node: &Node, incomplete: &mut bool) -> Vec<ChainEntry> {
        let mut chains = Vec::new();
        for (key, value) in self.entries(node, "chains") {
            let Some(name) = self.name(key) else {
                *incomplete = true;
                continue;
            };
            let Kind::List(nodes) = &value.kind else {
                *incomplete = true;
                if value.is_whole() {
                    self.error(
                        value.span,
                        "bad-value",
                        "a chain is a list of stages: [Rx(..), ..]",
                    );
                }
                continue;
            };
            let stages: Vec<StageEntry> =
                nodes.iter().filter_map(|node| self.stage(node)).collect();
            let whole = stages.len() == nodes.len() && value.is_whole();
            *incomplete |= !whole;
            chains.push(ChainEntry { name, stages, whole, span: value.span });
        }
        chains
    }

    fn stage(&mut self, node: &Node) -> Option<StageEntry> {
        let (entry, common) = self.call(node, &STAGE_KEYS, "a stage such as `Rx(\"in\")`")?;
        let mut stage = StageEntry { entry, name: None, on_panic: OnPanic::default() };
        for field in &common {
            if self.slice(field.key) == "name" {
                stage.name = self.name(&field.value).map(|word| word.text);
            } else if let Some(on_panic) = self.on_panic(&field.value) {
                stage.on_panic = on_panic;
            }
        }
        Some(stage)
    }

    fn call(&mut self, node: &Node, common: &[&str], what: &str) -> Option<(Entry, Vec<Field>)> {
        match &node.kind {
            Kind::Call(call) if call.name.is_some() => {
                // `Ring(name: ..)` names the ring, not the stage; the catalogue knows no such key.
                let ring = call.name.is_some_and(|name| self.slice(name) == crate::check::RING);
                let common = if ring { &[] } else { common };
                Some(Entry::new(&self.text, call, node.span, common))
            }
            Kind::Broken => None,
            _ => {
                self.error(node.span, "bad-value", format!("{what} is expected here"));
                None
            }
        }
    }

    fn on_panic(&mut self, node: &Node) -> Option<OnPanic> {
        let (entry, _) = self.call(node, &[], "`Restart(..)`, `Bypass`, `Drop` or `Stop`")?;
        let plain = entry.values.is_empty() && entry.fields.is_empty();
        match entry.kind.text.as_str() {
            "Restart" => self.restart(&entry),
            "Bypass" if plain => Some(OnPanic::Bypass),
            "Drop" if plain => Some(OnPanic::Drop),
            "Stop" if plain => Some(OnPanic::Stop),
            other => {
                let message = format!("`{other}` cannot be written for `on_panic`");
                let help = instead(other, ["Restart", "Bypass", "Drop", "Stop"]);
                self.problems.error(&self.text, node.span, "bad-value", message, help);
                None
            }
        }
    }

    fn restart(&mut self, entry: &Entry) -> Option<OnPanic> {
        let args = match entry.arguments(&self.text, Some("max")) {
            Ok(args) => args,
            Err(Misuse::Mixed(span) | Misuse::NoSubject(span)) => {
                let message = "write `Restart(max: 5, window: \"10s\")`";
                self.error(span, "mixed-arguments", message);
                return None;
            }
        };
        let restart: Restart = self.typed(&args, entry.span, "`Restart`")?;
        Some(OnPanic::Restart { max: restart.max, window: restart.window.0 })
    }

    fn cores(&mut self, node: &Node) -> Option<Cores> {
        let what = "`Auto`, `Count(2)` or `Pin({ \"actor\": 2 })`";
        let (entry, _) = self.call(node, &[], what)?;
        let cores = match (entry.kind.text.as_str(), entry.values.as_slice()) {
            ("Auto", []) => Some(Cores::Auto),
            ("Count", [count]) => self.value(count, "a number of CPUs").map(Cores::Count),
            ("Pin", [pins]) => return self.pins(pins),
            _ => None,
        };
        match cores {
            Some(Cores::Count(0)) => {
                self.error(node.span, "bad-value", "at least one CPU is needed");
                None
            }
            None if node.is_whole() => {
                self.error(node.span, "bad-value", format!("{what} is expected here"));
                None
            }
            cores => cores,
        }
    }

    fn pins(&mut self, node: &Node) -> Option<Cores> {
        let mut pins = Vec::new();
        for (key, value) in self.entries(node, "pinned actors") {
            let name = self.name(key)?;
            let cpu = match &value.kind {
                Kind::List(cpus) if cpus.len() == 1 => &cpus[0],
                Kind::List(_) => {
                    let message = format!("actor `{}` is one thread: give it one CPU", name.text);
                    self.error(value.span, "bad-value", message);
                    continue;
                }
                _ => value,
            };
            if let Some(cpu) = self.value(cpu, "the number of one CPU") {
                pins.push((name.text, cpu));
            }
        }
        Some(Cores::Pin(pins))
    }
}

/// Arguments of `on_panic: Restart(..)`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Restart {
    max: u32,
    window: Nanoseconds,
}

impl Default for Restart {
    fn default() -> Restart {
        Restart { max: 5, window: Nanoseconds(10_000_000_000) }
    }
}

/// Puts the mistakes in `args`, the arguments of `what` at `span`, in their places in the file.
pub(crate) fn report(
    problems: &mut Collector,
    text: &Mapped,
    args: &Mapped,
    span: Span,
    what: &str,
    errors: Vec<ConfigError>,
) {
    for error in errors {
        if error.message.contains("is given twice") {
            continue; // found for all structs alike, in the tree of the text
        }
        let place = place_of(&error, args.text()).map_or(span, |place| args.origin(place));
        // The reader of arguments puts its advice behind a semicolon.
        let (message, help) = match error.message.split_once("; ") {
            Some((message, help)) => (message.to_owned(), Some(help.to_owned())),
            None => (error.message, None),
        };
        let named = error.key.as_ref().is_some_and(|key| message.contains(&format!("key `{key}`")));
        let code = if named { "unknown-key" } else { "bad-value" };
        problems.error(text, place, code, format!("{what}: {message}"), help);
    }
}

/// Where in the arguments an error belongs: the place it names, or the value of its key where it names none
/// or merely the end of one.
fn place_of(error: &ConfigError, args: &str) -> Option<Span> {
    let named = error.span.map(|(start, end)| Span::new(start, end));
    let says_something = |span: &Span| {
        args.get(span.range()).is_some_and(|text| text.contains(char::is_alphanumeric))
    };
    named.filter(says_something).or_else(|| {
        let Kind::Call(call) = tree::parse(args).root.kind else { return None };
        let is_key = |field: &&Field| args.get(field.key.range()) == error.key.as_deref();
        call.fields.iter().find(is_key).map(|field| field.value.span)
    })
}
