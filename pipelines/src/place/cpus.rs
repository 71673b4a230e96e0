//! Which CPU each actor is pinned to, and why.
//!
//! It promises: only CPUs this process may use; what the file pins is where the file wants it, and other actors
//! keep away from there while other CPUs are left; physical cores before their siblings, fast cores before small
//! ones; where there is a choice, actors joined by a ring near each other. Copy `i` of every actor that receives
//! is on the same CPU where they have to share.

use super::{Plan, PlannedActor, copies::number};
use crate::spec::Cores;
use corelane_runtime::Error;
use corelane_runtime::stage::spec::Role;
use corelane_runtime::topology::{CoreKind, Cpu, Machine};

/// Gives every actor a CPU of the machine.
pub(super) fn assign(plan: &mut Plan, cores: &Cores, machine: &Machine) -> Result<(), Error> {
    let order = machine.by_preference();
    let by_file: Vec<bool> = plan.actors.iter().map(|actor| actor.cpu.is_some()).collect();
    let pinned: Vec<usize> = plan.actors.iter().filter_map(|actor| actor.cpu).collect();
    let mut seats = Seats { machine, slots: order.clone(), taken: pinned.clone() };
    match cores {
        Cores::Count(count) => seats.slots.truncate(*count),
        Cores::Pin(_) => {
            // An actor nobody pinned keeps away from the CPUs of those that are, if it can.
            let others: Vec<usize> =
                order.iter().copied().filter(|cpu| !pinned.contains(cpu)).collect();
            seats.slots = if others.is_empty() { order.clone() } else { others };
        }
        Cores::Auto => {}
    }
    if let Some(lanes) = lanes(plan, cores, machine, &seats.slots) {
        seats.slots = lanes;
        seat_lanes(plan, &mut seats);
    }
    seat_rest(plan, &mut seats);
    let whys = by_file.into_iter().enumerate();
    let whys: Vec<String> =
        whys.map(|(actor, by_file)| why(plan, actor, by_file, cores, machine)).collect();
    plan.actors.iter_mut().zip(whys).for_each(|(actor, why)| actor.why = why);
    plan.left_free = left_free(plan, cores, machine);
    // Without a CPU to name, actors run wherever the system puts them.
    plan.cpus = used(plan).len().max(1);
    Ok(())
}

/// Whether the CPUs asked for are there.
pub(super) fn check(cores: &Cores, machine: &Machine) -> Result<(), Error> {
    let allowed = || {
        let ids: Vec<String> = machine.cpus.iter().map(|cpu| cpu.id.to_string()).collect();
        ids.join(", ")
    };
    match cores {
        Cores::Count(count) if *count > machine.cpus.len() => {
            let message = format!(
                "{count} CPUs are asked for, but this process may use {}; ask for fewer, allow more (taskset), or plan \
                 for another machine (--topology)",
                machine.cpus.len()
            );
            Err(Error::user("cores", message))
        }
        Cores::Pin(pins) => {
            let all = pins.iter().flat_map(|(name, cpus)| cpus.iter().map(move |cpu| (name, cpu)));
            for (name, cpu) in all {
                if machine.cpu(*cpu).is_none() {
                    let message = format!(
                        "`{name}` is pinned to CPU {cpu}, which this process may not use; pin it to one of {}, or \
                         plan for another machine (--topology)",
                        allowed()
                    );
                    return Err(Error::user("cores", message));
                }
            }
            Ok(())
        }
        Cores::Auto | Cores::Count(_) => Ok(()),
    }
}

/// CPUs that are on offer, and those that are taken, each as often as it is.
struct Seats<'a> {
    machine: &'a Machine,
    /// In the order of preference.
    slots: Vec<usize>,
    taken: Vec<usize>,
}

impl Seats<'_> {
    fn load(&self, cpu: usize) -> usize {
        self.taken.iter().filter(|&&taken| taken == cpu).count()
    }

    /// Whether another CPU of its core is taken.
    fn core_is_busy(&self, cpu: &Cpu) -> bool {
        let mut mates = self.machine.cpus.iter().filter(|mate| mate.core == cpu.core);
        mates.any(|mate| mate.id != cpu.id && self.load(mate.id) > 0)
    }

    /// How bad a CPU is for an actor whose partners are on `near`: lower is better.
    fn cost(&self, cpu: &Cpu, near: &[usize]) -> [usize; 4] {
        let apart = near.iter().filter_map(|id| self.machine.cpu(*id));
        let distance = apart.map(|other| distance(cpu, other)).sum();
        let small = usize::from(cpu.kind == CoreKind::Efficient);
        [self.load(cpu.id), usize::from(self.core_is_busy(cpu)), small, distance]
    }

    /// The best CPU among `domain`, and whether there is any.
    fn best(&self, domain: &[usize], near: &[usize]) -> Option<usize> {
        let known = domain.iter().filter_map(|id| self.machine.cpu(*id));
        known.min_by_key(|cpu| self.cost(cpu, near)).map(|cpu| cpu.id)
    }

    /// Slots that a group of `size` actors fits without sharing a core, as close together as there are.
    fn domain(&self, size: usize) -> Vec<usize> {
        let free = |cpu: &&Cpu| self.load(cpu.id) == 0 && !self.core_is_busy(cpu);
        let cpus: Vec<&Cpu> =
            self.slots.iter().filter_map(|id| self.machine.cpu(*id)).filter(free).collect();
        let levels: [fn(&Cpu) -> Option<usize>; 2] =
            [|cpu| cpu.l3, |cpu| cpu.node.map(|node| node as usize)];
        // Small cores are no choice as long as a fast one is free.
        let kind = cpus.first().map(|cpu| cpu.kind);
        for level in levels {
            for first in cpus.iter().filter(|cpu| Some(cpu.kind) == kind) {
                let alike = |cpu: &&&Cpu| level(cpu) == level(first) && cpu.kind == first.kind;
                let group: Vec<&Cpu> = cpus.iter().filter(alike).copied().collect();
                let mut cores: Vec<(usize, usize)> = group.iter().map(|cpu| cpu.core).collect();
                cores.sort_unstable();
                cores.dedup();
                if level(first).is_some() && cores.len() >= size {
                    return group.into_iter().map(|cpu| cpu.id).collect();
                }
            }
        }
        self.slots.clone()
    }
}

