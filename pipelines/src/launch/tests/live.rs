//! A run looked at while it goes on: its books, its threads, and a stage that hangs.

use crate::fixture::{plan, registry, with_chains};
use crate::{Handle, Machine, Pipeline, Registry, Report};
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, Outputs, Stage, StageConfig, StageContext, StageInfo,
    StageSpec,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Starts chains over traffic that never ends.
fn endless(chains: &str, registry: &Registry) -> Handle {
    let text = with_chains(chains).replace(", count: 1000", "");
    let plan = Pipeline::parse(&text).unwrap().plan(registry, &Machine::here()).unwrap();
    plan.start().unwrap()
}

/// A look at which every actor answered: on a busy machine a thread may not run for longer than it is waited for.
fn look(handle: &mut Handle) -> Report {
    let mut looks = std::iter::repeat_with(|| handle.snapshot()).take(100);
    looks.find(|report| report.late.is_empty()).expect("an answer within ten seconds")
}

/// The numbers of a report that only go up.
fn counts(report: &Report) -> Vec<u64> {
    let totals = &report.totals;
    let mut counts = vec![totals.rx_packets, totals.tx_packets, totals.payload_bytes];
    counts.extend(report.stages.iter().flat_map(|stage| [stage.packets_in, stage.packets_out]));
    counts.extend(report.actors.iter().map(|actor| actor.steps_worked));
    counts.extend(report.rings.iter().map(|ring| ring.packets));
    counts
}

/// What came to each stage of each actor went on, or is in it.
fn assert_consistent(report: &Report) {
    for stage in report.actors.iter().flat_map(|actor| &actor.stages) {
        let came = stage.packets_in + stage.created;
        let went = stage.packets_out + stage.drops.sum() + stage.absorbed + stage.held;
        assert_eq!(came, went, "{}: {stage:?}", stage.id);
    }
    // Within an actor, a stage was handed what the one before it passed on.
    for actor in &report.actors {
        for pair in actor.stages.windows(2) {
            assert_eq!(pair[0].packets_out, pair[1].packets_in, "{} in {}", pair[1].id, actor.name);
        }
    }
    let port = report.ports.get("in").unwrap();
    assert_eq!(port.rx_packets, report.totals.rx_packets);
}

#[test]
fn books_can_be_read_while_packets_flow() {
    let chains = r#""m": [Rx("in"), ChecksumValidate, Gro, Ring("r"), Tx("out")]"#;
    let mut handle = endless(chains, &registry());
    let mut last = Vec::new();
    for round in 0..20 {
        handle.wait_for(Duration::from_millis(5));
        let report = look(&mut handle);
        assert!(report.live && report.balanced.is_none());
        assert!(!report.has_failed() && report.unbalanced.is_empty());
        assert_eq!(report.actors.len(), 2);
        assert_consistent(&report);
        let counts = counts(&report);
        assert!(last.iter().zip(&counts).all(|(before, now)| before <= now), "round {round}");
        assert_ne!(counts, last, "round {round}: nothing moves");
        last = counts;
    }
    handle.drain();
    let report = handle.wait();
    assert!(!report.live && report.balanced == Some(true), "{:?}", report.unbalanced);
    assert!(last.iter().zip(counts(&report)).all(|(before, now)| *before <= now));
    let busy: f64 = report.actors.iter().map(|actor| actor.busy_s).sum();
    assert!(busy > 0.0, "{:?}", report.actors);
    for actor in &report.actors {
        let spent = actor.busy_s + actor.poll_s + actor.idle_s;
        assert!(spent <= report.duration_s * 1.01, "{spent} s of {}", report.duration_s);
    }
}

#[test]
fn an_actor_that_sleeps_answers_and_one_that_has_ended_has_answered() {
    let mut handle =
        plan(&with_chains(r#""m": [Rx("in"), Ring("r"), Tx("out")]"#)).unwrap().start().unwrap();
    assert!(handle.wait_for(Duration::from_secs(10)));
    for _ in 0..3 {
        let report = handle.snapshot();
        assert!(report.late.is_empty() && report.live);
        assert_eq!(report.totals.tx_packets, 1000);
    }
    assert!(handle.wait().balanced == Some(true));

    // A port that sends nothing for a while fills the ring: both actors sleep.
    let text = with_chains(r#""m": [Rx("in"), Ring(name: "r", capacity: 4), Tx("out")]"#)
        .replace("\"out\": Emulated()", "\"out\": Emulated(stall: [(\"0s\", \"60s\")])");
    let mut handle = plan(&text).unwrap().start().unwrap();
    let start = Instant::now();
    // An answer wakes a sleeper, which books its sleep: so the look after that shows it.
    while !look(&mut handle).actors.iter().all(|actor| actor.idle_s > 0.0) {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", look(&mut handle).actors);
        handle.wait_for(Duration::from_millis(50));
    }
    assert_consistent(&look(&mut handle));
    handle.stop();
    assert!(handle.wait().balanced == Some(true));
}

/// `Hang`: passes packets on, and hangs in the middle of one burst until it is let go.
struct Hang(Arc<AtomicBool>);

const HANG: StageInfo = StageInfo {
    name: "Hang",
    summary: "Hangs until it is let go.",
    role: Role::Middle,
    subject: None,
    keys: &[],
    drop_reasons: &[],
    counters: &[],
};

impl StageSpec for Hang {
    fn info(&self) -> &'static StageInfo {
        &HANG
    }

    fn configure(&self, _: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(Hang(Arc::clone(&self.0))))
    }
}

impl StageConfig for Hang {
    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, corelane_runtime::Error> {
        let hangs = Arc::clone(&self.0);
        Ok(Built::restartable(move || Hanging(Arc::clone(&hangs))))
    }
}

struct Hanging(Arc<AtomicBool>);

impl Stage for Hanging {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        while self.0.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        burst.drain().for_each(|packet| out.next(packet));
    }
}

