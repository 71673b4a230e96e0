//! From a plan to its explanation: stages and rings in the order of the file, with what was decided.
//!
//! A stage that runs in several actors is told once; what leads where is the same in all of them.

use super::sections;
use super::types::{Actor, Chain, Explanation, Missing, Origin, Output, PlanPort, SCHEMA, Stage};
use crate::check::{CheckedPort, RING};
use crate::place::{Plan, PlannedNode, PlannedStage, PlannedTarget};
use corelane_runtime::offload::{Answer, Caps, Offload};

/// Everything that was decided.
pub(super) fn explanation(plan: &Plan) -> Explanation {
    Explanation {
        schema: SCHEMA,
        pipeline: plan.name.clone(),
        file: plan.source.file().to_owned(),
        plan: plan.hash.clone(),
        ports: plan.ports.iter().map(|port| self::port(plan, port)).collect(),
        chains: chains(plan),
        bytes: sections::bytes(plan),
        cores: sections::cores(plan),
        actors: plan.actors.iter().map(|actor| self::actor(plan, actor)).collect(),
        rings: sections::rings(plan),
        pools: sections::pools(plan),
        contracts: plan.contracts.clone(),
    }
}

/// Capabilities by name, each apart.
fn names(caps: Caps) -> Vec<String> {
    caps.iter().map(Caps::names).collect()
}

/// A link-layer address as descriptions write it.
fn mac(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

fn port(plan: &Plan, port: &CheckedPort) -> PlanPort {
    let facts = &port.facts;
    let missing = facts.reasons.iter().filter_map(|reason| {
        let capabilities = names(reason.caps - facts.granted);
        let answer = match reason.answer {
            Answer::Unknown => "unknown",
            Answer::Yes | Answer::No => "no",
        };
        let why = reason.why.clone();
        (!capabilities.is_empty()).then_some(Missing { capabilities, answer, why })
    });
    PlanPort {
        name: port.name.clone(),
        kind: port.kind.clone(),
        place: plan.source.place_name(port.span),
        caps_place: port.caps_at.map(|span| plan.source.place_name(span)),
        origin: Origin::of(port),
        verified: port.common.verify,
        advertised: names(facts.advertised),
        granted: names(facts.granted),
        missing: missing.collect(),
        tso_bytes: facts.limits.tso_bytes,
        tso_segments: facts.limits.tso_segments,
        header_bytes: facts.limits.header_len,
        mtu: facts.limits.mtu,
        mac: port.common.mac.map(mac),
        addresses: port.common.addresses.iter().map(|(ip, bits)| format!("{ip}/{bits}")).collect(),
        gateways: port.common.gateways.iter().map(|ip| ip.to_string()).collect(),
        queues: facts.queues,
        queues_used: plan.queues(&port.name),
    }
}

fn actor(plan: &Plan, actor: &crate::place::PlannedActor) -> Actor {
    let stages = actor.nodes.iter().map(|node| plan.stages[node.stage].id.clone());
    Actor {
        name: actor.name.clone(),
        base: actor.base.clone(),
        copy: actor.copy.0,
        copies: actor.copy.1,
        why_copies: actor.why_copies.clone(),
        cpu: actor.cpu,
        reason: actor.why.clone(),
        stages: stages.collect(),
    }
}

fn chains(plan: &Plan) -> Vec<Chain> {
    let mut stages: Vec<(String, Stage)> = Vec::new();
    for (number, planned) in plan.stages.iter().enumerate() {
        stages.push((planned.chain.clone(), stage(plan, number, planned)));
    }
    for (before, ring) in rings(plan) {
        let Some(at) = stages.iter().position(|(_, stage)| stage.id == before) else { continue };
        stages.insert(at, (stages[at].0.clone(), ring));
    }
    let mut chains: Vec<Chain> = Vec::new();
    for (name, stage) in stages {
        match chains.last_mut().filter(|chain| chain.name == name) {
            Some(chain) => chain.stages.push(stage),
            None => {
                let (actors, entered_from) = (Vec::new(), Vec::new());
                chains.push(Chain { name, actors, entered_from, stages: vec![stage] });
            }
        }
    }
    link(&mut chains);
    chains
}

/// Fills in who runs each chain and who enters it.
fn link(chains: &mut [Chain]) {
    let edges: Vec<(String, String)> = chains
        .iter()
        .flat_map(|chain| &chain.stages)
        .flat_map(|stage| stage.outputs.iter().map(|output| (stage.id.clone(), output.to.clone())))
        .collect();
    for chain in chains {
        for actor in chain.stages.iter().flat_map(|stage| &stage.actors) {
            if !chain.actors.contains(actor) {
                chain.actors.push(actor.clone());
            }
        }
        let own = |id: &str| chain.stages.iter().any(|stage| stage.id == id);
        let entries = edges.iter().filter(|(from, to)| own(to) && !own(from));
        chain.entered_from = entries.map(|(from, _)| from.clone()).collect();
        chain.entered_from.dedup();
    }
}

fn stage(plan: &Plan, number: usize, planned: &PlannedStage) -> Stage {
    let mut outputs: Vec<Output> = Vec::new();
    let mut actors = Vec::new();
    for actor in &plan.actors {
        for node in actor.nodes.iter().filter(|node| node.stage == number) {
            actors.push(actor.name.clone());
            for output in self::outputs(plan, actor, node) {
                if !outputs.contains(&output) {
                    outputs.push(output);
                }
            }
        }
    }
    Stage {
        id: planned.id.clone(),
        index: planned.index,
        kind: planned.info.name.to_owned(),
        name: planned.name.clone(),
        added: planned.added,
        written: planned.written.clone(),
        place: planned.place.clone(),
        port: planned.traits.port.clone(),
        offload: match planned.offload {
            Offload::Auto => "Auto",
            Offload::SoftwareOnly => "SoftwareOnly",
            Offload::Require => "Require",
        },
        summary: planned.note.clone().unwrap_or_else(|| planned.info.summary.to_owned()),
        actors,
        verdicts: planned.verdicts.clone(),
        outputs,
    }
}

fn outputs(plan: &Plan, actor: &crate::place::PlannedActor, node: &PlannedNode) -> Vec<Output> {
    let stage = &plan.stages[node.stage];
    // What only spreads has outputs without names.
    let named = stage.traits.outputs.iter().map(|(key, _)| key.as_str());
    let answers = stage.answers.iter().map(|port| format!("answers {port}"));
    let names = std::iter::once("next").chain(named).map(str::to_owned).chain(answers);
    let names = names.chain(std::iter::repeat("copies".to_owned()));
    let to = names.zip(&node.targets).filter_map(|(name, target)| {
        let to = match *target {
            PlannedTarget::Node(node) => plan.stages[actor.nodes[node].stage].id.clone(),
            PlannedTarget::Ring(ring) => behind(plan, ring).id,
            PlannedTarget::Nowhere => return None,
        };
        Some(Output { name, to })
    });
    to.collect()
}

/// Where a ring leads, and what its step is called: one that the file has stands in a place of its own, one of
/// the planner's has none.
struct Behind<'p> {
    /// The first stage behind it.
    stage: &'p PlannedStage,
    /// The actor behind it, whichever copy.
    actor: &'p str,
    /// Whether the file has it.
    written: bool,
    index: usize,
    id: String,
}

