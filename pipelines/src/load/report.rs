//! What readers of arguments find wrong, at its place in the file and in the words of the file.

use super::{common, stage};
use crate::error::{Collector, near};
use crate::text::tree::{self, Kind, Node};
use crate::text::{Mapped, Span};
use corelane_runtime::stage::ConfigError;
use corelane_runtime::stage::spec::KeyInfo;
use std::collections::BTreeSet;

/// Characters of a value that are worth repeating in a message.
const SHOWN_MAX: usize = 24;

/// Whose arguments they are.
pub(crate) struct About<'a> {
    /// As messages name it: `` `Gro` ``.
    what: &'a str,
    /// Where it stands, for what has no place of its own.
    span: Span,
    /// Its keys, as far as they are documented.
    keys: &'a [KeyInfo],
    /// Which keys it has beside its own.
    common: Common,
}

/// The keys that things have beside their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Common {
    /// Those of every stage.
    Stage,
    /// Those of every port.
    Port,
    /// None.
    None,
}

impl Common {
    pub(crate) fn keys(self) -> &'static [&'static str] {
        match self {
            Common::Stage => &stage::KEYS,
            Common::Port => &common::KEYS,
            Common::None => &[],
        }
    }
}

impl<'a> About<'a> {
    pub(crate) fn new(what: &'a str, span: Span, keys: &'a [KeyInfo]) -> About<'a> {
        About { what, span, keys, common: Common::None }
    }

    pub(crate) fn with_common(self, common: Common) -> About<'a> {
        About { common, ..self }
    }

    fn key(&self, name: &str) -> Option<&KeyInfo> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A message, its code and its advice.
struct Said {
    code: &'static str,
    message: String,
    help: Option<String>,
}

/// A mistake in arguments, brought to its place.
struct Mistake<'a> {
    /// What the arguments are of: `` `Gro` ``, or `` `traffic` of `Emulated` ``.
    what: String,
    /// The key it is about, the innermost one.
    key: &'a str,
    /// The message and the advice of the reader, which puts the advice behind a semicolon.
    message: &'a str,
    help: Option<&'a str>,
    /// What stands there.
    found: &'a str,
}

/// Puts the mistakes in `args`, the arguments of something, in their places in the file.
pub(crate) fn report(
    problems: &mut Collector,
    text: &Mapped,
    args: &Mapped,
    about: &About<'_>,
    errors: Vec<ConfigError>,
) {
    let root = tree::parse(args.text()).root;
    // Whoever misspells a key is not told that it is missing as well.
    let meant: BTreeSet<&str> = errors.iter().filter_map(|error| meant(&error.message)).collect();
    for error in &errors {
        let missing = missing(&error.message).is_some_and(|key| meant.contains(key));
        // Keys given twice are found for all structs alike, in the tree of the text.
        if missing || error.message.contains("is given twice") {
            continue;
        }
        let place = place_of(error, args.text(), &root);
        let (outer, key) = keys_around(error, args.text(), &root, place);
        let (message, help) = match error.message.split_once("; ") {
            Some((message, help)) => (message, Some(help)),
            None => (error.message.as_str(), None),
        };
        let what = match outer {
            Some(outer) => format!("`{outer}` of {}", about.what),
            None => about.what.to_owned(),
        };
        let found = place.and_then(|place| args.text().get(place.range())).unwrap_or_default();
        let Said { code, message, help } = Mistake { what, key, message, help, found }.said(about);
        // What is missing has no place but that of the whole.
        let place = place.filter(|_| code != "missing-key" || outer.is_some());
        let place = place.map_or(about.span, |place| args.origin(place));
        problems.error(text, place, code, message, help);
    }
}

/// The key that a message offers.
fn meant(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("did you mean `")?;
    Some(rest.split_once("`?")?.0)
}

/// The key that a message says is missing.
fn missing(message: &str) -> Option<&str> {
    message.strip_prefix('`')?.split_once("` must be given").map(|(key, _)| key)
}

