//! How many buffers each actor's pool has.
//!
//! Buffers that come in by an actor may lie in every burst, ring and stash behind it and in what stages hold
//! back, so all of that must fit its pool. A packet that was joined takes many buffers; a pool is made big
//! enough for a fair share of those, and where it is empty a source waits and loses nothing. What a fixed
//! pool lacks is said with the sum.

use super::{Plan, PlannedTarget};
use crate::spec::Pools;
use corelane_runtime::Error;
use corelane_runtime::packet::{BURST_MAX, HomeConfig, LARGE_ROOM, SMALL_ROOM};
use corelane_runtime::stage::spec::Role;
use corelane_runtime::topology::Machine;

/// Buffers of a packet of 64 KiB joined from segments of 1448 bytes.
const JOINED_PARTS: u64 = 46;
/// Buffers beyond which a pool does not grow for the sake of joined packets: 40 MB.
const JOINED_ENOUGH: u64 = 16_384;
/// Headers that cutting one packet may need: 512 KiB into segments of 536 bytes, doubled.
const CUT_SHELLS: u64 = 2048;
/// Buffers of 64 KiB a pool has where packets come in: few frames need them.
const LARGE: std::ops::RangeInclusive<u64> = 64..=512;
/// Buffers of an actor that makes no packets, for headers that find no room in front of a packet.
const SPARE: u64 = 256;
/// Largest pool, bytes.
const POOL_MAX: u64 = 1 << 30;
/// Bytes of a buffer's header, which is all that a shell has.
const SHELL: u64 = 128;

/// What may be in use at once of what one actor brings in or makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    bursts: u64,
    held: u64,
    /// Name, capacity and stash.
    rings: Vec<(String, u64)>,
    /// Of all these, packets that may have been joined.
    joined: u64,
}

impl Sum {
    fn packets(&self) -> u64 {
        let rings = self.rings.iter().map(|(_, slots)| *slots);
        rings.fold(self.bursts.saturating_add(self.held), u64::saturating_add)
    }

    /// What makes fewer packets fit, where the file can say so.
    fn advice(&self) -> &'static str {
        match (self.rings.is_empty(), self.held > 0) {
            (false, false) => "give its rings less capacity",
            (false, true) => "give its rings less capacity, or let its stages hold fewer packets",
            (true, true) => "let its stages hold fewer packets",
            (true, false) => "put fewer stages between two rings",
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} in bursts", self.bursts);
        if self.held > 0 {
            text.push_str(&format!(" + {} held by stages", self.held));
        }
        for (name, slots) in &self.rings {
            text.push_str(&format!(" + {slots} in ring {name} and its stash"));
        }
        format!("{text} = {}", self.packets())
    }
}

/// Sizes the pool of every actor.
pub(super) fn size(plan: &mut Plan, fixed: &Pools, machine: &Machine) -> Result<(), Error> {
    for index in 0..plan.actors.len() {
        let home = home(plan, index, fixed, machine)?;
        plan.actors[index].home = home;
    }
    Ok(())
}

fn home(plan: &Plan, index: usize, fixed: &Pools, machine: &Machine) -> Result<HomeConfig, Error> {
    let actor = &plan.actors[index];
    let stage_of = |node: usize| &plan.stages[actor.nodes[node].stage];
    let source = (0..actor.nodes.len()).find(|&node| stage_of(node).info.role == Role::Source);
    let cutter = (0..actor.nodes.len()).find(|&node| stage_of(node).traits.multiplies);
    let brought = source.map(|node| sum(plan, index, node)).unwrap_or_default();
    let made = cutter.map(|node| sum(plan, index, node)).unwrap_or_default();

    let joined = brought.joined.saturating_mul(JOINED_PARTS).min(JOINED_ENOUGH);
    let least = brought.packets().saturating_add(made.packets());
    let headers = if cutter.is_some() { CUT_SHELLS } else { 0 };
    let small = least.saturating_add(headers).max(joined).saturating_add(SPARE);
    let cut = made.packets().saturating_mul(2).saturating_add(CUT_SHELLS);
    let shells = if cutter.is_some() { cut } else { SPARE };
    let large = if source.is_some() { least.clamp(*LARGE.start(), *LARGE.end()) } else { 0 };

    let what = format!("pool of actor {}", actor.name);
    let needed = if source.is_some() { &brought } else { &made };
    if let Some(given) = fixed.small.filter(|&given| u64::from(given) < least) {
        let message = format!(
            "{given} small buffers are given, but {least} packets must fit ({}); raise `small`, or {}",
            needed.text(),
            needed.advice()
        );
        return Err(Error::user(what, message));
    }
    let computed = [shells, small, large];
    let given = [fixed.shells, fixed.small, fixed.large];
    let wanted = [0, 1, 2].map(|at| given[at].map_or(computed[at], u64::from));
    let [Some(shells), Some(small), Some(large)] = fitting(wanted) else {
        let blame = fitting(computed).iter().all(Option::is_some).then_some(given);
        return Err(too_large(what, blame, needed));
    };
    let node = actor.cpu.and_then(|cpu| machine.node_of(cpu));
    Ok(HomeConfig { name: actor.name.clone(), shells, small, large, node })
}

