//! Machines that are made up below a folder, and this one held against what other programs say of it.

use super::*;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A machine made of files.
struct Fake {
    folder: TempDir,
}

impl Fake {
    /// One with these files; a name ends in `/` for a folder.
    fn with(files: &[(&str, &str)]) -> Fake {
        let fake = Fake { folder: tempfile::tempdir().expect("a temporary folder") };
        for (name, text) in files {
            fake.file(name, text);
        }
        fake
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        match name.ends_with('/') {
            true => fs::create_dir_all(path).expect("a folder"),
            false => fs::write(path, text).expect("a file"),
        }
    }

    fn roots(&self) -> Roots {
        let below = |name: &str| self.folder.path().join(name);
        Roots {
            proc: below("proc"),
            sys: below("sys"),
            dev: below("dev"),
            libraries: vec![below("usr/lib"), below("usr/lib64")],
            programs: vec![below("usr/bin"), below("usr/sbin")],
            program: PathBuf::from("/opt/corelane"),
        }
    }

    /// Name, state, what was found, cure, with the folder of this machine left out.
    fn findings(&self) -> Vec<(&'static str, State, String, String)> {
        let root = self.folder.path().display().to_string();
        let findings = examine(&self.roots()).into_iter();
        let short = findings.map(|finding| {
            let found = finding.found.replace(&root, "");
            (finding.what, finding.state, found, finding.cure.unwrap_or_default())
        });
        short.collect()
    }

    fn finding(&self, what: &str) -> (State, String, String) {
        let found = self.findings().into_iter().find(|finding| finding.0 == what);
        let (_, state, found, cure) = found.unwrap_or_else(|| panic!("no finding {what}"));
        (state, found, cure)
    }
}

