//! The machine that was measured, in the figures without which a result says nothing.
//!
//! The clock is the nominal one, as the system gives it: cycles are nanoseconds times that, whatever the core really
//! ran at.

use super::load::{Proc, of_sys};
use corelane_runtime::topology::Machine;
use serde::Serialize;
use std::path::Path;

/// What was measured on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredOn {
    /// The processor, as it calls itself.
    pub model: Option<String>,
    /// CPUs that could be used.
    pub cpus: usize,
    /// How many of them are the second thread of a core.
    pub siblings: usize,
    /// NUMA nodes of those CPUs.
    pub nodes: usize,
    /// How the system chooses clocks, where it says.
    pub governor: Option<String>,
    /// Threads that could run, on average over the minute before.
    pub load: Option<f64>,
    /// The nominal clock, GHz: cycles are nanoseconds times this.
    pub clock_ghz: Option<f64>,
    /// Who says so: `base_frequency` or `cpuinfo`.
    pub clock_source: Option<&'static str>,
}

impl MeasuredOn {
    /// This machine, as far as `machine` says it is used.
    pub(crate) fn here(machine: &Machine) -> MeasuredOn {
        let proc = Proc::default();
        let first = machine.cpus.first().map_or(0, |cpu| cpu.id);
        let mut nodes: Vec<u32> = machine.cpus.iter().filter_map(|cpu| cpu.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let clock = clock(&proc, first);
        MeasuredOn {
            model: proc.of_cpu(first, "model name"),
            cpus: machine.cpus.len(),
            siblings: machine.cpus.iter().filter(|cpu| machine.is_sibling(cpu.id)).count(),
            nodes: nodes.len().max(1),
            governor: of_sys(Path::new("/sys"), first, "scaling_governor"),
            load: proc.load(),
            clock_ghz: clock.map(|(ghz, _)| ghz),
            clock_source: clock.map(|(_, source)| source),
        }
    }
}

/// The nominal clock of a CPU, GHz, and who says so.
fn clock(proc: &Proc, cpu: usize) -> Option<(f64, &'static str)> {
    let base = of_sys(Path::new("/sys"), cpu, "base_frequency");
    let base =
        base.and_then(|khz| khz.parse::<f64>().ok()).map(|khz| (khz / 1e6, "base_frequency"));
    let info = || {
        let mhz = proc.of_cpu(cpu, "cpu MHz")?.parse::<f64>().ok()?;
        Some((mhz / 1e3, "cpuinfo"))
    };
    base.or_else(info).filter(|(ghz, _)| *ghz > 0.0)
}
