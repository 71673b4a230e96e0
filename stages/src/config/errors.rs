//! What RON says is wrong, said for the person who wrote the file.
//!
//! Every message names the key or word and what to write instead. Positions become byte ranges of the text.

use super::entries::entries;
use corelane_runtime::stage::ConfigError;
use ron::error::{Error, Position, SpannedError};

/// The error, and the byte at which reading stopped.
pub(super) fn translate(error: &SpannedError, text: &str) -> (ConfigError, usize) {
    let start = offset(text, error.span.start);
    let end = offset(text, error.span.end);
    let (start, end) = trim(text, start, end);
    let entry = entries(text).into_iter().find(|entry| entry.all.contains(&start));
    let around = entry.as_ref().map(|entry| &text[entry.key.clone()]);
    let (key, message) = explain(&error.code, around);
    let span = match (&error.code, entry) {
        (Error::MissingStructField { .. }, None) => None,
        (Error::MissingStructField { .. }, Some(entry)) => Some((entry.all.start, entry.all.end)),
        (_, Some(entry))
            if key.as_deref() == Some(&text[entry.key.clone()]) && is_name(&error.code) =>
        {
            Some((entry.key.start, entry.key.end))
        }
        _ => Some((start, end)),
    };
    (ConfigError { span, key, message }, start)
}

/// Whether the key itself is at fault, not its value.
fn is_name(code: &Error) -> bool {
    matches!(code, Error::NoSuchStructField { .. } | Error::DuplicateStructField { .. })
}

/// The key an error is about, and the sentence.
fn explain(code: &Error, around: Option<&str>) -> (Option<String>, String) {
    let of = around.map(|key| format!(" for `{key}`")).unwrap_or_default();
    let key = around.map(str::to_owned);
    match code {
        Error::NoSuchStructField { expected, found, .. } => {
            let message =
                format!("there is no key `{found}`; {}", instead(found, expected, "keys"));
            (Some(found.clone()), message)
        }
        Error::NoSuchEnumVariant { expected, found, .. } => {
            let message =
                format!("`{found}` cannot be written{of}; {}", instead(found, expected, "values"));
            (key, message)
        }
        Error::DuplicateStructField { field, .. } => {
            (Some((*field).to_owned()), format!("`{field}` is given twice; keep one of them"))
        }
        Error::MissingStructField { field, .. } => {
            (Some((*field).to_owned()), format!("`{field}` must be given"))
        }
        Error::InvalidValueForType { expected, found } => {
            (key, format!("expected {expected}{of}, found {found}"))
        }
        Error::Message(message) => (key, format!("{message}{of}")),
        Error::ExpectedComma => (
            key,
            "expected a comma; a value without a key cannot stand beside one with a key".into(),
        ),
        other => (key, format!("{}{of}", lower(&other.to_string()))),
    }
}

/// The nearest of the names that would do, or all of them.
pub(super) fn instead(found: &str, expected: &[&str], what: &str) -> String {
    let near =
        |name: &&&str| strsim::damerau_levenshtein(&found.to_lowercase(), &name.to_lowercase());
    let best = expected.iter().min_by_key(near);
    let starts =
        |name: &&&str| found.len() > 2 && (name.starts_with(found) || found.starts_with(**name));
    let close = |name: &&&str| near(name) <= 1 + found.len() / 3;
    let best = expected.iter().find(starts).or(best.filter(close));
    match (best, expected) {
        (Some(best), _) => format!("did you mean `{best}`?"),
        (None, []) => format!("it takes no {what}"),
        (None, _) => {
            let names: Vec<String> = expected.iter().map(|name| format!("`{name}`")).collect();
            format!("the {what} are {}", names.join(", "))
        }
    }
}

fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// ron counts lines and columns from 1, columns in characters.
fn offset(text: &str, position: Position) -> usize {
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if index + 1 == position.line {
            let chars = line.char_indices().nth(position.col.saturating_sub(1));
            return at + chars.map_or(line.len(), |(byte, _)| byte);
        }
        at += line.len();
    }
    text.len()
}

/// Without white space at either end; at least one byte where there is one.
fn trim(text: &str, start: usize, end: usize) -> (usize, usize) {
    let slice = &text[start.min(end)..end.max(start)];
    let lead = slice.len() - slice.trim_start().len();
    let (start, len) = (start.min(end) + lead, slice.trim().len());
    if len > 0 {
        return (start, start + len);
    }
    let start = start.min(text.len());
    let next = text[start..].chars().next().map_or(0, char::len_utf8);
    (start, start + next)
}
