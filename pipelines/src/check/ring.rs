//! `Ring`, the stage that is no stage: its arguments.

use super::entries::arguments;
use super::{CheckedRing, RING, Spread};
use crate::error::Collector;
use crate::load::{About, report};
use crate::spec::{ChainEntry, Entry};
use crate::text::Mapped;
use corelane_runtime::edge::OnFull;
use corelane_runtime::stage::Args;
use corelane_runtime::stage::spec::KeyInfo;
use corelane_stages::config;
use serde::Deserialize;

/// Packets a ring holds where the file does not say.
const CAPACITY: u32 = 1024;
/// More would hide for seconds that the next actor is too slow.
const CAPACITY_MAX: u32 = 1 << 20;
/// More copies of an actor than machines have cores for.
const WAYS_MAX: u32 = 256;

/// The key that `Ring(value)` sets.
pub(crate) const SUBJECT: &str = "name";

/// Keys of `Ring`, as documentation.
pub(crate) const KEYS: &[KeyInfo] = &[
    KeyInfo { name: SUBJECT, kind: "text", default: Some("CHAIN/N"), doc: "the actor behind it" },
    KeyInfo {
        name: "capacity",
        kind: "a number of packets from 1 to 1048576",
        default: Some("1024"),
        doc: "packets it holds",
    },
    KeyInfo {
        name: "on_full",
        kind: "Wait | DropNewest | DropOldest",
        default: Some("Wait"),
        doc: "what happens to packets that find no room",
    },
    KeyInfo {
        name: "ways",
        kind: "a number of copies from 1 to 256",
        default: Some("1"),
        doc: "copies of the actor behind it",
    },
    KeyInfo {
        name: "by",
        kind: "Flow | InnerFlow",
        default: Some("Flow"),
        doc: "what decides which copy a packet goes to",
    },
];

/// Arguments of `Ring`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RingSpec {
    name: Option<String>,
    capacity: u32,
    on_full: OnFullSpec,
    ways: u32,
    by: SpreadSpec,
}

impl Default for RingSpec {
    fn default() -> RingSpec {
        RingSpec {
            name: None,
            capacity: CAPACITY,
            on_full: OnFullSpec::Wait,
            ways: 1,
            by: SpreadSpec::Flow,
        }
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

#[derive(Clone, Copy, Deserialize)]
enum SpreadSpec {
    Flow,
    InnerFlow,
}

impl From<SpreadSpec> for Spread {
    fn from(spec: SpreadSpec) -> Spread {
        match spec {
            SpreadSpec::Flow => Spread::Flow,
            SpreadSpec::InnerFlow => Spread::InnerFlow,
        }
    }
}

/// The ring at a place of a chain; `None` where something is wrong with it.
pub(super) fn ring(
    text: &Mapped,
    chain: &ChainEntry,
    index: usize,
    problems: &mut Collector,
) -> Option<CheckedRing> {
    let entry = &chain.stages.get(index)?.entry;
    if !entry.values.iter().all(|value| value.is_sound()) {
        return None; // its brackets may be wrong
    }
    let (sound, left_out) = entry.without(text, Some(SUBJECT), &[]);
    let args = arguments(text, &sound, Some(SUBJECT), Some(KEYS), problems)?;
    let spec: RingSpec = match config::parse(Args { text: args.text() }) {
        Ok(spec) => spec,
        Err(errors) => {
            report(problems, text, &args, &About::new("`Ring`", entry.span, KEYS), errors);
            return None;
        }
    };
    if !is_possible(text, entry, &spec, problems) || !left_out.is_empty() {
        return None;
    }
    let before = chain.stages.get(..index).unwrap_or_default();
    let nth = before.iter().filter(|stage| stage.entry.kind.text == RING).count() + 1;
    Some(CheckedRing {
        name: spec.name.unwrap_or_else(|| format!("{}/{nth}", chain.name.text)),
        span: text.origin(entry.span),
        capacity: spec.capacity as usize,
        on_full: spec.on_full.into(),
        ways: spec.ways as usize,
        by: spec.by.into(),
    })
}

/// Whether each value is one that a ring can have; notes those that are not.
fn is_possible(text: &Mapped, entry: &Entry, spec: &RingSpec, problems: &mut Collector) -> bool {
    let mut possible = true;
    let mut check = |good: bool, key: &str, message: String, help: Option<String>| {
        if !good {
            let field =
                entry.fields.iter().find(|field| text.text().get(field.key.range()) == Some(key));
            let value = field.map(|field| &field.value).or(entry.values.first());
            let span = value.map_or(entry.span, |value| value.span);
            problems.error(text, span, "bad-value", message, help);
            possible = false;
        }
    };
    let (capacity, ways) = (spec.capacity, spec.ways);
    check(
        (1..=CAPACITY_MAX).contains(&capacity),
        "capacity",
        format!(
            "`Ring`: `capacity` takes a number of packets from 1 to {CAPACITY_MAX}, not `{capacity}`"
        ),
        None,
    );
    check(
        (1..=WAYS_MAX).contains(&ways),
        "ways",
        format!("`Ring`: `ways` takes a number of copies from 1 to {WAYS_MAX}, not `{ways}`"),
        None,
    );
    let help = "name the actor behind it, or write `Ring` alone".to_owned();
    let empty = "`Ring`: its name is empty".to_owned();
    check(spec.name.as_deref() != Some(""), SUBJECT, empty, Some(help));
    possible
}