fn behind(plan: &Plan, ring: usize) -> Behind<'_> {
    let (actor, node) = plan.rings[ring].to;
    let actor = &plan.actors[actor];
    let stage = &plan.stages[actor.nodes[node].stage];
    let own = |index: usize| {
        plan.stages.iter().any(|s| s.chain == stage.chain && s.index == index && !s.added)
    };
    match stage.index.checked_sub(1).filter(|&index| !own(index)) {
        Some(index) => {
            let id = format!("{}.{index}", stage.chain);
            Behind { stage, actor: &actor.base, written: true, index, id }
        }
        None => {
            let id = format!("{}.+{RING}/{}", stage.chain, actor.base);
            Behind { stage, actor: &actor.base, written: false, index: stage.index, id }
        }
    }
}

/// The ring steps of all chains, each once, with the stage that it stands before.
fn rings(plan: &Plan) -> Vec<(String, Stage)> {
    let mut found: Vec<(String, Stage)> = Vec::new();
    for (number, ring) in plan.rings.iter().enumerate() {
        let behind = behind(plan, number);
        let from = plan.actors[ring.from].name.clone();
        if let Some((_, known)) = found.iter_mut().find(|(_, stage)| stage.id == behind.id) {
            known.actors.extend((!known.actors.contains(&from)).then_some(from));
            continue;
        }
        let next = Output { name: "next".to_owned(), to: behind.stage.id.clone() };
        let written = format!("{RING}({:?})", behind.actor);
        let stage = Stage {
            written: if behind.written { written } else { RING.to_owned() },
            id: behind.id,
            index: behind.index,
            kind: RING.to_owned(),
            name: Some(behind.actor.to_owned()),
            added: !behind.written,
            place: ring.place.clone(),
            port: None,
            offload: "Auto",
            summary: format!("Actor `{}` begins here: {}.", behind.actor, ring.reason),
            actors: vec![from],
            verdicts: Vec::new(),
            outputs: vec![next],
        };
        found.push((behind.stage.id.clone(), stage));
    }
    found
}
