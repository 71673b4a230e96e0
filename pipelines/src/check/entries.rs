//! Every port and stage on its own: is it known, are its arguments right, do the names in it exist.

use super::{CheckedChain, CheckedPort, CheckedRing, CheckedStage, CheckedStep, RING};
use crate::error::{Collector, instead};
use crate::load::report;
use crate::ports;
use crate::spec::{ChainEntry, Description, Entry, Misuse, StageEntry};
use crate::text::params::string_value;
use crate::text::tree::{Kind, Node};
use crate::text::{Mapped, Span};
use corelane_runtime::edge::OnFull;
use corelane_runtime::stage::spec::Role;
use corelane_runtime::stage::{Args, Registry};
use corelane_stages::config;
use serde::Deserialize;

/// Packets a ring holds where the file does not say.
const RING_CAPACITY: u32 = 1024;
/// More would hide for seconds that the next actor is too slow.
const RING_CAPACITY_MAX: u32 = 1 << 20;

/// A chain as far as it is known.
pub(super) struct FoundChain {
    pub(super) name: String,
    /// `None` where something was wrong with the step.
    pub(super) steps: Vec<Option<CheckedStep>>,
}

impl FoundChain {
    /// The stages that are known, with their places.
    pub(super) fn stages(&self) -> impl Iterator<Item = (usize, &CheckedStage)> {
        self.steps.iter().enumerate().filter_map(|(at, step)| match step {
            Some(CheckedStep::Stage(stage)) => Some((at, stage)),
            Some(CheckedStep::Ring(_)) | None => None,
        })
    }

    /// To be called when nothing was wrong.
    pub(super) fn finish(self) -> CheckedChain {
        CheckedChain { name: self.name, steps: self.steps.into_iter().flatten().collect() }
    }
}

/// Reads the arguments of an entry with `subject` in front of a lone value; notes what is wrong.
fn arguments(
    text: &Mapped,
    entry: &Entry,
    subject: Option<&str>,
    problems: &mut Collector,
) -> Option<Mapped> {
    let kind = &entry.kind.text;
    match entry.arguments(text, subject) {
        Ok(args) => Some(args),
        Err(Misuse::Mixed(span)) => {
            let message = "a value without a key cannot stand beside another argument";
            let value = text.text().get(span.range()).filter(|value| value.len() < 40);
            let value = value.unwrap_or("..");
            let help = subject.map(|subject| format!("write `{subject}: {value}`"));
            problems.error(text, span, "mixed-arguments", message, help);
            None
        }
        Err(Misuse::NoSubject(span)) => {
            let message = format!("`{kind}` takes no value without a key");
            problems.error(text, span, "mixed-arguments", message, None);
            None
        }
    }
}

/// The ports; `None` where something was wrong.
pub(super) fn ports(
    description: &Description,
    problems: &mut Collector,
) -> Vec<Option<CheckedPort>> {
    let text = &description.text;
    let read = description.ports.iter().map(|port| {
        let entry = &port.entry;
        let Some(kind) = ports::kind(&entry.kind.text) else {
            let message = format!("no kind of port is called `{}`", entry.kind.text);
            let help = instead(&entry.kind.text, ports::KINDS.iter().map(|kind| kind.name));
            problems.error(text, entry.kind.span, "unknown-port-kind", message, help);
            return None;
        };
        if !entry.is_whole() {
            return None;
        }
        let args = arguments(text, entry, kind.subject, problems)?;
        let common = ports::Common { mtu: port.mtu };
        match (kind.configure)(Args { text: args.text() }, &common) {
            Ok(config) => Some(CheckedPort {
                name: port.name.text.clone(),
                kind: entry.kind.text.clone(),
                arguments: args.text().to_owned(),
                config,
                mtu: port.mtu,
                span: text.origin(entry.kind.span),
            }),
            Err(errors) => {
                let what = format!("`{}`", entry.kind.text);
                report(problems, text, &args, entry.span, &what, errors);
                None
            }
        }
    });
    read.collect()
}

