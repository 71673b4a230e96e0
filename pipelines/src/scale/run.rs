//! The rounds: every step once in each, in an order that begins one step later every time.
//!
//! A machine that grows slow for a while so slows all steps alike, and their ratios stay true. All plans are made
//! before the first is started, so that a value that cannot be planned is told at once.

use super::figures::{self, Names};
use super::machine::MeasuredOn;
use super::report::{Point, SCHEMA, ScaleReport, Step};
use super::spec::Scaling;
use super::window::{self, Round, SAMPLE_EVERY};
use crate::error::Failure;
use crate::place::Plan;
use crate::{Machine, Pipeline, Registry};
use std::collections::BTreeSet;

/// How far a scaling run is: what is about to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Which round, from 1.
    pub round: u32,
    /// Of how many.
    pub rounds: u32,
    /// The step, such as `size=64, 2 cores`.
    pub step: String,
}

/// A step that is measured, or not.
struct Planned {
    point: usize,
    sets: Vec<(String, String)>,
    step: Step,
    /// What figures need to know of the plan; `None`: it is not measured.
    names: Option<Names>,
}

impl Pipeline {
    /// What is measured, how long and how often: what the description says, or the defaults for a machine. A parameter
    /// that was given beside the description is not swept: it has that value.
    pub fn scaling(&self, machine: &Machine) -> Scaling {
        let said = self.description().map(|description| description.scale.clone());
        let mut scaling = Scaling::of(&said.unwrap_or_default(), machine);
        for sweep in &mut scaling.sweep {
            let mut sets = self.given.sets().iter();
            if let Some((_, value)) = sets.find(|(name, _)| *name == sweep.parameter) {
                sweep.values = vec![value.clone()];
            }
        }
        scaling
    }

    /// Measures the pipeline on more and more of the CPUs of `machine`, which must be this one. `seen` is told of
    /// each window before it begins.
    ///
    /// # Errors
    /// Where a plan cannot be made, before anything has run; where the input ends too early or a run fails.
    pub fn scale(
        &self,
        scaling: &Scaling,
        registry: &Registry,
        machine: &Machine,
        seen: &mut dyn FnMut(&Moment),
    ) -> Result<ScaleReport, Failure> {
        let mut planned = self.planned(scaling, registry, machine)?;
        let measured_on = MeasuredOn::here(machine);
        let open: Vec<usize> =
            (0..planned.len()).filter(|&step| planned[step].names.is_some()).collect();
        for round in 0..scaling.rounds {
            for turn in 0..open.len() {
                let at = open[(turn + round as usize) % open.len()];
                let Planned { sets, step, .. } = &mut planned[at];
                let name = name_of(sets, step.cores);
                seen(&Moment { round: round + 1, rounds: scaling.rounds, step: name.clone() });
                let plan = self.plan_with(sets, step.cores, registry, machine)?;
                step.rounds.push(window::measure(plan, scaling, &name)?);
            }
        }
        Ok(self.report(scaling, measured_on, planned))
    }

    fn planned(
        &self,
        scaling: &Scaling,
        registry: &Registry,
        machine: &Machine,
    ) -> Result<Vec<Planned>, Failure> {
        let mut planned = Vec::new();
        for (point, sets) in scaling.combinations().into_iter().enumerate() {
            for &cores in &scaling.cores {
                let mut step = Step::of(cores);
                let mut names = None;
                if cores > machine.cpus.len() {
                    step.not_measured = Some(format!("{} can be used", cpus(machine.cpus.len())));
                } else {
                    let plan = self.plan_with(&sets, cores, registry, machine)?;
                    step.note(&plan);
                    names = Some(Names::of(&plan, machine));
                }
                planned.push(Planned { point, sets: sets.clone(), step, names });
            }
        }
        Ok(planned)
    }

    /// The plan with these values on so many CPUs.
    fn plan_with(
        &self,
        sets: &[(String, String)],
        cores: usize,
        registry: &Registry,
        machine: &Machine,
    ) -> Result<Plan, Failure> {
        let loaded = self.given.with(sets);
        let pipeline = Pipeline { loaded, given: self.given.clone() };
        pipeline.with_cores(cores)?.plan(registry, machine)
    }

    fn report(&self, scaling: &Scaling, machine: MeasuredOn, planned: Vec<Planned>) -> ScaleReport {
        let mut points: Vec<Point> = Vec::new();
        let mut base: Vec<Round> = Vec::new();
        let mut first = None;
        for Planned { point, sets, mut step, names } in planned {
            if point == points.len() {
                let mut point = Point { set: Default::default(), steps: Vec::new() };
                sets.into_iter().for_each(|(name, value)| *point.set.entry(&name) = value);
                points.push(point);
                (base, first) = (Vec::new(), None);
            }
            if let Some(names) = &names {
                if base.is_empty() {
                    base.clone_from(&step.rounds);
                }
                let figures = figures::of(&step, &base, first.as_ref(), names, &machine);
                step.noisy = figures::noise(&step, &figures);
                first.get_or_insert_with(|| figures.clone());
                step.figures = Some(figures);
            }
            points[point].steps.push(step);
        }
        let noisy = points.iter().flat_map(|point| &point.steps).any(|step| !step.noisy.is_empty());
        ScaleReport {
            schema: SCHEMA,
            pipeline: self.description().map(|found| found.name.clone()).unwrap_or_default(),
            machine,
            settings: scaling.clone(),
            sample_every: SAMPLE_EVERY,
            noisy,
            points,
        }
    }
}

impl Step {
    /// A step of which nothing else is known.
    fn of(cores: usize) -> Step {
        Step {
            cores,
            not_measured: None,
            plan: None,
            actors: 0,
            threads: 0,
            noisy: Vec::new(),
            figures: None,
            rounds: Vec::new(),
        }
    }

    fn note(&mut self, plan: &Plan) {
        let pinned: BTreeSet<usize> = plan.actors.iter().filter_map(|actor| actor.cpu).collect();
        let free = plan.actors.iter().filter(|actor| actor.cpu.is_none()).count();
        self.plan = Some(plan.hash.clone());
        self.actors = plan.actors.len();
        self.threads = pinned.len() + free;
    }
}

/// `1 CPU`, `2 CPUs`.
fn cpus(n: usize) -> String {
    format!("{n} CPU{}", if n == 1 { "" } else { "s" })
}

/// `size=64, 2 cores`.
fn name_of(sets: &[(String, String)], cores: usize) -> String {
    let sets: String = sets.iter().map(|(name, value)| format!("{name}={value}, ")).collect();
    format!("{sets}{cores} core{}", if cores == 1 { "" } else { "s" })
}