/// 0: they share a level 3 cache; 1: a NUMA node; 2: neither, as far as is known.
fn distance(one: &Cpu, other: &Cpu) -> usize {
    match (one.l3.is_some() && one.l3 == other.l3, one.node.is_some() && one.node == other.node) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

fn receives(plan: &Plan, actor: &PlannedActor) -> bool {
    let first = actor.nodes.first().map(|node| &plan.stages[node.stage]);
    first.is_some_and(|stage| stage.info.role == Role::Source)
}

/// The CPUs over which copies are laid in lanes, copy `i` of each actor on the same one; `None` where each actor
/// can have a core of its own, or there are no copies.
fn lanes(plan: &Plan, cores: &Cores, machine: &Machine, slots: &[usize]) -> Option<Vec<usize>> {
    let copied = plan.actors.iter().any(|actor| actor.copy.1 > 1 && receives(plan, actor));
    let physical: Vec<usize> =
        slots.iter().copied().filter(|cpu| !machine.is_sibling(*cpu)).collect();
    match cores {
        Cores::Count(_) if copied && !slots.is_empty() => Some(slots.to_vec()),
        Cores::Auto if copied && plan.actors.len() > physical.len() => {
            Some(physical).filter(|physical| !physical.is_empty())
        }
        Cores::Count(_) | Cores::Auto | Cores::Pin(_) => None,
    }
}

fn seat_lanes(plan: &mut Plan, seats: &mut Seats<'_>) {
    for index in 0..plan.actors.len() {
        let actor = &plan.actors[index];
        if actor.cpu.is_none() && actor.copy.1 > 1 && receives(plan, actor) {
            let cpu = seats.slots[actor.copy.0 % seats.slots.len()];
            seats.taken.push(cpu);
            plan.actors[index].cpu = Some(cpu);
        }
    }
}

/// Actors joined by rings, one group after the other.
fn seat_rest(plan: &mut Plan, seats: &mut Seats<'_>) {
    let mut done = vec![false; plan.actors.len()];
    for first in 0..plan.actors.len() {
        if done[first] {
            continue;
        }
        let group = group(plan, first);
        group.iter().for_each(|&actor| done[actor] = true);
        let (seated, waiting): (Vec<usize>, Vec<usize>) =
            group.into_iter().partition(|&actor| plan.actors[actor].cpu.is_some());
        let domain =
            if seated.is_empty() { seats.domain(waiting.len()) } else { seats.slots.clone() };
        for actor in waiting {
            let Some(cpu) = seats.best(&domain, &partners(plan, actor)) else { continue };
            seats.taken.push(cpu);
            plan.actors[actor].cpu = Some(cpu);
        }
    }
}

/// All actors that rings join to this one, over however many others, in their order.
fn group(plan: &Plan, first: usize) -> Vec<usize> {
    let mut found = vec![first];
    let mut next = 0;
    while let Some(&actor) = found.get(next) {
        for ring in &plan.rings {
            for (one, other) in [(ring.from, ring.to.0), (ring.to.0, ring.from)] {
                if one == actor && !found.contains(&other) {
                    found.push(other);
                }
            }
        }
        next += 1;
    }
    found.sort_unstable();
    found
}

/// CPUs of the actors at the other ends of an actor's rings, as far as they have one.
fn partners(plan: &Plan, actor: usize) -> Vec<usize> {
    partner_actors(plan, actor).filter_map(|other| plan.actors[other].cpu).collect()
}

fn partner_actors(plan: &Plan, actor: usize) -> impl Iterator<Item = usize> {
    plan.rings.iter().filter_map(move |ring| {
        if ring.from == actor { Some(ring.to.0) } else { (ring.to.0 == actor).then_some(ring.from) }
    })
}

fn used(plan: &Plan) -> Vec<usize> {
    let mut used: Vec<usize> = plan.actors.iter().filter_map(|actor| actor.cpu).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// Why an actor is where it is.
fn why(plan: &Plan, actor: usize, by_file: bool, cores: &Cores, machine: &Machine) -> String {
    let planned = &plan.actors[actor];
    let Some(cpu) = planned.cpu.and_then(|id| machine.cpu(id)) else {
        return "no CPU is known: it runs where the system puts it".to_owned();
    };
    let used = used(plan);
    let on_it = plan.actors.iter().filter(|other| other.cpu == planned.cpu).count();
    let mates = used.iter().filter_map(|id| machine.cpu(*id));
    let mate = mates.into_iter().find(|mate| mate.core == cpu.core && mate.id != cpu.id);
    let mut said = Vec::new();
    if by_file {
        said.push("pinned by the file".to_owned());
    }
    if on_it > 1 {
        said.push(format!(
            "shares cpu {} with {}: {}, {}",
            cpu.id,
            number(on_it - 1, "other"),
            number(plan.actors.len(), "actor"),
            number(used.len(), "CPU")
        ));
    }
    match mate {
        Some(mate) if machine.is_sibling(cpu.id) => {
            let cause = match cores {
                _ if by_file => "",
                Cores::Auto => ": more actors than cores",
                Cores::Count(_) => ": more CPUs asked for than cores",
                Cores::Pin(_) => ": no core is free",
            };
            said.push(format!("SMT sibling of cpu {}{cause}", mate.id));
        }
        Some(mate) => said.push(format!("shares its core with cpu {}", mate.id)),
        None if on_it == 1 => said.push("own physical core".to_owned()),
        None => {}
    }
    if cpu.kind == CoreKind::Efficient {
        said.push("a small core".to_owned());
    }
    said.extend(nearness(plan, actor, cpu, machine));
    said.join("; ")
}

/// Whom an actor is near to, where the machine has several nodes or caches to choose from.
fn nearness(plan: &Plan, actor: usize, cpu: &Cpu, machine: &Machine) -> Option<String> {
    let several = |of: fn(&Cpu) -> Option<usize>| {
        let mut found = machine.cpus.iter().map(of);
        let first = found.next()?;
        found.any(|other| other != first).then_some(())
    };
    let node = cpu.node.filter(|_| several(|cpu| cpu.node.map(|node| node as usize)).is_some());
    let mut names: Vec<&str> = Vec::new();
    let mut near = 0;
    for other in partner_actors(plan, actor) {
        let partner = &plan.actors[other];
        let elsewhere = partner.cpu.filter(|id| *id != cpu.id);
        let Some(place) = elsewhere.and_then(|id| machine.cpu(id)) else { continue };
        near = near.max(distance(cpu, place));
        if !names.contains(&partner.base.as_str()) {
            names.push(&partner.base);
        }
    }
    let cache = cpu.l3.filter(|_| several(|cpu| cpu.l3).is_some());
    match (names.is_empty(), near, cache, node) {
        (false, 0, Some(_), _) => Some(format!("same L3 cache as {}", names.join(" and "))),
        (false, 0 | 1, _, Some(node)) => Some(format!("node {node} like {}", names.join(" and "))),
        (_, _, _, Some(node)) => Some(format!("node {node}")),
        (_, _, _, None) => None,
    }
}

/// CPUs that may be used and are not.
fn left_free(plan: &Plan, cores: &Cores, machine: &Machine) -> Vec<(Vec<usize>, String)> {
    let used = used(plan);
    let is_mate = |cpu: &Cpu| {
        let mut busy = used.iter().filter_map(|id| machine.cpu(*id));
        busy.any(|other| other.core == cpu.core)
    };
    let free: Vec<&Cpu> = machine.cpus.iter().filter(|cpu| !used.contains(&cpu.id)).collect();
    let (siblings, others): (Vec<&Cpu>, Vec<&Cpu>) = free.into_iter().partition(|cpu| is_mate(cpu));
    let ids = |cpus: &[&Cpu]| cpus.iter().map(|cpu| cpu.id).collect::<Vec<usize>>();
    let firsts = plan.actors.iter().filter(|actor| actor.copy.0 == 0 && receives(plan, actor));
    // Why there are no more of each stands at the actor.
    let copies: Vec<String> = firsts
        .map(|actor| {
            let copies = if actor.copy.1 == 1 { "copy" } else { "copies" };
            format!("{} has {} {copies}", actor.base, actor.copy.1)
        })
        .collect();
    let why = match cores {
        Cores::Count(count) if used.len() < *count => {
            let asked = number(*count, "CPU");
            format!("{asked} asked for, {} needed: {}", used.len(), copies.join(", "))
        }
        Cores::Count(count) => format!("{} asked for", number(*count, "CPU")),
        Cores::Pin(_) => "pinned to no actor".to_owned(),
        Cores::Auto => format!("no actor is left for them: {}", copies.join(", ")),
    };
    let mut groups = Vec::new();
    if !others.is_empty() {
        groups.push((ids(&others), why));
    }
    if !siblings.is_empty() {
        groups.push((ids(&siblings), "SMT siblings of used cores".to_owned()));
    }
    groups
}
