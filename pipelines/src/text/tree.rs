//! The shape of a RON text: calls with arguments, lists, maps, strings and plain values, each with its place.
//!
//! Reading goes on after a mistake, at the next comma or bracket, and leaves a [`Kind::Broken`] value there,
//! which everything later accepts in silence: one bad stage does not hide another; a parameter without a value
//! is a [`Kind::Missing`] one. Keys given twice are found here, for all structs and maps alike. Nesting is bounded.

use super::Span;
use super::scan::{self, Unclosed};
use std::collections::BTreeMap;

/// Deepest nesting read; `ron` itself stops at a similar depth.
const DEPTH_MAX: usize = 64;

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A number or a character.
    Plain,
    /// A string, quotes included in the span.
    Str,
    /// `Name`, `Name(..)` or `(..)`.
    Call(Call),
    /// `[..]`
    List(Vec<Node>),
    /// `{..}`
    Map(Vec<(Node, Node)>),
    /// Something that could not be read; the mistake is already noted.
    Broken,
    /// A parameter without a value, which is already noted.
    Missing,
}

impl Node {
    /// Whether everything in it could be read, and no parameter in it lacks a value.
    pub(crate) fn is_whole(&self) -> bool {
        self.all(&|kind| !matches!(kind, Kind::Broken | Kind::Missing))
    }

    /// Whether everything in it could be read, though parameters may lack a value.
    pub(crate) fn is_sound(&self) -> bool {
        self.all(&|kind| !matches!(kind, Kind::Broken))
    }

    /// Whether a parameter in it lacks a value.
    pub(crate) fn lacks_value(&self) -> bool {
        !self.all(&|kind| !matches!(kind, Kind::Missing))
    }

    /// Whether it holds for this and everything in it.
    fn all(&self, holds: &dyn Fn(&Kind) -> bool) -> bool {
        holds(&self.kind) && self.children().into_iter().all(|node| node.all(holds))
    }

    /// What is in it around a place. Lists may be long: it is searched for, not looked for one by one.
    pub(crate) fn child_at(&self, at: usize) -> Option<&Node> {
        self.child_ending(|span| span.end <= at, 0).filter(|child| child.span.start <= at)
    }

    /// What is in it and ends last before a place.
    pub(crate) fn child_before(&self, at: usize) -> Option<&Node> {
        self.child_ending(|span| span.end <= at, 1)
    }

    /// Of what is in it, in the order of the text, the `back`-th behind the end of those for which `before` holds.
    fn child_ending(&self, before: impl Fn(Span) -> bool, back: usize) -> Option<&Node> {
        if let Kind::List(nodes) = &self.kind {
            let at = nodes.partition_point(|node| before(node.span));
            return nodes.get(at.checked_sub(back)?);
        }
        let mut children = self.children();
        children.sort_by_key(|node| node.span.start);
        let at = children.partition_point(|node| before(node.span));
        children.get(at.checked_sub(back)?).copied()
    }

    /// What is in it, keys of maps included.
    pub(crate) fn children(&self) -> Vec<&Node> {
        match &self.kind {
            Kind::Plain | Kind::Str | Kind::Broken | Kind::Missing => Vec::new(),
            Kind::List(nodes) => nodes.iter().collect(),
            Kind::Map(entries) => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
            Kind::Call(call) => {
                call.values.iter().chain(call.fields.iter().map(|field| &field.value)).collect()
            }
        }
    }
}

/// A name, arguments, or both.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: Option<Span>,
    /// The brackets, if there are any.
    pub(crate) brackets: Option<Span>,
    /// Arguments without a key.
    pub(crate) values: Vec<Node>,
    /// Arguments with a key.
    pub(crate) fields: Vec<Field>,
}

/// `key: value`
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) key: Span,
    pub(crate) value: Node,
}

/// Something the text does wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) code: &'static str,
    pub(crate) span: Span,
    pub(crate) message: String,
    /// What to write instead, if that can be said.
    pub(crate) help: Option<String>,
    /// The place it clashes with, if it does.
    pub(crate) other: Option<Span>,
}

impl Mistake {
    pub(crate) fn new(code: &'static str, span: Span, message: String) -> Mistake {
        Mistake { code, span, message, help: None, other: None }
    }
}

/// A text read to its end.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) root: Node,
    /// At most one of code `syntax`, since the others may follow from it.
    pub(crate) mistakes: Vec<Mistake>,
}

/// Reads a whole text, which holds one value.
pub(crate) fn parse(text: &str) -> Parsed {
    parse_part(text, Span::new(0, text.len()))
}

