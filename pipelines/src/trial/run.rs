//! One run of a test: frames made and captures read before anything runs, ports put in place, the simulator
//! started, and what came held against what was expected.

use super::budget::Budget;
use super::cases::{Case, cases};
use super::compare::Wanted;
use super::counters::{self, Drops, Names};
use super::judge;
use super::outcome::{Mismatch, Outcome};
use super::spec::{At, Expected, FrameSpec, Sent, Test};
use super::{Selection, build, unknown};
use crate::place::Plan;
use crate::{Error, Failure, Pipeline, Registry, Report, SimConfig};
use corelane_device::capture::CaptureFile;
use corelane_device::emulated::{Collector, Faults, Frame, Refusals, Sink, Traffic};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::offload::Caps;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A test, with its frames.
struct Ready {
    test: Test,
    /// By port, in the order of their times.
    send: Vec<(String, Vec<Frame>)>,
    expect: Vec<judge::Port>,
}

/// A test under some capabilities, in one order of the simulator.
pub(super) struct Run {
    ready: Arc<Ready>,
    case: Case,
    seed: u64,
}

/// Where the report has what a test wants counted.
struct Paths {
    counters: Vec<String>,
    drops: Vec<Drops>,
}

/// The ports of a run.
#[derive(Default)]
struct Bench {
    sinks: BTreeMap<String, Collector>,
    refusals: BTreeMap<String, Arc<Refusals>>,
    /// Whether a port that receives joins packets.
    joins: bool,
}

/// The runs that are selected.
pub(super) fn runs(
    pipeline: &Pipeline,
    registry: &Registry,
    selection: &Selection,
) -> Result<Vec<Run>, Failure> {
    // Everything that is wrong whatever ports can do is told before anything runs.
    pipeline.plan_for(None, None, registry)?;
    let Some(description) = pipeline.description() else { return Ok(Vec::new()) };
    let ports: Vec<String> = description.ports.iter().map(|port| port.name.text.clone()).collect();
    let wanted = |test: &&Test| selection.test.as_ref().is_none_or(|only| test.name.text == *only);
    let tests: Vec<&Test> = description.tests.iter().filter(wanted).collect();
    if let (true, Some(name)) = (tests.is_empty(), &selection.test) {
        return Err(unknown("test", "--only", name, pipeline.tests()));
    }
    let mut runs = Vec::new();
    for test in &tests {
        let ready = Arc::new(ready(pipeline, test)?);
        let seeds = match selection.seed {
            Some(seed) => seed..=seed,
            None => test.seed..=test.seed.saturating_add(test.seeds - 1),
        };
        for case in cases(test, &ports) {
            if selection.caps.as_ref().is_some_and(|only| case.name != *only) {
                continue;
            }
            let run = |seed| Run { ready: Arc::clone(&ready), case: case.clone(), seed };
            runs.extend(seeds.clone().map(run));
        }
    }
    if let (true, Some(name)) = (runs.is_empty(), &selection.caps) {
        let names: Vec<String> =
            tests.iter().flat_map(|test| cases(test, &ports)).map(|case| case.name).collect();
        let names = names.iter().map(String::as_str);
        return Err(unknown("case", "--caps-case", name, names));
    }
    Ok(runs)
}

/// Makes the frames of a test.
fn ready(pipeline: &Pipeline, test: &Test) -> Result<Ready, Failure> {
    let (mut send, mut budget) = (Vec::new(), Budget::default());
    for (port, all) in &test.send {
        let mut frames = Vec::new();
        for sent in all {
            frames.extend(made(pipeline, sent, &mut budget)?);
        }
        frames.sort_by_key(|frame: &Frame| frame.time_ns);
        send.push((port.text.clone(), frames));
    }
    let bytes = |port: &str| -> Vec<Vec<u8>> {
        let of_port = send.iter().filter(|(name, _)| *name == port).flat_map(|(_, frames)| frames);
        of_port.map(|frame| frame.data.clone()).collect()
    };
    let (mut expect, mut budget) = (Vec::new(), Budget::default());
    for (port, expected) in &test.expect {
        let exactly = |from: &At| bytes(&from.text).into_iter().map(Wanted::Exactly).collect();
        let only = || match send.as_slice() {
            [(from, _)] => bytes(from),
            _ => Vec::new(),
        };
        let (wanted, ordered, sent) = match expected {
            Expected::Same(from) => (exactly(from), true, bytes(&from.text)),
            Expected::SameAsSet(from) => (exactly(from), false, bytes(&from.text)),
            Expected::These(frames) => (all_wanted(pipeline, frames, &mut budget)?, true, only()),
            Expected::AnyOrder(frames) => {
                (all_wanted(pipeline, frames, &mut budget)?, false, Vec::new())
            }
        };
        expect.push(judge::Port { name: port.text.clone(), wanted, ordered, sent });
    }
    Ok(Ready { test: test.clone(), send, expect })
}

