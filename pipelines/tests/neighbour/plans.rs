//! What is added, where, and that nothing else changes for it.

use crate::{WAN, explained, file, plan_on, registry};
use corelane::Pipeline;
use corelane::explain::{Explanation, Style};

const CHAINS: &str = r#""from_wan": [Rx("wan"), Count, Tx("lan")],
    "from_lan": [Rx("lan"), Gro, Tx("wan")]"#;
const LAN: &str = r#""lan": Emulated"#;

fn gateway() -> String {
    file(&format!("{WAN}, {LAN}"), CHAINS, "")
}

fn ids(explanation: &Explanation, actor: &str) -> Vec<String> {
    let found = explanation.actors.iter().find(|found| found.name == actor);
    found.unwrap_or_else(|| panic!("no actor {actor}")).stages.clone()
}

fn outputs(explanation: &Explanation, id: &str) -> Vec<(String, String)> {
    let stage = explanation.stages().find(|stage| stage.id == id);
    let outputs = &stage.unwrap_or_else(|| panic!("no stage {id}")).outputs;
    outputs.iter().map(|output| (output.name.clone(), output.to.clone())).collect()
}

#[test]
fn a_port_with_addresses_gets_both_halves_and_a_way_for_answers() {
    let explanation = explained(&gateway(), 4);
    // The actor that answers has the last steps of the port in it, and a queue of its own.
    let receiving = ids(&explanation, "from_wan");
    let expected = [
        "from_wan.0",
        "from_wan.+Neighbour",
        "from_wan.1",
        "from_wan.+Gso",
        "from_wan.+ChecksumFill",
        "from_wan.2",
    ];
    assert_eq!(
        receiving.iter().filter(|id| id.starts_with("from_wan")).collect::<Vec<_>>(),
        expected
    );
    assert!(receiving.contains(&"from_lan.+Neighbour".to_owned()), "{receiving:?}");
    assert!(receiving.contains(&"from_lan.2".to_owned()), "{receiving:?}");
    let sending = ids(&explanation, "from_lan");
    let expected = [
        "from_lan.0",
        "from_lan.1",
        "from_lan.+Neighbour",
        "from_lan.+Gso",
        "from_lan.+ChecksumFill",
        "from_lan.2",
    ];
    assert_eq!(sending, expected);
    let answers = ("answers wan".to_owned(), "from_lan.+Neighbour".to_owned());
    let next = ("next".to_owned(), "from_wan.1".to_owned());
    assert_eq!(outputs(&explanation, "from_wan.+Neighbour"), [next, answers]);
    assert_eq!(outputs(&explanation, "from_lan.+Neighbour").len(), 1);
    assert!(explanation.rings.is_empty());
    let port = explanation.ports.iter().find(|port| port.name == "wan").expect("the port");
    assert_eq!(
        (port.addresses.as_slice(), port.queues_used),
        (&["192.0.2.1/24".to_owned()][..], 2)
    );
    let table = explanation.table(Style::default());
    for expected in [
        "192.0.2.1/24",
        "gateway 192.0.2.254",
        "Neighbour(\"wan\")",
        "`wan` has addresses; answers ARP and ND for them, learns",
        "`wan` has addresses; finds the next hop of packets without one",
    ] {
        assert!(table.contains(expected), "{expected} in\n{table}");
    }
    assert!(explanation.to_dot().contains("answers wan"));
    assert!(explanation.to_json().expect("JSON").contains("\"answers wan\""));
}

#[test]
fn what_answers_leave_by_changes_no_decision() {
    let with = explained(&gateway(), 4);
    let without = WAN.split(", addresses").next().expect("a mac").to_owned() + ")";
    let without = explained(&file(&format!("{without}, {LAN}"), CHAINS, ""), 4);
    let decisions = |explanation: &Explanation| {
        let stages = explanation.stages().filter(|stage| stage.kind != "Neighbour");
        let verdicts = stages.flat_map(|stage| {
            stage.verdicts.iter().map(move |said| (stage.id.clone(), said.work.clone(), said.place))
        });
        verdicts.collect::<Vec<_>>()
    };
    assert_eq!(decisions(&with), decisions(&without));
    assert_eq!(with.bytes, without.bytes);
    assert_ne!(with.plan, without.plan);
    let moved = gateway().replace("192.0.2.1/24", "192.0.2.2/24");
    assert_ne!(explained(&moved, 4).plan, with.plan, "addresses are part of a plan");
}

#[test]
fn one_that_is_written_takes_its_place() {
    let chains = r#""from_wan": [Rx("wan"), Neighbour("wan"), Tx("lan")],
        "from_lan": [Rx("lan"), Neighbour(port: "wan", static: { "192.0.2.7": "02:00:00:00:00:07" }), Gso, Tx("wan")]"#;
    let explanation = explained(&file(&format!("{WAN}, {LAN}"), chains, ""), 4);
    let kinds = explanation.stages().filter(|stage| stage.kind == "Neighbour");
    let kinds: Vec<_> = kinds.map(|stage| (stage.id.as_str(), stage.added)).collect();
    assert_eq!(kinds, [("from_wan.1", false), ("from_lan.1", false)]);
    let answers = ("answers wan".to_owned(), "from_lan.1".to_owned());
    assert_eq!(outputs(&explanation, "from_wan.1")[1], answers);
}

