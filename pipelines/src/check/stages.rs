//! Every stage on its own: is it known, are its arguments right, do the names in it exist.
//!
//! One mistake in a stage does not hide another: what is wrong is left out and the rest read again, so that the
//! names in the rest are looked up too.

use super::entries::{arguments, report_misuse};
use super::named::{Named, Names, Texts, place_of};
use super::{CheckedChain, CheckedPort, CheckedStage, CheckedStep, RING, later, ring};
use crate::error::{Collector, instead};
use crate::load::{About, Common, USE, report};
use crate::negotiate::Exit;
use crate::spec::{ChainEntry, Description, Entry, StageEntry};
use crate::text::tree::{self, Field, Kind, Node};
use crate::text::{Mapped, Span};
use corelane_runtime::actor::OnPanic;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{Args, ConfigError, Registry, StageConfig, StageInfo, StageSpec};
use std::collections::BTreeMap;

/// A chain as far as it is known.
pub(super) struct FoundChain {
    pub(super) name: String,
    pub(super) steps: Vec<FoundStep>,
}

/// A step as far as it is known.
#[derive(Default)]
pub(super) struct FoundStep {
    /// `None` where something was wrong with it.
    pub(super) checked: Option<CheckedStep>,
    /// Where it may stand, if the kind of stage is known.
    pub(super) role: Option<Role>,
    /// Chains that it sends to, by number, as far as they are known.
    pub(super) outputs: Vec<usize>,
}

impl FoundChain {
    /// To be called when nothing was wrong.
    pub(super) fn finish(self) -> CheckedChain {
        let steps = self.steps.into_iter().filter_map(|step| step.checked);
        CheckedChain { name: self.name, steps: steps.collect() }
    }
}

/// The chains, stage by stage, and what stands in them.
pub(super) fn chains(
    description: &Description,
    registry: &Registry,
    ports: &[Option<CheckedPort>],
    problems: &mut Collector,
) -> (Vec<FoundChain>, Named) {
    let mut numbers = BTreeMap::new();
    for (number, chain) in description.chains.iter().enumerate() {
        numbers.entry(chain.name.text.as_str()).or_insert(number);
    }
    let named = Named::default();
    let texts = None;
    let mut reader = Reader { description, registry, ports, numbers, named, texts, problems };
    let chains = description.chains.iter().map(|chain| FoundChain {
        name: chain.name.text.clone(),
        steps: (0..chain.stages.len()).map(|index| reader.step(chain, index)).collect(),
    });
    let chains = chains.collect();
    let unknown = description.chains.iter().any(|chain| chain.unknown);
    if unknown || description.unknown.chains {
        reader.named.any(Names { chains: true, ports: true });
    }
    // A part that no chain uses may be wrong all the same.
    for part in description.parts.iter().filter(|part| !part.used) {
        let name = part.name.clone();
        let (stages, whole, span) = (part.stages.clone(), false, name.span);
        let chain = ChainEntry { name, stages, whole, unknown: false, span };
        (0..chain.stages.len()).for_each(|index| drop(reader.step(&chain, index)));
    }
    (chains, reader.named)
}

pub(super) struct Reader<'a> {
    pub(super) description: &'a Description,
    registry: &'a Registry,
    ports: &'a [Option<CheckedPort>],
    /// Numbers of chains by name.
    numbers: BTreeMap<&'a str, usize>,
    pub(super) named: Named,
    /// The texts of the stage that was asked for last, for the places of names in it.
    pub(super) texts: Option<((Span, Option<String>), Texts)>,
    pub(super) problems: &'a mut Collector,
}

