//! Small descriptions, and what was decided for each: exits, added steps, verdicts with their reasons,
//! refusals, warnings.

use super::says::{Says, named};
use super::{Exit, Verdict, Where};
use crate::fixture::{self, machine};
use crate::place::{Plan, PlannedStage};
use crate::{Failure, Pipeline, Problems, Registry};
use corelane_runtime::offload::Caps;
use corelane_runtime::stage::StageInfo;
use corelane_runtime::stage::spec::Traits;

static PICKY: StageInfo = named("Picky");
static FUSSY: StageInfo = named("Fussy");
static WRAP: StageInfo = named("Wrap");
static UNWRAP: StageInfo = named("Unwrap");
static TAG: StageInfo = named("Tag");

fn registry() -> Registry {
    let picky = Traits { no_superpackets: true, ..Traits::default() };
    let fussy = Traits { no_partial: true, ..Traits::default() };
    let wrap = Traits { changes_headers: true, adds: 50, ..Traits::default() };
    let unwrap = Traits { changes_headers: true, removes: 50, ..Traits::default() };
    let tag = Traits { changes_headers: true, tags: 4, ..Traits::default() };
    fixture::registry()
        .with_spec(Says(&PICKY, picky))
        .with_spec(Says(&FUSSY, fussy))
        .with_spec(Says(&WRAP, wrap))
        .with_spec(Says(&UNWRAP, unwrap))
        .with_spec(Says(&TAG, tag))
}

/// Ports `in`, `a` and `b`, and chains.
fn text(chains: &str, caps_in: &str, caps_out: &str) -> String {
    format!(
        "Pipeline(name: \"test\", ports: {{\n\
         \"in\": Emulated(caps: {caps_in}, traffic: (count: 1000)),\n\
         \"a\": Emulated(caps: {caps_out}),\n\
         \"b\": Emulated(caps: All),\n}}, chains: {{\n{chains}\n}})"
    )
}

fn planned(text: &str) -> Result<Plan, Failure> {
    Pipeline::parse(text)?.plan(&registry(), &machine(4))
}

fn plan(chains: &str, caps_in: &str, caps_out: &str) -> Plan {
    let text = text(chains, caps_in, caps_out);
    planned(&text).unwrap_or_else(|failure| panic!("{failure}\n{text}"))
}

fn refused(chains: &str, caps_in: &str, caps_out: &str) -> Problems {
    match planned(&text(chains, caps_in, caps_out)) {
        Err(Failure::Description(problems)) => problems,
        Err(Failure::Error(error)) => panic!("{error}"),
        Ok(_) => panic!("not refused: {chains}"),
    }
}

fn stage<'a>(plan: &'a Plan, id: &str) -> &'a PlannedStage {
    let ids: Vec<&str> = plan.stages.iter().map(|stage| stage.id.as_str()).collect();
    let found = plan.stages.iter().find(|stage| stage.id == id);
    found.unwrap_or_else(|| panic!("no {id} among {ids:?}"))
}

fn verdict<'a>(plan: &'a Plan, id: &str, work: &str) -> &'a Verdict {
    let verdicts = &stage(plan, id).verdicts;
    let found = verdicts.iter().find(|verdict| verdict.work == work);
    found.unwrap_or_else(|| panic!("no {work:?} among {verdicts:?}"))
}

fn said(plan: &Plan, id: &str, work: &str) -> (Where, String) {
    let verdict = verdict(plan, id, work);
    (verdict.place, verdict.reason.clone())
}

const BUMP: &str = r#""main": [Rx("in"), ChecksumValidate, Gro, Tx("a")]"#;