fn made(pipeline: &Pipeline, sent: &Sent, budget: &mut Budget) -> Result<Vec<Frame>, Failure> {
    let once = match &sent.frame {
        FrameSpec::Layers(layers) => vec![Frame::new(sent.at_ns, build::build(layers))],
        FrameSpec::Bytes(bytes) => vec![Frame::new(sent.at_ns, bytes.clone())],
        FrameSpec::File(file) => {
            let mut frames = captured(pipeline, file, sent.times, budget)?;
            frames.iter_mut().for_each(|frame| frame.time_ns += sent.at_ns);
            frames
        }
    };
    let copies = once.len() * sent.times as usize;
    Ok(once.into_iter().cycle().take(copies).collect())
}

fn all_wanted(
    pipeline: &Pipeline,
    frames: &[FrameSpec],
    budget: &mut Budget,
) -> Result<Vec<Wanted>, Failure> {
    let mut wanted = Vec::new();
    for frame in frames {
        match frame {
            FrameSpec::Layers(layers) => wanted.push(Wanted::Like(layers.clone())),
            FrameSpec::Bytes(bytes) => wanted.push(Wanted::Exactly(bytes.clone())),
            FrameSpec::File(file) => {
                let frames = captured(pipeline, file, 1, budget)?.into_iter();
                wanted.extend(frames.map(|frame| Wanted::Exactly(frame.data)));
            }
        }
    }
    Ok(wanted)
}

/// The frames of a capture, their times counted from the first; each is wanted `times` over.
fn captured(
    pipeline: &Pipeline,
    file: &At,
    times: u32,
    budget: &mut Budget,
) -> Result<Vec<Frame>, Failure> {
    let folder = pipeline.loaded.problems.folder(file.span);
    let path = folder.join(Path::new(&file.text));
    let place = pipeline.loaded.problems.source().place_name(file.span);
    let wrong = |error: &dyn std::fmt::Display| Error::user(place.clone(), error.to_string());
    let mut capture = CaptureFile::open(&path).map_err(|error| wrong(&error))?;
    let mut records = capture.records();
    let mut frames: Vec<Frame> = Vec::new();
    let mut first = None;
    while let Some(record) = records.next_record() {
        let record = record.map_err(|error| wrong(&error))?;
        budget.take(record.data.len(), times).map_err(|error| wrong(&error))?;
        let start = *first.get_or_insert(record.time_ns);
        let time = record.time_ns.saturating_sub(start);
        frames.push(Frame::cut(time, record.data.to_vec(), record.orig_len));
    }
    Ok(frames)
}

impl Run {
    /// Runs it and holds what came against what was expected.
    pub(super) fn outcome(&self, pipeline: &Pipeline, registry: &Registry) -> Outcome {
        let test = &self.ready.test;
        let mut outcome = Outcome {
            test: test.name.text.clone(),
            caps: self.case.name.clone(),
            seed: self.seed,
            passed: false,
            counted: false,
            mismatches: Vec::new(),
        };
        match self.simulate(pipeline, registry, &mut outcome) {
            Ok(()) => outcome.passed = outcome.mismatches.is_empty(),
            Err(failure) => outcome.mismatches.push(Mismatch::Run { message: failure.to_string() }),
        }
        outcome
    }

    fn simulate(
        &self,
        pipeline: &Pipeline,
        registry: &Registry,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let plan = pipeline.plan_for(Some(&self.ready.test), Some(&self.case), registry)?;
        let paths = self.paths(&plan);
        let (plan, bench) = self.on_bench(plan)?;
        let report = plan.simulate_with(&SimConfig::new(self.seed))?.0;
        for port in &self.ready.expect {
            let received = bench.received(&port.name);
            let mismatch = port.mismatch(&received);
            outcome.mismatches.extend(mismatch.map(|found| Mismatch::Frame(Box::new(found))));
        }
        outcome.counted = !bench.joins;
        if outcome.counted {
            outcome.mismatches.extend(self.numbers(&report, &paths));
        }
        let messages = bench.refused().chain(troubles(&report));
        outcome.mismatches.extend(messages.map(|message| Mismatch::Run { message }));
        Ok(())
    }