#[test]
fn an_actor_that_hangs_is_named_and_does_not_keep_the_others_from_telling() {
    let hangs = Arc::new(AtomicBool::new(false));
    let registry = registry().with_spec(Hang(Arc::clone(&hangs)));
    let mut handle = endless(r#""m": [Rx("in"), Ring("r"), Hang, Tx("out")]"#, &registry);
    handle.wait_for(Duration::from_millis(20));
    look(&mut handle);
    hangs.store(true, Ordering::Release);
    handle.wait_for(Duration::from_millis(20));
    // Asked again and again, it has one question in its mailbox: there is room for what matters.
    for _ in 0..12 {
        let start = Instant::now();
        let report = handle.snapshot();
        assert!(start.elapsed() < Duration::from_secs(5), "bounded");
        assert_eq!(report.late, ["r"]);
        assert_eq!(report.actors.len(), 2, "what it told last is kept");
        assert!(report.actors[0].steps_idle + report.actors[0].steps_blocked > 0);
    }
    hangs.store(false, Ordering::Release);
    handle.drain();
    let report = handle.wait();
    assert!(report.balanced == Some(true), "{:?}", report.unbalanced);
}

/// The name of each thread of this process, with the CPUs it may run on, as the kernel says.
fn threads() -> Vec<(String, String)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let read = |path: &std::path::Path, file: &str| {
        std::fs::read_to_string(path.join(file)).unwrap_or_default()
    };
    let thread = |path: std::path::PathBuf| {
        let status = read(&path, "status");
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        (read(&path, "comm").trim_end().to_owned(), cpus.unwrap_or_default().trim().to_owned())
    };
    tasks.map(|task| thread(task.unwrap().path())).collect()
}

#[test]
fn threads_are_named_after_their_actors_and_pinned_where_the_report_says() {
    let chains = r#""from_this_side": [Rx("in"), Ring("to_the_other_side"), Tx("out")]"#;
    let mut handle = endless(chains, &registry());
    handle.wait_for(Duration::from_millis(20));
    let threads = threads();
    let report = look(&mut handle);
    for (name, actor) in ["from_this_side", "to_the_other_~1"].iter().zip(&report.actors) {
        let cpus: Vec<&String> =
            threads.iter().filter(|(thread, _)| thread == name).map(|(_, cpus)| cpus).collect();
        let [cpus] = cpus.as_slice() else { panic!("{name} is not one of {threads:?}") };
        let Some(cpu) = actor.cpu else { panic!("{} is to be pinned", actor.name) };
        assert_eq!(**cpus, cpu.to_string(), "{}", actor.name);
        assert_eq!(actor.pinned, [cpu], "{}", actor.name);
    }
    handle.drain();
    assert!(handle.wait().balanced == Some(true));
}

#[test]
fn a_port_that_is_to_drop_drops_what_it_has_no_room_for() {
    let text = with_chains(r#""m": [Rx("in"), Tx("out")]"#).replace(
        "\"out\": Emulated()",
        "\"out\": Emulated(on_full: Drop, stall: [(\"0s\", \"1s\")])",
    );
    let report = plan(&text).unwrap().simulate(1).unwrap();
    assert!(
        report.balanced == Some(true) && !report.has_failed(),
        "{:?} {:?}",
        report.unbalanced,
        report.errors
    );
    let tx = report.stages.last().unwrap();
    assert_eq!(tx.drops.get("tx_full"), Some(&1000), "{:?}", tx.drops);
    assert_eq!(report.ports.get("out").unwrap().tx_packets, 0);
    let waits = text.replace("Drop", "Wait");
    let report = plan(&waits).unwrap().simulate(1).unwrap();
    assert_eq!(report.ports.get("out").unwrap().tx_packets, 1000);
}
