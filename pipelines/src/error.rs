//! What is wrong with a description, shown where it is wrong, and what else can stop a run.
//!
//! A [`Problem`] says what, where, and what to write instead; [`Problems`] shows all of them in the order of
//! the file. [`Failure`] keeps apart what the user must mend (exit 2) and what the machine refused (exit 1).

use crate::shown::{visible, visible_line, window};
use crate::text::{Mapped, Span};
use corelane_runtime::Error;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Problems that are shown; whoever mends these sees the rest.
const SHOWN_MAX: usize = 50;
/// Problems that are kept apart; further ones are only counted.
const KEPT_MAX: usize = 10_000;
/// Characters of a message or of advice; names in them come from the file and may be of any length.
const MESSAGE_MAX: usize = 400;
/// Longest name for which a near one is looked for: nobody misspells longer ones.
const NAME_MAX: usize = 64;

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The description cannot be run.
    Error,
    /// It can, but is probably not what was meant.
    Warning,
}

/// A place in a file, counted from 1; columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column of the first character.
    pub column: usize,
    /// Characters it spans in `text`, at least 1.
    pub width: usize,
    /// The line itself, or where it is too long a part of it around the place, with dots for the rest.
    pub text: String,
    /// Characters of `text` before the place.
    pub lead: usize,
}

/// One thing wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Error or warning.
    pub severity: Severity,
    /// Short and stable, such as `unknown-stage`.
    pub code: &'static str,
    /// What is wrong, one sentence.
    pub message: String,
    /// Where; `None` for what came from the command line.
    pub place: Option<Place>,
    /// What to write instead, if that can be said.
    pub help: Option<String>,
}

/// Everything wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// Name of the file, as it was given.
    pub file: String,
    /// In the order of the file, 50 at most.
    pub list: Vec<Problem>,
    /// Further problems; all of `list` are errors if some of these are.
    pub more: usize,
    /// How many of those are errors.
    pub(crate) more_errors: usize,
}

impl Problems {
    /// Problems that keep the description from being run.
    pub fn errors(&self) -> usize {
        let listed = self.list.iter().filter(|problem| problem.severity == Severity::Error).count();
        listed + self.more_errors
    }

    /// None.
    pub(crate) fn none() -> Problems {
        Problems { file: String::new(), list: Vec::new(), more: 0, more_errors: 0 }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.list {
            let kind = match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let help = problem.help.as_deref().map(visible);
            writeln!(f, "{kind}[{}]: {}", problem.code, visible(&problem.message))?;
            match &problem.place {
                Some(place) => write_place(f, &self.file, place, help.as_deref())?,
                None => help.iter().try_for_each(|help| writeln!(f, "  {help}"))?,
            }
        }
        if self.more > 0 {
            writeln!(f, "and {} more", self.more)?;
        }
        match self.errors() {
            0 => Ok(()),
            1 => write!(f, "1 error"),
            n => write!(f, "{n} errors"),
        }
    }
}

impl std::error::Error for Problems {}

/// The line with the place underlined, as compilers show it.
fn write_place(
    f: &mut fmt::Formatter<'_>,
    file: &str,
    place: &Place,
    help: Option<&str>,
) -> fmt::Result {
    let number = place.line.to_string();
    let gutter = " ".repeat(number.len());
    // A tab keeps its width under the line it stands in.
    let lead: String = place.text.chars().take(place.lead).map(blank).collect();
    let marks = "^".repeat(place.width);
    writeln!(f, "{gutter}--> {}:{number}:{}", visible(file), place.column)?;
    writeln!(f, "{number} | {}", visible_line(&place.text))?;
    match help {
        Some(help) => writeln!(f, "{gutter} | {lead}{marks} {help}"),
        None => writeln!(f, "{gutter} | {lead}{marks}"),
    }
}

/// Text of bounded length.
fn cut(text: String) -> String {
    match text.char_indices().nth(MESSAGE_MAX) {
        Some((at, _)) => text[..at].to_owned() + "\u{2026}",
        None => text,
    }
}