impl Mistake<'_> {
    fn said(self, about: &About<'_>) -> Said {
        let Mistake { what, key, message, help, .. } = &self;
        let help = help.map(str::to_owned);
        if *message == format!("there is no key `{key}`") {
            let message = format!("{what} has no key `{key}`");
            let help = match what.as_str() == about.what {
                true => instead_of_key(key, help, about),
                false => help,
            };
            return Said { code: "unknown-key", message, help };
        }
        if *message == format!("`{key}` must be given") {
            let doc = about.key(key).map(|known| format!(", {}", known.doc)).unwrap_or_default();
            let help = Some(format!("add `{key}: ..`"));
            return Said {
                code: "missing-key",
                message: format!("{what} needs `{key}`{doc}"),
                help,
            };
        }
        let (sentence, kind_helps) = self.sentence();
        let help = help.or_else(|| self.in_quotes());
        let kind = about.key(key).map(|known| known.kind).filter(|_| kind_helps);
        Said {
            code: "bad-value",
            message: format!("{what}{sentence}"),
            help: help.or_else(|| kind.map(|kind| format!("it takes {}", with_article(kind)))),
        }
    }

    /// Where a text is wanted, and a word stands there: the text.
    fn in_quotes(&self) -> Option<String> {
        let is_word = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let bare = !self.found.is_empty() && self.found.chars().all(is_word);
        let word = bare && self.found.starts_with(char::is_alphabetic);
        let wanted = self.message.starts_with("expected string");
        (wanted && word).then(|| format!("write `\"{}\"`", self.found))
    }

    /// What the reader says of a value, as a sentence about its key that goes on after `what`; and whether the
    /// documentation of the key helps.
    fn sentence(&self) -> (String, bool) {
        let key = self.key;
        let bare = self.message.rsplit_once(" for `").map_or(self.message, |(bare, rest)| {
            if rest.trim_end_matches('`').contains('`') { self.message } else { bare }
        });
        let kind = match bare {
            "expected boolean" => "`true` or `false`",
            "expected string" => "a text in quotes",
            "expected integer" => "a whole number",
            "expected float" => "a number",
            "expected identifier" => "a word without quotes",
            "expected opening `[`" => "a list: [..]",
            "expected opening `{`" => "names and values: { \"name\": .. }",
            "expected opening `(`" if self.found.chars().all(char::is_alphanumeric) => {
                return (format!(": `{}` needs a value: `{}(..)`", self.found, self.found), true);
            }
            "expected opening `(`" => "(key: value, ..)",
            "integer is out of bounds" => {
                return (format!(": `{}` is out of range for `{key}`", self.found), true);
            }
            _ if bare.starts_with("expected opening `(` for struct") => "(key: value, ..)",
            _ => match bare.strip_prefix("expected ") {
                Some(kind) => kind.split_once(", found ").map_or(kind, |(kind, _)| kind),
                // A sentence that begins with the value does not name the key.
                None if bare.starts_with(|c: char| c.is_ascii_digit()) && !key.is_empty() => {
                    return (format!(": `{key}`: {bare}"), false);
                }
                // The reader of a stage knows its own keys, not those further in.
                None if bare.ends_with("cannot be written") && !key.is_empty() => {
                    return (format!(": {bare} for `{key}`"), false);
                }
                None => return (format!(": {}", self.message), false),
            },
        };
        let kind = kind.strip_suffix(&format!(" for `{key}`")).unwrap_or(kind);
        let short = self.found.chars().nth(SHOWN_MAX).is_none() && !self.found.contains('\n');
        let found = match short && !self.found.is_empty() {
            true => format!(", not `{}`", self.found),
            false => String::new(),
        };
        match key.is_empty() {
            true => (format!(" takes {kind}{found}"), false),
            false => (format!(": `{key}` takes {kind}{found}"), bare == "expected identifier"),
        }
    }
}

fn with_article(kind: &str) -> String {
    let is_noun = ["number", "whole number", "size", "time", "text"]
        .iter()
        .any(|noun| kind.starts_with(noun));
    if is_noun { format!("a {kind}") } else { kind.to_owned() }
}

