//! Parameters: `"$x"` becomes the value of `x`, `"${x}"` inserts its text, `"$$"` is a dollar.
//!
//! Done on the text before anything is typed, so a parameter may stand wherever a value may. Values set from
//! outside replace defaults: a string takes the text as it stands, anything else reads it as RON. The result
//! is a [`Mapped`] text, so that what is wrong with a value is shown where the parameter is used.

use super::tree::{Call, Field, Kind, Mistake, Node, parse};
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

/// Text with all parameters put in.
pub(crate) struct Expanded<'t> {
    pub(crate) text: Mapped,
    /// Where the text of the file ends, and where each text given beside it stands.
    pub(crate) file: Span,
    pub(crate) beside: Vec<Span>,
    expander: Expander<'t>,
}

/// What was found while parameters were put in.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) mistakes: Vec<Mistake>,
    /// Mistakes of the values set from outside, which have no place in the file.
    pub(crate) unplaced: Vec<String>,
    /// Names of parameters that stand nowhere, and where they are declared.
    pub(crate) unused: Vec<(String, Span)>,
}

impl<'t> Expanded<'t> {
    /// Adds a text as it stands, in which no parameters are put in; returns where.
    pub(crate) fn append(&mut self, given: &Beside) -> Span {
        self.text.insert("\n", Span::new(given.base, given.base));
        let start = self.text.text().len();
        self.text.copy_from(&given.text, Span::new(0, given.text.len()), given.base);
        Span::new(start, self.text.text().len())
    }

    /// Adds a text with parameters put in; returns where.
    pub(crate) fn add(&mut self, given: &'t Beside) -> Span {
        let Beside { base, text } = given;
        let expander = &mut self.expander;
        (expander.text, expander.base, expander.unread) = (text, *base, &[]);
        self.text.insert("\n", Span::new(*base, *base));
        let start = self.text.text().len();
        expander.rewrite(&parse(text).root, None, &mut self.text);
        Span::new(start, self.text.text().len())
    }

    /// The text, and what was wrong on the way, once all texts are in it.
    pub(crate) fn finish(self) -> (Mapped, Findings) {
        let Expander { mut values, mut mistakes, unplaced, .. } = self.expander;
        let needed = values.iter_mut().filter(|param| param.used || !param.passed_over);
        mistakes.extend(needed.filter_map(|param| param.missing.take()));
        let unused = values.into_iter().filter(|param| !param.used && !param.passed_over);
        let unused = unused.map(|param| (param.name, param.declared)).collect();
        (self.text, Findings { mistakes, unplaced, unused })
    }
}

/// A text that was given beside the file, such as a port on the command line.
#[derive(Debug)]
pub(crate) struct Beside {
    /// Its place among places in the file, behind all of those.
    pub(crate) base: usize,
    pub(crate) text: String,
}

/// Replaces parameters in `text`, whose tree is `root`, and in the texts `beside` it, by their defaults or by
/// what `sets` says. At `unread` places nobody reads values: there parameters stay, and need none.
pub(crate) fn expand<'t>(
    text: &'t str,
    root: &Node,
    sets: &[(String, String)],
    beside: &'t [Beside],
    unread: &'t [Span],
) -> Expanded<'t> {
    let mut expander = Expander {
        text,
        base: 0,
        values: Vec::new(),
        missing: None,
        unread,
        mistakes: Vec::new(),
        unplaced: Vec::new(),
    };
    let declared = declared(text, root);
    if let Some(params) = declared {
        expander.read_defaults(params, sets);
    }
    expander.refuse_unknown_sets(sets);
    let mut mapped = Mapped::default();
    expander.rewrite(root, declared.map(|node| node.span), &mut mapped);
    let file = Span::new(0, mapped.text().len());
    let mut expanded = Expanded { text: mapped, file, beside: Vec::new(), expander };
    let places = beside.iter().map(|given| expanded.add(given)).collect();
    Expanded { beside: places, ..expanded }
}

/// The value of key `params`.
fn declared<'n>(text: &str, root: &'n Node) -> Option<&'n Node> {
    let Kind::Call(Call { fields, .. }) = &root.kind else { return None };
    let key = |field: &&Field| text.get(field.key.range()).unwrap_or_default();
    let right = fields.iter().find(|field| key(field) == "params");
    // Misspelt it is told, and read as if it were right.
    let meant = || fields.iter().find(|field| crate::error::near(key(field), ["params"]).is_some());
    right.or_else(meant).map(|field| &field.value)
}

/// Every string of the tree that has a dollar in it, in the order of the text.
fn collect_strings(node: &Node, except: Option<Span>, found: &mut Vec<Span>) {
    if except == Some(node.span) {
        return;
    }
    if matches!(node.kind, Kind::Str) {
        found.push(node.span);
    }
    let mut all = node.children();
    all.sort_by_key(|node| node.span.start);
    all.into_iter().for_each(|node| collect_strings(node, except, found));
}

/// A parameter.
struct Param {
    name: String,
    declared: Span,
    value: Value,
    used: bool,
    /// Whether it stands where nobody reads it.
    passed_over: bool,
    /// What is wrong if anybody reads it.
    missing: Option<Mistake>,
}

