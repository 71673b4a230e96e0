//! How a call ends, as a number that scripts can rely on.

use crate::paint::Paint;
use crate::say::say;
use corelane::{Failure, Report, visible};
use std::process::ExitCode;

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Clean and balanced.
    Clean = 0,
    /// Something failed while it ran.
    Failed = 1,
    /// The description or the arguments are wrong; nothing has run.
    Wrong = 2,
    /// Something was forced, or lost at drain.
    Forced = 3,
}

impl Exit {
    /// For a run that did not begin.
    pub(crate) fn of(failure: &Failure) -> Exit {
        if failure.is_user() { Exit::Wrong } else { Exit::Failed }
    }

    /// For a run that ended.
    pub(crate) fn after(report: &Report) -> Exit {
        if report.was_forced() {
            Exit::Forced
        } else if report.has_failed() {
            Exit::Failed
        } else {
            Exit::Clean
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Says on stderr why a run did not begin.
pub(crate) fn tell(failure: &Failure) {
    match failure {
        Failure::Description(problems) => {
            say!("{} (exit 2)", problems.render(Paint::stderr().is_on()));
        }
        Failure::Error(error) => say!("error: {}", visible(&error.to_string())),
    }
}
