//! The machine as hwloc tells it, and machines that hwloc makes up.
//!
//! The second source: it knows platforms that write little into sysfs, and can read a description of any
//! machine, which is how placement is tried on machines that nobody here has. CPUs that the process may not
//! use are left out, as everywhere.

use super::{CoreKind, Cpu, Machine};
use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;

/// The CPUs `allowed` of this machine.
///
/// # Errors
/// In words, where hwloc cannot read it.
pub fn here(allowed: &[usize]) -> Result<Machine, String> {
    let topology = Topology::new().map_err(|error| error.to_string())?;
    Ok(machine(&topology, Some(allowed)))
}

/// All CPUs of the machine that a synthetic description such as `pack:2 numa:1 l3:1 core:4 pu:2` stands for.
///
/// # Errors
/// In words, where hwloc cannot read it.
pub fn synthetic(description: &str) -> Result<Machine, String> {
    let builder =
        Topology::builder().from_synthetic(description).map_err(|error| error.to_string())?;
    let topology = builder.build().map_err(|error| error.to_string())?;
    Ok(machine(&topology, None))
}

fn machine(topology: &Topology, allowed: Option<&[usize]>) -> Machine {
    let all: Vec<Cpu> =
        topology.objects_with_type(ObjectType::PU).filter_map(|pu| cpu(topology, pu)).collect();
    let found = all.len();
    let may = |cpu: &Cpu| allowed.is_none_or(|allowed| allowed.contains(&cpu.id));
    let mut cpus: Vec<Cpu> = all.into_iter().filter(may).collect();
    cpus.sort_by_key(|cpu| cpu.id);
    let others = found - cpus.len();
    Machine { cpus, source: "hwloc".to_owned(), others }
}

fn cpu(topology: &Topology, pu: &TopologyObject) -> Option<Cpu> {
    let id = pu.os_index()?;
    let above = |kind| pu.ancestors().find(|object| object.object_type() == kind);
    let number = |object: &TopologyObject| object.os_index().unwrap_or(object.logical_index());
    let package = above(ObjectType::Package).map_or(usize::MAX, number);
    // Numbers that the system gives cores may repeat from package to package; those of hwloc do not.
    let core = above(ObjectType::Core).map_or(id, TopologyObject::logical_index);
    Some(Cpu {
        id,
        core: (package, core),
        node: node(topology, id),
        kind: CoreKind::Unknown,
        l2: above(ObjectType::L2Cache).and_then(first),
        l3: above(ObjectType::L3Cache).and_then(first),
    })
}

/// The lowest CPU below an object.
fn first(object: &TopologyObject) -> Option<usize> {
    object.cpuset()?.first_set().map(usize::from)
}

fn node(topology: &Topology, cpu: usize) -> Option<u32> {
    let has = |node: &&TopologyObject| {
        node.cpuset().is_some_and(|set| set.iter_set().any(|set| usize::from(set) == cpu))
    };
    let node = topology.objects_with_type(ObjectType::NUMANode).find(has)?;
    u32::try_from(node.os_index()?).ok()
}