#[test]
fn what_a_bump_does_where_and_why() {
    let plan = plan(BUMP, "[\"rx_tcp\", \"rx_ip\"]", "[\"tso4\"]");
    let yes = |text: &str| (Where::Hardware, text.to_owned());
    let here = |text: &str| (Where::Software, text.to_owned());
    let none = |text: &str| (Where::Nothing, text.to_owned());
    assert_eq!(said(&plan, "main.1", "outer tcp"), yes("in: rx_tcp = Yes"));
    assert_eq!(
        said(&plan, "main.1", "outer udp"),
        here("in: rx_udp = No (not in its caps, description:2:22); each payload byte is read once")
    );
    assert_eq!(
        said(&plan, "main.2", "check tcp"),
        none("main.1 ChecksumValidate has checked them")
    );
    assert_eq!(said(&plan, "main.+Gso", "tcp over ipv4"), yes("a: tso4 = Yes, up to 65536 B"));
    assert_eq!(
        said(&plan, "main.+Gso", "tcp over ipv6"),
        here(
            "a: tso6 = No (not in its caps, description:3:21); \
             cut here: a header is written for each segment, no payload is copied or read"
        )
    );
    assert_eq!(verdict(&plan, "main.+Gso", "cwr on the first segment").place, Where::Nothing);
    assert_eq!(verdict(&plan, "main.+ChecksumFill", "tcp over ipv4").place, Where::Nothing);
    assert_eq!(stage(&plan, "main.+Gso").exit, Exit::Port("a".into()));
    let note = |id: &str| stage(&plan, id).note.clone().unwrap_or_default();
    let expected = "superpackets come from main.2 Gro, and what `a` cannot cut is cut here";
    assert_eq!(note("main.+Gso"), expected);
    assert_eq!(note("main.+ChecksumFill"), "before every Tx; here there is nothing to finish");
    let asked = &verdict(&plan, "main.+Gso", "tcp over ipv6").asked;
    assert_eq!((asked[0].port.as_str(), asked[0].capability.as_str()), ("a", "tso6"));
    assert_eq!(asked[0].answer, "no");
}