/// Bytes of a buffer of each size, shells first.
const SIZES: [u64; 3] = [SHELL, SHELL + SMALL_ROOM as u64, SHELL + LARGE_ROOM as u64];

/// The same numbers of buffers, if all of them together fit a pool.
fn fitting(buffers: [u64; 3]) -> [Option<u32>; 3] {
    let sizes = SIZES.iter().zip(buffers).map(|(size, n)| size.saturating_mul(n));
    let fits = sizes.fold(0, u64::saturating_add) <= POOL_MAX;
    buffers.map(|n| u32::try_from(n).ok().filter(|_| fits))
}

/// A pool larger than any may be, by what the file asks for itself or by what must fit it.
fn too_large(what: String, given: Option<[Option<u32>; 3]>, needed: &Sum) -> Error {
    let message = match given {
        Some(given) => {
            let keys = ["shells", "small", "large"].into_iter().zip(given);
            let given: Vec<String> =
                keys.filter_map(|(key, n)| n.map(|n| format!("`{key}: {n}`"))).collect();
            format!(
                "with {} under `pools` it has more than the {POOL_MAX} bytes a pool may have; give it less",
                given.join(" and ")
            )
        }
        None => format!(
            "{} buffers are needed ({}), more than the {POOL_MAX} bytes a pool may have; {}",
            needed.packets(),
            needed.text(),
            needed.advice()
        ),
    };
    Error::user(what, message)
}

/// All places behind a node where its packets may be.
fn sum(plan: &Plan, actor: usize, node: usize) -> Sum {
    let mut sum = Sum::default();
    let mut rings = Vec::new();
    let joined = joined_behind(plan, actor, node);
    for (actor, node) in plan.reach(actor, node) {
        let planned = &plan.actors[actor].nodes[node];
        let burst = BURST_MAX as u64;
        sum.bursts += burst;
        let holds = u64::from(plan.stages[planned.stage].traits.holds);
        sum.held = sum.held.saturating_add(holds);
        let is_joined = joined.contains(&(actor, node));
        let coalesces = plan.stages[planned.stage].traits.coalesces;
        sum.joined += if is_joined && !coalesces { burst } else { 0 };
        for target in &planned.targets {
            let PlannedTarget::Ring(ring) = *target else { continue };
            if rings.contains(&ring) {
                continue;
            }
            rings.push(ring);
            let slots = plan.rings[ring].capacity as u64 + burst;
            sum.rings.push((plan.rings[ring].name.clone(), slots));
            sum.joined += if is_joined { slots } else { 0 };
        }
    }
    sum
}

/// Nodes that may have joined packets before them or make them: everything behind a stage that joins, up to
/// one that cuts.
fn joined_behind(plan: &Plan, actor: usize, node: usize) -> Vec<(usize, usize)> {
    let stage_at =
        |(actor, node): (usize, usize)| &plan.stages[plan.actors[actor].nodes[node].stage];
    let mut found: Vec<(usize, usize)> =
        plan.reach(actor, node).into_iter().filter(|&at| stage_at(at).traits.coalesces).collect();
    let mut next = 0;
    while let Some(&at) = found.get(next) {
        next += 1;
        if stage_at(at).traits.cuts {
            continue;
        }
        for target in &plan.actors[at.0].nodes[at.1].targets {
            let place = match *target {
                PlannedTarget::Node(to) => (at.0, to),
                PlannedTarget::Ring(ring) => plan.rings[ring].to,
            };
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    found
}
