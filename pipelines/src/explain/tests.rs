//! Graph, difference and single decisions on explanations put together by hand.

use super::types::{Actor, Chain, CoresUsed, Explanation, Origin, Output, PlanCore, PlanPort};
use super::types::{Ring, SCHEMA, Stage};
use super::{Style, dot};
use crate::fixture::{plan, with_chains};
use crate::negotiate::{Asked, Verdict, Where};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

/// Ends strings, braces and lines, and drives a terminal, where nobody looks after it.
const HOSTILE: &str = "a\"]; } \\\n\x1b[31m\u{202e}b";

fn stage(id: &str, kind: &str, verdicts: Vec<Verdict>, to: &[(&str, &str)]) -> Stage {
    let output = |(name, to): &(&str, &str)| Output { name: (*name).into(), to: (*to).into() };
    Stage {
        id: id.into(),
        index: id.rsplit('.').next().and_then(|index| index.parse().ok()).unwrap_or(3),
        kind: kind.into(),
        name: None,
        added: id.contains('+'),
        written: kind.into(),
        place: (!id.contains('+')).then(|| format!("f.ron:{}:1", id.len())),
        port: None,
        offload: "Auto",
        summary: "Does something.".into(),
        actors: vec!["main".into()],
        verdicts,
        outputs: to.iter().map(output).collect(),
    }
}

fn verdict(work: &str, place: Where, bit: &str, answer: &'static str) -> Verdict {
    let why = (answer != "yes").then(|| "it is old".to_owned());
    let asked = Asked { port: "out".into(), capability: bit.into(), answer, why };
    Verdict {
        work: work.into(),
        place,
        asked: vec![asked],
        software: "cuts where it was joined".into(),
        reason: format!("out: {bit} = {answer}"),
    }
}

/// One actor that feeds another, and a chain entered through an output.
fn explanation(cuts: Verdict) -> Explanation {
    let main = vec![
        stage("main.0", "Rx", Vec::new(), &[("next", "main.1")]),
        stage("main.1", "Fork", Vec::new(), &[("next", "main.2"), ("to", "other.0")]),
        Stage {
            name: Some("cut".into()),
            ..stage("main.2", "Ring", Vec::new(), &[("next", "main.+Gso")])
        },
        stage("main.+Gso", "Gso", vec![cuts], &[("next", "main.3")]),
        stage("main.3", "Tx", Vec::new(), &[]),
    ];
    let other =
        vec![Stage { name: Some(HOSTILE.into()), ..stage("other.0", "Drop", Vec::new(), &[]) }];
    let chain = |name: &str, stages| Chain {
        name: name.into(),
        actors: vec!["main".into()],
        entered_from: Vec::new(),
        stages,
    };
    let actor = |name: &str, stages: &[&str]| Actor {
        name: name.into(),
        base: name.into(),
        copy: 0,
        copies: 1,
        why_copies: String::new(),
        cpu: Some(3),
        reason: String::new(),
        stages: stages.iter().map(|id| (*id).into()).collect(),
    };
    Explanation {
        schema: SCHEMA,
        pipeline: HOSTILE.into(),
        file: "f.ron".into(),
        plan: "0123abcd".into(),
        ports: vec![port()],
        chains: vec![chain("main", main), chain("other", other)],
        bytes: Vec::new(),
        cores: CoresUsed {
            used: vec![PlanCore {
                cpu: Some(3),
                node: None,
                actors: vec!["main".into()],
                reasons: Vec::new(),
            }],
            free: Vec::new(),
        },
        actors: vec![
            actor("main", &["main.0", "main.1", "other.0"]),
            actor("cut", &["main.+Gso", "main.3"]),
        ],
        rings: vec![Ring {
            place: None,
            name: "cut".into(),
            from: vec!["main".into()],
            to: vec!["cut".into()],
            rings: 1,
            capacity: 64,
            on_full: "Wait".into(),
            reason: "the file puts it there".into(),
        }],
        pools: Vec::new(),
        contracts: Vec::new(),
    }
}

fn port() -> PlanPort {
    PlanPort {
        name: "out".into(),
        kind: "Emulated".into(),
        place: "f.ron:4:9".into(),
        caps_place: None,
        origin: Origin::Recorded { record: "old".into() },
        verified: false,
        advertised: Vec::new(),
        granted: Vec::new(),
        missing: Vec::new(),
        tso_bytes: 65536,
        tso_segments: 64,
        header_bytes: 255,
        mtu: Some(1500),
        mac: None,
        addresses: Vec::new(),
        gateways: Vec::new(),
        queues: None,
        queues_used: 1,
    }
}

fn hardware() -> Explanation {
    explanation(verdict("tcp over ipv4", Where::Hardware, "tso4", "yes"))
}

fn software() -> Explanation {
    explanation(verdict("tcp over ipv4", Where::Software, "tso4", "no"))
}

/// What a graph in Graphviz's language says, read by a parser that knows nothing of how it was written.
#[derive(Debug, Default)]
struct Graph {
    clusters: usize,
    nodes: BTreeSet<String>,
    edges: Vec<(String, String)>,
}

