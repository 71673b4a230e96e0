//! Whether a run is balanced: every packet, every frame, every payload byte and every buffer accounted for.
//!
//! Says what does not add up, in words; nothing said means balanced. Works on the raw books of the actors,
//! not on the report made from them.

use corelane_runtime::counters::{ActorReport, RingIn};
use corelane_runtime::packet::Units;
use corelane_runtime::port::Direction;

use super::Facts;

/// Everything that does not add up.
pub(super) fn complaints(facts: &Facts, actors: &[ActorReport]) -> Vec<String> {
    let mut found = Vec::new();
    stages(facts, actors, &mut found);
    rings(actors, &mut found);
    ports(facts, actors, &mut found);
    homes(actors, &mut found);
    implicit_drops(actors, &mut found);
    found
}

fn text(units: Units) -> String {
    format!("{} packets, {} frames, {} payload bytes", units.packets, units.segments, units.bytes)
}

fn stages(facts: &Facts, actors: &[ActorReport], found: &mut Vec<String>) {
    for actor in actors {
        for stage in actor.stages.iter().filter(|stage| !stage.is_balanced()) {
            let tally = &stage.tally;
            let came = stage.input + tally.created;
            let dropped = tally.dropped() + stage.lost.total();
            let went = stage.output + dropped + tally.absorbed + tally.consumed + stage.held;
            let id = &facts.stages[stage.stage].id;
            let (came, went) = (text(came), text(went));
            found.push(format!("stage {id} in actor {}: {came} came, {went} went", actor.name));
        }
    }
}

/// A ring's ends are told by its name, which is unique.
fn rings(actors: &[ActorReport], found: &mut Vec<String>) {
    let ends = || actors.iter().flat_map(|actor| &actor.rings_in);
    for ring in actors.iter().flat_map(|actor| &actor.rings_out) {
        let other: Option<&RingIn> = ends().find(|end| end.name == ring.name);
        match other {
            Some(end) if ring.is_balanced(end) => {}
            Some(end) => found.push(format!(
                "ring {}: {} sent, {} taken",
                ring.name,
                text(ring.sent),
                text(end.taken)
            )),
            None => found.push(format!("ring {}: nobody reads it", ring.name)),
        }
    }
}

/// What a port handed over is what its stages took, and the other way round.
fn ports(facts: &Facts, actors: &[ActorReport], found: &mut Vec<String>) {
    for port in &facts.ports {
        for direction in [Direction::Rx, Direction::Tx] {
            let stages = actors.iter().flat_map(|actor| &actor.stages);
            let mut queue_packets = 0;
            let mut stage_packets = 0;
            for stage in stages {
                let Some(queue) = &stage.queue else { continue };
                if queue.port != port.name || queue.direction != direction {
                    continue;
                }
                queue_packets += queue.packets;
                stage_packets += match direction {
                    Direction::Rx => stage.tally.received.packets,
                    Direction::Tx => stage.tally.transmitted.packets,
                };
            }
            if queue_packets != stage_packets {
                let name = &port.name;
                found.push(format!(
                    "port {name}: {queue_packets} packets {} by the port, {stage_packets} by stages",
                    if direction == Direction::Rx { "received" } else { "sent" }
                ));
            }
        }
    }
}

fn homes(actors: &[ActorReport], found: &mut Vec<String>) {
    for actor in actors {
        let [shells, small, large] = actor.home.outstanding;
        if [shells, small, large] != [0; 3] {
            let name = &actor.home.name;
            found.push(format!(
                "pool of actor {name}: {shells} shells, {small} small and {large} large buffers are missing"
            ));
        }
    }
}

/// What fell out of scope is what a panic or a forced stop is known to have lost, and nothing else.
fn implicit_drops(actors: &[ActorReport], found: &mut Vec<String>) {
    let mut implicit = Units::default();
    let mut known = Units::default();
    for actor in actors {
        implicit += actor.home.implicit;
        for stage in &actor.stages {
            known += stage.lost.stage_panicked + stage.lost.stopped;
        }
        actor.rings_out.iter().for_each(|ring| known += ring.stopped);
        actor.rings_in.iter().for_each(|ring| known += ring.stopped);
    }
    if implicit != known {
        let (implicit, known) = (text(implicit), text(known));
        found.push(format!(
            "dropped by falling out of scope: {implicit}; booked to panics and a forced stop: {known}"
        ));
    }
}
