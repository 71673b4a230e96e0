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
        self.bursts + self.held + self.rings.iter().map(|(_, slots)| slots).sum::<u64>()
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

    let joined = (brought.joined * JOINED_PARTS).min(JOINED_ENOUGH);
    let least = brought.packets() + made.packets();
    let headers = if cutter.is_some() { CUT_SHELLS } else { 0 };
    let small = (least + headers).max(joined) + SPARE;
    let shells = if cutter.is_some() { CUT_SHELLS + 2 * made.packets() } else { SPARE };
    let large = if source.is_some() { least.clamp(*LARGE.start(), *LARGE.end()) } else { 0 };

    let what = || format!("pool of actor {}", actor.name);
    if let Some(given) = fixed.small.filter(|&given| u64::from(given) < least) {
        let sum = if source.is_some() { brought.text() } else { made.text() };
        let message = format!(
            "{given} small buffers are given, but {least} packets must fit ({sum}); \
             raise `small`, or give its rings less capacity"
        );
        return Err(Error::user(what(), message));
    }
    let small = fixed.small.map_or(small, u64::from);
    let large = fixed.large.map_or(large, u64::from);
    let shells = fixed.shells.map_or(shells, u64::from);
    let bytes = (small * u64::from(SMALL_ROOM)).saturating_add(large * u64::from(LARGE_ROOM));
    let fits = |n: u64| u32::try_from(n).ok().filter(|_| bytes <= POOL_MAX);
    let (Some(shells), Some(small), Some(large)) = (fits(shells), fits(small), fits(large)) else {
        let message = format!(
            "{small} small and {large} large buffers are needed ({}), more than {POOL_MAX} bytes; \
             give its rings less capacity",
            brought.text()
        );
        return Err(Error::user(what(), message));
    };
    let node = actor.cpu.and_then(|cpu| machine.node_of(cpu));
    Ok(HomeConfig { name: actor.name.clone(), shells, small, large, node })
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
        sum.held += u64::from(plan.stages[planned.stage].traits.holds);
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
