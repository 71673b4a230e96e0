//! Libraries that features use, and programs that help: what is there, and what installs the rest.

use super::{Finding, Roots, State};

/// How a package manager installs, and what each thing is called there.
struct Manager {
    program: &'static str,
    install: &'static str,
    hwloc: &'static str,
    dpdk: &'static str,
    tshark: &'static str,
    ethtool: &'static str,
}

/// Package managers by their programs.
const MANAGERS: [Manager; 4] = [
    Manager {
        program: "apt-get",
        install: "apt-get install",
        hwloc: "libhwloc-dev libudev-dev",
        dpdk: "libdpdk-dev",
        tshark: "tshark",
        ethtool: "ethtool",
    },
    Manager {
        program: "dnf",
        install: "dnf install",
        hwloc: "hwloc-devel systemd-devel",
        dpdk: "dpdk-devel",
        tshark: "wireshark-cli",
        ethtool: "ethtool",
    },
    Manager {
        program: "pacman",
        install: "pacman -S",
        hwloc: "hwloc",
        dpdk: "dpdk",
        tshark: "wireshark-cli",
        ethtool: "ethtool",
    },
    Manager {
        program: "apk",
        install: "apk add",
        hwloc: "hwloc-dev eudev-dev",
        dpdk: "dpdk-dev",
        tshark: "tshark",
        ethtool: "ethtool",
    },
];

pub(super) fn findings(roots: &Roots) -> Vec<Finding> {
    let manager = MANAGERS.iter().find(|manager| roots.program(manager.program).is_some());
    let cure = |name: fn(&Manager) -> &'static str| {
        manager.map(|manager| format!("{} {}", manager.install, name(manager)))
    };
    let why_hwloc = "feature `hwloc`: caches and nodes of machines that sysfs does not tell; not needed otherwise";
    let why_dpdk = "feature `dpdk`: cards driven from here; not needed otherwise";
    let why_tshark = "`make demo` and some tests have it check every checksum";
    let why_ethtool = "shows and sets what an interface's card does";
    vec![
        library(roots, "libhwloc", "libhwloc", why_hwloc, cure(|manager| manager.hwloc)),
        library(roots, "libdpdk", "librte_eal", why_dpdk, cure(|manager| manager.dpdk)),
        program(roots, "tshark", why_tshark, cure(|manager| manager.tshark)),
        program(roots, "ethtool", why_ethtool, cure(|manager| manager.ethtool)),
    ]
}

fn library(
    roots: &Roots,
    what: &'static str,
    file: &str,
    why: &'static str,
    cure: Option<String>,
) -> Finding {
    let found = roots.libraries(file);
    let Some(first) = found.first() else {
        return Finding::ok(what, "not found", why).but(State::Missing, cure);
    };
    // What programs are built against has no number behind `.so`.
    let plain = found.iter().find(|path| path.extension().is_some_and(|end| end == "so"));
    match plain {
        Some(path) => Finding::ok(what, path.display().to_string(), why),
        None => {
            let found = format!("{}, but not what is needed to build", first.display());
            Finding::ok(what, found, why).but(State::Warning, cure)
        }
    }
}

fn program(roots: &Roots, name: &'static str, why: &'static str, cure: Option<String>) -> Finding {
    match roots.program(name) {
        Some(path) => Finding::ok(name, path.display().to_string(), why),
        None => Finding::ok(name, "not found", why).but(State::Missing, cure),
    }
}
