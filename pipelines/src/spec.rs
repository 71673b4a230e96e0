//! What a description says, with the place of every word: the result of [`crate::load`], before anything is
//! known about stages and ports.
//!
//! A stage or port is an [`Entry`]: its name and its arguments, still as text. Common keys are already taken
//! off. Nothing here says whether it makes sense; [`crate::check`] does.

use crate::scale::spec::ScaleSpec;
use crate::text::tree::{Call, Field, Node};
use crate::text::{Mapped, Span};
use crate::trial::spec::Test;
use corelane_device::caps::Record;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::offload::Offload;
use std::net::IpAddr;

/// A whole description.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    /// The text with parameters put in; all spans are places in it.
    pub(crate) text: Mapped,
    pub(crate) name: String,
    /// In the order of the file.
    pub(crate) ports: Vec<PortEntry>,
    /// In the order of the file.
    pub(crate) chains: Vec<ChainEntry>,
    /// Lists of stages that chains use, in the order of the file.
    pub(crate) parts: Vec<PartEntry>,
    /// Rows that stages name, in the order of the file.
    pub(crate) tables: Vec<TableEntry>,
    pub(crate) cores: Cores,
    /// Where the file says that, if it does and nothing goes before it.
    pub(crate) cores_at: Option<Span>,
    /// The actors that `cores` pins, where the file names them.
    pub(crate) pinned: Vec<Word>,
    /// Key for hashes of flow tables; random where it is not given.
    pub(crate) hash_seed: Option<u64>,
    pub(crate) pools: Pools,
    /// Where the file says that, if it does.
    pub(crate) pools_at: Option<Span>,
    /// In the order of the file.
    pub(crate) tests: Vec<Test>,
    /// How it is to be measured on more and more cores.
    pub(crate) scale: ScaleSpec,
    /// Whether some text could not be read, so that what is named in it is not known.
    pub(crate) unread: bool,
    /// What else is not known.
    pub(crate) unknown: Unknown,
}

/// What a description does not say, for something that is told already.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unknown {
    /// Names of ports of which nothing else could be read.
    pub(crate) ports: Vec<String>,
    /// Whether there may be chains that could not be read.
    pub(crate) chains: bool,
    /// The same of tables.
    pub(crate) tables: bool,
}

/// A word and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A port.
#[derive(Clone, Debug)]
pub(crate) struct PortEntry {
    pub(crate) name: Word,
    pub(crate) entry: Entry,
    pub(crate) common: Common,
    /// Where the common keys stand.
    pub(crate) common_fields: Vec<Field>,
}

/// What all kinds of ports can be told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
    /// Queues per direction; `None`: as many as the plan wants and the port has.
    pub(crate) queues: Option<u16>,
    /// Largest IP packet, bytes.
    pub(crate) mtu: Option<u32>,
    /// Its link-layer address.
    pub(crate) mac: Option<[u8; 6]>,
    /// Its addresses, each with the length of its network's prefix, in the order written.
    pub(crate) addresses: Vec<(IpAddr, u8)>,
    /// Where they stand, if it has some.
    pub(crate) addresses_at: Option<Span>,
    /// Next hops for what is on none of its networks, at most one of each family.
    pub(crate) gateways: Vec<IpAddr>,
    /// Whether packets are dropped, counted, where it takes no more, instead of waiting.
    pub(crate) drop_when_full: bool,
    /// What it can do, as written: `None`, `All`, a list of names, a name or a file.
    pub(crate) caps: Option<Word>,
    /// What `caps` turned out to be, once it is looked up.
    pub(crate) record: Option<Record>,
    /// Whether what it claims is tried before the run.
    pub(crate) verify: bool,
}

/// A chain of stages.
#[derive(Clone, Debug)]
pub(crate) struct ChainEntry {
    pub(crate) name: Word,
    /// With those of parts in their places, without those that could not be read.
    pub(crate) stages: Vec<StageEntry>,
    /// Whether all of them could be read.
    pub(crate) whole: bool,
    /// Whether there is something in it of which nobody can say what it names.
    pub(crate) unknown: bool,
    pub(crate) span: Span,
}

/// Stages that chains use by name.
#[derive(Clone, Debug)]
pub(crate) struct PartEntry {
    pub(crate) name: Word,
    /// Without those of other parts that it uses.
    pub(crate) stages: Vec<StageEntry>,
    /// Whether a chain uses it, if only through another part.
    pub(crate) used: bool,
}

/// Rows that stages name.
#[derive(Clone, Debug)]
pub(crate) struct TableEntry {
    pub(crate) name: Word,
    /// Where they stand, without those that could not be read.
    pub(crate) rows: Vec<Span>,
    /// Whether all of them could be read.
    pub(crate) whole: bool,
}

