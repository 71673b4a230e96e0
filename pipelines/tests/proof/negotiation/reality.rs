//! The verdicts against what was counted: what hardware is said to do was left to it, what software is said to do
//! was done, and nothing was done where there is nothing to do.

use super::bench::{Bench, Ran, device, place, stage, verdict};
use corelane::{Machine, Pipeline, Where};
use corelane_device::emulated::Frame;
use corelane_runtime::offload::{Caps, Limits};
use corelane_wire::testing::{FrameBuilder, Ipv4, Ipv6, Tcp, Udp};

/// Trains of one kind, and the needs of `Gso` that cutting them brings.
struct Kind {
    name: &'static str,
    work: &'static [&'static str],
    udp: bool,
    make: fn(u32) -> FrameBuilder,
}

const KINDS: [Kind; 5] = [
    Kind { name: "tcp4", work: &["tcp over ipv4"], udp: false, make: |n| counting(n).tcp(tcp(n)) },
    Kind {
        name: "tcp4 with one id",
        work: &["tcp over ipv4", "tcp with one id"],
        udp: false,
        make: |n| FrameBuilder::new().ipv4(Ipv4 { id: 7, ..Ipv4::default() }).tcp(tcp(n)),
    },
    Kind {
        name: "tcp6",
        work: &["tcp over ipv6"],
        udp: false,
        make: |n| FrameBuilder::new().ipv6(Ipv6::default()).tcp(tcp(n)),
    },
    Kind {
        name: "udp4",
        work: &["udp over ipv4"],
        udp: true,
        make: |n| counting(n).udp(Udp::default()),
    },
    Kind {
        name: "udp6",
        work: &["udp over ipv6"],
        udp: true,
        make: |_| FrameBuilder::new().ipv6(Ipv6::default()).udp(Udp::default()),
    },
];

fn counting(n: u32) -> FrameBuilder {
    FrameBuilder::new().ipv4(Ipv4 { id: n as u16, ..Ipv4::default() })
}

fn tcp(n: u32) -> Tcp {
    Tcp { seq: 5000 + n * 700, ..Tcp::default() }
}

fn frames(kind: &Kind) -> Vec<Frame> {
    let payload: Vec<u8> = (0..700).map(|at| at as u8).collect();
    let frame = |n| Frame::new(u64::from(n), (kind.make)(n).payload(&payload).build());
    (0..90).map(frame).collect()
}

fn ran(chain: &str, rx: Caps, tx: Caps, kind: &Kind) -> Ran {
    ran_with("Rx(\"in\")", chain, rx, tx, &frames(kind), kind.name)
}

fn ran_with(source: &str, chain: &str, rx: Caps, tx: Caps, frames: &[Frame], name: &str) -> Ran {
    let facts = |caps| device(caps, Limits { tso_bytes: 1 << 20, ..Limits::default() });
    let bench = Bench {
        ports: vec![("in", facts(rx)), ("out", facts(tx))],
        chains: format!("\"main\": [{source}, {chain}, Tx(\"out\")]"),
    };
    let plan = bench.plan().unwrap_or_else(|failure| panic!("{failure}"));
    let ran = bench.run(plan, frames, 3);
    ran.assert_clean(&format!("{name} {source} {chain} {rx:?} {tx:?}"));
    ran
}

/// Whether hardware does all of it.
fn all_hardware(ran: &Ran, kind: &str, work: &[&str]) -> bool {
    let places: Vec<Where> = work.iter().map(|work| place(&ran.told, kind, work)).collect();
    assert!(!places.contains(&Where::Nothing), "{work:?} came, and the plan says it cannot");
    places.iter().all(|&place| place == Where::Hardware)
}