/// A word, a string with its escapes, or a sign.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let start = at;
        match chars[at] {
            '"' => {
                at += 1;
                while chars[at] != '"' {
                    assert!(!chars[at].is_control(), "a control character in a string");
                    at += if chars[at] == '\\' { 2 } else { 1 };
                }
                at += 1;
            }
            '-' => {
                assert_eq!(chars[at + 1], '>', "an edge of a directed graph");
                at += 2;
            }
            '{' | '}' | '[' | ']' | ';' | ',' | '=' => at += 1,
            c if c.is_whitespace() => {
                at += 1;
                continue;
            }
            c => {
                assert!(c.is_ascii_alphanumeric() || c == '_', "{c:?} outside of a string");
                while chars[at].is_ascii_alphanumeric() || chars[at] == '_' {
                    at += 1;
                }
            }
        }
        found.push(chars[start..at].iter().collect());
    }
    found
}

fn read(text: &str) -> Graph {
    let tokens = tokens(text);
    let mut left = tokens.iter().map(String::as_str).peekable();
    for expected in ["digraph", "plan", "{"] {
        assert_eq!(left.next(), Some(expected));
    }
    let mut graph = Graph::default();
    let mut depth = 1;
    while depth > 0 {
        let word = left.next().expect("a graph that ends");
        match (word, left.peek().copied()) {
            ("}", _) => depth -= 1,
            ("subgraph", Some(name)) => {
                assert!(name.starts_with("cluster_"), "{name}");
                left.next();
                assert_eq!(left.next(), Some("{"));
                graph.clusters += 1;
                depth += 1;
            }
            (_, Some("=")) => {
                left.nth(1).expect("a value");
                assert_eq!(left.next(), Some(";"));
            }
            (from, Some("->")) => {
                let to = left.nth(1).expect("where an edge leads");
                graph.edges.push((from.to_owned(), to.to_owned()));
                attributes(&mut left);
            }
            (node, Some("[")) => {
                if node != "node" {
                    assert!(graph.nodes.insert(node.to_owned()), "{node} stands twice");
                }
                attributes(&mut left);
            }
            (word, next) => panic!("{word} before {next:?}"),
        }
    }
    assert_eq!(left.next(), None);
    graph
}

/// `[key=value, ..];`
fn attributes<'t>(left: &mut impl Iterator<Item = &'t str>) {
    assert_eq!(left.next(), Some("["));
    loop {
        let key = left.next().expect("a key");
        assert!(key.chars().all(|c| c.is_ascii_lowercase()), "{key}");
        assert_eq!(left.next(), Some("="));
        left.next().expect("a value");
        match left.next() {
            Some(",") => {}
            Some("]") => break,
            other => panic!("{other:?} in attributes"),
        }
    }
    assert_eq!(left.next(), Some(";"));
}

#[test]
fn the_graph_has_every_stage_in_its_actor_and_every_way_of_a_packet() {
    let graph = read(&dot::write(&hardware()));
    assert_eq!(graph.clusters, 2);
    let node = |name: &str| format!("\"{name}\"");
    let expected = ["main/main.0", "main/main.1", "main/other.0", "cut/main.+Gso", "cut/main.3"];
    assert_eq!(graph.nodes, expected.iter().map(|name| node(name)).collect());
    let edges = [(0, 1), (1, 3), (1, 2), (3, 4)];
    let edges = edges.map(|(from, to)| (node(expected[from]), node(expected[to])));
    assert_eq!(graph.edges, edges);
}

#[test]
fn the_colour_of_a_stage_is_its_verdict() {
    let line = |explanation: &Explanation| -> String {
        let text = dot::write(explanation);
        let line = text.lines().find(|line| line.contains("label=\"+ Gso")).expect("the stage");
        line.to_owned()
    };
    assert!(line(&hardware()).contains("fillcolor=\"palegreen\""));
    assert!(line(&software()).contains("fillcolor=\"lightgoldenrod\""));
}

