//! A machine in a file, so that a plan can be made for one that is elsewhere.
//!
//! Either CPU by CPU, as `Machine::to_ron` writes it, or by counting: `Machine(packages: 2, cores: 16, threads: 2)`
//! for machines that are regular. It promises that what was written reads back the same.

use super::{CoreKind, Cpu, Machine};
use serde::{Deserialize, Serialize};

/// More than any machine has; keeps a slip of the finger from filling memory.
const CPUS_MAX: usize = 8192;

/// The file, as RON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Machine")]
struct Record {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cpus: Vec<CpuRecord>,
    #[serde(default, skip_serializing_if = "is_zero")]
    others: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packages: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cores: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threads: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    small_cores: Option<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuRecord {
    id: usize,
    package: usize,
    core: usize,
    #[serde(default)]
    node: Option<u32>,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    l2: Option<usize>,
    #[serde(default)]
    l3: Option<usize>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
enum Kind {
    #[default]
    Unknown,
    Performance,
    Efficient,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Machine {
    /// Reads what [`Machine::to_ron`] wrote, or a count such as
    /// `Machine(packages: 2, cores: 16, threads: 2, small_cores: 0)`: packages, each a NUMA node with its own
    /// level 3 cache; physical cores of each; threads of a core; small cores of each package, of one thread.
    ///
    /// # Errors
    /// What is wrong and where, in words.
    pub fn from_ron(text: &str) -> Result<Machine, String> {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let record: Record = options.from_str(text).map_err(|error| error.to_string())?;
        if !record.cpus.is_empty() {
            return listed(record);
        }
        let Some(cores) = record.cores else {
            return Err("it has no CPUs: give `cpus: [..]`, or `cores: N`".to_owned());
        };
        let threads = record.threads.unwrap_or(1);
        counted(record.packages.unwrap_or(1), cores, threads, record.small_cores.unwrap_or(0))
    }

    /// The machine as RON, for a file.
    pub fn to_ron(&self) -> String {
        let cpus = self.cpus.iter().map(|cpu| CpuRecord {
            id: cpu.id,
            package: cpu.core.0,
            core: cpu.core.1,
            node: cpu.node,
            kind: match cpu.kind {
                CoreKind::Unknown => Kind::Unknown,
                CoreKind::Performance => Kind::Performance,
                CoreKind::Efficient => Kind::Efficient,
            },
            l2: cpu.l2,
            l3: cpu.l3,
        });
        let record = Record {
            cpus: cpus.collect(),
            others: self.others,
            packages: None,
            cores: None,
            threads: None,
            small_cores: None,
        };
        let pretty = ron::ser::PrettyConfig::new()
            .depth_limit(2)
            .struct_names(true)
            .extensions(ron::extensions::Extensions::IMPLICIT_SOME);
        // Numbers and names only: nothing in it can fail to be written.
        ron::ser::to_string_pretty(&record, pretty).unwrap_or_default() + "\n"
    }
}

fn listed(record: Record) -> Result<Machine, String> {
    let counts = [record.packages, record.cores, record.threads, record.small_cores];
    if counts.iter().any(Option::is_some) {
        return Err("give `cpus`, or counts, not both".to_owned());
    }
    if record.cpus.len() > CPUS_MAX {
        return Err(format!("it lists {} CPUs; {CPUS_MAX} are possible", record.cpus.len()));
    }
    let mut cpus: Vec<Cpu> = record.cpus.into_iter().map(cpu).collect();
    cpus.sort_by_key(|cpu| cpu.id);
    if let Some(pair) = cpus.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return Err(format!("CPU {} is listed twice", pair[0].id));
    }
    Ok(Machine { cpus, source: "file".to_owned(), others: record.others })
}

fn cpu(record: CpuRecord) -> Cpu {
    Cpu {
        id: record.id,
        core: (record.package, record.core),
        node: record.node,
        kind: match record.kind {
            Kind::Unknown => CoreKind::Unknown,
            Kind::Performance => CoreKind::Performance,
            Kind::Efficient => CoreKind::Efficient,
        },
        l2: record.l2,
        l3: record.l3,
    }
}

/// Numbered as Linux numbers them: the first thread of every core, then the second ones, then small cores.
fn counted(packages: usize, cores: usize, threads: usize, small: usize) -> Result<Machine, String> {
    let per_package = cores.checked_mul(threads).and_then(|n| n.checked_add(small));
    let all = per_package.and_then(|n| n.checked_mul(packages)).unwrap_or(usize::MAX);
    if all == 0 || all > CPUS_MAX {
        return Err(format!("it would have {all} CPUs; 1 to {CPUS_MAX} are possible"));
    }
    let fast = if small > 0 { CoreKind::Performance } else { CoreKind::Unknown };
    let mut cpus = Vec::new();
    for thread in 0..threads {
        for package in 0..packages {
            for core in 0..cores {
                let first = package * cores + core;
                let id = thread * packages * cores + first;
                let l3 = Some(package * cores);
                let node = Some(package as u32);
                cpus.push(Cpu { id, core: (package, core), node, kind: fast, l2: Some(first), l3 });
            }
        }
    }
    for package in 0..packages {
        for core in 0..small {
            let id = packages * cores * threads + package * small + core;
            let l2 = Some(packages * cores * threads + package * small);
            let (kind, node) = (CoreKind::Efficient, Some(package as u32));
            let l3 = Some(if cores > 0 { package * cores } else { package * small });
            cpus.push(Cpu { id, core: (package, cores + core), node, kind, l2, l3 });
        }
    }
    cpus.sort_by_key(|cpu| cpu.id);
    Ok(Machine::of(cpus, "file"))
}
