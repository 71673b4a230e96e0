//! What else happened on the CPUs that were measured: what the hypervisor took, and how often threads were pushed off.
//!
//! Reads files of `/proc` between windows; the threads that are measured do nothing for it. What a system does not
//! say is 0: nothing is claimed that nobody counted.

use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the system keeps its figures; in tests somewhere else.
#[derive(Clone, Debug)]
pub(crate) struct Proc(PathBuf);

/// Ticks of a CPU since the machine was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    all: u64,
    stolen: u64,
}

/// A reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// CPU by CPU.
    cpus: Vec<Ticks>,
    /// Times that threads had to give way.
    switches: u64,
}

/// What happened between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Disturbance {
    /// The part of the time of the CPUs that the hypervisor took.
    pub stolen: f64,
    /// Times that one of the threads had to give way to another.
    pub switches: u64,
}

impl Default for Proc {
    fn default() -> Proc {
        Proc(PathBuf::from("/proc"))
    }
}

impl Proc {
    /// The state of these CPUs, and of these threads of this process.
    pub(crate) fn read(&self, cpus: &[usize], threads: &[u32]) -> Reading {
        let stat = fs::read_to_string(self.0.join("stat")).unwrap_or_default();
        let switches = threads.iter().map(|thread| {
            let path = self.0.join(format!("self/task/{thread}/status"));
            switches(&fs::read_to_string(path).unwrap_or_default())
        });
        Reading {
            cpus: cpus.iter().map(|&cpu| ticks(&stat, cpu)).collect(),
            switches: switches.sum(),
        }
    }

    /// How many threads of the whole machine could run, on average over the last minute.
    pub(crate) fn load(&self) -> Option<f64> {
        let text = fs::read_to_string(self.0.join("loadavg")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    }

    /// What `/proc/cpuinfo` says of a CPU under a key.
    pub(crate) fn of_cpu(&self, cpu: usize, key: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join("cpuinfo")).ok()?;
        cpu_info(&text, cpu, key)
    }
}

/// What a file of one value under `/sys` says of a CPU.
pub(crate) fn of_sys(root: &Path, cpu: usize, file: &str) -> Option<String> {
    let path = root.join(format!("devices/system/cpu/cpu{cpu}/cpufreq/{file}"));
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn cpu_info(text: &str, cpu: usize, key: &str) -> Option<String> {
    let pair = |line: &str| {
        let (key, value) = line.split_once(':')?;
        Some((key.trim().to_owned(), value.trim().to_owned()))
    };
    let own = text.split("\n\n").find(|block| {
        block
            .lines()
            .filter_map(pair)
            .any(|(key, value)| key == "processor" && value == cpu.to_string())
    });
    own?.lines().filter_map(pair).find(|(known, _)| known == key).map(|(_, value)| value)
}

/// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`; guests are in user and nice already.
fn ticks(stat: &str, cpu: usize) -> Ticks {
    const COUNTED: usize = 8;
    const STOLEN: usize = 7;
    let name = format!("cpu{cpu}");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '));
    let values: Vec<u64> = line
        .unwrap_or_default()
        .split_whitespace()
        .take(COUNTED)
        .filter_map(|value| value.parse().ok())
        .collect();
    Ticks { all: values.iter().sum(), stolen: values.get(STOLEN).copied().unwrap_or(0) }
}

fn switches(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

impl Reading {
    /// What happened since an earlier reading of the same.
    pub(crate) fn since(&self, earlier: &Reading) -> Disturbance {
        let pairs = || self.cpus.iter().zip(&earlier.cpus);
        let all: u64 = pairs().map(|(now, then)| now.all.saturating_sub(then.all)).sum();
        let stolen: u64 = pairs().map(|(now, then)| now.stolen.saturating_sub(then.stolen)).sum();
        Disturbance {
            stolen: if all == 0 { 0.0 } else { stolen as f64 / all as f64 },
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn what_the_hypervisor_took_is_a_part_of_the_time_of_these_cpus() {
        let folder = tempfile::tempdir().expect("a folder");
        let proc = Proc(folder.path().to_owned());
        let stat = |stolen: u64, idle: u64| {
            format!(
                "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 1 0 1 {idle} 0 0 0 {stolen} 50 0\n\
                 cpu10 5 5 5 5 5 5 5 99 0 0\nintr 1\n"
            )
        };
        write(folder.path(), "stat", &stat(10, 100));
        write(folder.path(), "self/task/7/status", "Name:\tx\nnonvoluntary_ctxt_switches:\t3\n");
        let before = proc.read(&[1], &[7, 8]);
        write(folder.path(), "stat", &stat(12, 198));
        write(folder.path(), "self/task/7/status", "nonvoluntary_ctxt_switches:\t8\n");
        let after = proc.read(&[1], &[7, 8]);
        assert_eq!(after.since(&before), Disturbance { stolen: 0.02, switches: 5 });
        assert_eq!(Reading::default().since(&after), Disturbance::default());
        assert_eq!(proc.load(), None);
        write(folder.path(), "loadavg", "0.38 0.68 1.94 1/200 4242\n");
        assert_eq!(proc.load(), Some(0.38));
    }

    #[test]
    fn a_cpu_is_found_by_its_number() {
        let text = "processor\t: 0\ncpu MHz\t\t: 1000.0\n\nprocessor\t: 10\nmodel name\t: A : B\ncpu MHz : 2000.5\n";
        assert_eq!(cpu_info(text, 10, "cpu MHz").as_deref(), Some("2000.5"));
        assert_eq!(cpu_info(text, 10, "model name").as_deref(), Some("A : B"));
        assert_eq!((cpu_info(text, 1, "cpu MHz"), cpu_info(text, 0, "model name")), (None, None));
    }
}
