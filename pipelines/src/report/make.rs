//! Making the report of a run from the books of its actors.

use super::balance;
use super::{
    ActorReport, HomeReport, Mode, Named, PortReport, QueueReport, Report, RingReport, SCHEMA,
    Simulation, StageReport, Totals,
};
use crate::place::Plan;
use corelane_runtime::counters::{self, StageReport as Books};
use corelane_runtime::packet::Units;
use corelane_runtime::port::{self, Direction};
use std::time::Duration;

/// What the report says about the plan.
pub(crate) struct Facts {
    pub(super) pipeline: String,
    pub(super) plan: String,
    pub(super) ports: Vec<PortFacts>,
    pub(super) stages: Vec<StageFacts>,
    /// Names, in the order of the plan.
    pub(crate) actors: Vec<String>,
    pub(super) cpus: Vec<Option<usize>>,
    /// Name, from, to.
    pub(super) rings: Vec<(String, String, String)>,
}

pub(super) struct PortFacts {
    pub(super) name: String,
    pub(super) kind: String,
}

pub(super) struct StageFacts {
    pub(super) id: String,
    chain: String,
    index: usize,
    kind: &'static str,
    name: String,
    added: bool,
    reasons: Vec<String>,
    counters: Vec<String>,
}

#[cfg(test)]
impl StageFacts {
    /// A stage without drop reasons and counters.
    pub(super) fn named(id: &str) -> StageFacts {
        StageFacts {
            id: id.to_owned(),
            chain: String::new(),
            index: 0,
            kind: "Test",
            name: String::new(),
            added: false,
            reasons: Vec::new(),
            counters: Vec::new(),
        }
    }
}

impl Facts {
    /// What is to be remembered of a plan whose parts are about to be used up.
    pub(crate) fn of(plan: &Plan) -> Facts {
        let stages = plan.stages.iter().map(|stage| StageFacts {
            id: stage.id.clone(),
            chain: stage.chain.clone(),
            index: stage.index,
            kind: stage.info.name,
            name: stage.name.clone().unwrap_or_else(|| stage.info.name.to_owned()),
            added: stage.added,
            reasons: reasons(stage.info.drop_reasons, stage.traits.label.as_deref()),
            counters: stage.counters(),
        });
        let actor = |index: usize| plan.actors[index].name.clone();
        let rings = plan.rings.iter();
        let rings = rings.map(|ring| (ring.name.clone(), actor(ring.from), actor(ring.to.0)));
        let ports = plan.ports.iter();
        Facts {
            pipeline: plan.name.clone(),
            plan: plan.hash.clone(),
            ports: ports
                .map(|port| PortFacts { name: port.name.clone(), kind: port.kind.clone() })
                .collect(),
            stages: stages.collect(),
            actors: plan.actors.iter().map(|actor| actor.name.clone()).collect(),
            cpus: plan.actors.iter().map(|actor| actor.cpu).collect(),
            rings: rings.collect(),
        }
    }
}

/// Names of drop reasons: a stage with a label and one reason drops under its label.
fn reasons(declared: &[&str], label: Option<&str>) -> Vec<String> {
    match (declared, label) {
        ([_], Some(label)) => vec![label.to_owned()],
        _ => declared.iter().map(|&reason| reason.to_owned()).collect(),
    }
}

/// Makes a report of the books of actors that have ended and been emptied, or that go on.
pub(crate) fn make(
    facts: &Facts,
    books: &[counters::ActorReport],
    mode: Mode,
    duration: Duration,
) -> Report {
    let mut simulation = None;
    let (live, late, stopped) = match mode {
        Mode::Threads { stopped } => (false, Vec::new(), stopped),
        Mode::Live { late, stopped } => (true, late, stopped),
        Mode::Simulated { seed, turns, stopped } => {
            simulation = Some(Simulation { seed, turns });
            (false, Vec::new(), stopped)
        }
    };
    // Of actors that go on, each told its books at another moment.
    let unbalanced = if live { Vec::new() } else { balance::complaints(facts, books) };
    Report {
        schema: SCHEMA,
        pipeline: facts.pipeline.clone(),
        plan: facts.plan.clone(),
        live,
        late,
        balanced: (!live).then_some(unbalanced.is_empty()),
        unbalanced,
        errors: errors(books),
        stopped,
        duration_s: duration.as_secs_f64(),
        simulation,
        ports: ports(facts, books),
        stages: stages(facts, books),
        actors: books.iter().map(|book| actor(facts, book)).collect(),
        rings: rings(facts, books),
        homes: books.iter().map(home).collect(),
        totals: totals(books),
    }
}