/// What to write instead of a key: the reader knows those that are its own.
fn instead_of_key(key: &str, help: Option<String>, about: &About<'_>) -> Option<String> {
    let help = help.filter(|help| !help.starts_with("it takes no"));
    if let Some(help) = help.as_ref().filter(|help| help.starts_with("did you mean")) {
        return Some(with_form(help.clone(), about));
    }
    if let Some(near) = near(key, about.common.keys().iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let others = match about.common {
        Common::Stage => (Common::Port, "ports"),
        Common::Port => (Common::Stage, "stages"),
        Common::None => (Common::None, ""),
    };
    if others.0.keys().contains(&key) {
        return Some(format!("`{key}` is a key of {}", others.1));
    }
    match help {
        Some(help) if !help.contains(", ") => Some(help.replace("the keys are", "its only key is")),
        Some(help) => Some(help),
        None => Some("it has no keys of its own".to_owned()),
    }
}

/// Says of a key that was meant what is written for it.
fn with_form(help: String, about: &About<'_>) -> String {
    let meant = help.strip_prefix("did you mean `").and_then(|rest| rest.strip_suffix("`?"));
    let form = match meant.and_then(|key| about.key(key)).map(|key| key.kind) {
        Some("time") => "a time such as \"50us\"",
        Some("size") => "a size such as \"64KiB\"",
        _ => return help,
    };
    format!("{}, {form}?", help.trim_end_matches('?'))
}

/// Where in the arguments an error belongs: the value that the place it names is in or ends, or the value of
/// its key where it names none.
fn place_of(error: &ConfigError, args: &str, root: &Node) -> Option<Span> {
    let named = error.span.map(|(start, end)| Span::new(start, end));
    let Kind::Call(call) = &root.kind else { return named };
    let is_key = |field: &&tree::Field| args.get(field.key.range()) == error.key.as_deref();
    let own = call.fields.iter().find(is_key);
    let Some(named) = named else { return own.map(|field| field.value.span) };
    let said = args.get(named.range()).unwrap_or_default();
    if said.contains(char::is_alphanumeric) {
        return Some(leaf_at(root, named).unwrap_or(named));
    }
    // Merely the end of a value: the reader noticed what is wrong with it behind it.
    let ended = own.and_then(|field| ending_at(&field.value, named.start));
    Some(ended.or(own.map(|field| field.value.span)).unwrap_or(named))
}

/// The whole text, number or word that a place is in.
fn leaf_at(node: &Node, place: Span) -> Option<Span> {
    let around = node.span.start <= place.start && place.start < node.span.end;
    match node.kind {
        _ if !around => None,
        Kind::Str | Kind::Plain => Some(node.span),
        // A word that stands alone.
        Kind::Call(tree::Call { brackets: None, .. }) => Some(node.span),
        _ => leaf_at(node.child_at(place.start)?, place),
    }
}

/// The value in a node that ends last before a place.
fn ending_at(node: &Node, at: usize) -> Option<Span> {
    let last = node.child_before(at);
    match last {
        Some(last) => ending_at(last, at).or(Some(last.span)),
        None => None,
    }
}

/// The key of the arguments that a place is under, if there are keys between it and the place, and the innermost
/// key around it.
fn keys_around<'a>(
    error: &'a ConfigError,
    args: &'a str,
    root: &Node,
    place: Option<Span>,
) -> (Option<&'a str>, &'a str) {
    let given = error.key.as_deref().unwrap_or_default();
    let Some(place) = place else { return (None, given) };
    let mut keys: Vec<&str> = Vec::new();
    let mut node = root;
    while let Kind::Call(call) = &node.kind {
        let holds = |field: &&tree::Field| {
            field.value.span.start <= place.start && place.end <= field.value.span.end
        };
        let Some(field) = call.fields.iter().find(holds) else { break };
        keys.push(args.get(field.key.range()).unwrap_or_default());
        node = &field.value;
    }
    // A key that is wrong itself, or missing, is not around its place.
    let itself =
        error.message.contains("there is no key") || error.message.contains("must be given");
    match keys.as_slice() {
        [outer, ..] if itself && *outer != given => (Some(*outer), given),
        [outer, .., inner] if !itself => (Some(*outer), *inner),
        _ => (None, given),
    }
}
