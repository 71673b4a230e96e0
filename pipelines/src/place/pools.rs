//! How many buffers each actor's pool has.
//!
//! Buffers that come in by an actor may lie in every burst, ring and stash behind it and in what stages hold
//! back, so all of that must fit its pool; before copies of an actor that is a ring to each. A packet that was
//! joined takes many buffers; a pool is made big enough for a fair share of those, and where it is empty a source
//! waits and loses nothing. A stage that changes payload copies what others may see into the pool of its own actor,
//! so all that may be behind it must fit that pool once more. What a fixed pool lacks is said with the sum, and so is what all pools together have
//! beyond the most that a plan may take.

use super::{Plan, PlannedActor, PlannedStage, PlannedTarget};
use crate::spec::Pools;
use corelane_runtime::Error;
use corelane_runtime::offload::Caps;
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
/// Most bytes of all pools together.
const TOTAL_MAX: u64 = 16 << 30;
/// Bytes of a buffer's header, which is all that a shell has.
const SHELL: u64 = 128;

/// What may be in use at once of what one actor brings in or makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    bursts: u64,
    held: u64,
    /// Name of the actor behind, capacity and stash, and how many such rings there are.
    rings: Vec<(String, u64, u64)>,
    /// Of all these, packets that may have been joined.
    joined: u64,
}

impl Sum {
    fn packets(&self) -> u64 {
        let rings = self.rings.iter().map(|(_, slots, count)| slots.saturating_mul(*count));
        rings.fold(self.bursts.saturating_add(self.held), u64::saturating_add)
    }

