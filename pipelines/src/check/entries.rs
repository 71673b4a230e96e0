//! What ports and stages have in common: arguments with their keys, and what is wrong with how they are given.

use crate::error::Collector;
use crate::spec::{Entry, Misuse};
use crate::text::Mapped;
use crate::text::tree::{Call, Kind};
use corelane_runtime::stage::spec::KeyInfo;

/// Characters of a value that are worth repeating in advice.
const SHOWN_MAX: usize = 24;

/// The arguments of an entry with `subject` in front of a lone value; notes what is wrong.
pub(super) fn arguments(
    text: &Mapped,
    entry: &Entry,
    subject: Option<&str>,
    keys: Option<&[KeyInfo]>,
    problems: &mut Collector,
) -> Option<Mapped> {
    match entry.arguments(text, subject) {
        Ok(args) => Some(args),
        Err(misuse) => {
            report_misuse(text, entry, &misuse, subject, keys, problems);
            None
        }
    }
}

/// Says which key to write.
pub(super) fn report_misuse(
    text: &Mapped,
    entry: &Entry,
    misuse: &Misuse,
    subject: Option<&str>,
    keys: Option<&[KeyInfo]>,
    problems: &mut Collector,
) {
    let kind = &entry.kind.text;
    let subject = subject.unwrap_or_default();
    let (span, message, help) = match *misuse {
        Misuse::Mixed(span) => {
            let message = "a value without a key cannot stand beside one with a key".to_owned();
            let value = entry.nodes().find(|node| node.span == span);
            let value = value.map_or("..".to_owned(), |node| shown(text, node.span, &node.kind));
            (span, message, format!("write `{subject}: {value}`"))
        }
        Misuse::Several(span) => {
            let message = format!("`{kind}` takes one value without a key, its `{subject}`");
            (span, message, with_keys(keys, subject))
        }
        Misuse::NoSubject(span) => {
            (span, format!("`{kind}` takes no value without a key"), with_keys(keys, subject))
        }
    };
    problems.error(text, span, "mixed-arguments", message, Some(help));
}

/// The form that arguments have; `None`: the keys are not documented.
fn with_keys(keys: Option<&[KeyInfo]>, subject: &str) -> String {
    let Some(keys) = keys else { return "write `KEY: ..` in front of it".to_owned() };
    let others: Vec<String> = keys
        .iter()
        .filter(|key| key.name != subject)
        .map(|key| format!("`{}`", key.name))
        .collect();
    match others.as_slice() {
        [] if subject.is_empty() => "it has no keys of its own: leave the value out".to_owned(),
        [] => "leave this one out".to_owned(),
        _ => format!("give it a key: {}", others.join(", ")),
    }
}

/// A value as advice repeats it: a call without its arguments, nothing that is long.
fn shown(text: &Mapped, span: crate::text::Span, kind: &Kind) -> String {
    let slice = |span: crate::text::Span| text.text().get(span.range()).unwrap_or_default();
    match kind {
        Kind::Call(Call { name: Some(name), brackets: Some(_), .. }) => {
            format!("{}(..)", slice(*name))
        }
        _ => {
            let value = slice(span);
            let short = value.chars().nth(SHOWN_MAX).is_none() && !value.contains('\n');
            if short { value.to_owned() } else { "..".to_owned() }
        }
    }
}