#[test]
fn what_cannot_come_is_nothing_to_do_and_the_reason_says_why_not() {
    let plan = plan(r#""main": [Rx("in"), Count, Tx("a")]"#, "None", "All");
    let expected = "nothing joins packets before this; in: rx_hw_gro = No";
    assert_eq!(said(&plan, "main.+Gso", "tcp over ipv4"), (Where::Nothing, expected.into()));
    let expected = "packets come with their checksums; in: rx_partial = No";
    assert_eq!(
        said(&plan, "main.+ChecksumFill", "tcp over ipv4"),
        (Where::Nothing, expected.into())
    );
    // A port that joins brings superpackets whose pieces nobody has summed.
    let plan = self::plan(r#""main": [Rx("in"), Count, Tx("a")]"#, "[\"rx_hw_gro\"]", "None");
    assert_eq!(verdict(&plan, "main.+Gso", "tcp over ipv4").place, Where::Software);
    assert_eq!(verdict(&plan, "main.+Gso", "udp over ipv4").place, Where::Nothing);
    assert_eq!(verdict(&plan, "main.+ChecksumFill", "tcp over ipv6").place, Where::Software);
    assert_eq!(verdict(&plan, "main.+ChecksumFill", "udp over ipv6").place, Where::Nothing);
}

#[test]
fn a_step_of_the_file_takes_the_place_of_the_added_one_where_it_can_decide() {
    let ids =
        |plan: &Plan| -> Vec<String> { plan.stages.iter().map(|stage| stage.id.clone()).collect() };
    let chain = r#""main": [Rx("in"), Gro, Gso, Count, ChecksumFill, Count, Tx("a")]"#;
    let plan = plan(chain, "None", "All");
    assert!(ids(&plan).iter().all(|id| !id.contains('+')), "{:?}", ids(&plan));
    assert_eq!(stage(&plan, "main.2").exit, Exit::Port("a".into()));
    assert_eq!(verdict(&plan, "main.2", "tcp over ipv4").place, Where::Hardware);
    // Two ports: it cuts everything, and each Tx still gets its own.
    let fork = r#""main": [Rx("in"), Gro, Gso, Fork("other"), Tx("a")], "other": [Tx("b")]"#;
    let plan = self::plan(fork, "None", "All");
    assert_eq!(stage(&plan, "main.2").exit, Exit::Several(vec!["a".into(), "b".into()]));
    let (place, reason) = said(&plan, "main.2", "tcp over ipv4");
    assert_eq!(place, Where::Software);
    let expected = "packets leave by `a` and `b`: without this step (description:6:25), the Gso before each Tx decides for itself; cut here";
    assert!(reason.starts_with(expected), "{reason}");
    for id in ["main.+Gso", "main.+ChecksumFill", "other.+Gso", "other.+ChecksumFill"] {
        stage(&plan, id);
    }
    let expected = "main.2 Gso has cut what was joined before";
    assert_eq!(said(&plan, "main.+Gso", "tcp over ipv4"), (Where::Nothing, expected.into()));
    let again = r#""main": [Rx("in"), Gro, Gso, Wrap, Gro, Tx("a")]"#;
    let again = self::plan(again, "None", "All");
    let expected = "superpackets come from main.4 Gro, and what `a` cannot cut is cut here";
    assert_eq!(stage(&again, "main.+Gso").note.as_deref(), Some(expected));
    // Both ways to one port.
    let same = r#""main": [Rx("in"), Gro, Gso, Fork("other"), Tx("a")], "other": [Tx("a")]"#;
    assert_eq!(stage(&self::plan(same, "None", "All"), "main.2").exit, Exit::Port("a".into()));
}

#[test]
fn stages_on_the_way_keep_work_from_the_port() {
    let plan = plan(r#""main": [Rx("in"), Gro, Gso, Wrap, Tx("a")]"#, "None", "All");
    assert_eq!(stage(&plan, "main.2").exit, Exit::Changed("main.3 Wrap".into()));
    assert_eq!(verdict(&plan, "main.2", "tcp over ipv4").place, Where::Software);
    assert_eq!(stage(&plan, "main.+Gso").exit, Exit::Port("a".into()));
    let plan = self::plan(r#""main": [Rx("in"), Gro, Gso, Picky, Tx("a")]"#, "None", "All");
    assert_eq!(stage(&plan, "main.2").exit, Exit::Held("main.3 Picky".into()));
    assert!(said(&plan, "main.2", "tcp over ipv4").1.contains("`main.3 Picky`"));
    let plan = self::plan(r#""main": [Rx("in"), Gro, Gso, Drop]"#, "None", "All");
    assert_eq!(stage(&plan, "main.2").exit, Exit::Nobody);
    // Ends beside the port do not matter.
    let fork = r#""main": [Rx("in"), Gro, Gso, Fork("other"), Tx("a")], "other": [Wrap, Drop]"#;
    assert_eq!(stage(&self::plan(fork, "None", "All"), "main.2").exit, Exit::Port("a".into()));
}

#[test]
fn software_only_names_the_line_that_says_so() {
    let chain = r#""main": [Rx("in"), ChecksumValidate(offload: SoftwareOnly), Gro, Tx(port: "a", offload: SoftwareOnly)]"#;
    let plan = plan(chain, "[\"rx_tcp\"]", "All");
    let (place, reason) = said(&plan, "main.1", "outer tcp");
    assert_eq!(place, Where::Software);
    let expected = "offload: SoftwareOnly, description:6:20; each payload byte is read once";
    assert_eq!(reason, expected);
    assert_eq!(stage(&plan, "main.+Gso").exit, Exit::Forbidden);
    let (place, reason) = said(&plan, "main.+Gso", "tcp over ipv4");
    assert_eq!(place, Where::Software);
    assert!(reason.starts_with("offload: SoftwareOnly, description:6:66; cut here"), "{reason}");
    // What Rx does not take over, nobody behind it can use.
    let chain = r#""main": [Rx(port: "in", offload: SoftwareOnly), ChecksumValidate, Tx("a")]"#;
    let plan = self::plan(chain, "[\"rx_tcp\"]", "All");
    let (place, reason) = said(&plan, "main.1", "outer tcp");
    assert_eq!(place, Where::Software);
    let expected = "in: offload: SoftwareOnly, description:6:10; each payload byte is read once";
    assert_eq!(reason, expected);
}

/// What a port has that joins.
const JOINS: &str = "[\"rx_ip\", \"rx_tcp\", \"rx_udp\", \"rx_hw_gro\", \"rx_hash\"]";

#[test]
fn a_port_that_every_rx_leaves_to_software_is_not_asked_for_anything_it_receives() {
    let chain =
        r#""main": [Rx(port: "in", offload: SoftwareOnly), ChecksumValidate, Gro, Tx("a")]"#;
    let plan = plan(chain, JOINS, "All");
    let port = plan.ports.iter().find(|port| port.name == "in").expect("a port");
    assert_eq!(
        (port.facts.granted & Caps::RX_WORK, port.withheld),
        (Caps::empty(), port.config.facts().granted & Caps::RX_WORK)
    );
    assert!(port.withheld.contains(Caps::RX_HW_GRO));
    let expected =
        "in: rx_hw_gro = No (offload: SoftwareOnly at description:6:10); the port joins none";
    assert_eq!(said(&plan, "main.0", "joined segments"), (Where::Nothing, expected.into()));
    assert_eq!(said(&plan, "main.1", "outer tcp").0, Where::Software);
    assert_eq!(said(&plan, "main.2", "join tcp").0, Where::Software);
    let before = plan.contracts.iter().find(|edge| edge.from == "main.0").expect("an edge");
    assert!(before.superpackets.is_empty());
    // Of what leaves by it nothing changes.
    let chain = r#""main": [Rx(port: "in", offload: SoftwareOnly), Gro, Tx("in")]"#;
    let plan = self::plan(chain, "All", "None");
    assert_eq!(said(&plan, "main.+Gso", "tcp over ipv4").0, Where::Hardware);
}

#[test]
fn what_a_port_joins_for_another_rx_cannot_be_undone_and_the_rows_say_so() {
    let chains = r#""main": [Rx(port: "in", offload: SoftwareOnly), ChecksumValidate, Gro, Tx("a")],
        "more": [Rx("in"), Drop]"#;
    let plan = plan(chains, JOINS, "All");
    assert!(plan.ports.iter().all(|port| port.withheld.is_empty()));
    let expected = "in: rx_hw_gro = Yes, as another Rx on it lets it, which cannot be undone here";
    assert_eq!(said(&plan, "main.0", "joined segments"), (Where::Hardware, expected.into()));
    let (place, reason) = said(&plan, "main.1", "outer tcp");
    let expected = "in: offload: SoftwareOnly, description:6:10, but rx_hw_gro = Yes: what it joined comes checked and stays joined; where not, each payload byte is read once";
    assert_eq!((place, reason.as_str()), (Where::Both, expected));
    assert_eq!(said(&plan, "main.1", "outer udp").0, Where::Software);
    assert_eq!(said(&plan, "main.2", "join tcp").0, Where::Both);
}

#[test]
fn stages_that_leave_nothing_to_a_port_that_joins_say_what_comes_joined() {
    let chain = r#""main": [Rx("in"), ChecksumValidate(offload: SoftwareOnly), Gro(offload: SoftwareOnly), Tx("a")]"#;
    let plan = plan(chain, JOINS, "All");
    for (id, work, place, here) in [
        ("main.1", "outer ipv4", "description:6:20", "20 to 60 header bytes are read"),
        ("main.1", "outer tcp", "description:6:20", "each payload byte is read once"),
        (
            "main.2",
            "join tcp",
            "description:6:61",
            "segments are joined by flow, nothing is copied",
        ),
    ] {
        let expected = format!(
            "offload: SoftwareOnly, {place}; in: rx_hw_gro = Yes: what it joined comes checked and stays joined; others: {here}"
        );
        assert_eq!(said(&plan, id, work), (Where::Both, expected), "{id} {work}");
    }
    for (id, work) in [("main.1", "outer udp"), ("main.2", "join udp")] {
        assert_eq!(said(&plan, id, work).0, Where::Software, "{id} {work}");
    }
    // Behind a stage that cuts all of it there is none.
    let chain = r#""main": [Rx("in"), Gso, Picky, Gro(offload: SoftwareOnly), Tx("a")]"#;
    assert_eq!(said(&self::plan(chain, JOINS, "All"), "main.3", "join tcp").0, Where::Software);
}

#[test]
fn where_tx_copies_the_row_of_the_cut_says_so() {
    let clause = "but `a` takes no packets of several parts (multi_part = No), so Tx copies the payloads of those cut from what came joined";
    for (chain, caps_in, caps_out, copies) in [
        ("Count", JOINS, "[\"tx_tcp4\"]", true),
        ("Count", JOINS, "[\"multi_part\"]", false),
        ("Gro", "None", "[\"tx_tcp4\"]", false),
    ] {
        let chain = format!("\"main\": [Rx(\"in\"), {chain}, Tx(\"a\")]");
        let (place, reason) = said(&plan(&chain, caps_in, caps_out), "main.+Gso", "tcp over ipv4");
        assert_eq!(
            (place, reason.contains(clause)),
            (Where::Software, copies),
            "{chain}: {reason}"
        );
    }
}

#[test]
fn what_came_unfinished_is_not_read_and_the_rows_say_so() {
    let clause = "; those that came unfinished are not read";
    for (caps, unfinished) in [("[\"rx_partial\"]", true), ("None", false)] {
        let plan = plan(BUMP, caps, "All");
        for work in ["outer tcp", "outer udp", "inner tcp, udp"] {
            let (_, reason) = said(&plan, "main.1", work);
            assert_eq!(reason.ends_with(clause), unfinished, "{work}: {reason}");
        }
        for work in ["outer ipv4", "inner ipv4"] {
            assert!(!said(&plan, "main.1", work).1.contains(clause), "{work}");
        }
    }
}

#[test]
fn require_on_gso_is_about_the_plain_kinds_and_is_told_once() {
    let chain = r#""main": [Rx("in"), Gro, Gso(offload: Require), Tx("a")]"#;
    let kinds = "[\"tso4\", \"tso6\", \"uso4\", \"uso6\"]";
    assert_eq!(
        said(&plan(chain, "None", kinds), "main.2", "cwr on every segment").0,
        Where::Software
    );
    let problems = refused(chain, "None", "None");
    let found: Vec<_> =
        problems.list.iter().filter(|problem| problem.code == "offload-required").collect();
    let [problem] = found.as_slice() else { panic!("{problems}") };
    let works = "`tcp over ipv4`, `tcp over ipv6`, `udp over ipv4`, `udp over ipv6`: a: tso4 = No";
    assert!(problem.message.contains(works), "{}", problem.message);
    let help = "write `offload: Auto`, or make `a` a port that grants tso4, tso6, uso4, uso6";
    assert_eq!(problem.help.as_deref(), Some(help));
}

#[test]
fn an_added_step_requires_what_its_tx_does_and_that_is_named() {
    let chain = r#""main": [Rx("in"), Gro, Tx(port: "a", offload: Require)]"#;
    let problems = refused(chain, "None", "None").to_string();
    let expected = "`main.2 Tx` says `offload: Require`, which holds for `main.+Gso` too, but hardware does not do";
    assert!(problems.contains(expected) && problems.contains(":6:25"), "{problems}");
}

#[test]
fn require_on_a_stage_no_port_works_for_is_a_warning() {
    let chain = r#""main": [Rx("in"), Count(offload: Require), Tx(port: "a", offload: Require)]"#;
    let warnings = plan(chain, "None", "All").warnings().to_string();
    assert!(warnings.contains("`offload: Require` has no effect on `main.1 Count`"), "{warnings}");
    assert_eq!(warnings.matches("no effect").count(), 1, "{warnings}");
}

#[test]
fn a_sum_of_the_datagram_spares_the_payload() {
    let plan = plan(BUMP, "[\"rx_complete\"]", "All");
    let (place, reason) = said(&plan, "main.1", "outer tcp");
    assert_eq!(place, Where::Software);
    let expected = "in: rx_tcp = No (not in its caps, description:2:22), rx_complete = Yes: its sum of the datagram leaves headers to read";
    assert_eq!(reason, expected);
}

#[test]
fn two_entry_ports_that_differ_are_both() {
    let chains = r#""main": [Rx("in"), Fork("rest"), Drop], "more": [Rx("b"), Fork("rest"), Drop],
        "rest": [ChecksumValidate, Tx("a")]"#;
    let plan = plan(chains, "None", "All");
    let (place, reason) = said(&plan, "rest.0", "outer tcp");
    assert_eq!(place, Where::Both);
    let expected = "in: rx_tcp = No (not in its caps, description:2:22); b: rx_tcp = Yes; where not, each payload byte is read once";
    assert_eq!(reason, expected);
}

#[test]
fn require_is_refused_with_port_capability_and_cure() {
    let chain = r#""main": [Rx("in"), Gro, Gso(offload: Require), Tx("a")]"#;
    let problems = refused(chain, "None", "[\"tso4\"]").to_string();
    for part in ["offload-required", "main.2 Gso", "tcp over ipv6", "a: tso6 = No", ":6:25", "Auto"]
    {
        assert!(problems.contains(part), "{part}: {problems}");
    }
    assert!(!problems.contains("`tcp over ipv4`"), "{problems}");
    plan(chain, "None", "All");
    // What cannot occur is not required.
    plan(r#""main": [Rx("in"), Gso(offload: Require), Tx("a")]"#, "None", "None");
    let fork =
        r#""main": [Rx("in"), Gro, Gso(offload: Require), Fork("o"), Tx("a")], "o": [Tx("b")]"#;
    assert!(refused(fork, "None", "All").to_string().contains("`a` and `b`"));
}

#[test]
fn a_stage_that_takes_no_superpackets_is_not_handed_any() {
    let problems = refused(r#""main": [Rx("in"), Gro, Picky, Tx("a")]"#, "None", "All");
    let found = problems.list.iter().find(|problem| problem.code == "edge-contract");
    let found = found.expect("a refusal");
    assert_eq!(
        found.message,
        "edge main.1 Gro -> main.2 Picky, superpackets: `main.1 Gro` may hand over tcp4, tcp6, udp4, udp6, \
         `main.2 Picky` takes none; for example a TCP/IPv4 superpacket of 2 segments of 1448 B"
    );
    assert_eq!(found.help.as_deref(), Some("put `Gso` before `Picky`"));
    plan(r#""main": [Rx("in"), Gro, Gso, Picky, Tx("a")]"#, "None", "All");
    plan(r#""main": [Rx("in"), Picky, Gro, Tx("a")]"#, "None", "All");
    refused(r#""main": [Rx("in"), Picky, Gro, Tx("a")]"#, "[\"rx_hw_gro\"]", "All");
    let problems = refused(r#""main": [Rx("in"), Gso, Fussy, Tx("a")]"#, "[\"rx_hw_gro\"]", "All");
    assert!(problems.to_string().contains("put `Gso, ChecksumFill` before `Fussy`"), "{problems}");
    plan(r#""main": [Rx("in"), Gso, ChecksumFill, Fussy, Tx("a")]"#, "[\"rx_hw_gro\"]", "All");
}

#[test]
fn contracts_say_what_may_come() {
    let plan = plan(BUMP, "None", "[\"tso4\"]");
    let contract = |from: &str| plan.contracts.iter().find(|edge| edge.from == from);
    let before = contract("main.1").expect("an edge");
    assert_eq!((before.superpackets.len(), before.partial, before.order), (0, false, "port"));
    let joined = contract("main.2").expect("an edge");
    assert_eq!(joined.to, "main.+Gso");
    assert_eq!(joined.superpackets, ["tcp4", "tcp6", "udp4", "udp6"]);
    assert_eq!((joined.partial, joined.largest, joined.order), (true, 65_664, "flow"));
    let cut = contract("main.+Gso").expect("an edge");
    assert_eq!(cut.superpackets, ["tcp4"]);
    assert_eq!(cut.refinements, ["several parts"]);
}

#[test]
fn an_mtu_that_is_too_small_is_a_warning_with_numbers() {
    let text = r#"Pipeline(name: "test", ports: {
        "in": Emulated(mtu: 9000, traffic: (count: 1)), "out": Emulated(mtu: 1500),
        }, chains: { "main": [Rx("in"), Wrap, Tx("out")] })"#;
    let plan = planned(text).expect("a plan");
    let warnings = plan.warnings().to_string();
    assert!(
        warnings.contains("`in` may bring IP packets that leave with 9050 B; `out` takes 1500 B"),
        "{warnings}"
    );
    let way = &plan.ways[0];
    assert_eq!((way.entry_mtu, way.added, way.exit_mtu), (Some(9000), 50, Some(1500)));
}

#[test]
fn an_mtu_counts_ip_packets_so_what_is_taken_out_is_shorter_and_a_tag_is_nothing() {
    for (out, fits) in [(1550, true), (1549, false)] {
        let text = format!(
            r#"Pipeline(name: "test", ports: {{
            "in": Emulated(mtu: 1600, traffic: (count: 1)), "out": Emulated(mtu: {out}),
            }}, chains: {{ "main": [Rx("in"), Unwrap, Tag, Tx("out")] }})"#
        );
        let plan = planned(&text).expect("a plan");
        let warnings = plan.warnings().to_string();
        assert_eq!(warnings.contains("leave with 1550 B"), !fits, "{warnings}");
        let way = &plan.ways[0];
        assert_eq!((way.entry_mtu, way.added, way.exit_mtu), (Some(1600), -50, Some(out)));
    }
}