    /// Adds a ring; those to copies of one actor are counted together.
    fn ring(&mut self, to: &PlannedActor, name: &str, slots: u64) {
        let known =
            |(known, size, _): &&mut (String, u64, u64)| *known == to.base && *size == slots;
        match self.rings.iter_mut().find(known) {
            Some((_, _, count)) => *count += 1,
            None if to.copy.1 > 1 => self.rings.push((to.base.clone(), slots, 1)),
            None => self.rings.push((name.to_owned(), slots, 1)),
        }
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
        for (name, slots, count) in &self.rings {
            text.push_str(&match count {
                1 => format!(" + {slots} in ring {name} and its stash"),
                count => format!(" + {count} x {slots} in rings to {name} and their stashes"),
            });
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
    total(plan)
}

/// Refuses pools that together take too much, with the sum.
fn total(plan: &Plan) -> Result<(), Error> {
    let homes = plan.actors.iter().map(|actor| bytes(&actor.home));
    let total = homes.clone().fold(0, u64::saturating_add);
    if total <= TOTAL_MAX {
        return Ok(());
    }
    let mut sizes: Vec<(u64, usize)> = Vec::new();
    for size in homes {
        match sizes.iter_mut().find(|(known, _)| *known == size) {
            Some((_, count)) => *count += 1,
            None => sizes.push((size, 1)),
        }
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let terms: Vec<String> =
        sizes.iter().map(|(size, count)| format!("{count} x {} MiB", mebibytes(*size))).collect();
    let message = format!(
        "{} actors need {} MiB together ({}), more than the {} MiB they may have; ask for fewer copies, or give \
         rings less capacity",
        plan.actors.len(),
        mebibytes(total),
        terms.join(" + "),
        mebibytes(TOTAL_MAX)
    );
    Err(Error::user("pools", message))
}

/// Bytes of a pool.
pub(crate) fn bytes(home: &HomeConfig) -> u64 {
    let buffers = [home.shells, home.small, home.large].map(u64::from);
    SIZES.iter().zip(buffers).map(|(size, n)| size * n).sum()
}

fn home(plan: &Plan, index: usize, fixed: &Pools, machine: &Machine) -> Result<HomeConfig, Error> {
    let actor = &plan.actors[index];
    let needs = Needs::of(plan, index);
    let (least, computed) = (needs.packets(), needs.buffers());
    let what = format!("pool of actor {}", actor.name);
    if let Some(given) = fixed.small.filter(|&given| u64::from(given) < least) {
        let message = format!(
            "{given} small buffers are given, but {least} packets must fit ({}); write `small: {}`, or {}",
            needs.text(),
            most(plan),
            needs.advice()
        );
        return Err(Error::user(what, message));
    }
    let given = [fixed.shells, fixed.small, fixed.large];
    let wanted = [0, 1, 2].map(|at| given[at].map_or(computed[at], u64::from));
    let [Some(shells), Some(small), Some(large)] = fitting(wanted) else {
        let blame = fitting(computed).iter().all(Option::is_some).then_some(given);
        return Err(too_large(what, blame, &needs));
    };
    let node = actor.cpu.and_then(|cpu| machine.node_of(cpu));
    Ok(HomeConfig { name: actor.name.clone(), shells, small, large, node })
}

/// Packets that must fit the pool of the actor that has most: one number is given for all of them.
fn most(plan: &Plan) -> u64 {
    let all = (0..plan.actors.len()).map(|index| Needs::of(plan, index).packets());
    all.max().unwrap_or_default()
}

/// What an actor's pool is for.
struct Needs {
    /// Packets that come in by the actor.
    brought: Option<Sum>,
    /// Packets that one of its stages makes out of others.
    made: Option<Sum>,
    /// Packets with bytes of their own, for stages that change payload others may see.
    copied: Option<Sum>,
}

impl Needs {
    fn of(plan: &Plan, index: usize) -> Needs {
        let nodes = plan.actors[index].nodes.iter().enumerate();
        let places = |wanted: &dyn Fn(&PlannedStage) -> bool| -> Vec<(usize, usize)> {
            let found = nodes.clone().filter(|(_, node)| wanted(&plan.stages[node.stage]));
            found.map(|(node, _)| (index, node)).collect()
        };
        let behind = |at: &(usize, usize)| {
            let reach = plan.reach(at.0, at.1);
            sum(plan, &reach, &joined_among(plan, &reach))
        };
        let editors = places(&|stage| stage.traits.edits_payload);
        Needs {
            brought: places(&|stage| stage.info.role == Role::Source).first().map(behind),
            made: places(&|stage| {
                let makes = stage.traits.multiplies || stage.traits.mirrors;
                makes || is_left_superpackets(plan, stage)
            })
            .first()
            .map(behind),
            copied: (!editors.is_empty()).then(|| copies(plan, &editors)),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Sum> {
        [&self.brought, &self.made, &self.copied].into_iter().flatten()
    }

    /// Packets that must fit.
    fn packets(&self) -> u64 {
        self.all().map(Sum::packets).fold(0, u64::saturating_add)
    }

    /// Shells, small and large buffers.
    fn buffers(&self) -> [u64; 3] {
        let least = self.packets();
        // What cutting makes shares the bytes that were joined.
        let joined = [&self.brought, &self.copied].into_iter().flatten().map(|sum| sum.joined);
        let joined = joined.fold(0, u64::saturating_add).saturating_mul(JOINED_PARTS);
        let headers = if self.made.is_some() { CUT_SHELLS } else { 0 };
        let small =
            least.saturating_add(headers).max(joined.min(JOINED_ENOUGH)).saturating_add(SPARE);
        let cut = |made: &Sum| made.packets().saturating_mul(2).saturating_add(CUT_SHELLS);
        let shells = self.made.as_ref().map_or(SPARE, cut);
        let has_bytes = self.brought.is_some() || self.copied.is_some();
        let large = if has_bytes { least.clamp(*LARGE.start(), *LARGE.end()) } else { 0 };
        [shells, small, large]
    }

    fn text(&self) -> String {
        let uses = [
            ("brought in", &self.brought),
            ("made by a stage", &self.made),
            ("copied to be changed", &self.copied),
        ];
        let uses: Vec<(&str, &Sum)> =
            uses.into_iter().filter_map(|(what, sum)| Some((what, sum.as_ref()?))).collect();
        if let [(_, only)] = uses.as_slice() {
            return only.text();
        }
        let each = uses.iter().map(|(what, sum)| format!("{what}: {}", sum.text()));
        let terms: Vec<String> = uses.iter().map(|(_, sum)| sum.packets().to_string()).collect();
        let total = format!("together {} = {}", terms.join(" + "), self.packets());
        each.chain([total]).collect::<Vec<_>>().join("; ")
    }

    fn advice(&self) -> &'static str {
        self.all().next().map_or("put fewer stages between two rings", Sum::advice)
    }
}

/// What may be in use of the copies made for these stages: of every packet, up to where it ends.
fn copies(plan: &Plan, editors: &[(usize, usize)]) -> Sum {
    let mut reach: Vec<(usize, usize)> =
        editors.iter().flat_map(|&(actor, node)| plan.reach(actor, node)).collect();
    reach.sort_unstable();
    reach.dedup();
    // What they are shown may have been joined before, in any actor.
    let nodes = plan.actors.iter().enumerate();
    let all: Vec<(usize, usize)> = nodes
        .flat_map(|(actor, planned)| (0..planned.nodes.len()).map(move |node| (actor, node)))
        .collect();
    sum(plan, &reach, &joined_among(plan, &all))
}

/// Whether superpackets may come to a stage for its port to cut: should the port no longer do it, `Tx` does.
fn is_left_superpackets(plan: &Plan, stage: &PlannedStage) -> bool {
    let cutting = Caps::TSO4 | Caps::TSO6 | Caps::USO4 | Caps::USO6;
    let port = stage.traits.port.as_deref().filter(|_| stage.info.role == Role::Sink);
    let mut ports = plan.ports.iter();
    ports.any(|known| Some(known.name.as_str()) == port && known.facts.granted.intersects(cutting))
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
fn too_large(what: String, given: Option<[Option<u32>; 3]>, needed: &Needs) -> Error {
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

/// What may be in use at these places, of which `joined` may have joined packets.
fn sum(plan: &Plan, places: &[(usize, usize)], joined: &[(usize, usize)]) -> Sum {
    let mut sum = Sum::default();
    let mut rings = Vec::new();
    for &(actor, node) in places {
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
            sum.ring(&plan.actors[plan.rings[ring].to.0], &plan.rings[ring].name, slots);
            sum.joined += if is_joined { slots } else { 0 };
        }
    }
    sum
}

/// Nodes that may have joined packets before them or make them: everything behind those of `places` that join, up
/// to one that cuts.
fn joined_among(plan: &Plan, places: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let stage_at =
        |(actor, node): (usize, usize)| &plan.stages[plan.actors[actor].nodes[node].stage];
    let mut found: Vec<(usize, usize)> =
        places.iter().copied().filter(|&at| stage_at(at).traits.coalesces).collect();
    let mut next = 0;
    while let Some(&at) = found.get(next) {
        next += 1;
        if stage_at(at).traits.cuts {
            continue;
        }
        for target in &plan.actors[at.0].nodes[at.1].targets {
            let Some(place) = plan.place_of(at.0, *target) else { continue };
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    found
}
