//! Placements of a few pipelines on a few machines, as text to be read; each is held against the checker too.
//! `CORELANE_BLESS=1` writes the text anew: then read what changed.

use crate::checker::{Asked, Checker};
use crate::machines::{Fake, allowed, hybrid, machine, smt, sockets, vm};
use crate::own::registry;
use corelane::{Pipeline, Placement};
use std::fmt::Write;
use std::path::Path;

/// Name and text of a pipeline, `CORES` where it says what it wants.
const PIPELINES: [(&str, &str); 5] = [
    // One chain between two ports of four queues.
    (
        "fused",
        r#"ports: { "in": Emulated(queues: 4), "out": Emulated(queues: 4) },
           chains: { "main": [Rx("in"), ChecksumValidate, Gro, Tx("out")] }"#,
    ),
    // Both directions between two ports of eight queues.
    (
        "gateway",
        r#"ports: { "wan": Emulated(queues: 8), "lan": Emulated(queues: 8) },
           chains: { "from_wan": [Rx("wan"), Gro, Tx("lan")], "from_lan": [Rx("lan"), Gro, Tx("wan")] }"#,
    ),
    // Captures, in three actors.
    (
        "captures",
        r#"ports: { "in": Pcap("in.pcap"), "out": Pcap(write: "out.pcap") },
           chains: { "main": [Rx("in"), Gro, Ring("cut"), Gso, ChecksumFill, Ring("end"), Tx("out")] }"#,
    ),
    // A ring with three ways behind a port of four queues, before one of one.
    (
        "ways",
        r#"ports: { "in": Emulated(queues: 4), "out": Emulated(queues: 1) },
           chains: { "main": [Rx("in"), Gro, Ring(name: "cut", ways: 3, by: InnerFlow), Count, Tx("out")] }"#,
    ),
    // A stage that keeps one state for all.
    (
        "police",
        r#"ports: { "in": Emulated(queues: 4), "out": Emulated(queues: 4) },
           chains: { "main": [Rx("in"), Track, Gro, Police, Count, Tx("out")] }"#,
    ),
];

fn place(pipeline: &str, asked: &Asked, machine: &corelane::Machine) -> corelane::Plan {
    let text = format!("Pipeline(name: \"p\", cores: {}, {pipeline})", asked.ron());
    let parsed = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let plan = parsed.plan(&registry(), machine);
    plan.unwrap_or_else(|failure| panic!("{failure}\n{text}"))
}

/// The machines: all CPUs, and those that may be used.
fn machines() -> Vec<(&'static str, Vec<Fake>, Vec<Fake>)> {
    let part: Vec<usize> = [(0..4), (16..18), (32..36)].into_iter().flatten().collect();
    vec![
        ("vm", vm(), vm()),
        ("smt", smt(), smt()),
        ("sockets", sockets(), sockets()),
        ("sockets-part", sockets(), allowed(&sockets(), &part)),
        ("hybrid", hybrid(), hybrid()),
    ]
}

