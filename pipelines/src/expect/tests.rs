//! Expectations read, refused before a run, and held against reports.

use super::*;
use crate::fixture;
use crate::report::Totals;
use corelane_device::emulated::Refusal;
use proptest::prelude::*;

/// Two ports, one with a dot in its name, a fan-out with names of several kinds.
const FILE: &str = r#"Pipeline(
    name: "test",
    ports: {
        "in": Emulated(traffic: (flows: 3, size: 300, protocol: Udp, count: 90)),
        "out": Emulated(mtu: 100),
        "out.2": Emulated(),
    },
    chains: {
        "main": [Rx("in"), Fork(to: "side"), Count(name: "kept"), Tx("out")],
        "side": [Count, Fork(to: "rest"), Ring("far"), Tx("out.2")],
        "rest": [Count, Drop("not_ours")],
    },
)"#;

fn plan() -> Plan {
    fixture::plan(FILE).unwrap_or_else(|failure| panic!("{failure}"))
}

fn report() -> Report {
    plan().simulate(7).unwrap_or_else(|failure| panic!("{failure}"))
}

fn refusal(text: &str) -> String {
    match plan().expectation(text) {
        Ok(expectation) => panic!("{expectation} is taken"),
        Err(error) => error.message,
    }
}

#[test]
fn paths_lead_to_the_numbers_of_the_report() {
    let report = report();
    let stage = |id: &str| report.stages.iter().find(|stage| stage.id == id).expect(id);
    let port = |name: &str| report.ports.get(name).expect(name);
    let too_big = stage("main.3").drops.get("too_big");
    assert_eq!(too_big, Some(&45), "the fork sends every second packet on, all of them too large");
    assert_eq!(stage("rest.1").drops.get("not_ours"), Some(&22));
    let known: [(&str, i128); 15] = [
        ("drops.not_ours", 22),
        ("drops.too_big", 45),
        ("drops.over_mtu", 0),
        ("drops.too_large_for_pool", 0),
        ("drops.stage_panicked", 0),
        ("totals.rx_packets", 90),
        ("totals.dropped", 67),
        ("ports.in.rx_packets", 90),
        ("ports.out.2.tx_packets", i128::from(port("out.2").tx_packets)),
        ("stages.main.3.drops.too_big", 45),
        ("stages.rest.1.packets_in", 22),
        ("stages.rest.1.drops.not_ours", 22),
        ("stages.kept.counters.packets", 45),
        ("stages.main.2.counters.packets", 45),
        ("rings.far.packets", i128::from(report.rings[0].packets)),
    ];
    for (path, value) in known {
        for (operator, delta, held) in
            [("==", 0, true), ("==", 1, false), ("<", 1, true), (">", 0, false)]
        {
            let text = format!("{path} {operator} {}", value + delta);
            let expectation = plan().expectation(&text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(expectation.to_string(), text);
            let judged = expectation.judge(&report);
            assert_eq!((judged.held, judged.left), (held, value.to_string()), "{text}");
        }
    }
}

#[test]
fn truths_and_other_paths_can_stand_on_the_right() {
    let report = report();
    let held =
        |text: &str| plan().expectation(text).map(|expectation| expectation.judge(&report).held);
    assert_eq!(held("balanced == true"), Ok(true));
    assert_eq!(held("balanced != true"), Ok(false));
    assert_eq!(held("duration_s >= 0.0"), Ok(true));
    assert_eq!(held("duration_s > 1e9"), Ok(false));
    assert_eq!(held("totals.rx_packets == ports.in.rx_packets"), Ok(true));
    let expectation = plan().expectation("totals.rx_packets<=drops.not_ours").expect("read");
    let judged = expectation.judge(&report);
    assert_eq!((judged.held, judged.left.as_str()), (false, "90"));
    assert_eq!(judged.right.as_deref(), Some("22"));
}

#[test]
fn what_is_unknown_is_refused_with_what_may_be_written() {
    let cases = [
        (
            "drops.notours == 0",
            "the report of this pipeline has no `drops.notours`; did you mean `drops.not_ours`?",
        ),
        (
            "stages.main.2.counters.packet == 0",
            "the report of this pipeline has no `stages.main.2.counters.packet`; did you mean `stages.main.2.counters.packets`?",
        ),
        (
            "port.in.rx_packets == 0",
            "the report of this pipeline has no `port.in.rx_packets`; did you mean `ports.in.rx_packets`?",
        ),
        (
            "ports.elsewhere.x > 0",
            "the report of this pipeline has no `ports.elsewhere.x`; behind `ports.` there are `in`, `out`, `out.2`",
        ),
        (
            "ports.in.drops.not_ours == 0",
            "the report of this pipeline has no `ports.in.drops.not_ours`; did you mean `stages.Drop.drops.not_ours`?",
        ),
        (
            "errors == 0",
            "the report of this pipeline has no `errors`; paths begin with `balanced`, `drops`, `duration_s`, `ports`, `rings`, `stages`, `totals`",
        ),
        (
            "stages.Count.packets_in == 0",
            "the report of this pipeline has no `stages.Count.packets_in`; behind `stages.` there are `Drop`, `Rx`, ",
        ),
        (
            "ports.in.drops == 0",
            "`ports.in.drops` is no number but has several; behind `ports.in.drops.` there are",
        ),
        ("ports.in.kind == 0", "`ports.in.kind` is no number"),
        ("balanced == 1", "`balanced` is true or false; write `balanced == true`"),
        ("balanced > false", "`balanced` is true or false"),
        ("totals.held == true", "`totals.held` is a number"),
        ("totals.held = 0", "two equals signs compare: `==`"),
        ("totals.held == 5ms", "`5ms` is no number"),
        ("0 == totals.held", "the path stands on the left"),
        ("totals.held", "write PATH OP VALUE"),
        ("== 0", "write PATH OP VALUE"),
        ("totals.held <", "write PATH OP VALUE"),
        ("totals.held ! 0", "write PATH OP VALUE"),
        ("", "write PATH OP VALUE"),
    ];
    for (text, start) in cases {
        let message = refusal(text);
        assert!(message.starts_with(start), "{text}: {message}");
    }
}

/// What a run may count, a plan must know: else an expectation of it would be refused.
#[test]
fn every_number_of_a_report_is_known_before_the_run() {
    let plan = plan();
    let known = view::of_plan(&plan);
    let found = view::of_report(&report());
    let unknown: Vec<String> = view::leaves(&found)
        .into_iter()
        .filter(|path| view::find(&known, path).is_none())
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let reasons = plan.ports[0].config.drop_reasons();
    for refusal in Refusal::ALL {
        assert!(reasons.contains(&refusal.drop_name()), "{refusal:?}");
    }
}

#[test]
fn the_engines_own_reasons_are_those_that_reports_show() {
    let text =
        FILE.replace("Count(name: \"kept\")", "Panics(at: 10, name: \"kept\", on_panic: Drop)");
    let plan = || fixture::plan(&text).unwrap_or_else(|failure| panic!("{failure}"));
    let expectation = plan().expectation("drops.stage_panicked > 0").expect("known");
    let report = plan().simulate(7).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(expectation.judge(&report).held, "{:?}", expectation.judge(&report));
}

fn with_rx(rx_packets: u64) -> Report {
    let mut report = report();
    report.totals = Totals { rx_packets, ..report.totals };
    report
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The six operators against those of Rust, around equality and at the ends of the range.
    #[test]
    fn operators_compare_as_numbers_do(found in prop_oneof![0..5_u64, Just(u64::MAX)], value in -2..6_i128) {
        let report = with_rx(found);
        let found = i128::from(found);
        let cases = [
            ("==", found == value), ("!=", found != value), ("<", found < value),
            ("<=", found <= value), (">", found > value), (">=", found >= value),
        ];
        for (operator, held) in cases {
            let text = format!("totals.rx_packets {operator} {value}");
            let expectation = plan().expectation(&text).expect("read");
            prop_assert_eq!(expectation.judge(&report).held, held, "{}", text);
        }
    }

    /// Nothing that is typed panics, and what is refused is told why.
    #[test]
    fn no_text_is_too_odd(text in "(drops|totals|ports|stages|\\.|in|out|=|<|>|!| |[0-9_]|\\PC){0,12}") {
        if let Err(error) = plan().expectation(&text) {
            prop_assert!(!error.message.is_empty() && error.user);
        }
    }
}