impl Reader<'_> {
    pub(super) fn text(&self) -> &Mapped {
        &self.description.text
    }

    pub(super) fn error(
        &mut self,
        span: Span,
        code: &'static str,
        message: String,
        help: Option<String>,
    ) {
        self.problems.error(&self.description.text, span, code, message, help);
    }

    fn slice(&self, span: Span) -> String {
        self.text().text().get(span.range()).unwrap_or_default().to_owned()
    }

    fn step(&mut self, chain: &ChainEntry, index: usize) -> FoundStep {
        let stage = &chain.stages[index];
        let entry = &stage.entry;
        if entry.kind.text == RING {
            let ring = ring::ring(&self.description.text, chain, index, self.problems);
            let checked = ring.map(CheckedStep::Ring);
            return FoundStep { checked, role: Some(Role::Middle), outputs: Vec::new() };
        }
        match self.registry.get(&entry.kind.text) {
            Some(spec) => self.known(spec, &chain.name.text, stage, index),
            None => {
                self.unknown(entry);
                self.named.anything(&self.description.text, entry);
                FoundStep::default()
            }
        }
    }

    fn unknown(&mut self, entry: &Entry) {
        let name = &entry.kind.text;
        if let Some(subject) = later::stage(name) {
            if later::first(self.problems, name) {
                let message = format!("stage `{name}` does not exist yet in this version");
                let help = "leave it out; `corelane stages` lists what there is".to_owned();
                self.error(entry.kind.span, "not-yet", message, Some(help));
            }
            if let Some(misuse) = subject.and_then(|_| entry.misuse(subject)) {
                let text = &self.description.text;
                report_misuse(text, entry, &misuse, subject, None, self.problems);
            }
            return;
        }
        let message = format!("no stage is called `{name}`");
        let names = self.registry.iter().map(|spec| spec.info().name).chain([RING, USE]);
        let help = later::instead_of_stage(name, names);
        self.error(entry.kind.span, "unknown-stage", message, help);
    }

    fn known(
        &mut self,
        spec: &dyn StageSpec,
        chain: &str,
        stage: &StageEntry,
        index: usize,
    ) -> FoundStep {
        let (info, entry) = (spec.info(), &stage.entry);
        let mut found = FoundStep { role: Some(info.role), ..FoundStep::default() };
        self.bypass(info, info.role, stage);
        let read = self.configure(spec, entry);
        let Some((mut config, mut arguments, whole)) = read else {
            self.named.anything(&self.description.text, entry);
            self.not_given(info, entry);
            // Whether one that sends to chains goes on to a next stage may depend on what is wrong.
            let sends = info.keys.iter().any(|key| names_of(info, key.name).chains);
            found.role = found.role.filter(|role| *role != Role::Middle || !sends);
            return found;
        };
        if !whole {
            self.named.values(&self.description.text, entry, |key| names_of(info, key));
            self.not_given(info, entry);
        }
        let rows_are_right = self.rows(entry, config.as_mut(), &mut arguments);
        let traits = config.traits();
        if traits.ends && info.role == Role::Middle {
            found.role = Some(Role::Sink);
            self.bypass(info, Role::Sink, stage);
        }
        let ports_are_right = self.port(entry, info, &traits) & self.named_ports(entry, &traits);
        let known_outputs = self.outputs(chain, entry, &traits, &mut found.outputs);
        if whole && rows_are_right && ports_are_right && known_outputs {
            found.checked = Some(CheckedStep::Stage(CheckedStage {
                info,
                name: stage.name.as_ref().map(|name| name.text.clone()),
                on_panic: stage.on_panic,
                offload: stage.offload,
                traits,
                config,
                arguments,
                written: self.slice(entry.span),
                span: Some(self.text().origin(entry.span)),
                outputs: found.outputs.clone(),
                index,
                added: false,
                verdicts: Vec::new(),
                exit: Exit::default(),
                note: None,
                entries: Vec::new(),
                exits: Vec::new(),
                answers: Vec::new(),
            }));
        }
        found
    }

    /// What should stand under a key that must be given, and is not, could be any port; of chains that is not
    /// taken for granted.
    fn not_given(&mut self, info: &StageInfo, entry: &Entry) {
        let is_given = |key: &str| {
            let mut fields = entry.fields.iter().map(|field| field.key);
            let subject = info.subject == Some(key) && entry.values.iter().any(is_text);
            subject || fields.any(|given| self.slice(given) == key)
        };
        let required = info.keys.iter().filter(|key| key.default.is_none());
        let missing: Vec<&str> =
            required.map(|key| key.name).filter(|key| !is_given(key)).collect();
        for key in missing {
            self.named.any(Names { chains: false, ..names_of(info, key) });
        }
    }

    /// The configuration, the arguments it is made of, and whether those are all that stand there: what is
    /// wrong is noted and left out. `None` where the rest makes no configuration.
    fn configure(
        &mut self,
        spec: &dyn StageSpec,
        entry: &Entry,
    ) -> Option<(Box<dyn StageConfig>, String, bool)> {
        let (info, text) = (spec.info(), &self.description.text);
        if !entry.values.iter().all(|value| value.is_sound()) {
            return None; // its brackets may be wrong
        }
        let (sound, mut left_out) = entry.without(text, info.subject, &[]);
        let args = arguments(text, &sound, info.subject, Some(info.keys), self.problems)?;
        let mut errors = match spec.configure(Args { text: args.text() }) {
            Ok(config) => return Some((config, args.text().to_owned(), left_out.is_empty())),
            Err(errors) => errors,
        };
        // Whoever says that a key is missing does not see what was left out.
        let is_left_out =
            |key: &Option<String>| key.as_ref().is_some_and(|key| left_out.contains(key));
        errors.retain(|error| !is_left_out(&error.key));
        left_out.extend(errors.iter().filter_map(|error| error.key.clone()));
        left_out.extend(keys_around(&args, &errors));
        let what = format!("`{}`", info.name);
        let about = About::new(&what, entry.kind.span, info.keys).with_common(Common::Stage);
        report(self.problems, text, &args, &about, errors);
        let (rest, _) = sound.without(text, info.subject, &left_out);
        let args = rest.arguments(text, info.subject).ok()?;
        let config = spec.configure(Args { text: args.text() }).ok()?;
        Some((config, args.text().to_owned(), false))
    }

    /// Without a next stage there is nowhere to pass packets on to; which output would be right, nobody can tell.
    fn bypass(&mut self, info: &StageInfo, role: Role, stage: &StageEntry) {
        if stage.on_panic != OnPanic::Bypass || role != Role::Sink {
            return;
        }
        let message = format!(
            "`{}` cannot be bypassed: it has no next stage to pass packets on to",
            info.name
        );
        let help = "write `Drop`, `Stop` or `Restart(..)`".to_owned();
        let span = stage.on_panic_at.unwrap_or(stage.entry.kind.span);
        self.error(span, "bad-value", message, Some(help));
    }

    /// Whether the port a stage stands on is there and goes the right way.
    fn port(&mut self, entry: &Entry, info: &StageInfo, traits: &Traits) -> bool {
        let Some(name) = &traits.port else { return true };
        self.named.port(name);
        let span = place_of(self.text(), entry, name);
        let ports = &self.description.ports;
        let names = ports.iter().map(|port| port.name.text.as_str());
        let Some(index) = ports.iter().position(|port| port.name.text == *name) else {
            if self.description.unknown.ports.contains(name) {
                return false;
            }
            self.named.misspelt(name, names.clone());
            let message = format!("`{}` names port `{name}`, which is not there", entry.kind.text);
            let help = instead(name, names);
            let help = help.or_else(|| Some(format!("write ports: {{ \"{name}\": .. }}")));
            self.error(span, "no-such-port", message, help);
            return false;
        };
        let Some(Some(port)) = self.ports.get(index) else { return true };
        let (can, verb, cure) = match info.role {
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

    /// Adds the numbers of the chains a stage sends to. Whether all of them are there.
    fn outputs(
        &mut self,
        chain: &str,
        entry: &Entry,
        traits: &Traits,
        numbers: &mut Vec<usize>,
    ) -> bool {
        for (_, name) in &traits.outputs {
            if let Some(&number) = self.numbers.get(name.as_str()) {
                self.named.chain(name);
                numbers.push(number);
                continue;
            }
            // Its own chain it would send to in a circle.
            let names = self.description.chains.iter().map(|chain| chain.name.text.as_str());
            let names = names.filter(|name| *name != chain);
            self.named.misspelt(name, names.clone());
            let span = self.place(entry, traits, name);
            let kind = &entry.kind.text;
            let message = format!("`{kind}` sends to chain `{name}`, which is not in this file");
            let help = instead(name, names);
            let help = help.or_else(|| Some(format!("write \"{name}\": [..] under `chains`")));
            self.error(span, "no-such-chain", message, help);
        }
        numbers.len() == traits.outputs.len()
    }
}

/// The keys of arguments in whose values something is wrong, however far in.
fn keys_around(args: &Mapped, errors: &[ConfigError]) -> Vec<String> {
    let Kind::Call(call) = tree::parse(args.text()).root.kind else { return Vec::new() };
    let holds = |field: &Field| {
        let Span { start, end } = field.value.span;
        let mut places = errors.iter().filter_map(|error| error.span);
        places.any(|(from, _)| start <= from && from < end)
    };
    let around = call.fields.iter().filter(|field| holds(field));
    around.filter_map(|field| args.text().get(field.key.range())).map(str::to_owned).collect()
}

fn is_text(node: &Node) -> bool {
    matches!(node.kind, Kind::Str)
}

/// What the value of a key names; of a key that is not documented nobody knows.
fn names_of(info: &StageInfo, key: &str) -> Names {
    let Some(known) = info.keys.iter().find(|known| known.name == key) else {
        return Names { chains: true, ports: true };
    };
    let kind = known.kind.to_lowercase();
    Names {
        chains: kind.contains("chain") || kind.contains("output"),
        ports: kind.contains("port"),
    }
}