/// A frame that the pool could never hold: the input is not lost by the wire's fault but by the plan's.
const TOO_LARGE: &str = "too_large_for_pool";

/// What a port lost though the wire was not at fault. A device that misses packets under load does so within
/// its rights; a packet that it could not send or that no buffer could hold was lost by this run.
fn lost_by_port(queue: &port::QueueReport) -> impl Iterator<Item = String> {
    let counts = |reason: &str| queue.direction == Direction::Tx || reason == TOO_LARGE;
    let drops = queue.drops.iter().filter(move |(reason, packets)| *packets > 0 && counts(reason));
    drops.map(|(reason, packets)| format!("port {}: {packets} packets lost: {reason}", queue.port))
}

/// Each once: queues of one port fail alike.
fn errors(books: &[counters::ActorReport]) -> Vec<String> {
    let mut errors: Vec<String> = Vec::new();
    for book in books {
        let queues = || book.stages.iter().filter_map(|stage| stage.queue.as_ref());
        let failures = queues().filter_map(|queue| queue.error.as_ref()).map(ToString::to_string);
        let failed = book.failed.iter().map(|failed| format!("actor {}: {failed}", book.name));
        for error in failures.chain(queues().flat_map(lost_by_port)).chain(failed) {
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
    }
    errors
}

fn ports(facts: &Facts, books: &[counters::ActorReport]) -> Named<PortReport> {
    let mut ports: Named<PortReport> = Named::default();
    for port in &facts.ports {
        ports.entry(&port.name).kind.clone_from(&port.kind);
    }
    for book in books {
        for queue in book.stages.iter().filter_map(|stage| stage.queue.as_ref()) {
            let port = ports.entry(&queue.port);
            let (packets, bytes, wire) = match queue.direction {
                Direction::Rx => {
                    (&mut port.rx_packets, &mut port.rx_bytes, &mut port.rx_wire_packets)
                }
                Direction::Tx => {
                    (&mut port.tx_packets, &mut port.tx_bytes, &mut port.tx_wire_packets)
                }
            };
            *packets += queue.packets;
            *bytes += queue.bytes;
            *wire += queue.wire_packets;
            port.wire_packets += queue.wire_packets;
            let queue = self::queue(&book.name, queue);
            port.drops.add(&queue.drops);
            port.queues.push(queue);
        }
    }
    ports
}

fn queue(actor: &str, queue: &port::QueueReport) -> QueueReport {
    let mut drops = Named::default();
    for &(reason, packets) in &queue.drops {
        *drops.entry(reason) += packets;
    }
    QueueReport {
        direction: match queue.direction {
            Direction::Rx => "rx",
            Direction::Tx => "tx",
        },
        actor: actor.to_owned(),
        packets: queue.packets,
        bytes: queue.bytes,
        wire_packets: queue.wire_packets,
        drops,
        error: queue.error.as_ref().map(ToString::to_string),
    }
}

fn stages(facts: &Facts, books: &[counters::ActorReport]) -> Vec<StageReport> {
    let mut stages: Vec<StageReport> = facts.stages.iter().map(blank).collect();
    for book in books {
        for share in &book.stages {
            add(&mut stages[share.stage], &facts.stages[share.stage], share);
        }
    }
    stages
}

fn blank(facts: &StageFacts) -> StageReport {
    let mut stage = StageReport {
        id: facts.id.clone(),
        chain: facts.chain.clone(),
        index: facts.index,
        kind: facts.kind,
        name: facts.name.clone(),
        added: facts.added,
        ..StageReport::default()
    };
    for reason in &facts.reasons {
        stage.drops.entry(reason);
    }
    for counter in &facts.counters {
        stage.counters.entry(counter);
    }
    stage
}

fn add(stage: &mut StageReport, facts: &StageFacts, share: &Books) {
    let tally = &share.tally;
    stage.packets_in += share.input.packets;
    stage.packets_out += share.output.packets;
    stage.segments_in += share.input.segments;
    stage.segments_out += share.output.segments;
    stage.bytes_in += share.input.bytes;
    stage.bytes_out += share.output.bytes;
    stage.created += tally.created.packets;
    stage.absorbed += tally.absorbed.packets;
    stage.consumed += tally.consumed.packets;
    stage.held += share.held.packets;
    for (reason, dropped) in facts.reasons.iter().zip(&tally.drops) {
        *stage.drops.entry(reason) += dropped.packets;
    }
    let lost = share.lost;
    let engine = [
        ("stage_panicked", lost.stage_panicked),
        ("no_room", lost.no_room),
        ("stopped", lost.stopped),
    ];
    // The engine's own reasons show only where there is something to show.
    for (reason, units) in engine.into_iter().filter(|(_, units)| *units != Units::default()) {
        *stage.drops.entry(reason) += units.packets;
    }
    for (counter, value) in facts.counters.iter().zip(&tally.counters) {
        *stage.counters.entry(counter) += value;
    }
    stage.payload_bytes_summed += tally.payload_bytes_summed;
    stage.panics += share.panics;
    stage.bursts += share.bursts;
}

fn actor(facts: &Facts, book: &counters::ActorReport) -> ActorReport {
    let stages = book.stages.iter().map(|share| {
        let mut stage = blank(&facts.stages[share.stage]);
        add(&mut stage, &facts.stages[share.stage], share);
        stage
    });
    let [steps_worked, steps_idle, steps_blocked] = book.steps;
    let [busy_s, poll_s, idle_s] = book.times.map(|ns| Duration::from_nanos(ns).as_secs_f64());
    let index = facts.actors.iter().position(|actor| *actor == book.name);
    ActorReport {
        name: book.name.clone(),
        cpu: index.and_then(|index| facts.cpus.get(index).copied().flatten()),
        pinned: book.cpus.clone(),
        busy_s,
        poll_s,
        idle_s,
        steps_worked,
        steps_idle,
        steps_blocked,
        failed: book.failed.clone(),
        stages: stages.collect(),
    }
}

fn rings(facts: &Facts, books: &[counters::ActorReport]) -> Vec<RingReport> {
    let find = |name: &str| {
        let out = books.iter().flat_map(|book| &book.rings_out).find(|ring| ring.name == name);
        let end = books.iter().flat_map(|book| &book.rings_in).find(|ring| ring.name == name);
        out.zip(end)
    };
    let rings = facts.rings.iter().filter_map(|(name, from, to)| {
        let (out, end) = find(name)?;
        Some(RingReport {
            name: name.clone(),
            from: from.clone(),
            to: to.clone(),
            capacity: out.capacity,
            packets: out.sent.packets,
            segments: out.sent.segments,
            bytes: out.sent.bytes,
            full: out.stats.full,
            stash_high: out.stats.stash_high,
            dropped: out.stats.dropped.packets,
            stopped: (out.stopped + end.stopped).packets,
        })
    });
    rings.collect()
}

fn home(book: &counters::ActorReport) -> HomeReport {
    let home = &book.home;
    HomeReport {
        name: home.name.clone(),
        capacity: home.capacity.into(),
        outstanding: home.outstanding.into(),
        low_water: home.low_water.into(),
        refused: home.refused,
        implicit_drops: home.implicit.packets,
        huge: home.huge,
    }
}

fn totals(books: &[counters::ActorReport]) -> Totals {
    let mut totals = Totals::default();
    for book in books {
        for stage in &book.stages {
            let tally = &stage.tally;
            totals.rx_packets += tally.received.packets;
            totals.tx_packets += tally.transmitted.packets;
            totals.created += tally.created.packets;
            totals.absorbed += tally.absorbed.packets;
            totals.consumed += tally.consumed.packets;
            totals.dropped += (tally.dropped() + stage.lost.total()).packets;
            totals.held += stage.held.packets;
            totals.payload_bytes += tally.payload_bytes;
            totals.payload_bytes_summed += tally.payload_bytes_summed;
            totals.copies += tally.copies;
            totals.stopped += stage.lost.stopped.packets;
            totals.panics += stage.panics;
        }
        for ring in &book.rings_out {
            totals.dropped += (ring.stats.dropped + ring.stopped).packets;
            totals.stopped += ring.stopped.packets;
        }
        for ring in &book.rings_in {
            totals.dropped += ring.stopped.packets;
            totals.stopped += ring.stopped.packets;
        }
        totals.implicit_drops += book.home.implicit.packets;
    }
    totals
}
