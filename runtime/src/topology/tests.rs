//! Machines that are faked below a folder, written to a file, or made up by hwloc: each source against another.

use super::*;
use std::fs;
use std::path::Path;

/// A CPU to be faked: number, package and node, core, the CPUs that share its level 3 cache.
type Fake<'a> = (usize, usize, usize, &'a str);

fn fake(cpus: &[Fake<'_>]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder");
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, format!("{text}\n")).expect("a file");
    };
    for &(id, package, core, l3) in cpus {
        let folder = root.path().join(format!("devices/system/cpu/cpu{id}"));
        fs::create_dir_all(folder.join(format!("node{package}"))).expect("folders");
        write(&folder.join("topology/core_id"), &core.to_string());
        write(&folder.join("topology/physical_package_id"), &package.to_string());
        write(&folder.join("cache/index0/level"), "1");
        write(&folder.join("cache/index0/shared_cpu_list"), &id.to_string());
        write(&folder.join("cache/index3/level"), "3");
        write(&folder.join("cache/index3/shared_cpu_list"), l3);
    }
    let last = cpus.iter().map(|cpu| cpu.0).max().unwrap_or(0);
    write(&root.path().join("devices/system/cpu/online"), &format!("0-{last}"));
    root
}

#[test]
fn siblings_come_last_and_equal_core_numbers_on_two_packages_are_two_cores() {
    let root = fake(&[
        (0, 0, 0, "0-3"),
        (1, 0, 1, "0-3"),
        (2, 0, 0, "0-3"),
        (3, 0, 1, "0-3"),
        (4, 1, 0, "4"),
    ]);
    let machine = Machine::from_sysfs(root.path(), &[4, 2, 0, 1, 3, 3]);
    assert_eq!(machine.by_preference(), [0, 1, 4, 2, 3]);
    assert_eq!((machine.node_of(4), machine.node_of(0)), (Some(1), Some(0)));
    assert_eq!((machine.sibling_of(2), machine.sibling_of(0)), (Some(0), None));
    let l3: Vec<Option<usize>> = machine.cpus.iter().map(|cpu| cpu.l3).collect();
    assert_eq!(l3, [Some(0), Some(0), Some(0), Some(0), Some(4)]);
    assert!(machine.is_uniform() && machine.others == 0);
}

#[test]
fn a_cpu_that_is_not_allowed_is_not_there_but_known_to_be_another() {
    let root = fake(&[(0, 0, 0, "0-1"), (1, 0, 1, "0-1")]);
    let machine = Machine::from_sysfs(root.path(), &[1]);
    assert_eq!((machine.by_preference(), machine.others), (vec![1], 1));
}

#[test]
fn one_node_is_filled_before_the_next() {
    let root = fake(&[(0, 1, 0, "0"), (1, 0, 0, "1"), (2, 1, 1, "2"), (3, 0, 1, "3")]);
    let machine = Machine::from_sysfs(root.path(), &[0, 1, 2, 3]);
    assert_eq!(machine.by_preference(), [0, 2, 1, 3]);
}

#[test]
fn small_cores_are_told_by_the_kernel_or_by_their_capacity() {
    let root = fake(&[(0, 0, 0, "0-3"), (1, 0, 0, "0-3"), (2, 0, 8, "0-3"), (3, 0, 9, "0-3")]);
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    };
    for (cpu, capacity) in [(0, "1024"), (1, "1024"), (2, "446"), (3, "446")] {
        write(&format!("devices/system/cpu/cpu{cpu}/cpu_capacity"), capacity);
    }
    let read = || Machine::from_sysfs(root.path(), &[0, 1, 2, 3]);
    use CoreKind::{Efficient, Performance};
    let kinds = |machine: &Machine| machine.cpus.iter().map(|cpu| cpu.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&read()), [Performance, Performance, Efficient, Efficient]);
    // Of physical cores the fast one comes first; a sibling of it comes after all of them.
    assert_eq!(read().by_preference(), [0, 2, 3, 1]);
    write("devices/cpu_core/cpus", "0-1\n");
    write("devices/cpu_atom/cpus", "2-3\n");
    for cpu in 0..4 {
        write(&format!("devices/system/cpu/cpu{cpu}/cpu_capacity"), "1024");
    }
    assert_eq!(kinds(&read()), [Performance, Performance, Efficient, Efficient]);
}

#[test]
fn capacities_that_differ_little_are_one_kind() {
    let root = fake(&[(0, 0, 0, "0-1"), (1, 0, 1, "0-1")]);
    for (cpu, capacity) in [(0, "1024"), (1, "900")] {
        let path = root.path().join(format!("devices/system/cpu/cpu{cpu}/cpu_capacity"));
        fs::write(path, capacity).expect("a file");
    }
    assert!(Machine::from_sysfs(root.path(), &[0, 1]).is_uniform());
}