fn blank(c: char) -> char {
    if c == '\t' { '\t' } else { ' ' }
}

/// Why a pipeline could not be planned or run.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The description is wrong; nothing has run.
    Description(Problems),
    /// Anything else; [`Error::user`] says whose fault it is.
    Error(Error),
}

impl Failure {
    /// Whether the description or the arguments must be changed, as against the machine.
    pub fn is_user(&self) -> bool {
        match self {
            Failure::Description(_) => true,
            Failure::Error(error) => error.user,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Description(problems) => problems.fmt(f),
            Failure::Error(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::Description(problems)
    }
}

/// Collects problems, each at a range of the text with parameters put in.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    source: Arc<Source>,
    found: Vec<Found>,
    /// What is in `found`, to note nothing twice.
    known: BTreeSet<(Option<Span>, &'static str, String)>,
    /// Errors and warnings that were no longer kept.
    left_out: [usize; 2],
}

/// A file as its author wrote it.
#[derive(Debug, Default)]
pub(crate) struct Source {
    file: String,
    text: String,
}

impl Source {
    /// File, line and column of a range.
    pub(crate) fn place_name(&self, span: Span) -> String {
        let place = place(&self.text, span);
        format!("{}:{}:{}", self.file, place.line, place.column)
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
        let source = Source { file: file.to_owned(), text: original.to_owned() };
        let (found, known, left_out) = (Vec::new(), BTreeSet::new(), [0; 2]);
        Collector { source: Arc::new(source), found, known, left_out }
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
        self.error_at(text.origin(span), code, message, help);
    }

    /// Notes an error that has no place in the file.
    pub(crate) fn unplaced(&mut self, code: &'static str, message: String) {
        self.note(Severity::Error, None, code, message, None);
    }

    /// Notes something that is probably not what was meant.
    pub(crate) fn warning(
        &mut self,
        text: &Mapped,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
    ) {
        let span = text.origin(span);
        self.note(Severity::Warning, Some(span), code, message.into(), None);
    }

    /// Notes the same at a range of the original text.
    pub(crate) fn warning_at(&mut self, span: Span, code: &'static str, message: String) {
        self.note(Severity::Warning, Some(span), code, message, None);
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
        if self.found.len() == KEPT_MAX {
            self.left_out[usize::from(severity == Severity::Warning)] += 1;
        } else if self.known.insert((span, code, message.clone())) {
            self.found.push(Found { severity, span, code, message, help });
        }
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
        let [errors, warnings] = self.left_out;
        let rest_errors = rest.iter().filter(|found| found.severity == Severity::Error).count();
        self.found.sort_by_key(|found| found.span);
        let list = self.found.into_iter().map(|found| Problem {
            severity: found.severity,
            code: found.code,
            message: found.message,
            place: found.span.map(|span| place(&self.source.text, span)),
            help: found.help,
        });
        Problems {
            list: list.collect(),
            file: self.source.file.clone(),
            more: rest.len() + errors + warnings,
            more_errors: rest_errors + errors,
        }
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
    Place { line, column, width, text, lead }
}

/// The name nearest to a misspelt one, if any is near.
pub(crate) fn near<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if found.len() > NAME_MAX {
        return None;
    }
    let lower = found.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    let names = names.into_iter().filter(|name| name.len() <= NAME_MAX);
    let best = names.map(|name| (distance(name), name)).min()?;
    let length = found.chars().count();
    (best.0 < length.max(1) && best.0 <= 1.max(length / 3)).then_some(best.1)
}

/// `did you mean ..?` or all that would do.
pub(crate) fn instead<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let names: Vec<&str> = names.into_iter().collect();
    match (near(found, names.iter().copied()), names.as_slice()) {
        (Some(near), _) => Some(format!("did you mean `{near}`?")),
        (None, []) => None,
        (None, [only]) => Some(format!("the only one is `{only}`")),
        (None, _) => {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            Some(format!("there are {}", quoted.join(", ")))
        }
    }
}