/// What is asked of each pipeline, as far as the machine has the CPUs.
fn asked(pipeline: &str, allowed: &[Fake]) -> Vec<Asked> {
    let mut asked =
        vec![Asked::Auto, Asked::Count(1), Asked::Count(2), Asked::Count(4), Asked::Count(6)];
    let pins = |pins: &[(&'static str, &[usize])]| {
        Asked::Pin(pins.iter().map(|(name, cpus)| (*name, cpus.to_vec())).collect())
    };
    asked.push(match pipeline {
        "fused" => pins(&[("main", &[1, 0])]),
        "gateway" => pins(&[("from_wan", &[2, 3]), ("from_lan", &[3, 2])]),
        "captures" => pins(&[("main", &[2, 3]), ("cut", &[1])]),
        "ways" => pins(&[("main", &[3, 2]), ("cut", &[0, 1, 16])]),
        _ => pins(&[("main", &[2, 3]), ("main.Police", &[1])]),
    });
    let there = |cpu: &usize| allowed.iter().any(|known| known.id == *cpu);
    asked.retain(|asked| match asked {
        Asked::Auto => true,
        Asked::Count(count) => *count <= allowed.len(),
        Asked::Pin(pins) => pins.iter().flat_map(|(_, cpus)| cpus).all(there),
    });
    asked
}

/// `0-3,8`.
fn ranges(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut().filter(|(_, last)| last + 1 == cpu) {
            Some((_, last)) => *last = cpu,
            None => parts.push((cpu, cpu)),
        }
    }
    let text = |(first, last): (usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.into_iter().map(text).collect::<Vec<_>>().join(",")
}

fn show(placement: &Placement) -> String {
    let mut text = String::new();
    for actor in &placement.actors {
        let cpu = actor.cpu.map_or("-".to_owned(), |cpu| cpu.to_string());
        writeln!(text, "{:<14} cpu {cpu:<3} {}", actor.name, actor.why).expect("text");
        if actor.name == actor.actor || actor.name.ends_with("#0") {
            writeln!(text, "{:<14}   {}", "", actor.why_copies).expect("text");
            writeln!(text, "{:<14}   {}", "", actor.stages.join(" ")).expect("text");
        }
    }
    for ring in &placement.rings {
        writeln!(text, "ring {} ({})", ring.name, ring.reason).expect("text");
    }
    for (cpus, reason) in &placement.left_free {
        writeln!(text, "left free: cpu {} ({reason})", ranges(cpus)).expect("text");
    }
    text
}

fn compare(name: &str, text: &str) {
    let file = format!("{}/tests/placement/expected/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("CORELANE_BLESS").is_some() {
        std::fs::create_dir_all(Path::new(&file).parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, text).expect("a file");
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (number, (found, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{file}:{}", number + 1);
    }
    assert_eq!(text.lines().count(), expected.lines().count(), "{file}: number of lines");
}

#[test]
fn placements_are_as_they_were_read_and_keep_the_rules() {
    for (name, all, allowed) in machines() {
        let machine = machine(&all, &allowed);
        let mut text = String::new();
        for (pipeline, description) in PIPELINES {
            for asked in asked(pipeline, &allowed) {
                let plan = place(description, &asked, &machine);
                let placement = plan.placement();
                let context = format!("{pipeline} on {name}, {}", asked.ron());
                let placement = &placement;
                Checker { allowed: &allowed, asked: &asked, placement, context }.check();
                writeln!(text, "== {pipeline}, cores: {}", asked.ron()).expect("text");
                writeln!(text, "{}", show(placement)).expect("text");
            }
        }
        compare(name, &text);
    }
}

#[test]
fn the_same_input_gives_the_same_plan_and_the_same_digits() {
    let (all, pipeline) = (sockets(), PIPELINES[3].1);
    let machine = machine(&all, &all);
    let digits = |pipeline: &str, asked: &Asked| place(pipeline, asked, &machine).hash().to_owned();
    let first = digits(pipeline, &Asked::Auto);
    assert_eq!(digits(pipeline, &Asked::Auto), first);
    for other in [Asked::Count(2), Asked::Count(3), Asked::Pin(vec![("cut", vec![1, 2, 3])])] {
        assert_ne!(digits(pipeline, &other), first, "{other:?}");
    }
    for (from, to) in [("ways: 3", "ways: 4"), ("InnerFlow", "Flow"), ("queues: 4", "queues: 3")] {
        assert_ne!(digits(&pipeline.replace(from, to), &Asked::Auto), first, "{to}");
    }
}

#[test]
fn no_more_queues_are_opened_than_a_port_has() {
    for (all, allowed) in machines().into_iter().map(|(_, all, allowed)| (all, allowed)) {
        let machine = machine(&all, &allowed);
        for (pipeline, description) in PIPELINES {
            for asked in asked(pipeline, &allowed) {
                let placement = place(description, &asked, &machine).placement();
                let count = |stage: &str| {
                    let actors = placement.actors.iter();
                    actors.filter(|actor| actor.stages.iter().any(|id| id == stage)).count()
                };
                let limits: &[(&str, usize)] = match pipeline {
                    "fused" => &[("main.0", 4), ("main.3", 4)],
                    "gateway" => &[
                        ("from_wan.0", 8),
                        ("from_wan.2", 8),
                        ("from_lan.0", 8),
                        ("from_lan.2", 8),
                    ],
                    // Each copy reads the capture and keeps its flows; one writes.
                    "captures" => &[("main.0", 64), ("main.6", 1)],
                    "ways" => &[("main.0", 4), ("main.4", 1)],
                    _ => &[("main.0", 4), ("main.3", 1), ("main.5", 1)],
                };
                for &(stage, limit) in limits {
                    let found = count(stage);
                    assert!(
                        (1..=limit).contains(&found),
                        "{pipeline} {asked:?}: {found} x {stage}"
                    );
                }
            }
        }
    }
}

/// A machine that hwloc makes up, numbered as hwloc does: the threads of a core follow each other.
#[cfg(feature = "hwloc")]
#[test]
fn placements_on_a_machine_of_hwloc_keep_the_rules() {
    let made = corelane_runtime::topology::hwloc::synthetic("pack:2 numa:1 l3:1 core:8 pu:2");
    let machine = made.expect("hwloc reads its own language");
    let fake = |id: usize| Fake {
        id,
        package: id / 16,
        core: id / 2,
        node: id / 16,
        l3: id / 16,
        small: false,
    };
    let all: Vec<Fake> = (0..32).map(fake).collect();
    assert_eq!(machine.cpus.len(), all.len());
    for (pipeline, description) in PIPELINES {
        for asked in asked(pipeline, &all) {
            let plan = place(description, &asked, &machine);
            let placement = &plan.placement();
            let context = format!("{pipeline} on a machine of hwloc, {}", asked.ron());
            Checker { allowed: &all, asked: &asked, placement, context }.check();
        }
    }
}
