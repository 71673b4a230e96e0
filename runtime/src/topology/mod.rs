//! The machine as a plan sees it: which CPUs this process may use, which share a core, a cache, a NUMA node.
//!
//! [`sysfs`] always works; with feature `hwloc` `hwloc` is the richer second source, whose synthetic machines
//! tests use; `record` keeps a machine in a file, to plan for one that is elsewhere. The mask of allowed CPUs
//! is read once, before any thread is pinned: a pinned thread would see only its own CPU.

#[cfg(feature = "hwloc")]
pub mod hwloc;
mod record;
pub mod sysfs;
#[cfg(test)]
mod tests;

use std::path::Path;

/// What kind of core a CPU is, where a machine has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CoreKind {
    /// All cores are alike, or nobody says.
    #[default]
    Unknown,
    /// A fast core.
    Performance,
    /// A small core, clearly slower than others of the machine.
    Efficient,
}

/// One logical CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Logical CPU number.
    pub id: usize,
    /// Physical core, unique within the machine: package and core.
    pub core: (usize, usize),
    /// NUMA node, if the machine says.
    pub node: Option<u32>,
    /// What kind of core it is on.
    pub kind: CoreKind,
    /// The level 2 cache, named by the lowest CPU number that shares it, if the machine says.
    pub l2: Option<usize>,
    /// The level 3 cache, named in the same way.
    pub l3: Option<usize>,
}

impl Cpu {
    /// A CPU on a core of its own, of which nothing else is known.
    pub fn alone(id: usize) -> Cpu {
        let core = (usize::MAX, id);
        Cpu { id, core, node: None, kind: CoreKind::Unknown, l2: None, l3: None }
    }
}

/// The CPUs this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// In the order of their numbers.
    pub cpus: Vec<Cpu>,
    /// Who says so: `sysfs`, `hwloc`, or a file.
    pub source: String,
    /// CPUs that are there but may not be used.
    pub others: usize,
}

impl Machine {
    /// These CPUs, and no others.
    pub fn of(cpus: Vec<Cpu>, source: &str) -> Machine {
        Machine { cpus, source: source.to_owned(), others: 0 }
    }

    /// This machine, as far as this process is allowed to use it.
    pub fn here() -> Machine {
        let ids = core_affinity::get_core_ids().unwrap_or_default();
        let ids: Vec<usize> = ids.into_iter().map(|core| core.id).collect();
        let machine = Machine::from_sysfs(Path::new("/sys"), &ids);
        #[cfg(feature = "hwloc")]
        match hwloc::here(&ids) {
            Ok(richer) => return richer.with_kinds_of(&machine),
            Err(error) => tracing::warn!(%error, "hwloc does not know this machine"),
        }
        machine
    }

    /// Takes from another source what kind each core is: hwloc ranks cores by small differences too.
    #[cfg(feature = "hwloc")]
    fn with_kinds_of(mut self, other: &Machine) -> Machine {
        for cpu in &mut self.cpus {
            cpu.kind = other.cpu(cpu.id).map(|known| known.kind).unwrap_or_default();
        }
        self
    }

    /// The CPUs `allowed`, with what the tree under `root` says of them. What it does not say is taken as
    /// "a core of its own".
    pub fn from_sysfs(root: &Path, allowed: &[usize]) -> Machine {
        sysfs::read(root, allowed)
    }

    /// CPUs in the order actors should take them: one of each physical core first, then their siblings; fast
    /// cores before small ones; one NUMA node before the next.
    pub fn by_preference(&self) -> Vec<usize> {
        let key = |cpu: &&Cpu| {
            let small = cpu.kind == CoreKind::Efficient;
            (self.is_sibling(cpu.id), small, self.node_rank(cpu), cpu.id)
        };
        let mut cpus: Vec<&Cpu> = self.cpus.iter().collect();
        cpus.sort_by_key(key);
        cpus.into_iter().map(|cpu| cpu.id).collect()
    }

    /// Nodes in the order of their first CPU that may be used.
    fn node_rank(&self, cpu: &Cpu) -> usize {
        self.cpus.iter().position(|other| other.node == cpu.node).unwrap_or(0)
    }

    /// Whether another CPU of the same core comes before it.
    pub fn is_sibling(&self, cpu: usize) -> bool {
        self.sibling_of(cpu).is_some()
    }

    /// The first CPU of the same core, where that is another one.
    pub fn sibling_of(&self, cpu: usize) -> Option<usize> {
        let core = self.cpu(cpu)?.core;
        let first = self.cpus.iter().find(|known| known.core == core)?;
        (first.id != cpu).then_some(first.id)
    }

    /// A CPU by its number.
    pub fn cpu(&self, cpu: usize) -> Option<&Cpu> {
        self.cpus.iter().find(|known| known.id == cpu)
    }

    /// The NUMA node of a CPU.
    pub fn node_of(&self, cpu: usize) -> Option<u32> {
        self.cpu(cpu).and_then(|known| known.node)
    }

    /// Whether all CPUs are alike.
    pub fn is_uniform(&self) -> bool {
        self.cpus.iter().all(|cpu| cpu.kind == CoreKind::Unknown)
    }
}
