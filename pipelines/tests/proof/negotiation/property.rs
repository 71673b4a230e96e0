//! Any capabilities, any small pipeline: it is refused with reasons, or no device is asked for what it cannot do.

use super::bench::{Bench, device};
use crate::stream::{Stream, stream};
use crate::support::received;
use corelane::Failure;
use corelane_device::emulated::Frame;
use corelane_runtime::offload::{Caps, Facts, Limits};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

/// A device that says this of itself, and grants what makes sense of it.
fn facts() -> impl Strategy<Value = Facts> {
    let bits = Caps::all().bits();
    let caps = prop_oneof![
        3 => any::<u64>().prop_map(move |some| Caps::from_bits_truncate(some & bits)),
        2 => any::<u64>().prop_map(move |some| Caps::from_bits_truncate(some & bits).with_implied()),
        2 => Just(Caps::all()),
        1 => Just(Caps::empty()),
    ];
    let limits = (
        select(vec![2_000, 9_000, 65_536, 262_144]),
        select(vec![2, 40, u16::MAX]),
        select(vec![54, 128, 255]),
        select(vec![None, Some(1500), Some(9000)]),
    );
    (caps, limits).prop_map(|(caps, (tso_bytes, tso_segments, header_len, mtu))| {
        device(caps, Limits { tso_bytes, tso_segments, header_len, mtu, ..Limits::default() })
    })
}

/// A stage with its key `offload`.
fn step() -> impl Strategy<Value = String> {
    let kinds = ["ChecksumValidate", "Gro", "Gro", "Gso", "ChecksumFill"];
    let offload = prop_oneof![8 => Just("Auto"), 2 => Just("SoftwareOnly"), 1 => Just("Require")];
    let usual = (select(kinds.to_vec()), offload)
        .prop_map(|(kind, offload)| format!("{kind}(offload: {offload})"));
    prop_oneof![
        8 => usual,
        1 => Just("Gro(hold: \"20us\", max_size: \"200KiB\")".to_owned()),
        1 => Just("Ring".to_owned()),
        1 => Just("Count".to_owned()),
        1 => Just("Picky".to_owned()),
        1 => Just("Fussy".to_owned()),
    ]
}

fn tx(port: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(format!("Tx(\"{port}\")")),
        1 => Just(format!("Tx(port: \"{port}\", offload: SoftwareOnly)")),
        1 => Just(format!("Tx(port: \"{port}\", offload: Require)")),
        2 => Just(format!("Tx(port: \"{port}\", finish: Never)")),
    ]
}

/// Two rings side by side are one too many.
fn joined(steps: Vec<String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for step in steps {
        if step != "Ring" || kept.last().is_some_and(|last| last != "Ring") {
            kept.push(step);
        }
    }
    kept.iter().map(|step| format!("{step}, ")).collect()
}

fn chains() -> impl Strategy<Value = String> {
    let rx = prop_oneof![
        6 => Just("Rx(\"in\")"),
        1 => Just("Rx(port: \"in\", offload: SoftwareOnly)"),
    ];
    let side = (vec(step(), 0..3), prop_oneof![tx("other"), tx("out"), Just("Drop".to_owned())]);
    let main = (rx, vec(step(), 0..5), vec(step(), 0..3), tx("out"));
    (main, prop::option::weighted(0.4, side)).prop_map(|((rx, before, after, tx), side)| {
        let (before, after) = (joined(before), joined(after));
        match side {
            None => format!("\"main\": [{rx}, {before}Count, {after}{tx}]"),
            Some((steps, end)) => format!(
                "\"main\": [{rx}, {before}Fork, {after}{tx}], \"side\": [Count, {}{end}]",
                joined(steps)
            ),
        }
    })
}

fn bench() -> impl Strategy<Value = Bench> {
    (facts(), facts(), facts(), chains()).prop_map(|(rx, out, other, chains)| Bench {
        ports: vec![("in", rx), ("out", out), ("other", other)],
        chains,
    })
}

