//! What cannot be placed, and what is said then.

use crate::machines::{machine, vm};
use crate::own::registry;
use corelane::{Failure, Machine, Pipeline};

fn refused(cores: &str, ports: &str, chain: &str, machine: &Machine) -> String {
    let text = format!(
        "Pipeline(name: \"p\", cores: {cores}, ports: {{ {ports} }}, chains: {{ {chain} }})"
    );
    let planned = Pipeline::parse(&text).map_err(Failure::from);
    let planned = planned.and_then(|pipeline| pipeline.plan(&registry(), machine));
    planned.map(|_| ()).expect_err(&text).to_string()
}

fn big() -> Machine {
    Machine::from_ron("Machine(packages: 2, cores: 64, threads: 1)").expect("a machine")
}

const PORTS: &str = r#""in": Emulated, "out": Emulated"#;

#[test]
fn more_rings_than_there_may_be_are_refused_with_the_sum() {
    let chain = r#""main": [Rx("in"), Ring(name: "cut", ways: 65), Tx("out")]"#;
    let message = refused("Count(64)", PORTS, chain, &big());
    assert!(
        message.contains("4160 rings are needed (64 main x 65 cut), more than 4096"),
        "{message}"
    );
}

#[test]
fn pools_that_together_are_too_large_are_refused_with_the_sum() {
    let chain = r#""main": [Rx("in"), Ring(name: "cut", ways: 60, capacity: 4096), Tx("out")]"#;
    let message = refused("Count(64)", PORTS, chain, &big());
    let part = |part: &str| assert!(message.contains(part), "{part}: {message}");
    part("124 actors need ");
    part("more than the 16384 MiB they may have");
    part("64 x ");
    part(" + 60 x ");
}

#[test]
fn a_pin_that_cannot_be_is_refused_in_words() {
    let machine = machine(&vm(), &vm());
    let simple = r#""main": [Rx("in"), Ring("cut"), Tx("out")]"#;
    let one = r#""in": Emulated(queues: 1), "out": Emulated(queues: 1)"#;
    let cases = [
        (
            "Pin({\"cut\": [0, 1]})",
            PORTS,
            r#""main": [Rx("in"), Ring(name: "cut", ways: 3), Tx("out")]"#,
            "`cut` is pinned to 2 CPUs, but its ring has 3 ways; pin it to 3, or to one",
        ),
        (
            "Pin({\"main\": [0, 1]})",
            one,
            simple,
            "`main` is pinned to 2 CPUs, but in has 1 queue and it does nothing else than read; pin what is behind its ring",
        ),
        (
            "Pin({\"cut\": [0, 1]})",
            one,
            r#""main": [Rx("in"), Gso, ChecksumFill, Ring("cut"), Tx("out")]"#,
            "2 copies of `cut` begin with `Tx(\"out\")`, but out has 1 queue; ask for one copy",
        ),
        (
            "Pin({\"main\": [0, 1], \"in.rx\": [0, 1]})",
            one,
            r#""main": [Rx("in"), Count, Tx("out")]"#,
            "`in.rx` is pinned to 2 CPUs, but there can be only one of it; pin it to one",
        ),
        (
            "Pin({\"cut\": [0, 1]})",
            PORTS,
            r#""main": [Rx("in"), Ring("cut"), Police, Tx("out")]"#,
            "2 copies of `cut` begin with `Police`, but `Police` keeps one state for all; ask for one copy",
        ),
    ];
    for (cores, ports, chain, expected) in cases {
        let message = refused(cores, ports, chain, &machine);
        assert!(message.contains(expected), "{cores}: {message}");
    }
}

#[test]
fn more_stages_than_queues_are_refused() {
    let machine = machine(&vm(), &vm());
    let ports = r#""in": Emulated(queues: 1), "out": Emulated(queues: 1)"#;
    let chains = r#""a": [Rx("in"), Tx("out")], "b": [Rx("out"), Tx("out")]"#;
    let message = refused("Auto", ports, chains, &machine);
    assert!(
        message
            .contains("port out: is written by a.1 and b.1, but has 1 queue; bring their packets"),
        "{message}"
    );
    let chains = r#""a": [Rx("in"), Tx("out")], "b": [Rx("in"), Drop]"#;
    let message = refused("Auto", ports, chains, &machine);
    assert!(message.contains("port in: is read by a.0 and b.0, but has 1 queue"), "{message}");
}

/// What the file says that cannot be is told with its place there; what the command line says, without.
#[test]
fn what_no_machine_can_hold_points_into_the_file() {
    let machine = machine(&vm(), &vm());
    let chain = r#""main": [Rx("in"), Tx("out")]"#;
    let message = refused("Count(70)", PORTS, chain, &machine);
    assert!(message.contains("70 CPUs are asked for, but this process may use"), "{message}");
    assert!(message.ends_with("for another machine (--topology) (description:1:28)"), "{message}");
    let message = refused("Pin({\"main\": 900})", PORTS, chain, &machine);
    assert!(message.contains("`main` is pinned to CPU 900"), "{message}");
    assert!(message.ends_with("(description:1:28)"), "{message}");
}

#[test]
fn a_number_of_cpus_beside_pins_is_refused_with_their_place() {
    let text = format!(
        "Pipeline(name: \"p\", cores: Pin({{\"m\": 0}}), ports: {{ {PORTS} }}, chains: {{ \"m\": [Rx(\"in\"), Drop] }})"
    );
    let asked = Pipeline::parse(&text).expect(&text).with_cores(2);
    assert_eq!(
        asked.err().map(|error| error.to_string()).as_deref(),
        Some(
            "cores: 2 CPUs are asked for, but the file pins its actors (description:1:28); write `cores: Auto` \
             there, or ask for no number"
        )
    );
}

/// The number that is advised is enough, and one less is not.
#[test]
fn a_pool_that_is_too_small_is_told_what_is_enough() {
    let planned = |small: u64| {
        let text = format!(
            "Pipeline(name: \"p\", pools: (small: {small}), ports: {{ {PORTS} }}, chains: {{ \"m\": [Rx(\"in\"), Gro, \
             Ring(\"r\"), Tx(\"out\")] }})"
        );
        let pipeline = Pipeline::parse(&text).map_err(Failure::from);
        let planned = pipeline.and_then(|pipeline| pipeline.plan(&registry(), &big()));
        planned.map(|_| ()).map_err(|failure| failure.to_string())
    };
    let message = planned(1000).expect_err("too few");
    let (_, rest) = message.split_once("write `small: ").expect(&message);
    let enough: u64 = rest.split_once('`').expect(&message).0.parse().expect(&message);
    assert!(message.contains(&format!("but {enough} packets must fit (")), "{message}");
    assert!(message.ends_with("(description:1:28)"), "{message}");
    assert_eq!(planned(enough), Ok(()));
    assert!(planned(enough - 1).is_err());
}
