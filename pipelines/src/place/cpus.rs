//! Which CPU each actor is pinned to.
//!
//! Physical cores are taken before their siblings. Where there are more actors than CPUs they share, in turn.

use super::Plan;
use crate::spec::Cores;
use corelane_runtime::Error;
use corelane_runtime::topology::Machine;

/// Gives every actor a CPU of the machine.
pub(super) fn assign(plan: &mut Plan, cores: &Cores, machine: &Machine) -> Result<(), Error> {
    let mut free = machine.by_preference();
    if let Cores::Pin(pins) = cores {
        pin(plan, pins, machine)?;
        let pinned: Vec<usize> = pins.iter().map(|(_, cpu)| *cpu).collect();
        // An actor nobody pinned keeps away from the CPUs of those that are, if it can.
        let others: Vec<usize> = free.iter().copied().filter(|cpu| !pinned.contains(cpu)).collect();
        free = if others.is_empty() { free } else { others };
    }
    if let Cores::Count(count) = cores {
        if *count > free.len() {
            let message = format!(
                "{count} CPUs are asked for, but this process may use {}; ask for fewer, or allow more (taskset)",
                free.len()
            );
            return Err(Error::user("cores", message));
        }
        free.truncate(*count);
    }
    let unpinned = plan.actors.iter_mut().filter(|actor| actor.cpu.is_none());
    for (actor, cpu) in unpinned.zip(free.iter().cycle()) {
        actor.cpu = Some(*cpu);
    }
    let mut used: Vec<usize> = plan.actors.iter().filter_map(|actor| actor.cpu).collect();
    used.sort_unstable();
    used.dedup();
    // Without a CPU to name, actors run wherever the system puts them.
    plan.cpus = used.len().max(1);
    Ok(())
}

fn pin(plan: &mut Plan, pins: &[(String, usize)], machine: &Machine) -> Result<(), Error> {
    for (name, cpu) in pins {
        if !machine.cpus.iter().any(|known| known.id == *cpu) {
            let allowed: Vec<String> =
                machine.cpus.iter().map(|known| known.id.to_string()).collect();
            let message = format!(
                "`{name}` is pinned to CPU {cpu}, which this process may not use; it may use {}",
                allowed.join(", ")
            );
            return Err(Error::user("cores", message));
        }
        let names: Vec<String> = plan.actors.iter().map(|actor| actor.name.clone()).collect();
        let Some(actor) = plan.actors.iter_mut().find(|actor| actor.name == *name) else {
            let message =
                format!("no actor is called `{name}`; the actors are {}", names.join(", "));
            return Err(Error::user("cores", message));
        };
        actor.cpu = Some(*cpu);
    }
    Ok(())
}