/// Reads a part of a text, which holds one value.
pub(crate) fn parse_part(text: &str, part: Span) -> Parsed {
    let text = text.get(..part.end).unwrap_or(text);
    let mut parser = Parser { text, at: part.start, depth: 0, mistakes: Vec::new() };
    parser.attributes();
    let root = parser.value();
    parser.space();
    if parser.at < text.len() && !matches!(root.kind, Kind::Broken) {
        let end = Span::new(parser.at, parser.at + 1);
        parser.syntax(end, "nothing may follow the end of the value".into());
    }
    Parsed { root, mistakes: parser.mistakes }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    mistakes: Vec<Mistake>,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// Notes a mistake of syntax, the first only: the rest may be its echo.
    fn syntax(&mut self, span: Span, message: String) {
        if !self.mistakes.iter().any(|mistake| mistake.code == "syntax") {
            self.mistakes.push(Mistake::new("syntax", span, message));
        }
    }

    /// Says of the mistake just noted where the bracket is that it is about.
    fn opened(&mut self, open: Span) {
        if let Some(mistake) = self.last_syntax() {
            mistake.other.get_or_insert(open);
        }
    }

    /// Says of the mistake just noted what to do.
    fn help(&mut self, help: &str) {
        if let Some(mistake) = self.last_syntax() {
            mistake.help.get_or_insert(help.to_owned());
        }
    }

    fn last_syntax(&mut self) -> Option<&mut Mistake> {
        let last = self.mistakes.last_mut();
        last.filter(|mistake| mistake.code == "syntax" && mistake.help.is_none())
    }

    fn unclosed(&mut self, unclosed: Unclosed) {
        let span = Span::new(unclosed.at, unclosed.at + 1);
        self.syntax(span, format!("this {} is never closed", unclosed.what));
        self.at = self.text.len();
    }

    fn space(&mut self) {
        match scan::skip_space(self.text, self.at) {
            Ok(at) => self.at = at,
            Err(unclosed) => self.unclosed(unclosed),
        }
    }

    fn take(&mut self, c: char) -> bool {
        self.space();
        let found = self.peek() == Some(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    /// `#![enable(..)]` at the start of a file: extensions are always on, so it changes nothing.
    fn attributes(&mut self) {
        self.space();
        while self.rest().starts_with("#!") {
            self.at += self.rest().find(']').map_or(self.rest().len(), |found| found + 1);
            self.space();
        }
    }

    fn value(&mut self) -> Node {
        self.space();
        let start = self.at;
        if self.depth == DEPTH_MAX {
            self.syntax(Span::new(start, start + 1), format!("nested deeper than {DEPTH_MAX}"));
            return self.broken(start);
        }
        self.depth += 1;
        let kind = self.kind();
        self.depth -= 1;
        match kind {
            Some(kind) => Node { span: Span::new(start, self.at), kind },
            None => self.broken(start),
        }
    }

    fn kind(&mut self) -> Option<Kind> {
        if let Some(end) = scan::string(self.text, self.at) {
            return self.literal(end, Kind::Str);
        }
        if let Some(end) = scan::character(self.text, self.at) {
            return self.literal(end, Kind::Plain);
        }
        match self.peek() {
            Some('[') => Some(Kind::List(self.list())),
            Some('{') => Some(Kind::Map(self.map())),
            Some('(') => Some(Kind::Call(self.call(None))),
            _ => self.word(),
        }
    }

    fn literal(&mut self, end: Result<usize, Unclosed>, kind: Kind) -> Option<Kind> {
        match end {
            Ok(end) => {
                self.at = end;
                Some(kind)
            }
            Err(unclosed) => {
                self.unclosed(unclosed);
                None
            }
        }
    }

    fn word(&mut self) -> Option<Kind> {
        if let Some(end) = scan::name(self.text, self.at) {
            let name = Span::new(self.at, end);
            self.at = end;
            if self.slice(name) == super::params::BROKEN {
                return Some(Kind::Missing);
            }
            return Some(Kind::Call(self.call(Some(name))));
        }
        if let Some(end) = scan::number(self.text, self.at) {
            self.at = end;
            return Some(Kind::Plain);
        }
        let (span, found) = match self.peek() {
            Some(c) => {
                (Span::new(self.at, self.at + c.len_utf8()), format!("found {}", scan::shown(c)))
            }
            None => (Span::new(self.at, self.at), "the text ends here".into()),
        };
        self.syntax(span, format!("a value is expected, {found}"));
        if self.text.trim().is_empty() {
            self.help("a description is one `Pipeline(..)`; `corelane new` prints ready ones");
        }
        None
    }

    /// Skips to the end of what could not be read, brackets and strings in it respected.
    fn broken(&mut self, start: usize) -> Node {
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            if let Some(Ok(end)) = scan::string(self.text, self.at) {
                self.at = end;
                continue;
            }
            match c {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' | ',' if open == 0 => break,
                ')' | ']' | '}' => open -= 1,
                _ => {}
            }
            self.at += c.len_utf8();
            self.space();
        }
        Node { span: Span::new(start, self.at), kind: Kind::Broken }
    }

    fn call(&mut self, name: Option<Span>) -> Call {
        let end_of_name = self.at;
        let mut call = Call { name, brackets: None, values: Vec::new(), fields: Vec::new() };
        self.space();
        if self.peek() != Some('(') {
            self.at = end_of_name;
            return call;
        }
        let open = self.at;
        let mut keys = BTreeMap::new();
        let sound = self.items(')', |parser| match parser.key() {
            Some(key) => {
                parser.duplicate(key, &mut keys);
                call.fields.push(Field { key, value: parser.value() });
            }
            None => call.values.push(parser.value()),
        });
        if !sound {
            call.values.push(self.nothing());
        }
        call.brackets = Some(Span::new(open, self.at));
        call
    }

    /// `name:` in front of a value.
    fn key(&mut self) -> Option<Span> {
        let start = self.at;
        let end = scan::name(self.text, start)?;
        self.at = end;
        self.space();
        let is_key = self.rest().starts_with(':') && !self.rest().starts_with("::");
        self.at = if is_key { self.at + 1 } else { start };
        is_key.then(|| Span::new(start, end))
    }

    fn list(&mut self) -> Vec<Node> {
        let mut nodes = Vec::new();
        if !self.items(']', |parser| nodes.push(parser.value())) {
            nodes.push(self.nothing());
        }
        nodes
    }

    fn map(&mut self) -> Vec<(Node, Node)> {
        let mut entries: Vec<(Node, Node)> = Vec::new();
        let mut keys = BTreeMap::new();
        let sound = self.items('}', |parser| {
            let key = parser.value();
            if !parser.take(':') {
                let span = Span::new(key.span.end, key.span.end + 1);
                parser.syntax(span, "`:` and a value are expected after a key".into());
                let value = parser.broken(key.span.end);
                entries.push((key, value));
                return;
            }
            parser.duplicate(key.span, &mut keys);
            let value = parser.value();
            entries.push((key, value));
        });
        if !sound {
            entries.push((self.nothing(), self.nothing()));
        }
        entries
    }

    /// Stands for what may be missing after a mistake between items.
    fn nothing(&self) -> Node {
        Node { span: Span::new(self.at, self.at), kind: Kind::Broken }
    }

    /// Notes a key that is among those before it.
    fn duplicate(&mut self, key: Span, keys: &mut BTreeMap<&'t str, Span>) {
        let text = self.text.get(key.range()).unwrap_or_default();
        let other = *keys.entry(text).or_insert(key);
        if other != key && text != super::params::BROKEN {
            let message = format!("`{}` is given twice", text.trim_matches('"'));
            let mistake = Mistake::new("duplicate-key", key, message);
            self.mistakes.push(Mistake { other: Some(other), ..mistake });
        }
    }

    /// Items with commas between them, from the opening bracket here to `close`. Whether all was well between
    /// them.
    fn items(&mut self, close: char, mut item: impl FnMut(&mut Self)) -> bool {
        let open = Span::new(self.at, self.at + 1);
        self.at += 1;
        let mut sound = true;
        loop {
            if self.take(close) {
                return sound;
            }
            if self.at >= self.text.len() {
                let bracket = self.slice(open).to_owned();
                self.syntax(open, format!("this `{bracket}` is never closed"));
                return false;
            }
            let before = self.at;
            item(self);
            if self.take(',') || self.peek() == Some(close) {
                continue;
            }
            sound = false;
            if !self.separated(before, open, close) {
                return false;
            }
        }
    }

    /// After an item that neither a comma nor the closing bracket follows. Whether to go on.
    fn separated(&mut self, before: usize, open: Span, close: char) -> bool {
        let Some(found) = self.peek() else { return true };
        let span = Span::new(self.at, self.at + found.len_utf8());
        if matches!(found, ')' | ']' | '}') {
            let bracket = self.slice(open).to_owned();
            let message = format!("`{close}` is expected, to close a `{bracket}`, found `{found}`");
            self.syntax(span, message);
            self.opened(open);
            return false;
        }
        let word = scan::name(self.text, self.at).map(|end| Span::new(self.at, end));
        let shown = word.map_or(scan::shown(found), |word| format!("`{}`", self.slice(word)));
        let message = format!("`,` or `{close}` is expected, found {shown}");
        self.syntax(word.unwrap_or(span), message);
        self.help("what stands in a list is set apart by commas");
        if self.at == before {
            self.at += found.len_utf8();
        }
        true
    }
}
