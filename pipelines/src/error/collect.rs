//! Problems while they are being found: each at a range of the text with parameters put in, none twice.
//!
//! What was given beside the file, on the command line, has places behind those of the file; such problems
//! are shown by the name of the option. So have files that it loads; those are shown with a line of their own.
//! How many are kept is bounded.

use super::{Place, Problem, Problems, Severity};
use crate::shown::window;
use crate::text::{Mapped, Span};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Problems that are shown; whoever mends these sees the rest.
const SHOWN_MAX: usize = 50;
/// Problems that are kept apart; further ones are only counted.
const KEPT_MAX: usize = 10_000;
/// Characters of a message or of advice; names in them come from the file and may be of any length.
const MESSAGE_MAX: usize = 400;

/// Collects problems.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    source: Arc<Source>,
    found: Vec<Found>,
    /// What is in `found`, to note nothing twice.
    known: BTreeSet<(Option<Span>, &'static str, String)>,
    /// What is told once a file, wherever else it stands.
    told: BTreeSet<(&'static str, String)>,
    /// Parameters whose values were given on the command line.
    sets: Vec<String>,
    /// Errors and warnings that were no longer kept.
    left_out: [usize; 2],
}

/// A file as its author wrote it, and what was given beside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    file: String,
    text: String,
    /// In the order of their places.
    beside: Vec<Beside>,
    /// The first place behind all of them.
    end: usize,
}

/// A text that belongs to the file and does not stand in it.
#[derive(Clone, Debug)]
struct Beside {
    /// Its first place.
    base: usize,
    /// The option that gave it, or the name of its file.
    name: String,
    /// What stands in it, if it is a file.
    text: Option<String>,
}

impl Source {
    /// Name of the file, as it was given.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Names of the files that it loads.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = &str> {
        let files = self.beside.iter().filter(|beside| beside.text.is_some());
        files.map(|beside| beside.name.as_str())
    }

    /// The text beside the file that a place is in; `None` for the file itself.
    fn beside(&self, span: Span) -> Option<&Beside> {
        self.beside.iter().rfind(|beside| beside.base <= span.start)
    }

    /// The option that gave what stands at a place; `None` for what stands in a file.
    fn option(&self, span: Span) -> Option<&str> {
        let beside = self.beside(span).filter(|beside| beside.text.is_none());
        beside.map(|beside| beside.name.as_str())
    }

    /// The text of the file that a place is in, where it is in there, and the name of the file.
    fn in_file(&self, span: Span) -> (&str, Span, &str) {
        match self.beside(span) {
            Some(Beside { base, name, text: Some(text) }) => {
                let back = |at: usize| at.saturating_sub(*base);
                (text, Span::new(back(span.start), back(span.end)), name)
            }
            _ => (&self.text, span, &self.file),
        }
    }

    /// Line and column of a range that is in a file.
    fn place(&self, span: Span) -> Place {
        let (text, within, file) = self.in_file(span);
        let loaded = self.beside(span).is_some().then(|| file.to_owned());
        Place { file: loaded, ..place(text, within) }
    }

    /// File, line and column of a range.
    pub(crate) fn place_name(&self, span: Span) -> String {
        if let Some(option) = self.option(span) {
            return option.to_owned();
        }
        let (text, within, file) = self.in_file(span);
        let place = place(text, within);
        format!("{file}:{}:{}", place.line, place.column)
    }
}

/// A problem whose place in lines is not yet looked up.
#[derive(Clone, Debug)]
struct Found {
    severity: Severity,
    span: Option<Span>,
    code: &'static str,
    message: String,
    help: Option<String>,
}

impl Collector {
    /// For messages about `file`, whose text as its author wrote it is `original`.
    pub(crate) fn new(file: &str, original: &str) -> Collector {
        let source = Source {
            file: file.to_owned(),
            text: original.to_owned(),
            beside: Vec::new(),
            end: original.len() + 1,
        };
        Collector {
            source: Arc::new(source),
            found: Vec::new(),
            known: BTreeSet::new(),
            told: BTreeSet::new(),
            sets: Vec::new(),
            left_out: [0; 2],
        }
    }

    /// Gives a text from an option its places; returns the first of them.
    pub(crate) fn beside(&mut self, option: &str, text: &str) -> usize {
        self.add(option, text, false)
    }

    /// Gives the text of a file that is loaded its places; returns the first of them.
    pub(crate) fn loaded(&mut self, file: &str, text: &str) -> usize {
        self.add(file, text, true)
    }

    fn add(&mut self, name: &str, text: &str, is_file: bool) -> usize {
        let source = Arc::make_mut(&mut self.source);
        let (base, name) = (source.end, name.to_owned());
        source.beside.push(Beside { base, name, text: is_file.then(|| text.to_owned()) });
        source.end = base + text.len() + 1;
        base
    }

    /// Says which parameters have their values from the command line.
    pub(crate) fn set(&mut self, names: impl IntoIterator<Item = String>) {
        self.sets.extend(names);
    }

