//! What a description says, with the place of every word: the result of [`crate::load`], before anything is
//! known about stages and ports.
//!
//! A stage or port is an [`Entry`]: its name and its arguments, still as text. Common keys are already taken
//! off. Nothing here says whether it makes sense; [`crate::check`] does.

use crate::text::tree::{Call, Field, Node};
use crate::text::{Mapped, Span};
use corelane_runtime::actor::OnPanic;

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
    pub(crate) cores: Cores,
    pub(crate) cores_span: Option<Span>,
    /// Key for hashes of flow tables; random where it is not given.
    pub(crate) hash_seed: Option<u64>,
    pub(crate) pools: Pools,
    pub(crate) pools_span: Option<Span>,
    /// Whether an entry could not be read, so that what seems unused may be used there.
    pub(crate) incomplete: bool,
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
    pub(crate) mtu: Option<u32>,
}

/// A chain of stages.
#[derive(Clone, Debug)]
pub(crate) struct ChainEntry {
    pub(crate) name: Word,
    /// Without those that could not be read.
    pub(crate) stages: Vec<StageEntry>,
    /// Whether all of them could be read.
    pub(crate) whole: bool,
    pub(crate) span: Span,
}

/// A stage.
#[derive(Clone, Debug)]
pub(crate) struct StageEntry {
    pub(crate) entry: Entry,
    pub(crate) name: Option<String>,
    pub(crate) on_panic: OnPanic,
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
    /// A value without a key beside another argument.
    Mixed(Span),
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

    /// Whether everything in it could be read.
    pub(crate) fn is_whole(&self) -> bool {
        let values = self.values.iter().chain(self.fields.iter().map(|field| &field.value));
        values.into_iter().all(Node::is_whole)
    }

    /// Its arguments as `(key: value, ..)`; a value without a key gets `subject`.
    pub(crate) fn arguments(&self, text: &Mapped, subject: Option<&str>) -> Result<Mapped, Misuse> {
        let mut out = Mapped::default();
        let text = text.text();
        out.insert("(", self.span);
        match (self.values.as_slice(), self.fields.is_empty() && !self.had_common) {
            ([], _) => {
                for field in &self.fields {
                    out.copy(text, field.key.to(field.value.span));
                    out.insert(", ", field.value.span);
                }
            }
            ([value], true) => {
                let subject = subject.ok_or(Misuse::NoSubject(value.span))?;
                out.insert(&format!("{subject}: "), value.span);
                out.copy(text, value.span);
            }
            ([.., value], _) => return Err(Misuse::Mixed(value.span)),
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
    /// Actor by actor.
    Pin(Vec<(String, usize)>),
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
