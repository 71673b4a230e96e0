//! The kernel and the CPUs: how many, shared with whom, and how fast.

use super::roots::{counted, list};
use super::{Finding, Roots, State};
use std::collections::BTreeMap;

/// Time taken by other virtual machines above which figures are no longer to be trusted, per cent.
const STEAL_MAX: f64 = 1.0;
/// The oldest kernel on which everything works: AF_XDP with a need for wake-ups came with it.
const KERNEL_MIN: (u32, u32) = (5, 4);

pub(super) fn findings(roots: &Roots) -> Vec<Finding> {
    let allowed = allowed(roots);
    let mut findings = vec![kernel(roots), cpus(roots, &allowed)];
    findings.extend(quota(roots, allowed.len()));
    findings.extend([
        smt(roots),
        numa(roots),
        governor(roots, &allowed),
        isolated(roots, &allowed),
    ]);
    findings.push(virtual_machine(roots));
    findings
}

/// CPUs this process may use, and which exist now.
fn allowed(roots: &Roots) -> Vec<usize> {
    let allowed = list(&roots.field("self/status", "Cpus_allowed_list").unwrap_or_default());
    match roots.sys("devices/system/cpu/online") {
        Some(online) => {
            let online = list(&online);
            allowed.into_iter().filter(|cpu| online.contains(cpu)).collect()
        }
        None => allowed,
    }
}

fn kernel(roots: &Roots) -> Finding {
    let why = "ports of the kernel, and the pinning of threads";
    let Some(release) = roots.proc("sys/kernel/osrelease") else {
        return Finding::ok("kernel", "unknown: /proc tells nothing", why)
            .but(State::Warning, Some("mount -t proc proc /proc".to_owned()));
    };
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let version = (numbers.next().and_then(Result::ok), numbers.next().and_then(Result::ok));
    let finding = Finding::ok("kernel", format!("Linux {release}"), why);
    match version {
        (Some(major), Some(minor)) if (major, minor) < KERNEL_MIN => {
            finding.but(State::Warning, None)
        }
        _ => finding,
    }
}

fn cpus(roots: &Roots, allowed: &[usize]) -> Finding {
    let why = "each actor runs on one";
    let present = roots.sys("devices/system/cpu/present").map(|present| list(&present).len());
    let present = present.unwrap_or(allowed.len());
    let found = format!("{} of {} may be used", allowed.len(), counted(present, "CPU"));
    let finding = Finding::ok("cpus", found, why).needed();
    match allowed.len() {
        0 => finding.but(State::Missing, Some("mount -t proc proc /proc".to_owned())),
        _ => finding,
    }
}

/// A container that gets less time than its CPUs have; nothing is said where there is no such bound.
fn quota(roots: &Roots, allowed: usize) -> Option<Finding> {
    let bound = roots.sys("fs/cgroup/cpu.max")?;
    let mut numbers = bound.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let cpus = quota / period;
    let why = "an actor that keeps its CPU busy is stopped when the time is used up";
    let finding = Finding::ok("cpu quota", format!("time of {cpus:.1} CPUs"), why);
    let cure = "echo max > /sys/fs/cgroup/cpu.max";
    let short = cpus < allowed as f64;
    Some(if short { finding.but(State::Warning, Some(cure.to_owned())) } else { finding })
}

fn smt(roots: &Roots) -> Finding {
    let why = "two CPUs of one core share its speed; plans use the second ones last";
    let found = match roots.sys("devices/system/cpu/smt/active").as_deref() {
        Some("1") => "on",
        Some(_) => "off",
        None => "unknown",
    };
    Finding::ok("smt", found, why)
}

fn numa(roots: &Roots) -> Finding {
    let why = "memory of another node is slower; actors get memory of their own node";
    let nodes = roots.sys("devices/system/node/online").map_or(1, |nodes| list(&nodes).len());
    Finding::ok("numa", counted(nodes, "node"), why)
}

fn governor(roots: &Roots, allowed: &[usize]) -> Finding {
    let why = "a CPU that first has to speed up is late, and figures spread";
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for cpu in allowed {
        let file = format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        if let Some(kind) = roots.sys(&file) {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    let found: Vec<String> =
        kinds.iter().map(|(kind, cpus)| format!("{kind} on {}", counted(*cpus, "CPU"))).collect();
    if found.is_empty() {
        return Finding::ok("governor", "none: the speed is not set from here", why);
    }
    let finding = Finding::ok("governor", found.join(", "), why);
    if kinds.keys().all(|kind| kind == "performance") {
        return finding;
    }
    let cure = "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    finding.but(State::Warning, Some(cure.to_owned()))
}

fn isolated(roots: &Roots, allowed: &[usize]) -> Finding {
    let why = "no other program runs on an isolated CPU, so latencies stay low";
    let isolated = list(&roots.sys("devices/system/cpu/isolated").unwrap_or_default());
    let usable = isolated.iter().filter(|cpu| allowed.contains(cpu)).count();
    let found = match (isolated.len(), usable) {
        (0, _) => "none".to_owned(),
        (all, usable) if all == usable => counted(all, "CPU"),
        (all, usable) => format!("{}, {usable} of them may be used", counted(all, "CPU")),
    };
    Finding::ok("isolated cpus", found, why)
}

/// Whether this is a virtual machine, and how much of its time goes to others.
fn virtual_machine(roots: &Roots) -> Finding {
    let why = "what others take of a CPU's time shows as pauses";
    let guest = roots
        .field("cpuinfo", "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let steal = steal(roots);
    let kind = if guest { "a virtual machine" } else { "no sign of one" };
    let found = match steal {
        Some(steal) => format!("{kind}; {steal:.1} % of the time since boot went to others"),
        None => kind.to_owned(),
    };
    let finding = Finding::ok("virtual machine", found, why);
    let noisy = steal.is_some_and(|steal| steal > STEAL_MAX);
    if noisy { finding.but(State::Warning, None) } else { finding }
}

/// Stolen time in per cent of all: the eighth number of the first line of `stat` (proc(5)).
fn steal(roots: &Roots) -> Option<f64> {
    let text = roots.proc("stat")?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<f64> = line.split_whitespace().filter_map(|time| time.parse().ok()).collect();
    // Guest time, behind the eighth, is already part of user time.
    let all: f64 = times.iter().take(8).sum();
    times.get(7).filter(|_| all > 0.0).map(|steal| steal * 100.0 / all)
}