/// The chains, stage by stage.
pub(super) fn chains(
    description: &Description,
    registry: &Registry,
    ports: &[Option<CheckedPort>],
    problems: &mut Collector,
) -> Vec<FoundChain> {
    let mut reader = Reader { description, registry, ports, problems };
    let chains = description.chains.iter().map(|chain| {
        let steps = chain.stages.iter().enumerate();
        let steps = steps.map(|(index, stage)| reader.step(chain, index, stage)).collect();
        FoundChain { name: chain.name.text.clone(), steps }
    });
    chains.collect()
}

struct Reader<'a> {
    description: &'a Description,
    registry: &'a Registry,
    ports: &'a [Option<CheckedPort>],
    problems: &'a mut Collector,
}

impl Reader<'_> {
    fn error(&mut self, span: Span, code: &'static str, message: String, help: Option<String>) {
        self.problems.error(&self.description.text, span, code, message, help);
    }

    fn step(
        &mut self,
        chain: &ChainEntry,
        index: usize,
        stage: &StageEntry,
    ) -> Option<CheckedStep> {
        let entry = &stage.entry;
        if entry.kind.text == RING {
            let ring = self.ring(&chain.name.text, index, entry)?;
            return Some(CheckedStep::Ring(ring));
        }
        let Some(spec) = self.registry.get(&entry.kind.text) else {
            let message = format!("no stage is called `{}`", entry.kind.text);
            let names = self.registry.iter().map(|spec| spec.info().name).chain([RING]);
            let help = instead(&entry.kind.text, names);
            self.error(entry.kind.span, "unknown-stage", message, help);
            return None;
        };
        if !entry.is_whole() {
            return None;
        }
        let info = spec.info();
        let args = arguments(&self.description.text, entry, info.subject, self.problems)?;
        let config = match spec.configure(Args { text: args.text() }) {
            Ok(config) => config,
            Err(errors) => {
                let (what, text) = (format!("`{}`", info.name), &self.description.text);
                report(self.problems, text, &args, entry.span, &what, errors);
                return None;
            }
        };
        let mut found = CheckedStage {
            info,
            name: stage.name.clone(),
            on_panic: stage.on_panic,
            traits: config.traits(),
            config,
            arguments: args.text().to_owned(),
            outputs: Vec::new(),
            index,
            added: false,
        };
        let port_is_right = self.port(entry, &found);
        found.outputs = self.outputs(entry, &found)?;
        port_is_right.then_some(CheckedStep::Stage(found))
    }

    fn ring(&mut self, chain: &str, index: usize, entry: &Entry) -> Option<CheckedRing> {
        if !entry.is_whole() {
            return None;
        }
        let args = arguments(&self.description.text, entry, Some("name"), self.problems)?;
        let spec: RingSpec = match config::parse(Args { text: args.text() }) {
            Ok(spec) => spec,
            Err(errors) => {
                let text = &self.description.text;
                report(self.problems, text, &args, entry.span, "`Ring`", errors);
                return None;
            }
        };
        if spec.capacity == 0 || spec.capacity > RING_CAPACITY_MAX {
            let message = format!(
                "`Ring`: a capacity of {} packets; 1 to {RING_CAPACITY_MAX} are possible",
                spec.capacity
            );
            self.error(entry.span, "bad-value", message, None);
            return None;
        }
        if spec.name.as_deref() == Some("") {
            let message = "`Ring`: its name is empty".to_owned();
            let help = "name the actor behind it, or write `Ring` alone".to_owned();
            self.error(entry.span, "bad-value", message, Some(help));
            return None;
        }
        let before = self.description.chains.iter().find(|known| known.name.text == chain);
        let before = before.map_or(&[][..], |known| known.stages.get(..index).unwrap_or_default());
        let nth = before.iter().filter(|stage| stage.entry.kind.text == RING).count() + 1;
        Some(CheckedRing {
            name: spec.name.unwrap_or_else(|| format!("{chain}/{nth}")),
            capacity: spec.capacity as usize,
            on_full: spec.on_full.into(),
        })
    }

    /// Whether the port a stage stands on is there and goes the right way.
    fn port(&mut self, entry: &Entry, stage: &CheckedStage) -> bool {
        let Some(name) = &stage.traits.port else { return true };
        let span = place_of(&self.description.text, entry, name);
        let Some(index) = self.description.ports.iter().position(|port| port.name.text == *name)
        else {
            let message = format!("`{}` names port `{name}`, which is not there", entry.kind.text);
            let names = self.description.ports.iter().map(|port| port.name.text.as_str());
            let help = instead(name, names);
            self.error(span, "no-such-port", message, help);
            return false;
        };
        let Some(Some(port)) = self.ports.get(index) else { return true };
        let (can, verb, cure) = match stage.info.role {
            Role::Source => (port.config.receives(), "receive", port.config.to_receive()),
            Role::Middle => return true,
            Role::Sink => (port.config.transmits(), "transmit", port.config.to_transmit()),
        };
        if !can {
            let message = format!("port `{name}` does not {verb}");
            self.error(span, "wrong-direction", message, Some(cure.to_owned()));
        }
        can
    }

    /// The numbers of the chains a stage sends to.
    fn outputs(&mut self, entry: &Entry, stage: &CheckedStage) -> Option<Vec<usize>> {
        let chains = &self.description.chains;
        let mut numbers = Vec::new();
        for (_, name) in &stage.traits.outputs {
            match chains.iter().position(|chain| chain.name.text == *name) {
                Some(number) => numbers.push(number),
                None => {
                    let span = place_of(&self.description.text, entry, name);
                    let kind = &entry.kind.text;
                    let message =
                        format!("`{kind}` sends to chain `{name}`, which is not in this file");
                    let help = instead(name, chains.iter().map(|chain| chain.name.text.as_str()));
                    self.error(span, "no-such-chain", message, help);
                }
            }
        }
        (numbers.len() == stage.traits.outputs.len()).then_some(numbers)
    }
}

