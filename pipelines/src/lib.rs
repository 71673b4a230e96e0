//! What runs where: corelane for those who embed it.
//!
//! A tour in the order a description travels:
//!
//! 1. `text` finds names, arguments and places in RON; `load` makes a description of it.
//! 2. `check` knows stages and ports, and that the chains hang together; it reports every [`Problem`].
//! 3. `negotiate` decides what hardware does and what software does, with a reason for each.
//! 4. `place` cuts chains into actors and puts them on CPUs: a [`Plan`].
//! 5. `launch` opens ports, builds stages and starts threads: a [`Handle`].
//! 6. [`report`] reads the books, while it runs or when all is done.
//!
//! Beside the way: [`explain`] says what was decided and why, [`catalogue`] what may be written, [`scale`] what
//! more cores bring, [`doctor`] what the machine lacks, [`presets`] are ready descriptions, [`prelude`] and, with feature `testing`, `testing` are for
//! stages of one's own.
//!
//! ```no_run
//! use corelane::{Machine, Pipeline};
//! # fn main() -> Result<(), corelane::Failure> {
//! let text = std::fs::read_to_string("demo.ron").expect("a file");
//! let registry = corelane::standard();
//! let report = Pipeline::parse(&text)?.plan(&registry, &Machine::here())?.start()?.wait();
//! assert!(report.balanced == Some(true));
//! # Ok(())
//! # }
//! ```
//!
//! It promises that a run is accounted for and that every problem of a description is shown at its place. It
//! sets no signal handler and no logger.
#![forbid(unsafe_code)]

pub mod catalogue;
mod check;
pub mod doctor;
mod error;
mod expect;
pub mod explain;
mod files;
#[cfg(test)]
mod fixture;
mod launch;
mod load;
mod negotiate;
mod place;
mod ports;
pub mod prelude;
pub mod presets;
pub mod report;
pub mod scale;
mod shown;
mod spec;
mod summary;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
mod trial;

pub use corelane_runtime::Error;
pub use corelane_runtime::exec::IdleProfile;
pub use corelane_runtime::exec::sim::{SimConfig, SimOutcome};
pub use corelane_runtime::stage::{Registry, StageSpec};
pub use corelane_runtime::topology::Machine;
pub use corelane_stages::standard;
pub use error::{Failure, Place, Problem, Problems, Severity};
pub use expect::{Expectation, Judgement};
pub use files::FileUse;
pub use launch::{Handle, Order};
pub use negotiate::{Asked, Contract, Verdict, Way, Where};
pub use place::{PlacedActor, PlacedRing, Placement, Plan};
pub use report::Report;
pub use shown::visible;
pub use spec::Cores;
pub use summary::Size;
pub use trial::{Difference, FrameMismatch, LayerView, Mismatch, Outcome, Selection};

/// The examples of the guide to stages, so that they are tried.
#[cfg(doctest)]
#[doc = include_str!("../../docs/stages.md")]
mod guide {}

use load::Loaded;

/// What is said beside a description and goes before it.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Values of parameters, by name.
    pub sets: Vec<(String, String)>,
    /// Ports in the place of others, by name: RON such as `Emulated(caps: All)`. Common keys are kept.
    pub ports: Vec<(String, String)>,
    /// What ports are taken to be able to do, by name: the name of a record, or a file that holds one.
    pub caps: Vec<(String, String)>,
}

impl Overrides {
    /// Values of parameters alone.
    pub fn sets(sets: impl IntoIterator<Item = (String, String)>) -> Overrides {
        Overrides { sets: sets.into_iter().collect(), ..Overrides::default() }
    }
}

/// A description that has been read.
pub struct Pipeline {
    loaded: Loaded,
    /// What it was read from, to read it again with other values of parameters.
    given: trial::Given,
}

impl Pipeline {
    /// Reads a description.
    ///
    /// # Errors
    /// Where the text is no description at all. Other mistakes are kept and shown together with those that
    /// [`Pipeline::plan`] finds.
    pub fn parse(text: &str) -> Result<Pipeline, Problems> {
        Pipeline::load("description", text, &Overrides::default())
    }

    /// Reads a description that stands in `file`, with what is said beside it.
    ///
    /// # Errors
    /// As for [`Pipeline::parse`].
    pub fn load(file: &str, text: &str, overrides: &Overrides) -> Result<Pipeline, Problems> {
        let loaded = load::load(file, text, overrides);
        match loaded.description {
            Some(_) => Ok(Pipeline { loaded, given: trial::Given::new(file, text, overrides) }),
            None => Err(loaded.problems.finish()),
        }
    }

    fn description(&self) -> Option<&spec::Description> {
        self.loaded.description.as_ref()
    }

    /// Puts the actors on that many CPUs, whatever the file says.
    ///
    /// # Errors
    /// Where the file pins its actors, which says the opposite.
    pub fn with_cores(mut self, cores: usize) -> Result<Pipeline, Error> {
        if let Some(description) = &mut self.loaded.description {
            if matches!(description.cores, Cores::Pin(_)) {
                let source = self.loaded.problems.source();
                let place = description.cores_at.map(|at| description.text.origin(at));
                let place = place.map(|place| format!(" ({})", source.place_name(place)));
                let message = format!(
                    "{cores} CPUs are asked for, but the file pins its actors{}; write `cores: Auto` there, or ask \
                     for no number",
                    place.unwrap_or_default()
                );
                return Err(Error::user("cores", message));
            }
            description.cores = Cores::Count(cores);
            description.cores_at = None;
        }
        Ok(self)
    }

    /// Checks the description and places it on a machine.
    ///
    /// # Errors
    /// All problems of the description, or why it cannot be placed.
    pub fn plan(self, registry: &Registry, machine: &Machine) -> Result<Plan, Failure> {
        let tests = self.description().map(|found| found.tests.clone()).unwrap_or_default();
        let (checked, mut problems) = check::check(self.loaded, registry);
        let Some(checked) = checked else { return Err(problems.finish().into()) };
        let files = files::used(&checked, &tests, &mut problems);
        let negotiated = negotiate::negotiate(checked, registry, &mut problems)?;
        check::behind(&negotiated, &mut problems);
        let mut plan = place::place(negotiated, machine, problems.source())?;
        trial::against(&plan, &tests, &mut problems);
        if problems.has_errors() {
            return Err(problems.finish().into());
        }
        plan.files = files;
        plan.warnings = problems.finish();
        Ok(plan)
    }
}