#[test]
fn a_chain_from_a_port_back_to_it_has_both_halves_with_names_of_their_own() {
    let text = file(WAN, r#""m": [Rx("wan"), Tx("wan")]"#, "");
    let explanation = explained(&text, 4);
    let ids: Vec<_> = explanation.stages().map(|stage| stage.id.as_str()).collect();
    assert_eq!(ids, ["m.0", "m.+Neighbour", "m.+Neighbour/1", "m.+Gso", "m.+ChecksumFill", "m.1"]);
    let to = &outputs(&explanation, "m.+Neighbour")[1].1;
    assert_eq!(to, "m.+Neighbour/1");
}

#[test]
fn where_no_chain_ends_in_the_port_there_is_a_tx_for_answers() {
    let text = file(WAN, r#""m": [Rx("wan"), Drop]"#, "");
    let explanation = explained(&text, 4);
    let tx = explanation.stages().find(|stage| stage.kind == "Tx").expect("a Tx");
    assert_eq!((tx.id.as_str(), tx.added), ("+answers.wan.+Tx", true));
    assert_eq!(outputs(&explanation, "m.+Neighbour")[1].1, tx.id);
    let table = explanation.table(Style::default());
    assert!(table.contains("answers to who asks at `wan` leave by it"), "{table}");
}

/// One file, one writer: answers cross a ring to it, which never makes anybody wait.
#[test]
fn a_port_with_one_writer_keeps_it() {
    let wan = r#""wan": Pcap(read: "in.pcap", write: "out.pcap", mac: "02:00:00:00:00:01", addresses: ["192.0.2.1/24"])"#;
    let lan = r#""lan": Pcap(read: "lan.pcap", write: "to_lan.pcap")"#;
    let explanation = explained(&file(&format!("{wan}, {lan}"), CHAINS, ""), 4);
    let ring = |name: &str| explanation.rings.iter().find(|ring| ring.name == name);
    let into = ring("wan.tx").expect("a ring to the owner");
    assert_eq!(into.from, ["from_wan", "from_lan"]);
    let owner = ids(&explanation, "wan.tx");
    let expected = ["from_lan.+Neighbour", "from_lan.+Gso", "from_lan.+ChecksumFill", "from_lan.2"];
    assert_eq!(owner, expected);
}

#[test]
fn a_ring_of_the_file_before_the_last_steps_is_used_for_answers_too() {
    let wan = r#""wan": Pcap(read: "in.pcap", write: "out.pcap", mac: "02:00:00:00:00:01", addresses: ["192.0.2.1/24"])"#;
    let chains = r#""from_wan": [Rx("wan"), Count, Drop],
        "from_lan": [Rx("lan"), Gro, Ring("out"), Tx("wan")]"#;
    let explanation = explained(&file(&format!("{wan}, {LAN}"), chains, ""), 4);
    let names: Vec<_> = explanation.actors.iter().map(|actor| actor.name.as_str()).collect();
    assert_eq!(names, ["from_wan", "from_lan", "out"]);
    let ring = explanation.rings.iter().find(|ring| ring.name == "out").expect("the ring");
    assert_eq!(ring.from, ["from_wan", "from_lan"]);
}

fn warnings(text: &str) -> Vec<String> {
    let plan = plan_on(text, 4);
    plan.warnings().to_string().lines().map(str::to_owned).collect()
}

#[test]
fn a_port_that_does_not_transmit_learns_only_and_says_so() {
    let wan =
        r#""wan": Pcap(read: "in.pcap", mac: "02:00:00:00:00:01", addresses: ["192.0.2.1/24"])"#;
    let text = file(wan, r#""m": [Rx("wan"), Drop]"#, "");
    let said = warnings(&text).join("\n");
    assert!(said.contains("warning[no-answers]"), "{said}");
    assert!(said.contains("give it a file to write"), "{said}");
    assert!(!said.contains("no-effect"), "{said}");
    let explanation = explained(&text, 4);
    assert_eq!(outputs(&explanation, "m.+Neighbour").len(), 1);
    assert_eq!(warnings(&gateway()), [""; 0]);
}

#[test]
fn addresses_without_a_mac_are_refused() {
    let text =
        file(r#""p": Emulated(addresses: ["192.0.2.1/24"])"#, r#""m": [Rx("p"), Tx("p")]"#, "");
    let machine = corelane::Machine::from_ron("Machine(packages: 1, cores: 2, threads: 1)");
    let planned =
        Pipeline::parse(&text).expect("it is read").plan(&registry(), &machine.expect("one"));
    let error = planned.err().expect("it is refused").to_string();
    assert!(
        error.contains("error[no-mac]: port `p` has addresses, but `Emulated` has no mac"),
        "{error}"
    );
    assert!(error.contains("mac: \"02:00:00:00:00:01\""), "{error}");
}

/// More copies than queues: each copy answers over the ring to the owner of the queue.
#[test]
fn copies_answer_over_rings_where_queues_are_few() {
    let wan = WAN.replace("Emulated(", "Emulated(queues: 1, ");
    let lan = r#""lan": Emulated(queues: 4)"#;
    let explanation = explained(&file(&format!("{wan}, {lan}"), CHAINS, "cores: Count(4)"), 8);
    let ring = explanation.rings.iter().find(|ring| ring.name == "wan.tx").expect("the owner's");
    assert!(ring.from.len() > 2, "{:?}", ring.from);
}