#[test]
fn without_sysfs_or_with_nonsense_in_it_each_cpu_is_a_core() {
    let machine = Machine::from_sysfs(Path::new("/nonexistent"), &[5, 6]);
    assert_eq!(machine.by_preference(), [5, 6]);
    assert_eq!(machine.cpus, [Cpu::alone(5), Cpu::alone(6)]);
    let root = fake(&[(0, 0, 0, "0-99999999999"), (1, 0, 1, "a,b")]);
    fs::write(root.path().join("devices/system/cpu/online"), "0-4294967295").expect("a file");
    let machine = Machine::from_sysfs(root.path(), &[0, 1]);
    assert!(machine.cpus.iter().all(|cpu| cpu.l3.is_none()));
}

#[test]
fn this_machine_has_a_cpu() {
    assert!(!Machine::here().cpus.is_empty());
}

#[test]
fn a_machine_reads_back_as_it_was_written() {
    let machine = Machine::from_ron("Machine(packages: 2, cores: 4, threads: 2, small_cores: 3)");
    let machine = machine.expect("a machine");
    assert_eq!(machine.cpus.len(), 22);
    assert_eq!(Machine::from_ron(&machine.to_ron()), Ok(machine));
    let here = Machine { source: "file".to_owned(), ..Machine::here() };
    assert_eq!(Machine::from_ron(&here.to_ron()), Ok(here));
}

#[test]
fn counted_machines_are_numbered_as_linux_numbers_them() {
    let machine = Machine::from_ron("Machine(packages: 2, cores: 2, threads: 2)").expect("one");
    let of = |id: usize| machine.cpu(id).map(|cpu| (cpu.core, cpu.node, cpu.l3));
    assert_eq!(of(0), Some(((0, 0), Some(0), Some(0))));
    assert_eq!(of(3), Some(((1, 1), Some(1), Some(2))));
    assert_eq!((machine.sibling_of(4), machine.sibling_of(7)), (Some(0), Some(3)));
}

#[test]
fn what_is_no_machine_is_refused_in_words() {
    for (text, part) in [
        ("Machine()", "no CPUs"),
        ("Machine(cores: 0)", "0 CPUs"),
        ("Machine(cores: 9000)", "9000 CPUs"),
        ("Machine(packages: 99999999999, cores: 99999999999)", "CPUs; 1 to"),
        ("Machine(cores: 2, cpus: [(id: 0, package: 0, core: 0)])", "not both"),
        ("Machine(cpus: [(id: 0, package: 0, core: 0), (id: 0, package: 0, core: 1)])", "twice"),
        ("Machine(core: 2)", "core"),
        ("Machine(", ""),
    ] {
        let error = Machine::from_ron(text).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[cfg(feature = "hwloc")]
mod with_hwloc {
    use super::*;

    /// The same machine as hwloc makes it up and as a file counts it, numbers of cores apart.
    #[test]
    fn a_made_up_machine_is_the_counted_one() {
        let text = "pack:2 numa:1 l3:1 l2:4 core:1 pu:2";
        let made = hwloc::synthetic(text).expect("hwloc reads its own language");
        let counted = Machine::from_ron("Machine(packages: 2, cores: 4, threads: 2)").expect("one");
        assert_eq!(made.cpus.len(), counted.cpus.len());
        let cores = |machine: &Machine| {
            let mut cores: Vec<_> = machine.cpus.iter().map(|cpu| cpu.core).collect();
            cores.sort_unstable();
            cores.dedup();
            cores.len()
        };
        assert_eq!((cores(&made), cores(&counted)), (8, 8));
        let nodes =
            |machine: &Machine| machine.cpus.iter().filter(|cpu| cpu.node == Some(1)).count();
        assert_eq!((nodes(&made), nodes(&counted)), (8, 8));
        let siblings = |machine: &Machine| {
            machine.cpus.iter().filter(|cpu| machine.is_sibling(cpu.id)).count()
        };
        assert_eq!((siblings(&made), siblings(&counted)), (8, 8));
    }

    #[test]
    fn hwloc_and_sysfs_agree_about_this_machine() {
        let ids: Vec<usize> =
            core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|id| id.id).collect();
        let hwloc = hwloc::here(&ids).expect("this machine");
        let sysfs = Machine::from_sysfs(Path::new("/sys"), &ids);
        assert_eq!(hwloc.by_preference(), sysfs.by_preference());
        let places = |machine: &Machine| {
            machine.cpus.iter().map(|cpu| (cpu.id, cpu.node, cpu.l2, cpu.l3)).collect::<Vec<_>>()
        };
        assert_eq!(places(&hwloc), places(&sysfs));
        assert_eq!(hwloc.others, sysfs.others);
    }
}
