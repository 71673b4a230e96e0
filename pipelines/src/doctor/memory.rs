//! Memory: enough of it, in huge pages, and as much of it locked as a port may ask for.

use super::{Finding, Roots, State};

/// A pool of an actor with its rings takes about that much, KiB.
const ENOUGH: u64 = 64 << 10;
/// What a queue of AF_XDP locks, bytes, on kernels that count it against the limit.
const LOCKED: u64 = 64 << 20;
/// Huge pages to ask for: half a GiB at 2 MiB each.
const HUGE_PAGES: u64 = 256;

pub(super) fn findings(roots: &Roots) -> Vec<Finding> {
    vec![free(roots), huge_pages(roots), mounted(roots), locked(roots)]
}

fn free(roots: &Roots) -> Finding {
    let why = "buffers for packets";
    match roots.number("meminfo", "MemAvailable") {
        Some(free) if free < ENOUGH => {
            Finding::ok("memory", format!("{} MiB free", free >> 10), why).but(State::Missing, None)
        }
        Some(free) => Finding::ok("memory", format!("{} MiB free", free >> 10), why),
        None => Finding::ok("memory", "unknown: /proc tells nothing", why)
            .but(State::Warning, Some("mount -t proc proc /proc".to_owned())),
    }
    .needed()
}

fn huge_pages(roots: &Roots) -> Finding {
    let why =
        "buffers in huge pages cost fewer misses of the TLB; without them small pages are taken";
    let count = |key: &str| roots.number("meminfo", key).unwrap_or(0);
    let (total, free) = (count("HugePages_Total"), count("HugePages_Free"));
    let size = count("Hugepagesize");
    let cure = |pages: u64| Some(format!("sysctl -w vm.nr_hugepages={pages}"));
    if total == 0 {
        return Finding::ok("huge pages", "none", why).but(State::Missing, cure(HUGE_PAGES));
    }
    let finding =
        Finding::ok("huge pages", format!("{free} of {total} free, {size} KiB each"), why);
    if free == 0 { finding.but(State::Warning, cure(total + HUGE_PAGES)) } else { finding }
}

fn mounted(roots: &Roots) -> Finding {
    let why = "DPDK takes its memory from there; own pools need no mount";
    let mounts = roots.proc("self/mounts").unwrap_or_default();
    let mut places = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        words.next().filter(|_| words.next() == Some("hugetlbfs"))
    });
    match places.next() {
        Some(place) => Finding::ok("hugetlbfs", format!("mounted at {place}"), why),
        None => {
            let cure = "mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages";
            Finding::ok("hugetlbfs", "not mounted", why).but(State::Missing, Some(cure.to_owned()))
        }
    }
}

fn locked(roots: &Roots) -> Finding {
    let why = "AF_XDP locks the memory of its queues";
    let limits = roots.proc("self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    match line.and_then(|line| line.split_whitespace().next()) {
        None => Finding::ok("locked memory", "unknown", why),
        Some("unlimited") => Finding::ok("locked memory", "unlimited", why),
        Some(limit) => {
            let bytes: u64 = limit.parse().unwrap_or(0);
            let finding = Finding::ok("locked memory", format!("at most {} KiB", bytes >> 10), why);
            let cure = || Some("ulimit -l unlimited".to_owned());
            if bytes < LOCKED { finding.but(State::Warning, cure()) } else { finding }
        }
    }
}