    /// Where a value comes from that stands in the file as a parameter only, if it was set outside.
    fn set_by(&self, origin: Span) -> String {
        let (text, within, _) = self.source.in_file(origin);
        let written = text.get(within.range()).unwrap_or_default();
        let uses = |name: &&String| {
            written == format!("\"${name}\"") || written.contains(&format!("${{{name}}}"))
        };
        let set = self.sets.iter().find(uses).filter(|_| written.starts_with('"'));
        set.map(|name| format!(" (from --set {name})")).unwrap_or_default()
    }

    /// The folder that names of files at a place are meant in.
    pub(crate) fn folder(&self, origin: Span) -> &Path {
        let folder = match self.source.option(origin) {
            Some(_) => None,
            None => Path::new(self.source.in_file(origin).2).parent(),
        };
        folder.unwrap_or(Path::new(""))
    }

    /// The line of the file that a place of the original text is in, if it is in the file.
    pub(crate) fn line(&self, origin: Span) -> Option<usize> {
        let in_file = self.source.option(origin).is_none();
        in_file.then(|| self.source.place(origin).line)
    }

    /// Notes an error at a range of the original text.
    pub(crate) fn error_at(
        &mut self,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.note(Severity::Error, Some(span), code, message.into(), help);
    }

    /// Notes an error at a range of a text made from the original.
    pub(crate) fn error(
        &mut self,
        text: &Mapped,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let origin = text.origin(span);
        let message = message.into() + &self.set_by(origin);
        self.error_at(origin, code, message, help);
    }

    /// Notes an error that has no place in the file.
    pub(crate) fn unplaced(&mut self, code: &'static str, message: String, help: Option<String>) {
        self.note(Severity::Error, None, code, message, help);
    }

    /// Notes something that is probably not what was meant.
    pub(crate) fn warning(
        &mut self,
        text: &Mapped,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.warning_at(text.origin(span), code, message.into(), help);
    }

    /// Notes the same at a range of the original text.
    pub(crate) fn warning_at(
        &mut self,
        span: Span,
        code: &'static str,
        message: String,
        help: Option<String>,
    ) {
        self.note(Severity::Warning, Some(span), code, message, help);
    }

    /// Whether this is the first time that anything is told about `name` under that code.
    pub(crate) fn first(&mut self, code: &'static str, name: &str) -> bool {
        self.told.insert((code, name.to_owned()))
    }

    fn note(
        &mut self,
        severity: Severity,
        span: Option<Span>,
        code: &'static str,
        message: String,
        help: Option<String>,
    ) {
        let (message, help) = (cut(message), help.map(cut));
        if self.known.contains(&(span, code, message.clone())) {
            return;
        }
        if self.found.len() == KEPT_MAX {
            self.left_out[usize::from(severity == Severity::Warning)] += 1;
            return;
        }
        self.known.insert((span, code, message.clone()));
        self.found.push(Found { severity, span, code, message, help });
    }

    /// Whether there is an error among them.
    pub(crate) fn has_errors(&self) -> bool {
        self.left_out[0] > 0 || self.found.iter().any(|found| found.severity == Severity::Error)
    }

    /// The file they are about.
    pub(crate) fn source(&self) -> Arc<Source> {
        Arc::clone(&self.source)
    }

    /// All of them, in the order of the file; where they are too many, errors are kept before warnings.
    pub(crate) fn finish(mut self) -> Problems {
        self.found.sort_by_key(|found| (found.severity, found.span));
        let rest = self.found.split_off(self.found.len().min(SHOWN_MAX));
        let rest_errors = rest.iter().filter(|found| found.severity == Severity::Error).count();
        self.found.sort_by_key(|found| found.span);
        let [errors, warnings] = self.left_out;
        let source = Arc::clone(&self.source);
        Problems {
            list: self.found.into_iter().map(|found| found.placed(&source)).collect(),
            file: source.file.clone(),
            more: rest.len() + errors + warnings,
            more_errors: rest_errors + errors,
        }
    }
}

impl Found {
    /// The same with line and column.
    fn placed(self, source: &Source) -> Problem {
        let option = self.span.and_then(|span| source.option(span));
        Problem {
            severity: self.severity,
            code: self.code,
            place: self.span.filter(|_| option.is_none()).map(|span| source.place(span)),
            message: match option {
                Some(option) => cut(format!("{option}: {}", self.message)),
                None => self.message,
            },
            help: self.help,
        }
    }
}

/// Text of bounded length.
fn cut(text: String) -> String {
    match text.char_indices().nth(MESSAGE_MAX) {
        Some((at, _)) => text[..at].to_owned() + "\u{2026}",
        None => text,
    }
}

/// Line and column of a range; a range over several lines is shown on its first.
fn place(text: &str, span: Span) -> Place {
    let start = span.start.min(text.len());
    let before = text.get(..start).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = text.get(line_start..).unwrap_or_default();
    let line_text = rest.lines().next().unwrap_or_default();
    let column = before[line_start..].chars().count() + 1;
    let end = span.end.clamp(start, line_start + line_text.len().max(start - line_start));
    let width = text.get(start..end).map_or(1, |marked| marked.chars().count()).max(1);
    let line = before.matches('\n').count() + 1;
    let (text, lead) = window(line_text, column - 1);
    let width = width.min(text.chars().count().saturating_sub(lead)).max(1);
    Place { file: None, line, column, width, text, lead }
}
