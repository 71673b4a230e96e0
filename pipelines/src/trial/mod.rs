//! Tests that stand in a description: `tests: [Test(name: "..", send: { .. }, expect: { .. })]`.
//!
//! In the order of their life: `layout` is the table of headers that frames are written in; `spec` what a file says,
//! read by the loader; `check` whether that makes sense beside the rest of the file; `cases` the capabilities a
//! test is run under; `build` makes frames; `run` puts emulated ports in the place of all ports and runs the plan in
//! the simulator; `compare` and `counters` hold what came against what was expected; [`Outcome`] says what came of
//! it, and `show` prints that.
//!
//! A test passes where everything it names is as expected, the books balance, and no port was asked for what it
//! cannot do. Frames are taken apart and put together here by code that no stage uses.

pub(crate) mod budget;
mod build;
mod cases;
mod check;
mod compare;
mod counters;
mod dissect;
mod given;
mod judge;
pub(crate) mod layout;
mod outcome;
mod run;
mod show;
pub(crate) mod spec;
mod sums;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use cases::{assignments, caps_word};
pub(crate) use check::{against, names};
pub(crate) use given::Given;
pub use outcome::{Difference, FrameMismatch, LayerView, Mismatch, Outcome};

use crate::error::instead;
use crate::{Error, Failure, Pipeline, Plan, Registry};

/// Which tests of a description are run, and in which order of the simulator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The test of that name alone.
    pub test: Option<String>,
    /// Under these capabilities alone: [`Outcome::caps`] of a run of all.
    pub caps: Option<String>,
    /// With that seed alone.
    pub seed: Option<u64>,
}

impl Pipeline {
    /// The names of its tests.
    pub fn tests(&self) -> Vec<&str> {
        self.description().map_or(Vec::new(), |description| {
            description.tests.iter().map(|test| test.name.text.as_str()).collect()
        })
    }

    /// The plan that its tests run, with emulated ports that can do nothing special: to see what files they touch.
    ///
    /// # Errors
    /// As for [`Pipeline::run_tests`].
    pub fn test_plan(&self, registry: &Registry) -> Result<Plan, Failure> {
        self.plan_for(None, None, registry)
    }

    /// Runs its tests in the simulator, with emulated ports in the place of all ports.
    ///
    /// ```
    /// # fn main() -> Result<(), corelane::Failure> {
    /// let text = corelane::presets::find("bump")?.text;
    /// let outcomes = corelane::Pipeline::parse(text)?.run_tests(&corelane::standard())?;
    /// assert!(outcomes.iter().all(|outcome| outcome.passed), "{}", outcomes[0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where the description is wrong, whatever capabilities its ports have; nothing has run then.
    pub fn run_tests(&self, registry: &Registry) -> Result<Vec<Outcome>, Failure> {
        self.run_tests_of(registry, &Selection::default(), &mut |_| ())
    }

    /// As [`Pipeline::run_tests`], some of them; `seen` is shown each outcome as soon as it is there.
    ///
    /// # Errors
    /// As for [`Pipeline::run_tests`], and where nothing is selected.
    pub fn run_tests_of(
        &self,
        registry: &Registry,
        selection: &Selection,
        seen: &mut dyn FnMut(&Outcome),
    ) -> Result<Vec<Outcome>, Failure> {
        let runs = run::runs(self, registry, selection)?;
        let mut outcomes = Vec::new();
        for run in runs {
            let outcome = run.outcome(self, registry);
            seen(&outcome);
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }
}

/// What there is, where a name is not of it.
fn unknown<'n>(
    what: &str,
    option: &str,
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Failure {
    let help = instead(name, known).map(|help| format!("; {help}")).unwrap_or_default();
    Error::user(option, format!("there is no {what} `{name}`{help}")).into()
}
