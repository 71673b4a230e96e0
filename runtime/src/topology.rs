//! The machine as sysfs tells it: which CPUs this process may use, and which of them share a core.
//!
//! The mask is read once, before any thread is pinned; a pinned thread would see only its own CPU. Caches
//! and NUMA nodes come with placement.

use std::fs;
use std::path::{Path, PathBuf};

/// One logical CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Logical CPU number.
    pub id: usize,
    /// Physical core, unique within the machine.
    pub core: (usize, usize),
    /// NUMA node, if the machine says.
    pub node: Option<u32>,
}

/// The CPUs this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// In the order of their numbers.
    pub cpus: Vec<Cpu>,
}

impl Machine {
    /// This machine, as far as this process is allowed to use it.
    pub fn here() -> Machine {
        let ids = core_affinity::get_core_ids().unwrap_or_default();
        let ids: Vec<usize> = ids.into_iter().map(|core| core.id).collect();
        Machine::from_sysfs(Path::new("/sys"), &ids)
    }

    /// The CPUs `allowed`, with what the tree under `root` says of them. What it does not say is taken as
    /// "a core of its own".
    pub fn from_sysfs(root: &Path, allowed: &[usize]) -> Machine {
        let mut ids = allowed.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let cpus = ids.into_iter().map(|id| {
            let folder = root.join(format!("devices/system/cpu/cpu{id}"));
            let core = read_number(folder.join("topology/core_id"));
            let package = read_number(folder.join("topology/physical_package_id"));
            let core = (package.unwrap_or(usize::MAX), core.unwrap_or(id));
            Cpu { id, core, node: node_of(&folder) }
        });
        Machine { cpus: cpus.collect() }
    }

    /// CPUs in the order actors should take them: one of each physical core first, then their siblings.
    pub fn by_preference(&self) -> Vec<usize> {
        let mut seen = Vec::new();
        let (mut first, mut siblings) = (Vec::new(), Vec::new());
        for cpu in &self.cpus {
            if seen.contains(&cpu.core) {
                siblings.push(cpu.id);
            } else {
                seen.push(cpu.core);
                first.push(cpu.id);
            }
        }
        first.append(&mut siblings);
        first
    }

    /// The NUMA node of a CPU.
    pub fn node_of(&self, cpu: usize) -> Option<u32> {
        self.cpus.iter().find(|known| known.id == cpu).and_then(|known| known.node)
    }
}

fn read_number(path: PathBuf) -> Option<usize> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A CPU's folder holds a link `nodeN`.
fn node_of(folder: &Path) -> Option<u32> {
    let entries = fs::read_dir(folder).ok()?;
    entries.filter_map(Result::ok).find_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix("node")?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(cpus: &[(usize, usize, usize)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        for &(id, package, core) in cpus {
            let folder = root.path().join(format!("devices/system/cpu/cpu{id}"));
            fs::create_dir_all(folder.join("topology")).expect("folders");
            fs::create_dir_all(folder.join(format!("node{package}"))).expect("folders");
            fs::write(folder.join("topology/core_id"), format!("{core}\n")).expect("a file");
            let package_file = folder.join("topology/physical_package_id");
            fs::write(package_file, format!("{package}\n")).expect("a file");
        }
        root
    }

    #[test]
    fn siblings_come_last_and_equal_core_numbers_on_two_packages_are_two_cores() {
        let root = fake(&[(0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 0, 1), (4, 1, 0)]);
        let machine = Machine::from_sysfs(root.path(), &[4, 2, 0, 1, 3, 3]);
        assert_eq!(machine.by_preference(), [0, 1, 4, 2, 3]);
        assert_eq!(machine.node_of(4), Some(1));
        assert_eq!(machine.node_of(0), Some(0));
    }

    #[test]
    fn a_cpu_that_is_not_allowed_is_not_there() {
        let root = fake(&[(0, 0, 0), (1, 0, 1)]);
        assert_eq!(Machine::from_sysfs(root.path(), &[1]).by_preference(), [1]);
    }

    #[test]
    fn without_sysfs_each_cpu_is_a_core() {
        let nothing = Path::new("/nonexistent");
        let machine = Machine::from_sysfs(nothing, &[5, 6]);
        assert_eq!(machine.by_preference(), [5, 6]);
        assert_eq!(machine.node_of(5), None);
    }

    #[test]
    fn this_machine_has_a_cpu() {
        assert!(!Machine::here().cpus.is_empty());
    }
}
