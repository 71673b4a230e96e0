//! Machines faked as sysfs trees: a small one in a cloud, a big one with two sockets, one with two kinds of cores.

use corelane::Machine;
use std::fs;
use std::path::Path;

/// A CPU as sysfs describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fake {
    pub(crate) id: usize,
    pub(crate) package: usize,
    pub(crate) core: usize,
    pub(crate) node: usize,
    /// Lowest CPU that shares its level 3 cache.
    pub(crate) l3: usize,
    pub(crate) small: bool,
}

/// Two cores, no SMT, one node.
pub(crate) fn vm() -> Vec<Fake> {
    (0..2).map(|id| Fake { id, package: 0, core: id, node: 0, l3: 0, small: false }).collect()
}

/// Two cores with SMT, siblings side by side.
pub(crate) fn smt() -> Vec<Fake> {
    (0..4).map(|id| Fake { id, package: 0, core: id / 2, node: 0, l3: 0, small: false }).collect()
}

/// Two sockets of 16 cores with SMT, numbered as Linux does: the siblings of 0-31 are 32-63. A level 3 cache
/// for 8 cores.
pub(crate) fn sockets() -> Vec<Fake> {
    let cpu = |id: usize| {
        let core = id % 32;
        Fake {
            id,
            package: core / 16,
            core: core % 16,
            node: core / 16,
            l3: core / 8 * 8,
            small: false,
        }
    };
    (0..64).map(cpu).collect()
}

/// Six fast cores with SMT, siblings side by side (0-11), and eight small ones (12-19).
pub(crate) fn hybrid() -> Vec<Fake> {
    let cpu = |id: usize| {
        let core = if id < 12 { id / 2 } else { id - 6 };
        Fake { id, package: 0, core, node: 0, l3: 0, small: id >= 12 }
    };
    (0..20).map(cpu).collect()
}

/// Those CPUs with these numbers.
pub(crate) fn allowed(cpus: &[Fake], ids: &[usize]) -> Vec<Fake> {
    cpus.iter().filter(|cpu| ids.contains(&cpu.id)).copied().collect()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, format!("{text}\n")).expect("a file");
}

fn list(ids: impl Iterator<Item = usize>) -> String {
    ids.map(|id| id.to_string()).collect::<Vec<_>>().join(",")
}

/// The machine that a tree with `all` describes to a process that may use `allowed`.
pub(crate) fn machine(all: &[Fake], allowed: &[Fake]) -> Machine {
    let root = tempfile::tempdir().expect("a temporary folder");
    for cpu in all {
        let folder = root.path().join(format!("devices/system/cpu/cpu{}", cpu.id));
        fs::create_dir_all(folder.join(format!("node{}", cpu.node))).expect("folders");
        write(&folder.join("topology/core_id"), &cpu.core.to_string());
        write(&folder.join("topology/physical_package_id"), &cpu.package.to_string());
        write(&folder.join("cache/index3/level"), "3");
        let sharing = all.iter().filter(|other| other.l3 == cpu.l3).map(|other| other.id);
        write(&folder.join("cache/index3/shared_cpu_list"), &list(sharing));
    }
    if all.iter().any(|cpu| cpu.small) {
        for (name, small) in [("cpu_core", false), ("cpu_atom", true)] {
            let ids = all.iter().filter(|cpu| cpu.small == small).map(|cpu| cpu.id);
            write(&root.path().join(format!("devices/{name}/cpus")), &list(ids));
        }
    }
    write(&root.path().join("devices/system/cpu/online"), &list(all.iter().map(|cpu| cpu.id)));
    let ids: Vec<usize> = allowed.iter().map(|cpu| cpu.id).collect();
    Machine::from_sysfs(root.path(), &ids)
}
