//! The main job in the simulator over many seeds, with tiny rings, withheld buffers, stalls and a stage that
//! panics: always balanced, order kept, never stuck, and repeatable.

use crate::own::{self, Own};
use crate::sums::recorded;
use crate::support::{Lane, Ran, STAGES};
use corelane::SimConfig;
use corelane_device::emulated::{Faults, Frame, Stall};
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Built, Outputs, Stage, StageContext, StageInfo};
use std::collections::{BTreeMap, HashSet};

/// Passes packets on and panics in the middle of the burst that holds packet number `at`, once.
struct PanicOnce {
    at: u64,
    seen: u64,
}

static PANIC: StageInfo = own::info("PanicOnce", &[]);

/// Panics at packet number `at` and never again once it was rebuilt.
fn panic_once(at: u64) -> Built {
    let first = PanicOnce { at, seen: 0 };
    let again = || Box::new(PanicOnce { at: u64::MAX, seen: 0 }) as Box<dyn Stage>;
    Built::Stage(Box::new(first), Some(Box::new(again)))
}

impl Stage for PanicOnce {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.seen += 1;
            assert!(self.seen != self.at, "panics as it was told");
            out.next(packet);
        }
    }
}

/// Keeps the panics that were asked for out of the output.
fn hush() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.contains("as it was told")) {
                usual(info);
            }
        }));
    });
}

fn seeds(default: u64) -> u64 {
    std::env::var("CORELANE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn lane(seed: u64, frames: &[Frame]) -> Lane {
    hush();
    let stages = STAGES.replace("GRO, Ring", "PanicOnce, GRO, Ring");
    let at = 1 + seed * 13 % 700;
    let panics = Own { info: &PANIC, make: move || panic_once(at) };
    let stall = Stall::Seeded { seed, period: 40_000, longest: 30_000 };
    Lane {
        stages,
        gro: if seed.is_multiple_of(2) {
            "Gro".to_owned()
        } else {
            "Gro(hold: \"20us\")".to_owned()
        },
        ring: 1 + seed as usize % 4,
        faults: Faults {
            stall,
            packets_per_call: Some(1 + seed as usize % 40),
            ..Faults::default()
        },
        registry: corelane::standard().with_spec(panics),
        ..Lane::new(frames.to_vec())
    }
}

fn run(seed: u64, frames: &[Frame]) -> Ran {
    let faults = SimConfig { stall: 20, withhold: 40, ..SimConfig::new(seed) };
    lane(seed, frames).simulate(&faults)
}

/// Each frame left at most once, and those of a flow in the order they came.
fn assert_order(left: &[Frame], position: &BTreeMap<(&[u8], u64), usize>, context: &str) {
    let mut last = BTreeMap::new();
    for frame in left {
        let at = position.get(&(&frame.data[..], frame.time_ns)).copied();
        let at = at.unwrap_or_else(|| panic!("{context}: a frame nobody sent"));
        let ip = &frame.data[14..];
        let flow = if ip[0] >> 4 == 4 { ip[12..24].to_vec() } else { ip[8..44].to_vec() };
        let before = last.insert(flow, at);
        assert!(before.is_none_or(|before| before < at), "{context}: order");
    }
}

#[test]
fn hundreds_of_seeds_with_every_fault_balance_keep_order_and_end() {
    let frames = recorded();
    let position: BTreeMap<(&[u8], u64), usize> = frames
        .iter()
        .enumerate()
        .map(|(at, frame)| ((&frame.data[..], frame.time_ns), at))
        .collect();
    let seeds = seeds(500);
    let mut traces = HashSet::new();
    let [mut full, mut empty, mut stalls, mut panics] = [0_u64; 4];
    for seed in 0..seeds {
        let context = format!("seed {seed}");
        let ran = run(seed, &frames);
        let outcome = ran.outcome.as_ref().expect("simulated");
        assert!(outcome.finished, "{context} is stuck: {outcome:?}");
        assert!(ran.report.balanced == Some(true), "{context}: {:?}", ran.report.unbalanced);
        assert_order(&ran.frames, &position, &context);
        let totals = &ran.report.totals;
        let lost = frames.len() as u64 - ran.frames.len() as u64;
        assert!(lost <= 256 && (lost > 0) == (totals.panics > 0), "{context}: lost {lost}");
        traces.insert(outcome.trace);
        full += u64::from(ran.report.rings.iter().any(|ring| ring.full > 0));
        empty += u64::from(ran.report.homes.iter().any(|home| home.refused > 0));
        stalls += u64::from(outcome.stalls > 0);
        panics += u64::from(totals.panics > 0);
    }
    assert!(traces.len() as u64 * 10 >= seeds * 9, "{} distinct traces", traces.len());
    for (count, fault) in
        [(full, "ring full"), (empty, "pool empty"), (stalls, "stall"), (panics, "panic")]
    {
        assert!(count * 5 >= seeds, "{fault}: only {count} of {seeds} seeds");
    }
    eprintln!(
        "{seeds} seeds: {} traces; ring full {full}, pool empty {empty}, stall {stalls}, panic {panics}",
        traces.len()
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let frames = recorded();
    for seed in [3, 4, 77] {
        let (first, second) = (run(seed, &frames), run(seed, &frames));
        assert_eq!(first.outcome, second.outcome);
        assert_eq!(first.frames, second.frames);
        let json = |ran: &Ran| ran.report.to_json().expect("JSON");
        assert_eq!(json(&first), json(&second));
    }
}