fn expect(found: &[(&str, State, String, String)], expected: &[(&str, State, &str, &str)]) {
    let found: Vec<_> = found
        .iter()
        .map(|(what, state, found, cure)| (*what, *state, found.as_str(), cure.as_str()))
        .collect();
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

use State::{Missing, Ok, Warning};

/// A small container: no tun, no hwloc, no huge pages, no rights, a package manager.
const BARE: [(&str, &str); 8] = [
    ("proc/sys/kernel/osrelease", "5.10.0-9-amd64\n"),
    (
        "proc/self/status",
        "Name:\tdoctor\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-1\n",
    ),
    (
        "proc/meminfo",
        "MemTotal:        8000000 kB\nMemAvailable:    4000000 kB\nHugePages_Total:       0\n\
         HugePages_Free:        0\nHugepagesize:       2048 kB\n",
    ),
    ("proc/self/mounts", "proc /proc proc rw 0 0\n"),
    (
        "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max locked memory         65536                65536                bytes     \n",
    ),
    ("proc/net/protocols", "protocol  size sockets\nPACKET    1600      0\nTCP  2432  0\n"),
    ("usr/bin/apt-get", ""),
    ("usr/lib/x86_64-linux-gnu/libhwlocal.so", ""),
];

#[test]
fn a_bare_machine_is_told_all_that_is_missing_and_how_to_add_it() {
    let fake = Fake::with(&BARE);
    let tun = "modprobe tun";
    let hugetlbfs = "mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages";
    let expected = [
        ("kernel", Ok, "Linux 5.10.0-9-amd64", ""),
        ("cpus", Ok, "2 of 2 CPUs may be used", ""),
        ("smt", Ok, "unknown", ""),
        ("numa", Ok, "1 node", ""),
        ("governor", Ok, "none: the speed is not set from here", ""),
        ("isolated cpus", Ok, "none", ""),
        ("virtual machine", Ok, "no sign of one", ""),
        ("memory", Ok, "3906 MiB free", ""),
        ("huge pages", Missing, "none", "sysctl -w vm.nr_hugepages=256"),
        ("hugetlbfs", Missing, "not mounted", hugetlbfs),
        ("locked memory", Warning, "at most 64 KiB", "ulimit -l unlimited"),
        ("user", Ok, "user 1000", ""),
        ("tun", Missing, "no /dev/net/tun", tun),
        (
            "af_packet",
            Warning,
            "not allowed: cap_net_raw missing",
            "setcap cap_net_raw+ep /opt/corelane",
        ),
        ("af_xdp", Missing, "the kernel has no such sockets", "modprobe xsk_diag"),
        ("libhwloc", Missing, "not found", "apt-get install libhwloc-dev libudev-dev"),
        ("libdpdk", Missing, "not found", "apt-get install libdpdk-dev"),
        ("tshark", Missing, "not found", "apt-get install tshark"),
        ("ethtool", Missing, "not found", "apt-get install ethtool"),
    ];
    expect(&fake.findings(), &expected);
    assert!(is_ready(&examine(&fake.roots())), "a plain run needs none of these");
}

/// What a machine for measurements has beside the bare one.
const RICH: [(&str, &str); 21] = [
    ("proc/sys/kernel/osrelease", "6.12.1\n"),
    (
        "proc/self/status",
        "Uid:\t1000\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-2,4\n",
    ),
    ("proc/stat", "cpu  900 0 60 0 0 0 0 40 500 0\ncpu0 1 2 3\n"),
    ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor sse\n"),
    (
        "proc/meminfo",
        "MemAvailable:    65536 kB\nHugePages_Total:      16\nHugePages_Free:        5\n\
         Hugepagesize:       2048 kB\n",
    ),
    ("proc/self/mounts", "nodev /mnt/huge hugetlbfs rw 0 0\n"),
    ("proc/self/limits", "Max locked memory         unlimited            unlimited   bytes\n"),
    ("proc/net/protocols", "PACKET 1\nXDP 1\n"),
    ("sys/devices/system/cpu/present", "0-7\n"),
    ("sys/devices/system/cpu/online", "0-3,6\n"),
    ("sys/devices/system/cpu/isolated", "2-3\n"),
    ("sys/devices/system/cpu/smt/active", "1\n"),
    ("sys/devices/system/node/online", "0-1\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n"),
    ("sys/fs/cgroup/cpu.max", "250000 100000\n"),
    ("dev/net/tun", ""),
    ("usr/lib/x86_64-linux-gnu/libhwloc.so", ""),
    ("usr/lib64/librte_eal.so.24", ""),
    ("usr/sbin/ethtool", ""),
];

#[test]
fn what_is_there_is_found_and_what_is_wrong_with_it() {
    let fake = Fake::with(&RICH);
    let governor = "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let stolen = "a virtual machine; 4.0 % of the time since boot went to others";
    let expected = [
        ("kernel", Ok, "Linux 6.12.1", ""),
        // CPU 4 is allowed but off.
        ("cpus", Ok, "3 of 8 CPUs may be used", ""),
        ("cpu quota", Warning, "time of 2.5 CPUs", "echo max > /sys/fs/cgroup/cpu.max"),
        ("smt", Ok, "on", ""),
        ("numa", Ok, "2 nodes", ""),
        ("governor", Warning, "performance on 1 CPU, powersave on 1 CPU", governor),
        ("isolated cpus", Ok, "2 CPUs, 1 of them may be used", ""),
        ("virtual machine", Warning, stolen, ""),
        ("memory", Ok, "64 MiB free", ""),
        ("huge pages", Ok, "5 of 16 free, 2048 KiB each", ""),
        ("hugetlbfs", Ok, "mounted at /mnt/huge", ""),
        ("locked memory", Ok, "unlimited", ""),
        ("user", Ok, "root", ""),
        ("tun", Ok, "/dev/net/tun can be opened", ""),
        ("af_packet", Ok, "may be used", ""),
        ("af_xdp", Ok, "may be used", ""),
        ("libhwloc", Ok, "/usr/lib/x86_64-linux-gnu/libhwloc.so", ""),
        ("libdpdk", Warning, "/usr/lib64/librte_eal.so.24, but not what is needed to build", ""),
        ("tshark", Missing, "not found", ""),
        ("ethtool", Ok, "/usr/sbin/ethtool", ""),
    ];
    expect(&fake.findings(), &expected);
}

#[test]
fn a_machine_without_cpus_or_memory_is_not_ready() {
    let nothing = Fake::with(&[]);
    assert_eq!(nothing.finding("cpus").0, Missing);
    assert!(!is_ready(&examine(&nothing.roots())));
    let fake = Fake::with(&BARE);
    fake.file("proc/meminfo", "MemAvailable: 65535 kB\n");
    assert_eq!(fake.finding("memory"), (Missing, "63 MiB free".into(), String::new()));
    assert!(!is_ready(&examine(&fake.roots())));
}

#[test]
fn each_right_counts_by_itself() {
    let fake = Fake::with(&BARE);
    fake.file("proc/net/protocols", "PACKET 1\nXDP 1\n");
    // Numbers from linux/capability.h: 12 NET_ADMIN, 13 NET_RAW, 21 SYS_ADMIN, 39 BPF.
    let cases: [(&[u32], bool, &str); 7] = [
        (&[], false, "not allowed: cap_net_raw, cap_net_admin, cap_bpf missing"),
        (&[12], false, "not allowed: cap_net_raw, cap_bpf missing"),
        (&[13], true, "not allowed: cap_net_admin, cap_bpf missing"),
        (&[12, 13], true, "not allowed: cap_bpf missing"),
        (&[12, 13, 39], true, "may be used"),
        (&[12, 13, 21], true, "may be used"),
        (
            &[0, 1, 11, 14, 20, 22, 38, 40],
            false,
            "not allowed: cap_net_raw, cap_net_admin, cap_bpf missing",
        ),
    ];
    for (bits, packet, xdp) in cases {
        let rights: u64 = bits.iter().map(|bit| 1 << bit).sum();
        fake.file("proc/self/status", &format!("CapEff:\t{rights:016x}\n"));
        assert_eq!(fake.finding("af_packet").0 == Ok, packet, "{bits:?}");
        let (_, found, cure) = fake.finding("af_xdp");
        assert_eq!(found, xdp, "{bits:?}");
        let command = "setcap cap_net_raw,cap_net_admin,cap_bpf+ep /opt/corelane";
        assert_eq!(cure, if xdp == "may be used" { "" } else { command });
    }
}

#[test]
fn a_container_with_the_driver_needs_only_the_file() {
    let fake = Fake::with(&BARE);
    fake.file("sys/class/misc/tun/", "");
    let cure = "mkdir -p /dev/net && mknod /dev/net/tun c 10 200";
    assert_eq!(fake.finding("tun").2, cure);
}

#[test]
fn used_up_huge_pages_and_old_kernels_are_warned_of() {
    let fake = Fake::with(&BARE);
    fake.file("proc/meminfo", "HugePages_Total: 8\nHugePages_Free: 0\nHugepagesize: 2048 kB\n");
    let (state, found, cure) = fake.finding("huge pages");
    assert_eq!((state, found.as_str()), (Warning, "0 of 8 free, 2048 KiB each"));
    assert_eq!(cure, "sysctl -w vm.nr_hugepages=264");
    for (release, state) in
        [("5.3.18", Warning), ("5.4.0", Ok), ("4.19", Warning), ("10.0", Ok), ("odd", Ok)]
    {
        fake.file("proc/sys/kernel/osrelease", release);
        assert_eq!(fake.finding("kernel").0, state, "{release}");
    }
}

#[test]
fn each_package_manager_has_its_own_words() {
    for (program, cure) in [
        ("dnf", "dnf install hwloc-devel systemd-devel"),
        ("pacman", "pacman -S hwloc"),
        ("apk", "apk add hwloc-dev eudev-dev"),
    ] {
        let fake = Fake::with(&[(&format!("usr/bin/{program}"), "")]);
        assert_eq!(fake.finding("libhwloc").2, cure);
    }
}

/// What a command prints; `None` where it is not there or fails.
fn says(line: &str) -> Option<String> {
    let output =
        Command::new("sh").arg("-c").arg(line).env_remove("OMP_NUM_THREADS").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

#[test]
fn this_machine_is_as_other_programs_see_it() {
    let findings = examine(&Roots::here());
    let found = |what: &str| {
        let finding = findings.iter().find(|finding| finding.what == what);
        finding.unwrap_or_else(|| panic!("no finding {what}")).clone()
    };
    let agree = |what: &str, command: &str, expected: &dyn Fn(&str) -> String| {
        if let Some(said) = says(command) {
            assert_eq!(found(what).found, expected(&said), "{what}: {command}");
        }
    };
    agree("kernel", "uname -r", &|said| format!("Linux {said}"));
    agree("cpus", "echo $(nproc) $(getconf _NPROCESSORS_CONF)", &|said| {
        let (allowed, present) = said.split_once(' ').expect("two numbers");
        let s = if present == "1" { "" } else { "s" };
        format!("{allowed} of {present} CPU{s} may be used")
    });
    agree("user", "id -u", &|said| match said {
        "0" => "root".to_owned(),
        user => format!("user {user}"),
    });
    let pages = "awk '/^HugePages_Total/ { t = $2 } /^HugePages_Free/ { f = $2 } /^Hugepagesize/ { s = $2 } \
                 END { print f, t, s }' /proc/meminfo";
    agree("huge pages", pages, &|said| match said.split(' ').collect::<Vec<_>>()[..] {
        [_, "0", _] => "none".to_owned(),
        [free, total, size] => format!("{free} of {total} free, {size} KiB each"),
        _ => panic!("{said}"),
    });
    agree("locked memory", "ulimit -l", &|said| match said {
        "unlimited" => said.to_owned(),
        limit => format!("at most {limit} KiB"),
    });
    let there = |what: &str, command: &str| {
        let is = says(command).is_some();
        assert_eq!(found(what).state != Missing, is, "{what}: {command}");
    };
    there("tun", "ls /dev/net/tun");
    there("tshark", "command -v tshark");
    there("ethtool", "command -v ethtool || ls /usr/sbin/ethtool /sbin/ethtool 2>/dev/null");
    if says("PATH=$PATH:/sbin ldconfig -p").is_some() {
        there("libhwloc", "PATH=$PATH:/sbin ldconfig -p | grep 'libhwloc\\.so'");
        there("libdpdk", "PATH=$PATH:/sbin ldconfig -p | grep 'librte_eal\\.so'");
    }
    assert!(is_ready(&findings));
}

/// Files that are read.
const FILES: [&str; 14] = [
    "proc/sys/kernel/osrelease",
    "proc/self/status",
    "proc/self/mounts",
    "proc/self/limits",
    "proc/net/protocols",
    "proc/meminfo",
    "proc/stat",
    "proc/cpuinfo",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/node/online",
    "sys/fs/cgroup/cpu.max",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stands in the files, the same things are looked at, and each cure is there or not by state.
    #[test]
    fn no_file_is_too_odd(texts in prop::collection::vec("(cpu |CapEff:|Cpus_allowed_list:|[-0-9a-f,: \n]|\\PC){0,40}", 14)) {
        let fake = Fake::with(&[]);
        for (file, text) in FILES.iter().zip(&texts) {
            fake.file(file, text);
        }
        let findings = examine(&fake.roots());
        let names: Vec<&str> = findings.iter().map(|finding| finding.what).filter(|what| *what != "cpu quota").collect();
        prop_assert_eq!(names.len(), 19);
        for finding in findings {
            prop_assert!(!finding.found.is_empty() && !finding.why_it_matters.is_empty());
            prop_assert!(finding.state != Ok || finding.cure.is_none(), "{:?}", finding);
        }
    }
}