    /// Where the report has each counter and each reason.
    fn paths(&self, plan: &Plan) -> Paths {
        let names = Names::of(plan);
        let test = &self.ready.test;
        // Under other capabilities a stage may be missing that counts: then it has counted nothing.
        let counters = test.counters.iter();
        let counters = counters.map(|(name, _)| names.find(&name.text).unwrap_or_default());
        let drops = test.drops.iter().flatten();
        let drops = drops.map(|(name, _)| names.drop(&name.text).unwrap_or_default());
        Paths { counters: counters.collect(), drops: drops.collect() }
    }

    /// Puts emulated ports in the place of all ports.
    fn on_bench(&self, mut plan: Plan) -> Result<(Plan, Bench), Failure> {
        let mut bench = Bench::default();
        let names: Vec<String> = plan.ports.iter().map(|port| port.name.clone()).collect();
        for (index, name) in names.into_iter().enumerate() {
            let frames = self.ready.send.iter().filter(|(port, _)| *port == name);
            let frames: Vec<Frame> = frames.flat_map(|(_, frames)| frames.clone()).collect();
            let (facts, record) = (&plan.ports[index].facts, &plan.ports[index].common.record);
            let joins = Caps::RX_HW_GRO | Caps::RX_LRO;
            bench.joins |= !frames.is_empty() && facts.granted.intersects(joins);
            let collector = Collector::new();
            let lies = record.as_ref().map(|record| record.lies).unwrap_or_default();
            let config = EmulatedConfig {
                imitates: Some(facts.clone()),
                rx: Traffic::Timed(frames),
                tx: Sink::Collect(collector.clone()),
                queues: plan.queues(&name),
                faults: Faults { lies, ..Faults::default() },
                ..EmulatedConfig::new(name.as_str())
            };
            let port = Emulated::open(config)?;
            bench.refusals.insert(name.clone(), port.refusals());
            bench.sinks.insert(name.clone(), collector);
            plan = plan.with_port(&name, Box::new(port));
        }
        Ok((plan, bench))
    }

    /// Counters and drops that are not as expected.
    fn numbers(&self, report: &Report, paths: &Paths) -> Vec<Mismatch> {
        let tree = counters::tree(report);
        let test = &self.ready.test;
        let mut all: Vec<(String, u64, u64)> = Vec::new();
        for ((name, expected), path) in test.counters.iter().zip(&paths.counters) {
            all.push((name.text.clone(), *expected, counters::value(&tree, path)));
        }
        if let Some(drops) = &test.drops {
            // Whatever is dropped for a reason must be expected somewhere: what is not named is none.
            let mut expected_of: BTreeMap<&str, u64> = BTreeMap::new();
            for ((name, expected), drops) in drops.iter().zip(&paths.drops) {
                let received = counters::value(&tree, &drops.path);
                *expected_of.entry(drops.reason.as_str()).or_default() += expected;
                if drops.path != format!("drops.{}", drops.reason) {
                    all.push((name.text.clone(), *expected, received));
                }
            }
            for (reason, received) in counters::drops(&tree) {
                let expected = expected_of.remove(reason.as_str()).unwrap_or(0);
                all.push((format!("drops.{reason}"), expected, received));
            }
            let rest = expected_of.into_iter();
            all.extend(rest.map(|(reason, expected)| (format!("drops.{reason}"), expected, 0)));
        }
        all.retain(|(_, expected, received)| expected != received);
        let number = |(path, expected, received)| Mismatch::Number { path, expected, received };
        all.into_iter().map(number).collect()
    }
}

impl Bench {
    /// What left by a port. Of several queues the frames are put in the order of their times.
    fn received(&self, port: &str) -> Vec<Vec<u8>> {
        let queues = self.sinks.get(port).map(Collector::queues).unwrap_or_default();
        let several = queues.iter().filter(|queue| !queue.is_empty()).count() > 1;
        let mut frames = queues.concat();
        if several {
            frames.sort_by_key(|frame| frame.time_ns);
        }
        frames.into_iter().map(|frame| frame.data).collect()
    }

    /// What ports were asked for and cannot do.
    fn refused(&self) -> impl Iterator<Item = String> {
        let refused = self.refusals.iter().filter(|(_, refusals)| refusals.total() > 0);
        refused.map(|(port, refusals)| {
            format!("port `{port}` was asked for what it cannot do: {refusals}")
        })
    }
}

/// What else is wrong with a run.
fn troubles(report: &Report) -> Vec<String> {
    let unbalanced = (report.balanced != Some(true))
        .then(|| format!("the books do not balance: {}", report.unbalanced.join("; ")));
    let panics = (report.totals.panics > 0).then(|| {
        let panics = report.totals.panics;
        format!("stages panicked {panics} times")
    });
    unbalanced.into_iter().chain(panics).chain(report.errors.iter().cloned()).collect()
}
