//! Packets in tunnels: what the port is left of them, behind which UDP ports, and what is asked of a description
//! whose packets may not fit.

use super::says::{Says, named};
use super::{Verdict, Where};
use crate::fixture::{self, machine};
use crate::place::Plan;
use crate::{Failure, Pipeline, Registry};
use corelane_runtime::packet::Tunnel;
use corelane_runtime::stage::StageInfo;
use corelane_runtime::stage::spec::Traits;

static KNOWN: StageInfo = named("Known");
static OTHER: StageInfo = named("Other");
static SUMMED: StageInfo = named("Summed");
static FITS: StageInfo = named("Fits");
static UNWRAP: StageInfo = named("Unwrap");
static UNWRAPS: StageInfo = named("Unwraps");
static ELSEWHERE: StageInfo = named("Elsewhere");

fn registry() -> Registry {
    let wrap = |port, tunnel_sum, fits| Traits {
        changes_headers: true,
        adds: 50,
        encapsulates: Some(Tunnel::Vxlan),
        tunnel_ports: vec![port],
        tunnel_sum,
        fits,
        ..Traits::default()
    };
    let unwrap =
        Traits { changes_headers: true, decapsulates: Some(Tunnel::Vxlan), ..Traits::default() };
    fixture::registry()
        .with_spec(Says(&KNOWN, wrap(4789, false, false)))
        .with_spec(Says(&OTHER, wrap(8472, false, false)))
        .with_spec(Says(&SUMMED, wrap(4789, true, false)))
        .with_spec(Says(&FITS, wrap(4789, false, true)))
        .with_spec(Says(&UNWRAPS, Traits { tunnel_ports: vec![4789], ..unwrap.clone() }))
        .with_spec(Says(&ELSEWHERE, Traits { tunnel_ports: vec![8472], ..unwrap.clone() }))
        .with_spec(Says(&UNWRAP, unwrap))
}

const CUTS: &str =
    "[\"tso4\", \"tso6\", \"tx_tcp4\", \"tx_tcp6\", \"tx_udp4\", \"tx_udp6\", \"multi_part\"";

fn planned(stages: &str, caps: &str, mtus: (&str, &str)) -> Result<Plan, Failure> {
    let (inside, out) = mtus;
    let text = format!(
        "Pipeline(name: \"test\", ports: {{\n\
         \"in\": Emulated(traffic: (count: 1000){inside}),\n\
         \"wan\": Emulated(caps: {CUTS}, {caps}]{out}),\n}},\n\
         chains: {{ \"main\": [Rx(\"in\"), ChecksumValidate, Gro, {stages}, Tx(\"wan\")] }})"
    );
    Pipeline::parse(&text)?.plan(&registry(), &machine(4))
}

fn verdict(stages: &str, caps: &str, step: &str, work: &str) -> (Where, String) {
    let plan = planned(stages, caps, ("", "")).unwrap_or_else(|failure| panic!("{failure}"));
    let stage = plan.stages.iter().find(|stage| stage.id == step);
    let verdicts: &[Verdict] = &stage.unwrap_or_else(|| panic!("no {step}")).verdicts;
    let found = verdicts.iter().find(|verdict| verdict.work == work);
    let found = found.unwrap_or_else(|| panic!("no `{work}` in {verdicts:#?}"));
    (found.place, found.reason.clone())
}

#[test]
fn b4_the_udp_port_decides_and_the_row_says_so() {
    let said = verdict("Known", "\"tso_vxlan\"", "main.+Gso", "tcp in vxlan");
    assert_eq!(said, (Where::Hardware, "wan: tso_vxlan = Yes, udp port 4789".into()));
    let (place, reason) = verdict("Other", "\"tso_vxlan\"", "main.+Gso", "tcp in vxlan");
    assert_eq!(place, Where::Software);
    let expected = "wan: tso_vxlan = Yes, but it looks behind udp port 4789, not 8472; cut here";
    assert!(reason.starts_with(expected), "{reason}");
    let (place, reason) = verdict("Other", "\"tso_vxlan\"", "main.+Gso", "tcp over ipv4");
    assert_eq!(place, Where::Software);
    assert!(reason.ends_with("but all of it is tcp in vxlan, as below"), "{reason}");
}

#[test]
fn b5_an_outer_checksum_is_asked_for_along_with_the_cut() {
    let work = "tcp in vxlan with outer checksum";
    let pair = "\"tso_vxlan\", \"tso_vxlan_csum\", \"tx_outer_udp\"";
    assert_eq!(verdict("Summed", pair, "main.+Gso", work).0, Where::Hardware);
    assert_eq!(verdict("Summed", "\"tso_vxlan\"", "main.+Gso", work).0, Where::Software);
    let partial = "\"tso_vxlan\", \"gso_partial\"";
    let (place, reason) = verdict("Summed", partial, "main.+Gso", work);
    assert_eq!(place, Where::Both);
    assert!(reason.contains("wan: gso_partial = Yes: it repeats headers"), "{reason}");
}

#[test]
fn of_what_was_taken_out_nothing_is_asked_about_tunnels() {
    for stages in ["Unwrap", "Known, Unwrap"] {
        let plan = planned(stages, "\"tso_vxlan\"", ("", "")).expect("it can be planned");
        let verdicts = plan.stages.iter().flat_map(|stage| &stage.verdicts);
        assert!(verdicts.clone().count() > 0);
        for verdict in verdicts {
            assert!(!verdict.work.contains("vxlan"), "{stages}: {verdict:?}");
        }
    }
}