struct Expander<'t> {
    text: &'t str,
    /// The place of `text` among those that mistakes are noted at.
    base: usize,
    values: Vec<Param>,
    /// Of the parameter that is being read.
    missing: Option<Mistake>,
    /// Places whose values nobody reads, since something else stands in for them.
    unread: &'t [Span],
    mistakes: Vec<Mistake>,
    unplaced: Vec<String>,
}

impl Expander<'_> {
    fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    fn note(&mut self, code: &'static str, span: Span, message: String, help: Option<String>) {
        let mistake = Mistake::new(code, span.moved(self.base), message);
        self.mistakes.push(Mistake { help, ..mistake });
    }

    fn read_defaults(&mut self, params: &Node, sets: &[(String, String)]) {
        let Kind::Map(entries) = &params.kind else {
            if !matches!(params.kind, Kind::Broken) {
                let message = "`params` holds names and values".to_owned();
                let help = "write { \"name\": value }".to_owned();
                self.note("bad-value", params.span, message, Some(help));
            }
            return;
        };
        for (key, default) in entries {
            let Some(name) = string_value(self.slice(key.span)) else {
                if key.is_whole() {
                    let message = "a parameter's name is a text in quotes".to_owned();
                    let help = "such as \"hold\"".to_owned();
                    self.note("bad-value", key.span, message, Some(help));
                }
                continue;
            };
            if !is_name(&name) {
                let message = "a parameter's name is a word: letters, digits and `_`".to_owned();
                self.note("bad-value", key.span, message, Some("such as \"hold\"".to_owned()));
            }
            let set = sets.iter().rev().find(|(set, _)| *set == name).map(|(_, value)| value);
            let value = self.value(&name, default, set.map(String::as_str));
            let missing = self.missing.take();
            let (used, passed_over) = (false, false);
            self.values.push(Param { name, declared: key.span, value, used, passed_over, missing });
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
                    let message = format!("parameter `{name}` must be set: {what}");
                    let help = format!("--set {name}=..");
                    let mistake = Mistake::new("missing-parameter", default.span, message);
                    self.missing = Some(Mistake { help: Some(help), ..mistake });
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
            let message = "`Required` says in one text what is wanted".to_owned();
            let help = "such as Required(\"a file\")".to_owned();
            self.note("bad-value", default.span, message, Some(help));
        }
        Some(what)
    }

    fn default(&mut self, default: &Node) -> Value {
        match default.kind {
            Kind::Broken | Kind::Missing => Value::Missing,
            Kind::Str => match string_value(self.slice(default.span)) {
                Some(text) => Value::Text(text),
                None => {
                    let help = "`\\\\` is a backslash, r\"..\" takes all as it stands".to_owned();
                    let message = "this string cannot be read".to_owned();
                    self.note("syntax", default.span, message, Some(help));
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
            Some(mistake) => {
                format!("{}; a text has quotes: --set '{name}={}'", mistake.message, quote(text))
            }
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

    /// Adds the text to `mapped`, the strings of its tree put in, but for those in `except`.
    fn rewrite(&mut self, root: &Node, except: Option<Span>, mapped: &mut Mapped) {
        let mut strings = Vec::new();
        collect_strings(root, except, &mut strings);
        let mut done = 0;
        for span in strings {
            if !self.slice(span).contains('$') {
                continue;
            }
            mapped.copy_from(self.text, Span::new(done, span.start), self.base);
            let replacement = self.replacement(span);
            mapped.insert(&replacement, span.moved(self.base));
            done = span.end;
        }
        mapped.copy_from(self.text, Span::new(done, self.text.len()), self.base);
    }

    /// What stands in for the string at `span`.
    fn replacement(&mut self, span: Span) -> String {
        let Some(content) = string_value(self.slice(span)) else {
            return self.slice(span).to_owned(); // `ron` will say what is wrong with it
        };
        if self.unread.iter().any(|unread| unread.start <= span.start && span.end <= unread.end) {
            for param in &mut self.values {
                let inserted = format!("${{{}}}", param.name);
                param.passed_over |= content.strip_prefix('$') == Some(&param.name);
                param.passed_over |= content.contains(&inserted);
            }
            return self.slice(span).to_owned();
        }
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
            let near = crate::error::near(name, known).map(str::to_owned);
            let help = match &near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it under `params`, or write `$$` for a dollar".to_owned(),
            };
            let message = format!("no parameter is called `{name}`");
            self.note("unknown-parameter", span, message, Some(help));
            // Whoever is told so need not be told that nobody uses that one.
            let meant = self.values.iter_mut().find(|param| Some(&param.name) == near.as_ref());
            meant.into_iter().for_each(|param| param.used = true);
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
                let message = "`$` in a text begins `${name}`".to_owned();
                let help = "write `$$` for a dollar".to_owned();
                self.note("unknown-parameter", span, message, Some(help));
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

/// Stands where a value is missing and the reason has been told: [`parse`] reads it as [`Kind::Missing`], so
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
        Kind::Call(_) | Kind::Broken | Kind::Missing => false,
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
