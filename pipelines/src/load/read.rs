//! Reading one value: what it must be, and what is said where it is something else.

use super::{About, Loader, report};
use crate::error::near;
use crate::spec::{Entry, Word};
use crate::text::params::string_value;
use crate::text::tree::{self, Field, Kind, Node};
use crate::text::{Mapped, Span};
use corelane_runtime::stage::Args;
use corelane_stages::config;
use serde::de::DeserializeOwned;
use std::ops::RangeInclusive;

/// Characters of a value that are worth repeating in a message.
const SHOWN_MAX: usize = 24;

/// `` `a`, `b` or `c` ``.
pub(super) fn any_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Most ports, chains or parts of a file: what they have to do with each other is looked at in pairs.
const ENTRIES_MAX: usize = 1000;
/// Characters of a name.
const NAME_MAX: usize = 200;

impl Loader {
    pub(super) fn slice(&self, span: Span) -> &str {
        self.text.text().get(span.range()).unwrap_or_default()
    }

    /// Notes an error, and what to write instead.
    pub(super) fn advise(
        &mut self,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.error(&self.text, span, code, message, Some(help.into()));
    }

    /// Notes that a value is not what it must be.
    pub(super) fn expected(&mut self, node: &Node, key: &str, what: &str) {
        self.expected_or(node, key, what, None);
    }

    /// The same, with what to write instead.
    pub(super) fn expected_or(&mut self, node: &Node, key: &str, what: &str, help: Option<String>) {
        if !node.is_whole() {
            return; // that is noted
        }
        let found = self.slice(node.span);
        let short = found.chars().nth(SHOWN_MAX).is_none() && !found.contains('\n');
        let found = if short { format!(", not `{found}`") } else { String::new() };
        let message = format!("`{key}` takes {what}{found}");
        self.problems.error(&self.text, node.span, "bad-value", message, help);
    }

    /// A single value, read by `ron`.
    pub(super) fn value<T: DeserializeOwned>(
        &mut self,
        node: &Node,
        key: &str,
        what: &str,
    ) -> Option<T> {
        let read = ron::from_str(self.slice(node.span));
        if read.is_err() {
            self.expected(node, key, what);
        }
        read.ok()
    }

    /// A whole number of `what` in a range.
    pub(super) fn number(
        &mut self,
        node: &Node,
        key: &str,
        what: &str,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        let read = ron::from_str::<u32>(self.slice(node.span)).ok();
        let read = read.filter(|number| range.contains(number));
        if read.is_none() {
            let what = format!("{what} from {} to {}", range.start(), range.end());
            self.expected(node, key, &what);
        }
        read
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        node: &Node,
        key: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let written = match &node.kind {
            Kind::Call(call) if call.brackets.is_none() => call.name.map(|name| self.slice(name)),
            _ => None,
        };
        if let Some((_, value)) = choices.iter().find(|(name, _)| Some(*name) == written) {
            return Some(*value);
        }
        if !node.is_whole() {
            return None;
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let help = match node.kind {
            Kind::Str => string_value(self.slice(node.span))
                .filter(|text| names.contains(&text.as_str()))
                .map(|name| format!("write `{name}` without quotes")),
            _ => near(written.unwrap_or_default(), names.iter().copied())
                .map(|near| format!("did you mean `{near}`?")),
        };
        self.expected_or(node, key, &any_of(&names), help);
        None
    }

    /// A struct, every mistake in it reported.
    pub(super) fn typed<T: DeserializeOwned>(&mut self, args: &Mapped, about: &About) -> Option<T> {
        match config::parse(Args { text: args.text() }) {
            Ok(value) => Some(value),
            Err(errors) => {
                report(&mut self.problems, &self.text, args, about, errors);
                None
            }
        }
    }

    /// The entries of a map; `example` is what one looks like.
    pub(super) fn entries<'n>(
        &mut self,
        node: &'n Node,
        key: &str,
        example: &str,
    ) -> &'n [(Node, Node)] {
        match &node.kind {
            Kind::Map(entries) if entries.len() > ENTRIES_MAX => {
                let message =
                    format!("`{key}` has {} entries; {ENTRIES_MAX} are possible", entries.len());
                self.advise(node.span, "too-many-entries", message, "split the file");
                &entries[..ENTRIES_MAX]
            }
            Kind::Map(entries) => entries,
            Kind::Broken | Kind::Missing => &[],
            _ => {
                let message = format!("`{key}` takes names and values in braces");
                self.advise(node.span, "bad-value", message, format!("write {{ {example} }}"));
                &[]
            }
        }
    }

    /// A name in quotes.
    pub(super) fn name(&mut self, key: &Node) -> Option<Word> {
        let name = string_value(self.slice(key.span)).filter(|name| !name.is_empty());
        if name.is_none() && key.is_whole() {
            let bare = matches!(&key.kind, Kind::Call(call) if call.brackets.is_none());
            let word = if bare { self.slice(key.span) } else { "main" }.to_owned();
            let message = "a name is a text in quotes, and not empty";
            self.advise(key.span, "bad-value", message, format!("such as \"{word}\""));
            // It is clear what was meant: what names it need not be told.
            return bare.then_some(Word { text: word, span: key.span });
        }
        let long = name.as_ref().is_some_and(|name| name.chars().count() > NAME_MAX);
        if long {
            let message = format!("this name is longer than {NAME_MAX} characters");
            self.advise(key.span, "bad-value", message, "give it a shorter one");
        }
        // Cut, it is still told apart from others, and messages and tables stay readable.
        let cut = |name: String| if long { name.chars().take(NAME_MAX).collect() } else { name };
        name.map(|text| Word { text: cut(text), span: key.span })
    }

    /// A call, the fields whose keys are in `common` apart; `what` is said to be expected elsewhere.
    pub(super) fn call(
        &mut self,
        node: &Node,
        common: &[&str],
        what: &str,
    ) -> Option<(Entry, Vec<Field>)> {
        match &node.kind {
            Kind::Call(call) if call.name.is_some() => {
                Some(Entry::new(&self.text, call, node.span, common))
            }
            Kind::Broken | Kind::Missing => None,
            _ => {
                let message = format!("{what} is expected here");
                let quoted = string_value(self.slice(node.span));
                let quoted = quoted.filter(|text| {
                    let parsed = tree::parse(text);
                    parsed.mistakes.is_empty() && matches!(parsed.root.kind, Kind::Call(_))
                });
                let help = quoted.map(|text| format!("write `{text}` without quotes"));
                self.problems.error(&self.text, node.span, "bad-value", message, help);
                None
            }
        }
    }
}