#[test]
fn superpackets_are_cut_where_the_verdict_says() {
    let mut seen = [0; 2];
    for kind in &KINDS {
        for tx in Caps::every_set() {
            let ran = ran("ChecksumValidate, Gro", Caps::empty(), tx, kind);
            let context = format!("{} to {tx:?}", kind.name);
            let work = [kind.work, &["several parts"]].concat();
            let (left, cut) = (ran.counter("Gso", "left"), ran.counter("Gso", "cut"));
            match all_hardware(&ran, "Gso", &work) {
                true => assert!(left > 0 && cut == 0, "{context}: left {left}, cut {cut}"),
                false => assert!(cut > 0 && left == 0, "{context}: left {left}, cut {cut}"),
            }
            seen[usize::from(left > 0)] += 1;
            // Gso completes checksums from the sums of the pieces, which is what the plan counts on.
            let fill = stage(&ran.told, "ChecksumFill");
            assert!(fill.verdicts.iter().all(|verdict| verdict.place == Where::Nothing));
            for counter in ["left", "reused", "summed", "ipv4"] {
                assert_eq!(ran.counter("ChecksumFill", counter), 0, "{context}: {counter}");
            }
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
fn payload_is_read_where_the_verdict_says() {
    for kind in &KINDS {
        for rx in Caps::every_set().into_iter().filter(|set| !set.contains(Caps::RX_HW_GRO)) {
            for chain in ["ChecksumValidate", "Gro", "ChecksumValidate, Gro"] {
                let ran = ran(chain, rx, Caps::all(), kind);
                let totals = &ran.report.totals;
                let (stage, work) = match chain {
                    "Gro" => ("Gro", ["check tcp", "check udp"]),
                    _ => ("ChecksumValidate", ["outer tcp", "outer udp"]),
                };
                let by_device =
                    place(&ran.told, stage, work[usize::from(kind.udp)]) == Where::Hardware;
                let complete = stage == "ChecksumValidate" && rx.contains(Caps::RX_COMPLETE);
                let expected = if by_device || complete { 0 } else { totals.payload_bytes };
                let context = format!("{} {chain} {rx:?}", kind.name);
                assert_eq!(totals.payload_bytes_summed, expected, "{context}");
                if chain == "ChecksumValidate, Gro" {
                    let checks = ["check ipv4", "check tcp", "check udp"];
                    let nothing = |work| place(&ran.told, "Gro", work) == Where::Nothing;
                    assert!(checks.into_iter().all(nothing), "{context}");
                }
            }
        }
    }
}

#[test]
fn software_only_uses_nothing_a_device_said() {
    for kind in &KINDS {
        let rx = Caps::all() - Caps::RX_HW_GRO;
        for chain in ["ChecksumValidate(offload: SoftwareOnly)", "Gro(offload: SoftwareOnly)"] {
            let ran = ran(chain, rx, Caps::empty(), kind);
            let totals = &ran.report.totals;
            assert_eq!(totals.payload_bytes_summed, totals.payload_bytes, "{} {chain}", kind.name);
        }
    }
}

#[test]
fn checksums_of_what_came_joined_are_made_where_the_verdict_says() {
    let rx = Caps::RX_HW_GRO.with_implied();
    for kind in KINDS.iter().filter(|kind| !kind.udp) {
        let work = if kind.name == "tcp6" { "tcp over ipv6" } else { "tcp over ipv4" };
        let bits = if kind.name == "tcp6" { Caps::TX_TCP6 } else { Caps::TX_TCP4 };
        for tx in [Caps::MULTI_PART, bits | Caps::MULTI_PART, Caps::all()] {
            let ran = ran("Count", rx, tx, kind);
            let context = format!("{} to {tx:?}", kind.name);
            let count = |name| ran.counter("ChecksumFill", name);
            let (left, summed, cut) = (count("left"), count("summed"), ran.counter("Gso", "cut"));
            match place(&ran.told, "ChecksumFill", work) {
                _ if cut == 0 => assert!(tx == Caps::all() && left + summed == 0, "{context}"),
                Where::Hardware => assert!(left > 0 && summed == 0, "{context}: {left} {summed}"),
                Where::Software => assert!(left == 0 && summed > 0, "{context}: {left} {summed}"),
                place => panic!("{context}: {place:?}"),
            }
        }
    }
}

const ASKS_NOBODY: &str = "Rx(port: \"in\", offload: SoftwareOnly)";

#[test]
fn a_port_that_is_not_asked_neither_joins_nor_reports() {
    for kind in &KINDS {
        for chain in ["ChecksumValidate", "Gro"] {
            let ran =
                ran_with(ASKS_NOBODY, chain, Caps::all(), Caps::all(), &frames(kind), kind.name);
            let context = format!("{} {chain}", kind.name);
            let (totals, port) = (&ran.report.totals, ran.report.ports.get("in").expect("a port"));
            assert_eq!(port.rx_wire_packets, port.rx_packets, "{context}: joined");
            assert_eq!(totals.payload_bytes_summed, totals.payload_bytes, "{context}: reported");
            assert_eq!((totals.demoted, port.demoted.len()), (0, 0), "{context}: no loss");
            let join = if kind.udp { "join udp" } else { "join tcp" };
            match chain {
                "Gro" => {
                    assert!(ran.counter("Gro", "merged") > 0, "{context}");
                    assert_eq!(place(&ran.told, "Gro", join), Where::Software, "{context}");
                }
                _ => assert_eq!(place(&ran.told, chain, "outer tcp"), Where::Software, "{context}"),
            }
            assert_eq!(place(&ran.told, "Rx", "joined segments"), Where::Nothing, "{context}");
        }
    }
}

/// Joined by the port as long as they last, and single ones of flows that have no second packet.
fn mixed(kind: &Kind, singles: u16) -> Vec<Frame> {
    let mut frames = frames(kind);
    for n in 0..singles {
        let alone = FrameBuilder::new()
            .ipv4(Ipv4::default())
            .tcp(Tcp { src_port: 40_000 + n, ..Tcp::default() })
            .payload(&[9; 500]);
        frames.push(Frame::new(1000 + u64::from(n), alone.build()));
    }
    frames
}

#[test]
fn behind_a_port_that_joins_software_only_checks_what_came_single() {
    let rx = Caps::RX_HW_GRO.with_implied();
    for kind in KINDS.iter().filter(|kind| !kind.udp) {
        for (stage, work) in [("ChecksumValidate", "outer tcp"), ("Gro", "check tcp")] {
            let chain = format!("{stage}(offload: SoftwareOnly)");
            let frames = mixed(kind, 7);
            let ran = ran_with("Rx(\"in\")", &chain, rx, Caps::all(), &frames, kind.name);
            let context = format!("{} {chain}", kind.name);
            let port = ran.report.ports.get("in").expect("a port");
            let joined = port.rx_wire_packets - port.rx_packets;
            assert!(joined > 50, "{context}: {joined} joined");
            assert_eq!(ran.report.totals.payload_bytes_summed, 7 * 500, "{context}");
            assert_eq!(place(&ran.told, stage, work), Where::Both, "{context}");
            assert_eq!(ran.counter("Gro", "merged"), 0, "{context}: what comes joined stays so");
        }
    }
}

#[test]
fn payloads_are_copied_where_the_row_of_the_cut_says_so() {
    let joins = Caps::RX_HW_GRO.with_implied();
    let kind = &KINDS[0];
    for (chain, rx, tx, copies) in [
        ("Count", joins, Caps::empty(), true),
        ("Count", joins, Caps::MULTI_PART, false),
        ("Gro", Caps::empty(), Caps::empty(), false),
    ] {
        let ran = ran(chain, rx, tx, kind);
        let context = format!("{chain} {rx:?} {tx:?}");
        let reason = &verdict(stage(&ran.told, "Gso"), "tcp over ipv4").reason;
        assert_eq!(reason.contains("Tx copies the payloads"), copies, "{context}: {reason}");
        assert!(ran.counter("Gso", "cut") > 0, "{context}");
        assert_eq!(ran.report.totals.copies > 0, copies, "{context}: {:?}", ran.report.totals);
    }
}

#[test]
fn what_the_sender_leaves_unfinished_is_vouched_for_and_not_read() {
    for on_partial in ["Pass", "Drop"] {
        let text = format!(
            "Pipeline(name: \"test\", ports: {{
                \"in\": Emulated(caps: [\"rx_partial\"], traffic: (count: 100, partial: true)), \"out\": Emulated
            }}, chains: {{ \"main\": [Rx(\"in\"), ChecksumValidate(on_partial: {on_partial}), Tx(\"out\")] }})"
        );
        let pipeline = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = pipeline.plan(&corelane::standard(), &Machine::here());
        let plan = plan.unwrap_or_else(|failure| panic!("{failure}"));
        let told = plan.explain();
        let reason = &verdict(stage(&told, "ChecksumValidate"), "outer udp").reason;
        assert!(reason.ends_with("those that came unfinished are not read"), "{reason}");
        let report = plan.simulate(3).unwrap_or_else(|failure| panic!("{failure}"));
        let validate = report.stages.iter().find(|stage| stage.kind == "ChecksumValidate");
        let validate = validate.expect("a stage");
        assert_eq!(validate.counters.get("outer.udp.good"), Some(&100), "{on_partial}");
        assert_eq!(report.totals.dropped, 0, "{on_partial}");
    }
}
