//! What is wrong with a description, shown where it is wrong, and what else can stop a run.
//!
//! A [`Problem`] says what, where, and what to write instead; [`Problems`] shows all of them in the order of
//! the file, as text or as JSON. [`Failure`] keeps apart what the user must mend (exit 2) and what the machine
//! refused (exit 1).

mod collect;
mod near;
mod show;

pub(crate) use collect::{Collector, Source};
pub(crate) use near::{instead, near};

use corelane_runtime::Error;
use serde::Serialize;
use std::fmt;

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The description cannot be run.
    Error,
    /// It can, but is probably not what was meant.
    Warning,
}

/// A place in a file, counted from 1; columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file, where it is not the description itself but one that it loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
        self.listed(Severity::Error) + self.more_errors
    }

    /// Problems that do not.
    pub fn warnings(&self) -> usize {
        self.listed(Severity::Warning) + self.more - self.more_errors
    }

    fn listed(&self, severity: Severity) -> usize {
        self.list.iter().filter(|problem| problem.severity == severity).count()
    }

    /// What keeps a description from being planned though nothing in it is wrong by itself.
    pub fn of_error(file: &str, error: &Error) -> Problems {
        let problem = Problem {
            severity: Severity::Error,
            code: "no-plan",
            message: error.to_string(),
            place: None,
            help: None,
        };
        Problems { file: file.to_owned(), list: vec![problem], ..Problems::none() }
    }

    /// None.
    pub(crate) fn none() -> Problems {
        Problems { file: String::new(), list: Vec::new(), more: 0, more_errors: 0 }
    }
}

impl std::error::Error for Problems {}

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
