//! From the rounds of a step to what is told of it: medians, ratios round by round, where the time went, what kept it
//! from more, and whether it is noisy.
//!
//! What is said of one round, such as where the time went, is said of the round whose rate is the middle one, so that
//! the figures of a line belong together.

use super::machine::MeasuredOn;
use super::report::{Figures, Part, PartKind, Step};
use super::stats::{self, Interval};
use super::window::Round;
use crate::place::Plan;
use corelane_runtime::stage::spec::Role;
use corelane_runtime::topology::Machine;

/// Above this spread a step is noisy.
const SPREAD_MAX: f64 = 0.05;
/// The same of the part of the time that threads waited for a CPU, and that the hypervisor took.
const DISTURBED_MAX: f64 = 0.02;
/// Below this part of idle time the cores are the limit.
const IDLE_MAX: f64 = 0.1;
/// A thread this busy has no more to give.
const BUSY_MIN: f64 = 0.95;
/// More than that a packet costs more than at the first step.
const DEARER_MIN: f64 = 0.03;

/// What figures need to know of a plan.
pub(super) struct Names {
    /// In the order of the plan.
    stages: Vec<StageName>,
    /// Whether two of its threads are on one core.
    siblings: bool,
}

/// A stage and the device behind it.
struct StageName {
    id: String,
    label: String,
    device: Option<(PartKind, String)>,
}

impl Names {
    pub(super) fn of(plan: &Plan, machine: &Machine) -> Names {
        let label = |stage: &crate::place::PlannedStage| {
            stage.name.clone().unwrap_or_else(|| stage.info.name.to_owned())
        };
        let stages = plan.stages.iter().map(|stage| {
            let own = label(stage);
            let alone = plan.stages.iter().filter(|other| label(other) == own).count() == 1;
            let label = if alone { own } else { format!("{} {own}", stage.id) };
            let device =
                stage.traits.port.as_ref().and_then(|port| device(plan, port, stage.info.role));
            StageName { id: stage.id.clone(), label, device }
        });
        let mut cores: Vec<(usize, usize)> =
            plan.actors.iter().filter_map(|actor| Some(machine.cpu(actor.cpu?)?.core)).collect();
        let mut cpus: Vec<usize> = plan.actors.iter().filter_map(|actor| actor.cpu).collect();
        cores.sort_unstable();
        cores.dedup();
        cpus.sort_unstable();
        cpus.dedup();
        Names { stages: stages.collect(), siblings: cores.len() < cpus.len() }
    }
}

/// What the device behind a stage is called. An emulated port that receives makes its frames.
fn device(plan: &Plan, port: &str, role: Role) -> Option<(PartKind, String)> {
    let emulated = plan.ports.iter().any(|known| known.name == port && known.kind == "Emulated");
    let reads = |stage: &&crate::place::PlannedStage| {
        stage.info.role == Role::Source && stage.traits.port.is_some()
    };
    match role {
        Role::Source if emulated && plan.stages.iter().filter(reads).count() == 1 => {
            Some((PartKind::Generator, "generator".to_owned()))
        }
        Role::Source if emulated => Some((PartKind::Generator, format!("generator {port}"))),
        Role::Source | Role::Sink => Some((PartKind::Device, format!("device {port}"))),
        Role::Middle => None,
    }
}

/// What the rounds of a step came to, beside those of the first step of its point.
pub(super) fn of(
    step: &Step,
    base: &[Round],
    first: Option<&Figures>,
    names: &Names,
    machine: &MeasuredOn,
) -> Figures {
    let rates: Vec<f64> = step.rounds.iter().map(|round| round.mpps).collect();
    let quiet = Round::default();
    let middle = stats::middle(&rates).and_then(|at| step.rounds.get(at)).unwrap_or(&quiet);
    let frames = middle.frames.max(1) as f64;
    let parts = parts(middle, names, machine);
    let cycles = |ns: f64| machine.clock_ghz.map(|ghz| ns * ghz);
    let ns_per_packet = middle.split.total as f64 / frames;
    let mut figures = Figures {
        mpps: stats::interval(&rates),
        spread: stats::spread(&rates),
        gbps_l1: middle.gbps_l1,
        speed_up: ratios(step, base, |round| round.mpps).unwrap_or_default(),
        efficiency: ratios(step, base, |round| round.frames_per_cpu_s),
        ns_per_packet,
        cycles_per_packet: cycles(ns_per_packet),
        busiest_queue: middle.busiest_queue,
        limit: String::new(),
        total_ns: parts.iter().map(|part| part.ns).sum(),
        parts,
    };
    figures.limit = limit(step, middle, &figures, first, names);
    figures
}