/// A stage.
#[derive(Clone, Debug)]
pub(crate) struct StageEntry {
    pub(crate) entry: Entry,
    /// The `Use(..)` in the chain that put it there, if one did.
    pub(crate) used: Option<Span>,
    pub(crate) name: Option<Word>,
    pub(crate) on_panic: OnPanic,
    /// Where that is written, if it is.
    pub(crate) on_panic_at: Option<Span>,
    pub(crate) offload: Offload,
}

/// `Name`, `Name(value)` or `Name(key: value, ..)`.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: Word,
    pub(crate) span: Span,
    pub(crate) values: Vec<Node>,
    /// Without those that are common to all.
    pub(crate) fields: Vec<Field>,
    /// Whether common keys were taken off.
    pub(crate) had_common: bool,
}

/// Why arguments cannot be written with keys only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// A value without a key beside arguments with keys.
    Mixed(Span),
    /// A second value without a key.
    Several(Span),
    /// A value without a key where no key is the subject.
    NoSubject(Span),
}

impl Entry {
    /// Splits a call into an entry and the fields whose keys are in `common`.
    pub(crate) fn new(
        text: &Mapped,
        call: &Call,
        span: Span,
        common: &[&str],
    ) -> (Entry, Vec<Field>) {
        let word = |span: Span| text.text().get(span.range()).unwrap_or_default().to_owned();
        let kind = call.name.unwrap_or_default();
        let is_common = |field: &Field| common.contains(&word(field.key).as_str());
        let (taken, fields): (Vec<Field>, Vec<Field>) =
            call.fields.iter().cloned().partition(is_common);
        let kind = Word { text: word(kind), span: kind };
        let had_common = !taken.is_empty();
        (Entry { kind, span, values: call.values.clone(), fields, had_common }, taken)
    }

    /// The values of its arguments.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.values.iter().chain(self.fields.iter().map(|field| &field.value))
    }

    /// Whether everything in it could be read.
    pub(crate) fn is_whole(&self) -> bool {
        self.nodes().all(Node::is_whole)
    }

    /// The same without the arguments of these keys, and without those that have no value; the keys of those.
    pub(crate) fn without(
        &self,
        text: &Mapped,
        subject: Option<&str>,
        keys: &[String],
    ) -> (Entry, Vec<String>) {
        let key = |span: Span| text.text().get(span.range()).unwrap_or_default().to_owned();
        let mut left_out = keys.to_vec();
        let mut entry = self.clone();
        entry.fields.retain(|field| {
            let (key, whole) = (key(field.key), field.value.is_whole());
            if !whole {
                left_out.push(key.clone());
            }
            whole && !keys.contains(&key)
        });
        let is_left_out = subject.is_some_and(|subject| keys.iter().any(|key| key == subject));
        if is_left_out || !entry.values.iter().all(Node::is_whole) {
            entry.values.clear();
            left_out.extend(subject.map(str::to_owned));
        }
        (entry, left_out)
    }

    /// What is wrong with its values without keys, where `subject` is the key that a lone one gets.
    pub(crate) fn misuse(&self, subject: Option<&str>) -> Option<Misuse> {
        let alone = self.fields.is_empty() && !self.had_common;
        match (self.values.as_slice(), subject) {
            ([], _) => None,
            ([value, ..], None) => Some(Misuse::NoSubject(value.span)),
            ([_, second, ..], Some(_)) => Some(Misuse::Several(second.span)),
            ([value], Some(_)) => (!alone).then_some(Misuse::Mixed(value.span)),
        }
    }

    /// Its arguments as `(key: value, ..)`; a value without a key gets `subject`.
    pub(crate) fn arguments(&self, text: &Mapped, subject: Option<&str>) -> Result<Mapped, Misuse> {
        if let Some(misuse) = self.misuse(subject) {
            return Err(misuse);
        }
        let mut out = Mapped::default();
        let text = text.text();
        out.insert("(", self.span);
        for value in &self.values {
            out.insert(&format!("{}: ", subject.unwrap_or_default()), value.span);
            out.copy(text, value.span);
        }
        for field in &self.fields {
            out.copy(text, field.key.to(field.value.span));
            out.insert(", ", field.value.span);
        }
        out.insert(")", self.span);
        Ok(out)
    }
}

/// Which CPUs the actors of a pipeline run on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cores {
    /// As many as there are actors, physical cores first.
    #[default]
    Auto,
    /// That many CPUs; actors share them where there are more.
    Count(usize),
    /// Actor by actor; several CPUs are as many copies.
    Pin(Vec<(String, Vec<usize>)>),
}

/// Buffers of each actor's pool, where the description fixes them; `None`: as many as can be in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Pools {
    /// Headers that share another buffer's data.
    pub(crate) shells: Option<u32>,
    /// Buffers of 2 KiB.
    pub(crate) small: Option<u32>,
    /// Buffers of 64 KiB.
    pub(crate) large: Option<u32>,
}
