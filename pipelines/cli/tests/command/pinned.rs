//! A run pins its threads as its plan says; the kernel is asked.

use crate::support::{Begun, Bench, Ended};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Two actors of their own that never end, and a third behind a ring.
const ENDLESS: &str = r#"
Pipeline(
    name: "endless",
    ports: {
        "a": Emulated(traffic: (flows: 4, size: 300)),
        "b": Emulated(traffic: (flows: 4, size: 300)),
        "out": Emulated(),
    },
    chains: {
        "left": [Rx("a"), Drop("left")],
        "right": [Rx("b"), Ring("behind"), Drop("right")],
    },
)
"#;

/// The CPUs that each thread of a process may run on, by the thread's name, as the kernel tells them.
fn threads(process: u32) -> BTreeMap<String, String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let read = |path: std::path::PathBuf| fs::read_to_string(path).unwrap_or_default();
    let threads = tasks.filter_map(Result::ok).map(|task| {
        let name = read(task.path().join("comm")).trim().to_owned();
        let status = read(task.path().join("status"));
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        (name, line.unwrap_or_default().trim().to_owned())
    });
    threads.collect()
}

/// Actors by CPU.
type Places = BTreeMap<String, Vec<String>>;

/// Runs it until the kernel has been asked: where `explain` says that actors will be, where the threads may run,
/// and how it ended.
fn run(more: &[&str]) -> (Places, BTreeMap<String, String>, Ended) {
    let bench = Bench::new();
    bench.file("endless.ron", ENDLESS);
    let args = [&["endless.ron", "--format", "json"], more].concat();
    let plan = bench.run(&[&["explain"], &args[..]].concat());
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    let used = plan["cores"]["used"].as_array().expect("CPUs").iter();
    let text = |value: &Value| value.as_str().expect("a name").to_owned();
    let planned = used.map(|cpu| {
        let actors = cpu["actors"].as_array().expect("actors").iter().map(text);
        (cpu["cpu"].to_string(), actors.collect())
    });
    let planned = planned.collect();
    let run = Begun::start(&bench, &args);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let threads = threads(run.id());
    run.signal("TERM");
    let (ended, _) = run.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    (planned, threads, ended)
}

/// Holds the kernel's word against the plan's: for each CPU of the plan there is one thread, named after the
/// first of its actors, that may run there and nowhere else. `explain` had said so, and the report does.
fn pinned((planned, threads, ended): &(Places, BTreeMap<String, String>, Ended)) -> Places {
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let mut actors = Places::new();
    for actor in report["actors"].as_array().expect("actors") {
        let name = actor["name"].as_str().expect("a name").to_owned();
        actors.entry(actor["cpu"].to_string()).or_default().push(name);
    }
    assert_eq!(&actors, planned);
    for (cpu, names) in &actors {
        let name = match names.as_slice() {
            [only] => only.clone(),
            [first, others @ ..] => format!("{first}+{}", others.len()),
            [] => unreachable!(),
        };
        assert_eq!(threads.get(&name), Some(cpu), "{name}: {threads:?}");
    }
    actors
}

#[test]
fn each_actor_has_the_cpu_that_its_plan_gives_it() {
    let actors = pinned(&run(&[]));
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(actors.len(), available.min(3), "{actors:?}");
    assert_eq!(actors.values().flatten().count(), 3, "{actors:?}");
}

#[test]
fn no_other_cpu_is_used_than_those_named() {
    let (last, _) = pinned(&run(&[])).pop_last().expect("a CPU");
    let actors = pinned(&run(&["--cpus", &last]));
    assert_eq!(actors.keys().collect::<Vec<_>>(), [&last]);
    assert_eq!(actors[&last], ["left", "right", "behind"]);
}