/// Where the text `name` stands in an entry; the entry itself if nowhere.
pub(super) fn place_of(text: &Mapped, entry: &Entry, name: &str) -> Span {
    let values = entry.values.iter().chain(entry.fields.iter().map(|field| &field.value));
    values.into_iter().find_map(|node| string_in(text, node, name)).unwrap_or(entry.span)
}

fn string_in(text: &Mapped, node: &Node, name: &str) -> Option<Span> {
    match &node.kind {
        Kind::Str => {
            let content = string_value(text.text().get(node.span.range())?)?;
            (content == name).then_some(node.span)
        }
        Kind::Plain | Kind::Broken => None,
        Kind::List(nodes) => nodes.iter().find_map(|node| string_in(text, node, name)),
        Kind::Map(entries) => entries.iter().find_map(|(_, value)| string_in(text, value, name)),
        Kind::Call(call) => {
            let fields = call.fields.iter().map(|field| &field.value);
            call.values.iter().chain(fields).find_map(|node| string_in(text, node, name))
        }
    }
}

/// Arguments of `Ring`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RingSpec {
    name: Option<String>,
    capacity: u32,
    on_full: OnFullSpec,
}

impl Default for RingSpec {
    fn default() -> RingSpec {
        RingSpec { name: None, capacity: RING_CAPACITY, on_full: OnFullSpec::Wait }
    }
}

#[derive(Clone, Copy, Deserialize)]
enum OnFullSpec {
    Wait,
    DropNewest,
    DropOldest,
}

impl From<OnFullSpec> for OnFull {
    fn from(spec: OnFullSpec) -> OnFull {
        match spec {
            OnFullSpec::Wait => OnFull::Wait,
            OnFullSpec::DropNewest => OnFull::DropNewest,
            OnFullSpec::DropOldest => OnFull::DropOldest,
        }
    }
}