/// A refusal is one of those that are meant, and says all that is needed.
fn assert_told(failure: &Failure, bench: &Bench) {
    let Failure::Description(problems) = failure else { panic!("{failure}\n{}", bench.text()) };
    for problem in &problems.list {
        let text = &problem.message;
        let help = problem.help.as_deref().unwrap_or_default();
        match problem.code {
            "edge-contract" => {
                for part in ["edge ", " -> ", "may hand over", "takes", "for example a "] {
                    assert!(text.contains(part), "{part:?}: {text}");
                }
                assert!(help.starts_with("put `Gso") || help.contains("`finish: Never`"), "{help}");
                let insists = ["Picky", "Fussy", "Never"];
                assert!(insists.iter().any(|word| bench.chains.contains(word)), "{text}");
            }
            "offload-required" => {
                assert!(text.contains("`offload: Require`"), "{text}");
                assert!(help.starts_with("write `offload: Auto`"), "{help}");
                assert!(bench.chains.contains("Require"), "{text}");
            }
            "mtu" | "unused-port" => {}
            code => panic!("{code}: {text}\n{}", bench.text()),
        }
        assert!(problem.place.is_some(), "{text}");
    }
}

/// Trains of every kind, so that there is much to join and to cut, and what captures are made of.
fn frames(stream: &Stream) -> Vec<Frame> {
    let mut frames = crate::equivalence::trains();
    frames.truncate(150);
    frames.extend(received(stream.frames()));
    frames
}

/// Ports that join, and no steps added before the port: the plan alone stands between a packet and a device.
fn unfinished() -> impl Strategy<Value = Bench> {
    let roomy = Limits { tso_bytes: 262_144, ..Limits::default() };
    let joins = any::<u64>().prop_map(move |some| {
        let caps = Caps::from_bits_truncate(some & Caps::all().bits()) | Caps::RX_HW_GRO;
        device(caps.with_implied(), Limits::default())
    });
    // Most of what there is, so that it is one thing or two that are missing.
    let out = vec(any::<prop::sample::Index>(), 0..3).prop_map(move |missing| {
        let bits: Vec<Caps> = Caps::all().iter().collect();
        let caps = missing.iter().fold(Caps::all(), |caps, at| caps - *at.get(&bits));
        device(caps, roomy)
    });
    let steps = ["ChecksumValidate", "Count", "ChecksumFill", "Gso", "Ring"];
    let steps = vec(select(steps.to_vec()), 0..3);
    (joins, out, steps).prop_map(|(rx, out, steps)| {
        let steps = joined(steps.into_iter().map(str::to_owned).collect());
        let chains =
            format!("\"main\": [Rx(\"in\"), Count, {steps}Tx(port: \"out\", finish: Never)]");
        Bench { ports: vec![("in", rx), ("out", out)], chains }
    })
}

/// Plans and runs so many; how many ran, and how many were refused.
fn try_all(benches: impl Strategy<Value = Bench>, cases: u32) -> (u32, u32) {
    let mut runner = TestRunner::new(Config::with_cases(cases));
    let counts = std::cell::Cell::new((0_u32, 0_u32));
    let run = runner.run(&(benches, stream(60), any::<u64>()), |(bench, stream, seed)| {
        let (ran, refused) = counts.get();
        match bench.plan() {
            Err(failure) => {
                assert_told(&failure, &bench);
                counts.set((ran, refused + 1));
            }
            Ok(plan) => {
                let done = bench.run(plan, &frames(&stream), seed);
                done.assert_clean(&bench.text());
                counts.set((ran + 1, refused));
            }
        }
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    counts.get()
}

fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn a_port_is_never_sent_what_it_cannot_take_or_the_plan_is_refused() {
    let cases = cases(150);
    let (ran, refused) = try_all(bench(), cases);
    assert!(ran * 4 > cases && refused * 20 > cases, "{ran} ran, {refused} were refused");
}

#[test]
fn without_finishing_steps_the_plan_alone_keeps_from_a_port_what_it_cannot_take() {
    let cases = cases(80);
    let (ran, refused) = try_all(unfinished(), cases);
    assert!(ran * 10 > cases && refused * 10 > cases, "{ran} ran, {refused} were refused");
}
