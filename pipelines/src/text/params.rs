//! Parameters: `"$x"` becomes the value of `x`, `"${x}"` inserts its text, `"$$"` is a dollar.
//!
//! Done on the text before anything is typed, so a parameter may stand wherever a value may. Values set from
//! outside replace defaults: a string takes the text as it stands, anything else reads it as RON. The result
//! is a [`Mapped`] text, so that what is wrong with a value is shown where the parameter is used.

use super::tree::{Call, Kind, Mistake, Node, parse};
use super::{Mapped, Span, scan};

/// What a parameter is worth.
#[derive(Debug)]
enum Value {
    /// A string, without quotes.
    Text(String),
    /// Any other RON value.
    Ron(String),
    /// It has no default and was not set, or its value is not known to be sound; already noted.
    Missing,
}

/// Text with all parameters put in, and what was wrong on the way.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) text: Mapped,
    pub(crate) mistakes: Vec<Mistake>,
    /// Mistakes of the values set from outside, which have no place in the file.
    pub(crate) unplaced: Vec<String>,
    /// Names of parameters that stand nowhere, and where they are declared.
    pub(crate) unused: Vec<(String, Span)>,
}

/// Replaces parameters in `text`, whose tree is `root`, by their defaults or by what `sets` says.
pub(crate) fn expand(text: &str, root: &Node, sets: &[(String, String)]) -> Expanded {
    let mut expander =
        Expander { text, values: Vec::new(), mistakes: Vec::new(), unplaced: Vec::new() };
    let declared = declared(text, root);
    if let Some(params) = declared {
        expander.read_defaults(params, sets);
    }
    expander.refuse_unknown_sets(sets);
    let mut strings = Vec::new();
    collect_strings(root, declared.map(|node| node.span), &mut strings);
    let mapped = expander.rewrite(&strings);
    let unused = expander.values.into_iter().filter(|param| !param.used);
    Expanded {
        text: mapped,
        mistakes: expander.mistakes,
        unplaced: expander.unplaced,
        unused: unused.map(|param| (param.name, param.declared)).collect(),
    }
}

/// The value of key `params`.
fn declared<'n>(text: &str, root: &'n Node) -> Option<&'n Node> {
    let Kind::Call(Call { fields, .. }) = &root.kind else { return None };
    let is_params = |key: Span| text.get(key.range()) == Some("params");
    fields.iter().find(|field| is_params(field.key)).map(|field| &field.value)
}

/// Every string of the tree that has a dollar in it, in the order of the text.
fn collect_strings(node: &Node, except: Option<Span>, found: &mut Vec<Span>) {
    if except == Some(node.span) {
        return;
    }
    match &node.kind {
        Kind::Str => found.push(node.span),
        Kind::Call(call) => {
            let fields = call.fields.iter().map(|field| &field.value);
            let mut all: Vec<&Node> = call.values.iter().chain(fields).collect();
            all.sort_by_key(|node| node.span.start);
            all.into_iter().for_each(|node| collect_strings(node, except, found));
        }
        Kind::List(nodes) => nodes.iter().for_each(|node| collect_strings(node, except, found)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                collect_strings(key, except, found);
                collect_strings(value, except, found);
            }
        }
        Kind::Plain | Kind::Broken => {}
    }
}

/// A parameter.
struct Param {
    name: String,
    declared: Span,
    value: Value,
    used: bool,
}

struct Expander<'t> {
    text: &'t str,
    values: Vec<Param>,
    mistakes: Vec<Mistake>,
    unplaced: Vec<String>,
}