#[test]
fn where_packets_may_not_fit_the_stage_must_say_what_becomes_of_them() {
    let small = (", mtu: 9000", ", mtu: 1500");
    let Err(failure) = planned("Known", "\"tso_vxlan\"", small) else { panic!("it may not") };
    let said = failure.to_string();
    for part in ["needs `oversize`", "9000 B", "50 B are put in front", "1500 B", "1450"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let unlimited = ("", ", mtu: 1500");
    let Err(failure) = planned("Known", "\"tso_vxlan\"", unlimited) else { panic!("it may not") };
    assert!(failure.to_string().contains("it has no mtu"), "{failure}");
    for mtus in [(", mtu: 1450", ", mtu: 1500"), (", mtu: 9000", ""), ("", "")] {
        assert!(planned("Known", "\"tso_vxlan\"", mtus).is_ok(), "{mtus:?}");
    }
    assert!(planned("Fits", "\"tso_vxlan\"", small).is_ok());
}

#[test]
fn a_port_that_finishes_any_checksum_takes_those_inside_tunnels_that_it_does_not_find() {
    let work = "inside vxlan";
    let text = |caps: &str| {
        format!(
            "Pipeline(name: \"test\", ports: {{\n\
             \"in\": Emulated(caps: [\"rx_partial\"], traffic: (count: 1000)),\n\
             \"wan\": Emulated(caps: [\"tx_tcp4\", \"tx_tcp6\", \"tx_udp4\", \"tx_udp6\"{caps}]),\n}},\n\
             chains: {{ \"main\": [Rx(\"in\"), Known, Tx(\"wan\")] }})"
        )
    };
    for (caps, place) in [(", \"tx_generic\"", Where::Hardware), ("", Where::Software)] {
        let plan = Pipeline::parse(&text(caps)).expect("a description");
        let plan =
            plan.plan(&registry(), &machine(4)).unwrap_or_else(|failure| panic!("{failure}"));
        let fill = plan.stages.iter().find(|stage| stage.id == "main.+ChecksumFill").expect("it");
        let found = fill.verdicts.iter().find(|verdict| verdict.work == work).expect("a row");
        assert_eq!(found.place, place, "{}", found.reason);
    }
}

/// What is said of the checksums of what comes from a port of these capabilities and limits.
fn checked(stages: &str, caps: &str, work: &str) -> (Where, String) {
    let text = format!(
        "Pipeline(name: \"test\", ports: {{\n\
         \"in\": Emulated(caps: [\"rx_ip\", \"rx_tcp\", \"rx_udp\"{caps}], traffic: (count: 1000)),\n\
         \"out\": Emulated,\n}}, chains: {{ \"main\": [Rx(\"in\"), ChecksumValidate, {stages} Tx(\"out\")] }})"
    );
    let plan = Pipeline::parse(&text).expect("a description");
    let plan = plan.plan(&registry(), &machine(4)).unwrap_or_else(|failure| panic!("{failure}"));
    let stage = plan.stages.iter().find(|stage| stage.id == "main.1").expect("it");
    let found = stage.verdicts.iter().find(|verdict| verdict.work == work).expect("a row");
    (found.place, found.reason.clone())
}

#[test]
fn a_port_that_finds_the_tunnel_tells_of_what_is_inside_and_apart_of_what_is_around() {
    const OUTER: &str = ", \"rx_outer_ip\"";
    // The tunnel of the description is the one that it finds.
    let (place, reason) = checked("Unwraps,", OUTER, "inner tcp, udp");
    assert_eq!(place, Where::Hardware, "{reason}");
    assert_eq!(reason, "in: rx_tcp, rx_udp = Yes, inner headers of VXLAN port 4789");
    assert_eq!(checked("Unwraps,", OUTER, "outer ipv4").0, Where::Hardware);
    let (place, reason) = checked("Unwraps,", OUTER, "outer udp");
    assert_eq!(place, Where::Software, "{reason}");
    assert!(reason.starts_with("in: rx_outer_udp = No"), "{reason}");
    // Another UDP port is plain UDP to it.
    let (place, reason) = checked("Elsewhere,", OUTER, "inner tcp, udp");
    assert_eq!(place, Where::Software, "{reason}");
    assert!(reason.contains("but it finds VXLAN port 4789, Geneve port 6081 only"), "{reason}");
    assert_eq!(checked("Elsewhere,", OUTER, "outer udp").0, Where::Hardware);
    // Where no tunnel ends, any may come.
    assert_eq!(checked("", OUTER, "inner tcp, udp").0, Where::Both);
    let (place, reason) = checked("", OUTER, "outer udp");
    assert_eq!(place, Where::Both, "{reason}");
    assert!(reason.contains("in: rx_udp = Yes; in: rx_outer_udp = No"), "{reason}");
    // A port that finds none tells of the outermost headers.
    let (place, reason) = checked("Unwraps,", "", "inner ipv4");
    assert_eq!(place, Where::Software, "{reason}");
    assert!(reason.contains("but it finds no tunnel"), "{reason}");
    assert_eq!(checked("Unwraps,", "", "outer udp").0, Where::Hardware);
}