/// Round by round, over the first step; `None` where one of them is nothing.
fn ratios(step: &Step, base: &[Round], of: impl Fn(&Round) -> f64) -> Option<Interval> {
    let pairs = step.rounds.iter().zip(base);
    let ratios = pairs.map(|(own, base)| {
        let (own, base) = (of(own), of(base));
        (own > 0.0 && base > 0.0).then(|| own / base)
    });
    let ratios: Option<Vec<f64>> = ratios.collect();
    ratios.filter(|ratios| !ratios.is_empty()).map(|ratios| stats::interval(&ratios))
}

/// Where the time of a round went: what makes the frames first, then stages in the order of the plan, each before the
/// device behind it, then the rest.
fn parts(round: &Round, names: &Names, machine: &MeasuredOn) -> Vec<Part> {
    let frames = round.frames.max(1) as f64;
    let part = |kind, name: &str, stage: Option<&str>, ns: u64| Part {
        kind,
        name: name.to_owned(),
        stage: stage.map(str::to_owned),
        ns,
        ns_per_packet: ns as f64 / frames,
        cycles_per_packet: machine.clock_ghz.map(|ghz| ns as f64 / frames * ghz),
    };
    let mut parts = Vec::new();
    for &(stage, own, device) in &round.split.stages {
        let Some(name) = names.stages.get(stage) else { continue };
        let stage_part = part(PartKind::Stage, &name.label, Some(&name.id), own);
        match &name.device {
            Some((kind, label)) => {
                let device = part(*kind, label, Some(&name.id), device);
                match kind {
                    PartKind::Generator => parts.extend([device, stage_part]),
                    _ => parts.extend([stage_part, device]),
                }
            }
            None => parts.push(part(PartKind::Stage, &name.label, Some(&name.id), own + device)),
        }
    }
    parts.push(part(PartKind::Idle, "idle", None, round.split.idle));
    parts.push(part(PartKind::Waiting, "waiting", None, round.split.waiting));
    parts.push(part(PartKind::Other, "other", None, round.split.other));
    parts
}

/// What kept a step from more, as far as the figures say.
fn limit(
    step: &Step,
    round: &Round,
    figures: &Figures,
    first: Option<&Figures>,
    names: &Names,
) -> String {
    let mut said = vec![match round.busy {
        (most, least) if most >= BUSY_MIN && least < 1.0 - 2.0 * IDLE_MAX => {
            "cpu of the busiest thread".to_owned()
        }
        _ if round.idle < IDLE_MAX => "cpu".to_owned(),
        _ => format!("what comes in; idle {:.0} %", round.idle * 100.0),
    }];
    if step.threads < step.cores {
        said.push(format!("the plan uses {} of {} CPUs", step.threads, step.cores));
    }
    said.extend(first.and_then(|first| dearer(figures, first)));
    if names.siblings {
        said.push("two threads of one core".to_owned());
    }
    if round.dropped > 0 {
        let share = round.dropped as f64 * 100.0 / round.frames.max(1) as f64;
        said.push(format!("dropped {share:.1} %"));
    }
    said.join("; ")
}

/// What a packet costs more than at the first step, and where most of that is.
fn dearer(figures: &Figures, first: &Figures) -> Option<String> {
    let more = figures.ns_per_packet - first.ns_per_packet;
    if more < first.ns_per_packet * DEARER_MIN {
        return None;
    }
    let mut grown: Vec<(f64, &str)> = figures
        .parts
        .iter()
        .map(|part| {
            let before = first.parts.iter().find(|known| known.name == part.name);
            let before = before.map_or(0.0, |before| before.ns_per_packet);
            (part.ns_per_packet - before, part.name.as_str())
        })
        .filter(|(grown, _)| *grown > more / 4.0)
        .collect();
    grown.sort_by(|a, b| b.0.total_cmp(&a.0));
    let places: Vec<&str> = grown.iter().take(2).map(|(_, name)| *name).collect();
    let places = match places.as_slice() {
        [] => String::new(),
        places => format!(" in {}", places.join(" and ")),
    };
    let cycles = figures.cycles_per_packet.zip(first.cycles_per_packet);
    Some(match cycles {
        Some((now, then)) => format!("+{:.0} cycles{places}", now - then),
        None => format!("+{more:.0} ns{places}"),
    })
}

/// Why a step is noisy, in words.
pub(super) fn noise(step: &Step, figures: &Figures) -> Vec<String> {
    let typical =
        |of: fn(&Round) -> f64| stats::median(&step.rounds.iter().map(of).collect::<Vec<f64>>());
    let waiting = typical(|round| round.waiting);
    let stolen = typical(|round| round.disturbance.stolen);
    let percent = |part: f64| format!("{:.1} %", part * 100.0);
    let mut noise = Vec::new();
    if figures.spread > SPREAD_MAX {
        noise.push(format!("spread {}", percent(figures.spread)));
    }
    if waiting > DISTURBED_MAX {
        noise.push(format!("its threads waited for a CPU {} of the time", percent(waiting)));
    }
    if stolen > DISTURBED_MAX {
        noise.push(format!("the hypervisor took {} of the time", percent(stolen)));
    }
    noise
}