impl Expander<'_> {
    fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    fn note(&mut self, code: &'static str, span: Span, message: String) {
        self.mistakes.push(Mistake { code, span, message });
    }

    fn read_defaults(&mut self, params: &Node, sets: &[(String, String)]) {
        let Kind::Map(entries) = &params.kind else {
            if !matches!(params.kind, Kind::Broken) {
                let message = "`params` holds names and values: { \"name\": value }".to_owned();
                self.note("bad-value", params.span, message);
            }
            return;
        };
        for (key, default) in entries {
            let Some(name) = string_value(self.slice(key.span)) else {
                self.note("bad-value", key.span, "a parameter's name is a string".into());
                continue;
            };
            let set = sets.iter().rev().find(|(set, _)| *set == name).map(|(_, value)| value);
            let value = self.value(&name, default, set.map(String::as_str));
            self.values.push(Param { name, declared: key.span, value, used: false });
        }
    }

    fn value(&mut self, name: &str, default: &Node, set: Option<&str>) -> Value {
        let required = match self.requirement(default) {
            Some(None) => return Value::Missing,
            required => required.flatten(),
        };
        let is_text = matches!(default.kind, Kind::Str) || required.is_some();
        match set {
            Some(text) if required.is_some() => required_value(text),
            Some(text) if is_text => Value::Text(text.to_owned()),
            Some(text) => self.set_as_ron(name, text),
            None => match required {
                Some(what) => {
                    let message = format!("`{name}` must be set ({what}): --set {name}=..");
                    self.note("missing-parameter", default.span, message);
                    Value::Missing
                }
                None => self.default(default),
            },
        }
    }

    /// What `Required("..")` says, if that is the default; an inner `None` where it cannot be read.
    fn requirement(&mut self, default: &Node) -> Option<Option<String>> {
        let Kind::Call(call) = &default.kind else { return None };
        if self.slice(call.name?) != "Required" {
            return None;
        }
        let what = match (call.values.as_slice(), call.fields.as_slice()) {
            ([], []) => Some("it has no default".to_owned()),
            ([node], []) => string_value(self.slice(node.span)),
            _ => None,
        };
        if what.is_none() && default.is_whole() {
            let message = "`Required` says in one text what is wanted: Required(\"a file\")";
            self.note("bad-value", default.span, message.to_owned());
        }
        Some(what)
    }

    fn default(&mut self, default: &Node) -> Value {
        match default.kind {
            Kind::Broken => Value::Missing,
            Kind::Str => match string_value(self.slice(default.span)) {
                Some(text) => Value::Text(text),
                None => {
                    self.note("syntax", default.span, "this string cannot be read".into());
                    Value::Missing
                }
            },
            _ => Value::Ron(self.slice(default.span).to_owned()),
        }
    }

    fn set_as_ron(&mut self, name: &str, text: &str) -> Value {
        let parsed = parse(text);
        let message = match parsed.mistakes.first() {
            None if parsed.root.is_whole() => return Value::Ron(value_text(text, &parsed.root)),
            None => format!("`{BROKEN}` is reserved"),
            Some(mistake) => mistake.message.clone(),
        };
        self.unplaced.push(format!("--set {name}={text}: not a RON value: {message}"));
        Value::Missing
    }

    fn refuse_unknown_sets(&mut self, sets: &[(String, String)]) {
        for (name, _) in sets {
            if self.values.iter().any(|param| param.name == *name) {
                continue;
            }
            let names: Vec<&str> = self.values.iter().map(|param| param.name.as_str()).collect();
            let hint = match crate::error::near(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => "the file has no parameters".to_owned(),
                None => format!("its parameters are {}", names.join(", ")),
            };
            self.unplaced.push(format!("--set {name}: no parameter has that name; {hint}"));
        }
    }

    fn rewrite(&mut self, strings: &[Span]) -> Mapped {
        let mut mapped = Mapped::default();
        let mut done = 0;
        for &span in strings {
            if !self.slice(span).contains('$') {
                continue;
            }
            mapped.copy(self.text, Span::new(done, span.start));
            let replacement = self.replacement(span);
            mapped.insert(&replacement, span);
            done = span.end;
        }
        mapped.copy(self.text, Span::new(done, self.text.len()));
        mapped
    }

    /// What stands in for the string at `span`.
    fn replacement(&mut self, span: Span) -> String {
        let Some(content) = string_value(self.slice(span)) else {
            return self.slice(span).to_owned(); // `ron` will say what is wrong with it
        };
        if let Some(name) = content.strip_prefix('$').filter(|name| is_name(name)) {
            let name = name.to_owned();
            return match self.lookup(&name, span) {
                Some(Value::Text(text)) => quote(text),
                Some(Value::Ron(ron)) => ron.clone(),
                Some(Value::Missing) | None => BROKEN.to_owned(),
            };
        }
        match self.inserted(&content, span) {
            Some(text) => quote(&text),
            None => BROKEN.to_owned(),
        }
    }

    fn lookup(&mut self, name: &str, span: Span) -> Option<&Value> {
        let Some(at) = self.values.iter().position(|param| param.name == name) else {
            let known = self.values.iter().map(|param| param.name.as_str());
            let hint = match crate::error::near(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it under `params`, or write `$$` for a dollar".to_owned(),
            };
            let message = format!("no parameter is called `{name}`; {hint}");
            self.note("unknown-parameter", span, message);
            return None;
        };
        self.values[at].used = true;
        Some(&self.values[at].value)
    }

    /// A string with `${x}` and `$$` replaced.
    fn inserted(&mut self, content: &str, span: Span) -> Option<String> {
        let mut text = String::new();
        let mut rest = content;
        while let Some((before, after)) = rest.split_once('$') {
            text.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                text.push('$');
                rest = after;
                continue;
            }
            let inside = after.strip_prefix('{').and_then(|after| after.split_once('}'));
            let Some((name, after)) = inside else {
                let message = "`$` in a text begins `${name}`; write `$$` for a dollar".to_owned();
                self.note("unknown-parameter", span, message);
                return None;
            };
            match self.lookup(name, span)? {
                Value::Text(value) | Value::Ron(value) => text.push_str(value),
                Value::Missing => return None,
            }
            rest = after;
        }
        text.push_str(rest);
        Some(text)
    }
}

/// Stands where a value is missing and the reason has been told: [`parse`] reads it as [`Kind::Broken`], so
/// that nobody complains again.
pub(crate) const BROKEN: &str = "__missing__";

/// A value given for `Required(..)`: its type is not known, so what reads as RON of a kind that no plain text
/// is mistaken for - a number, a list, a map, a quoted string - is RON, and everything else is text.
fn required_value(text: &str) -> Value {
    let parsed = parse(text);
    let value = match parsed.root.kind {
        // A file called `10.pcap` is no number.
        Kind::Plain => ron::from_str::<ron::Value>(text).is_ok(),
        Kind::List(_) | Kind::Map(_) | Kind::Str => parsed.mistakes.is_empty(),
        Kind::Call(_) | Kind::Broken => false,
    };
    if value { Value::Ron(value_text(text, &parsed.root)) } else { Value::Text(text.to_owned()) }
}

/// The value alone: a comment behind it would swallow what follows where it is put in.
fn value_text(text: &str, root: &Node) -> String {
    text.get(root.span.range()).unwrap_or_default().to_owned()
}

fn is_name(text: &str) -> bool {
    scan::name(text, 0) == Some(text.len())
}

/// The content of a string as written, quotes and escapes resolved by `ron`.
pub(crate) fn string_value(slice: &str) -> Option<String> {
    ron::from_str(slice).ok()
}

/// A RON string with this content.
pub(crate) fn quote(content: &str) -> String {
    let mut text = String::with_capacity(content.len() + 2);
    text.push('"');
    for c in content.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}
