//! The shape of a RON text: calls with arguments, lists, maps, strings and plain values, each with its place.
//!
//! Reading goes on after a mistake, at the next comma or bracket, and leaves a [`Kind::Broken`] value there,
//! which everything later accepts in silence: one bad stage does not hide another. Keys given twice are
//! found here, for all structs and maps alike. Nesting is bounded.

use super::Span;
use super::scan::{self, Unclosed};

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
}

impl Node {
    /// Whether everything in it could be read.
    pub(crate) fn is_whole(&self) -> bool {
        match &self.kind {
            Kind::Plain | Kind::Str => true,
            Kind::Broken => false,
            Kind::List(nodes) => nodes.iter().all(Node::is_whole),
            Kind::Map(entries) => {
                entries.iter().all(|(key, value)| key.is_whole() && value.is_whole())
            }
            Kind::Call(call) => {
                let fields = call.fields.iter().map(|field| &field.value);
                call.values.iter().chain(fields).all(Node::is_whole)
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
    let mut parser = Parser { text, at: 0, depth: 0, mistakes: Vec::new() };
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

impl Parser<'_> {
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
            self.mistakes.push(Mistake { code: "syntax", span, message });
        }
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
                return Some(Kind::Broken);
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
        let sound = self.items(')', |parser| match parser.key() {
            Some(key) => {
                parser.duplicate(key, call.fields.iter().map(|field| field.key).collect());
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
        let sound = self.items('}', |parser| {
            let key = parser.value();
            if !parser.take(':') {
                let span = Span::new(key.span.end, key.span.end + 1);
                parser.syntax(span, "`:` and a value are expected after a key".into());
                let value = parser.broken(key.span.end);
                entries.push((key, value));
                return;
            }
            parser.duplicate(key.span, entries.iter().map(|(key, _)| key.span).collect());
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

    fn duplicate(&mut self, key: Span, earlier: Vec<Span>) {
        let text = self.slice(key).to_owned();
        if earlier.into_iter().any(|span| self.slice(span) == text) {
            let message = format!("`{}` is given twice", text.trim_matches('"'));
            self.mistakes.push(Mistake { code: "duplicate-key", span: key, message });
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
            return false;
        }
        let shown = scan::shown(found);
        self.syntax(span, format!("`,` or `{close}` is expected, found {shown}"));
        if self.at == before {
            self.at += found.len_utf8();
        }
        true
    }
}