/// Where Graphviz is installed it reads the graph; elsewhere the parser above has to do.
#[test]
fn graphviz_reads_the_graph() {
    let mut command = Command::new("dot");
    command.arg("-Tcanon").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        let said = "dot is not installed";
        return corelane_runtime::testing::skip("graphviz_reads_the_graph", said);
    };
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(dot::write(&hardware()).as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn no_name_drives_a_terminal_or_breaks_a_line() {
    let explanation = hardware();
    let table = explanation.table(Style::default());
    let why = explanation.why("other.0").expect("a stage").table(Style::default());
    for text in [table, why, dot::write(&explanation)] {
        assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
    }
}

#[test]
fn a_plan_differs_from_itself_in_nothing() {
    let diff = hardware().diff(&hardware());
    assert!(diff.is_empty());
    assert_eq!(diff.table(Style::default()), "nothing changes\n");
}

#[test]
fn what_another_port_changes_is_told_line_by_line() {
    let mut other = software();
    other.rings.clear();
    other.chains[1].stages.push(stage("other.1", "Count", Vec::new(), &[]));
    let diff = hardware().diff(&other);
    let about: Vec<&str> = diff.changes.iter().map(|change| change.about.as_str()).collect();
    assert_eq!(about, ["main.+Gso", "other.1", "rings"]);
    assert!(diff.changes[1].before.is_empty());
    let expected = "main.+Gso\n\
        - Gso: hardware: tcp over ipv4: out: tso4 = yes\n\
        + Gso: software: tcp over ipv4: out: tso4 = no\n";
    let table = diff.table(Style::default());
    assert!(table.starts_with(expected), "{table}");
    let back = other.diff(&hardware());
    assert_eq!(back.changes[0].before, diff.changes[0].after);
}

#[test]
fn a_decision_says_what_was_asked_and_what_to_change() {
    let why = software().why("main.+Gso").expect("a stage");
    assert_eq!(why.decisions.len(), 1);
    assert_eq!(why.decisions[0].known, ["recorded old (f.ron:4:9)"]);
    let table = why.table(Style::default());
    for part in [
        "tcp over ipv4: software",
        "out: tso4 = no (\"it is old\"); recorded old (f.ron:4:9)",
        "cuts where it was joined",
        "f.ron:4:9: write `caps: [\"tso4\"]` for `out`, with what else it is to have; of the profiles that come",
        "f.ron:6:1: write `Gso(offload: Require)` before `Tx`, and the plan is refused",
    ] {
        assert!(table.contains(part), "{part} is missing in\n{table}");
    }
    let mut capture = software();
    capture.ports.iter_mut().for_each(|port| port.kind = "Pcap".into());
    let table =
        capture.why("main.+Gso").expect("a stage").table(Style { width: 400, colour: false });
    let part = "f.ron:4:9: in place of `out` a port that grants tso4; of the profiles that come with corelane";
    assert!(table.contains(part) && table.contains("a capture file cannot run it"), "{table}");
    let why = hardware().why("main.+Gso").expect("a stage").table(Style::default());
    assert!(
        why.contains("write `Gso(offload: SoftwareOnly)` before `Tx`, and it is done in"),
        "{why}"
    );
}

#[test]
fn a_stage_is_found_by_identity_and_by_name() {
    let explanation = hardware();
    assert_eq!(explanation.why("cut").expect("a name").stage.id, "main.2");
    let wrong = explanation.why("main.+Gs0").expect_err("no such stage").to_string();
    assert!(wrong.contains("no stage is called `main.+Gs0`; did you mean `main.+Gso`?"), "{wrong}");
    assert!(wrong.contains("main.0, main.1, main.2, main.+Gso, main.3, other.0"), "{wrong}");
    let far = explanation.why("\x1b[31m").expect_err("no such stage").to_string();
    assert!(!far.contains('\x1b') && !far.contains("did you mean"), "{far}");
}

#[test]
fn what_holds_for_some_actors_of_a_cpu_names_them() {
    let text = with_chains(r#""m": [Rx("in"), Ring("r"), Drop]"#);
    let text = text.replacen("chains:", "cores: Pin({\"r\": [0]}), chains:", 1);
    let mut plan = plan(&text).expect("a plan");
    for actor in &mut plan.actors {
        actor.cpu = Some(0);
        actor.why = "shares cpu 0 with 1 other".into();
    }
    plan.actors[1].why.insert_str(0, "pinned by the file; ");
    let explanation = plan.explain();
    let reasons = &explanation.cores.used[0].reasons;
    assert_eq!(reasons, &["shares cpu 0 with 1 other", "r pinned by the file"]);
    let place = explanation.rings[0].place.as_deref().expect("a ring of the file");
    let ring = explanation.why("r").expect("a ring").stage;
    assert_eq!(ring.place.as_deref(), Some(place));
    let (line, column) = place.rsplit_once(':').expect("a column");
    let line: usize = line.rsplit(':').next().expect("a line").parse().expect("a number");
    let column: usize = column.parse().expect("a number");
    let written = text.lines().nth(line - 1).expect("that line");
    assert!(written[column - 1..].starts_with("Ring(\"r\")"), "{place} in {text}");
}

#[test]
fn every_ring_between_copies_can_be_expected_of() {
    let chains =
        r#""m": [Rx("in"), Ring(name: "w", ways: 2), Count, Ring(name: "v", ways: 2), Drop]"#;
    let plan = plan(&with_chains(chains)).expect("a plan");
    let names: Vec<String> = plan.placement().rings.into_iter().map(|ring| ring.name).collect();
    let between = |to: &str| ["w#0", "w#1"].map(|from| format!("{to} from {from}"));
    let expected =
        [vec!["w#0".to_owned(), "w#1".to_owned()], between("v#0").into(), between("v#1").into()];
    let (mut found, mut all) = (names.clone(), expected.concat());
    found.sort();
    all.sort();
    assert_eq!(found, all);
    for name in names {
        plan.expectation(&format!("rings.{name}.full >= 0")).expect("a known path");
    }
}
