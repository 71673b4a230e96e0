//! What stands below the stages: bytes, cores, rings, pools.
//!
//! Says what was decided for each; the words of the reasons are the planner's.

use super::types::{Bytes, CoresUsed, FreeCpus, PlanCore, Pool, Ring};
use crate::negotiate::{Way, leaving};
use crate::place::{Plan, pools};

/// Every pair of ports that packets go between.
pub(super) fn bytes(plan: &Plan) -> Vec<Bytes> {
    let bytes = plan.ways.iter().map(|way| Bytes {
        from: way.entry.clone(),
        to: way.exit.clone(),
        mtu_in: way.entry_mtu,
        added: way.added,
        mtu_out: way.exit_mtu,
        reason: fit(way),
    });
    bytes.collect()
}

/// What becomes of packets that are too long, if any can be.
fn fit(way: &Way) -> String {
    let come = way.entry_mtu.map(|mtu| leaving(mtu, way.added));
    match (come, way.exit_mtu) {
        (_, None) => format!("{} takes packets of any length", way.exit),
        (Some(come), Some(most)) if come <= most => "all that comes in fits".to_owned(),
        (_, Some(most)) => {
            format!("{} takes {most} B, longer packets are dropped as too_big", way.exit)
        }
    }
}

/// CPUs in the order of their numbers.
pub(super) fn cores(plan: &Plan) -> CoresUsed {
    let mut used: Vec<PlanCore> = Vec::new();
    for actor in plan.actors.iter() {
        match used.iter_mut().find(|core| core.cpu == actor.cpu) {
            Some(core) => core.actors.push(actor.name.clone()),
            None => used.push(PlanCore {
                cpu: actor.cpu,
                node: actor.home.node,
                actors: vec![actor.name.clone()],
                reasons: reasons(plan, actor.cpu),
            }),
        }
    }
    used.sort_by_key(|core| core.cpu);
    let free = plan.left_free.iter();
    let free = free.map(|(cpus, why)| FreeCpus { cpus: cpus.clone(), reason: why.clone() });
    CoresUsed { used, free: free.collect() }
}

/// Why a CPU was chosen for those who run there: each clause once, with whom it is about where that is not all.
fn reasons(plan: &Plan, cpu: Option<usize>) -> Vec<String> {
    let here: Vec<_> = plan.actors.iter().filter(|actor| actor.cpu == cpu).collect();
    let mut clauses: Vec<(&str, Vec<&str>)> = Vec::new();
    for actor in &here {
        for clause in actor.why.split("; ").filter(|clause| !clause.is_empty()) {
            match clauses.iter_mut().find(|(known, _)| *known == clause) {
                Some((_, actors)) => actors.push(&actor.name),
                None => clauses.push((clause, vec![&actor.name])),
            }
        }
    }
    let told = clauses.into_iter().map(|(clause, actors)| match actors.len() == here.len() {
        true => clause.to_owned(),
        false => format!("{} {clause}", actors.join(" and ")),
    });
    told.collect()
}

/// Rings into the same actor, whichever copy, are told together.
pub(super) fn rings(plan: &Plan) -> Vec<Ring> {
    let name = |actor: usize| plan.actors[actor].name.clone();
    let mut found: Vec<Ring> = Vec::new();
    for ring in &plan.rings {
        let (from, to) = (name(ring.from), name(ring.to.0));
        let base = &plan.actors[ring.to.0].base;
        match found.iter_mut().find(|known| known.name == *base) {
            Some(known) => {
                known.rings += 1;
                known.from.extend((!known.from.contains(&from)).then_some(from));
                known.to.extend((!known.to.contains(&to)).then_some(to));
            }
            None => found.push(Ring {
                name: base.clone(),
                from: vec![from],
                to: vec![to],
                rings: 1,
                capacity: ring.capacity,
                on_full: format!("{:?}", ring.on_full),
                place: ring.place.clone(),
                reason: ring.reason.clone(),
            }),
        }
    }
    found
}

/// Actor by actor.
pub(super) fn pools(plan: &Plan) -> Vec<Pool> {
    let pool = |actor: &crate::place::PlannedActor| {
        let home = &actor.home;
        Pool {
            actor: actor.name.clone(),
            shells: home.shells,
            small: home.small,
            large: home.large,
            bytes: pools::bytes(home),
            node: home.node,
        }
    };
    plan.actors.iter().map(pool).collect()
}
