//! The machine as `/sys` tells it: always there on Linux, needs no library.
//!
//! What a file does not say, or says in a form nobody knows, is left open: a CPU of which nothing is known is
//! a core of its own. It never fails, and reads below the given root only, so that tests can fake one.

use super::{CoreKind, Cpu, Machine};
use std::fs;
use std::path::Path;

/// A small core has less than three quarters of the capacity of the fastest.
const SMALL: (usize, usize) = (3, 4);
/// More CPUs than any machine has; keeps a broken list from filling memory.
const CPU_MAX: usize = 65_536;

/// The CPUs `allowed`, as the tree under `root` describes them.
pub fn read(root: &Path, allowed: &[usize]) -> Machine {
    let mut ids = allowed.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let kinds = Kinds::read(root, &ids);
    let cpus: Vec<Cpu> = ids.into_iter().map(|id| cpu(root, id, &kinds)).collect();
    let online = read_list(&root.join("devices/system/cpu/online")).unwrap_or_default();
    let others = online.iter().filter(|id| !cpus.iter().any(|cpu| cpu.id == **id)).count();
    Machine { cpus, source: "sysfs".to_owned(), others }
}

fn cpu(root: &Path, id: usize, kinds: &Kinds) -> Cpu {
    let folder = folder(root, id);
    let core = read_number(&folder.join("topology/core_id"));
    let package = read_number(&folder.join("topology/physical_package_id"));
    Cpu {
        id,
        core: (package.unwrap_or(usize::MAX), core.unwrap_or(id)),
        node: node_of(&folder),
        kind: kinds.of(id),
        l2: cache(&folder, 2),
        l3: cache(&folder, 3),
    }
}

fn folder(root: &Path, id: usize) -> std::path::PathBuf {
    root.join(format!("devices/system/cpu/cpu{id}"))
}

/// A cache of this level, by the lowest CPU that shares it.
fn cache(folder: &Path, level: usize) -> Option<usize> {
    let indices = fs::read_dir(folder.join("cache")).ok()?.filter_map(Result::ok);
    let mut of_level =
        indices.filter(|entry| read_number(&entry.path().join("level")) == Some(level));
    let shared = read_list(&of_level.next()?.path().join("shared_cpu_list"))?;
    shared.into_iter().min()
}

/// Which cores are fast and which are small.
struct Kinds {
    fast: Vec<usize>,
    small: Vec<usize>,
}

impl Kinds {
    /// Kernels that know two kinds of cores list them by their counters; others give each CPU a capacity.
    fn read(root: &Path, ids: &[usize]) -> Kinds {
        let list = |name: &str| read_list(&root.join("devices").join(name).join("cpus"));
        if let (Some(fast), Some(small)) = (list("cpu_core"), list("cpu_atom")) {
            return Kinds { fast, small };
        }
        let capacity = |id: usize| read_number(&folder(root, id).join("cpu_capacity"));
        let known: Vec<(usize, usize)> =
            ids.iter().filter_map(|&id| Some((id, capacity(id)?))).collect();
        let most = known.iter().map(|&(_, capacity)| capacity).max().unwrap_or(0);
        let is_small = |&&(_, capacity): &&(usize, usize)| {
            capacity.saturating_mul(SMALL.1) < most.saturating_mul(SMALL.0)
        };
        let small: Vec<usize> = known.iter().filter(is_small).map(|&(id, _)| id).collect();
        if small.is_empty() {
            return Kinds { fast: Vec::new(), small };
        }
        let fast = known.iter().map(|&(id, _)| id).filter(|id| !small.contains(id)).collect();
        Kinds { fast, small }
    }

    fn of(&self, id: usize) -> CoreKind {
        match (self.fast.contains(&id), self.small.contains(&id)) {
            (_, true) => CoreKind::Efficient,
            (true, false) => CoreKind::Performance,
            (false, false) => CoreKind::Unknown,
        }
    }
}

fn read_number(path: &Path) -> Option<usize> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A list as the kernel writes it: `0-3,8`.
fn read_list(path: &Path) -> Option<Vec<usize>> {
    let text = fs::read_to_string(path).ok()?;
    let mut found = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CPU_MAX {
            return None;
        }
        found.extend(first..=last);
    }
    Some(found)
}

/// A CPU's folder holds a link `nodeN`.
fn node_of(folder: &Path) -> Option<u32> {
    let entries = fs::read_dir(folder).ok()?;
    entries.filter_map(Result::ok).find_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix("node")?.parse().ok()
    })
}
