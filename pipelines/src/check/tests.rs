//! Every message of a wrong description, with the place it points at, as its author will read it.

use crate::fixture::{problems, with_chains};

/// Code, what is underlined, message and help of every problem.
fn shown(text: &str) -> Vec<[String; 4]> {
    let list = problems(text).list.into_iter();
    list.map(|problem| {
        let marked = problem.place.map_or(String::new(), |place| {
            place.text.chars().skip(place.lead).take(place.width).collect()
        });
        let help = problem.help.unwrap_or_default();
        [problem.code.to_owned(), marked, problem.message, help]
    })
    .collect()
}

/// Fails unless `text` has exactly this problem.
fn only(text: &str, code: &str, marked: &str, message: &str, help: &str) {
    let expected = [code, marked, message, help].map(str::to_owned);
    assert_eq!(shown(text), [expected], "{text}");
}

#[test]
fn a_sound_file_has_no_problem() {
    for chains in [
        r#""m": [Rx("in"), Tx("out")]"#,
        r#""m": [Rx(port: "in"), Count(), Ring, Count(name: "n", on_panic: Restart(3)), Tx("out")]"#,
        r#""m": [Rx("in"), Fork("b"), Drop("a"),], "b": [Ring(name: "r", capacity: 2, on_full: DropOldest), Tx("out")]"#,
        r#""m": [Rx("in"), Fork("b"), Fork(to: "b"), Tx("out")], "b": [Count(on_panic: Bypass), Tx("out")] // so"#,
        r#""m": [Rx("in"), Count(on_panic: Restart(max: 2, window: "1s")), Drop]"#,
    ] {
        let found = shown(&with_chains(chains));
        let found: Vec<_> = found.iter().filter(|problem| problem[0] != "unused-port").collect();
        assert!(found.is_empty(), "{chains}: {found:?}");
    }
}

/// Each row: chains, code, what is underlined, message, help.
const CHAINS: &[[&str; 5]] = &[
    [
        r#""m": [Rx("in"), Cuont, Tx("out")]"#,
        "unknown-stage",
        "Cuont",
        "no stage is called `Cuont`",
        "did you mean `Count`?",
    ],
    [
        r#""m": [Rx("in"), Tx("uot")]"#,
        "no-such-port",
        "\"uot\"",
        "`Tx` names port `uot`, which is not there",
        "did you mean `out`?",
    ],
    [
        r#""m": [Rx("in"), Fork("mian"), Tx("out")]"#,
        "no-such-chain",
        "\"mian\"",
        "`Fork` sends to chain `mian`, which is not in this file",
        "the only one is `m`",
    ],
    [
        r#""m": [Rx("in"), Gro(hold_us: 50), Tx("out")]"#,
        "unknown-key",
        "hold_us",
        "`Gro`: there is no key `hold_us`",
        "did you mean `hold`?",
    ],
    [
        r#""m": [Rx("in"), Ring("r", capacity: 5), Tx("out")]"#,
        "mixed-arguments",
        "\"r\"",
        "a value without a key cannot stand beside another argument",
        "write `name: \"r\"`",
    ],
    [
        r#""m": [Rx("in"), Tx("out", name: "x")]"#,
        "mixed-arguments",
        "\"out\"",
        "a value without a key cannot stand beside another argument",
        "write `port: \"out\"`",
    ],
    [
        r#""m": [Rx("in"), Count(3), Tx("out")]"#,
        "mixed-arguments",
        "3",
        "`Count` takes no value without a key",
        "",
    ],
    [
        r#""m": [Rx("in"), Ring(capacity: 0), Tx("out")]"#,
        "bad-value",
        "Ring(capacity: 0)",
        "`Ring`: a capacity of 0 packets; 1 to 1048576 are possible",
        "",
    ],
    [
        r#""m": [Rx("in"), Ring(""), Tx("out")]"#,
        "bad-value",
        "Ring(\"\")",
        "`Ring`: its name is empty",
        "name the actor behind it, or write `Ring` alone",
    ],
    [
        r#""m": [Rx("in"), Count(name: ""), Tx("out")]"#,
        "bad-value",
        "\"\"",
        "a name is a text in quotes, and not empty",
        "",
    ],
    [
        r#""m": [Rx("in"), Ring(on_full: Drop), Tx("out")]"#,
        "bad-value",
        "Drop",
        "`Ring`: `Drop` cannot be written for `on_full`",
        "did you mean `DropNewest`?",
    ],
    [
        r#""m": [Rx("in"), Count(on_panic: Restrat), Tx("out")]"#,
        "bad-value",
        "Restrat",
        "`Restrat` cannot be written for `on_panic`",
        "did you mean `Restart`?",
    ],
    [
        r#""m": [Rx("in"), Count(on_panic: Restart(1, "2s")), Tx("out")]"#,
        "mixed-arguments",
        "\"2s\"",
        "write `Restart(max: 5, window: \"10s\")`",
        "",
    ],
    [
        r#""m": [Rx("in"), Count(name: "a", name: "b"), Tx("out")]"#,
        "duplicate-key",
        "name",
        "`name` is given twice",
        "",
    ],
    [
        r#""m": [Rx("in"), "Count", Tx("out")]"#,
        "bad-value",
        "\"Count\"",
        "a stage such as `Rx(\"in\")` is expected here",
        "",
    ],
    [
        r#""m": [Rx("in"), Rx("in"), Tx("out")]"#,
        "misplaced",
        "Rx",
        "`Rx` brings packets in, so it stands first in a chain",
        "give it a chain of its own",
    ],
    [
        r#""m": [Rx("in"), Tx("out"), Count]"#,
        "after-the-end",
        "Count",
        "nothing comes here: `Tx` before it ends chain `m`",
        "",
    ],
    [
        r#""m": [Rx("in"), Count(name: "n")]"#,
        "no-end",
        "Count(name: \"n\")",
        "chain `m` ends here, but `Count` passes packets on",
        "end the chain with `Tx(\"PORT\")` or `Drop(\"label\")`",
    ],
    [
        r#""m": [Rx("in"), Ring("r")]"#,
        "no-end",
        "Ring(\"r\")",
        "chain `m` ends here, but `Ring` passes packets on",
        "end the chain with `Tx(\"PORT\")` or `Drop(\"label\")`",
    ],
    [
        r#""m": [Rx("in"), Ring("a"), Ring("b"), Tx("out")]"#,
        "empty-actor",
        "Ring",
        "there is no stage between this ring and the one before it",
        "one ring is enough",
    ],
    [
        r#""m": [Rx("in"), Tx("out")], "e": []"#,
        "empty-chain",
        "[]",
        "chain `e` is empty",
        "begin it with `Rx(\"PORT\")`",
    ],
    [
        r#""m": [Rx("in"), Tx("out")], "e": [Count, Drop]"#,
        "no-entrance",
        "\"e\"",
        "no packet comes to chain `e`",
        "begin it with `Rx(\"PORT\")`, or name it as an output of a stage",
    ],
    [
        r#""m": [Rx("in"), Fork("e"), Tx("out")], "e": [Rx("in"), Drop]"#,
        "two-entrances",
        "Rx(\"in\")",
        "other chains send to `e`, but it begins with `Rx`",
        "split it in two chains",
    ],
    [
        r#""m": [Rx("in"), Ring("r"), Ring("m"), Tx("out")]"#,
        "empty-actor",
        "Ring",
        "there is no stage between this ring and the one before it",
        "one ring is enough",
    ],
    [
        r#""m": [Rx("in"), Fork("a"), Drop], "a": [Fork("b"), Tx("out")], "b": [Fork("a"), Drop]"#,
        "circle",
        "\"a\"",
        "packets go in a circle: a -> b -> a; they would never leave",
        "send them to a chain that ends",
    ],
    [
        r#""m": [Rx("in"), Fork("a"), Tx("out")], "a": [Ring("r"), Fork("a"), Drop]"#,
        "circle",
        "\"a\"",
        "packets go in a circle: a -> a; its rings would wait for each other for ever",
        "send them to a chain that ends",
    ],
];

#[test]
fn each_mistake_in_chains_is_shown_at_its_place_with_its_cure() {
    for &[chains, code, marked, message, help] in CHAINS {
        let found = shown(&with_chains(chains));
        let expected = [code, marked, message, help].map(str::to_owned);
        assert!(found.contains(&expected), "{chains}\nexpected {expected:?}\nfound {found:?}");
        let others = found.iter().filter(|problem| **problem != expected);
        let others: Vec<_> = others.filter(|problem| problem[0] != "duplicate-actor").collect();
        assert!(others.is_empty(), "{chains}\nmore than was wrong: {others:?}");
    }
}

#[test]
fn actors_have_names_of_their_own() {
    let text = with_chains(r#""m": [Rx("in"), Ring("m"), Tx("out")]"#);
    let message = "there is an actor `m` already";
    only(&text, "duplicate-actor", "\"m\"", message, "a ring names the actor behind it");
}

/// Each row: ports, code, what is underlined, message, help.
const PORTS: &[[&str; 5]] = &[
    [
        r#"Pcap(raed: "x")"#,
        "unknown-key",
        "raed",
        "`Pcap`: there is no key `raed`",
        "did you mean `read`?",
    ],
    [
        "Pcapp",
        "unknown-port-kind",
        "Pcapp",
        "no kind of port is called `Pcapp`",
        "did you mean `Pcap`?",
    ],
    [
        r#"Pcap(write: "x.pcap")"#,
        "wrong-direction",
        "\"in\"",
        "port `in` does not receive",
        "give it a file to read: `read: \"..\"`",
    ],
    [
        "Pcap()",
        "bad-value",
        "Pcap()",
        "`Pcap`: it has no file",
        "give it `read: \"..\"`, `write: \"..\"` or both",
    ],
    [
        r#"Pcap("x", loop: true)"#,
        "mixed-arguments",
        "\"x\"",
        "a value without a key cannot stand beside another argument",
        "write `read: \"x\"`",
    ],
    [
        r#"Pcap(read: "x", mtu: "big")"#,
        "bad-value",
        "\"big\"",
        "a number of bytes is expected here",
        "",
    ],
    [
        r#"Pcap(read: "x", mtu: 67)"#,
        "bad-value",
        "67",
        "an mtu of 67 bytes; IPv4 needs at least 68 (RFC 791)",
        "",
    ],
    [
        r#"Emulated(caps: ["tso5"], traffic: ())"#,
        "bad-value",
        "[\"tso5\"]",
        "`Emulated`: no capability is called `tso5` (did you mean `tso4`?) for `caps`",
        "",
    ],
    [
        "Emulated(traffic: (flows: 0))",
        "bad-value",
        "(flows: 0)",
        "`Emulated`: 0 flows are no traffic",
        "give `flows` at least 1",
    ],
    [
        "Emulated(traffic: (size: Big))",
        "bad-value",
        "(size: Big)",
        "`Emulated`: expected a number of bytes, such as 1518, or `Imix` for `traffic`",
        "",
    ],
];

#[test]
fn each_mistake_in_a_port_is_shown_at_its_place_with_its_cure() {
    for &[port, code, marked, message, help] in PORTS {
        let text = format!(
            "Pipeline(name: \"x\", ports: {{\"in\": {port}}}, chains: {{\"m\": [Rx(\"in\"), Drop]}})"
        );
        only(&text, code, marked, message, help);
    }
}

/// Each row: the whole text, code, what is underlined, message, help.
const WHOLE: &[[&str; 5]] = &[
    ["(name: \"x\")", "not-a-pipeline", "(", "a description is one `Pipeline(..)`", ""],
    ["[", "syntax", "[", "this `[` is never closed", ""],
    ["", "syntax", "", "a value is expected, the text ends here", ""],
    ["\0", "syntax", "\0", "a value is expected, found U+0000", ""],
    ["Pipeline(name: \"x\", ", "syntax", "(", "this `(` is never closed", ""],
    [
        r#"Pipeline(name: "x", params: {"p": Required(5)}, ports: {"a": Emulated()}, chains: {"m": [Rx("a"), Drop("$p")]})"#,
        "bad-value",
        "Required(5)",
        "`Required` says in one text what is wanted: Required(\"a file\")",
        "",
    ],
    [
        "Pipeline(name: \"x\", ports: {}, chains: {})",
        "no-chains",
        "",
        "there is no chain, so nothing to run",
        "",
    ],
    [
        r#"Pipeline(name: "x", ports: {"a": Emulated(traffic: ())}, chains: {"m": [Rx("a"), Drop]}, coers: Auto)"#,
        "unknown-key",
        "coers",
        "`Pipeline` has no key `coers`",
        "did you mean `cores`?",
    ],
    [
        r#"Pipeline(name: "x", ports: {"a": Emulated(traffic: ())}, chains: {"m": [Rx("a"), Drop]}, cores: Many)"#,
        "bad-value",
        "Many",
        "`Auto`, `Count(2)` or `Pin({ \"actor\": 2 })` is expected here",
        "",
    ],
    [
        r#"Pipeline(name: "x", ports: {"a": Emulated(traffic: ())}, chains: {"m": [Rx("a"), Drop]}, cores: Pin({"m": [1, 2]}))"#,
        "bad-value",
        "[1, 2]",
        "actor `m` is one thread: give it one CPU",
        "",
    ],
    [
        r#"Pipeline(name: "x", ports: {"a": Emulated(traffic: ())}, chains: {"m": [Rx("a"), Drop]}, pools: (smal: 3))"#,
        "unknown-key",
        "smal",
        "`pools`: there is no key `smal`",
        "did you mean `small`?",
    ],
    [
        r#"Pipeline(name: "x", ports: [], chains: {"m": [Rx("a"), Drop]})"#,
        "bad-value",
        "[]",
        "ports are written { \"name\": .. }",
        "",
    ],
];

#[test]
fn each_mistake_around_them_is_shown_at_its_place_with_its_cure() {
    for &[text, code, marked, message, help] in WHOLE {
        let found = shown(text);
        let expected = [code, marked, message, help].map(str::to_owned);
        assert_eq!(found.first(), Some(&expected), "{text}\nfound {found:?}");
    }
}

/// What stands for a value whose mistake has been told must not silence a file that says it itself.
#[test]
fn a_reserved_name_is_told() {
    for text in ["__missing__", r#"Pipeline(name: __missing__, ports: {}, chains: {})"#] {
        assert!(shown(text).iter().any(|problem| problem[0] == "reserved"), "{text}");
    }
}

#[test]
fn a_value_given_by_a_parameter_is_shown_where_it_is_used() {
    let text = with_chains(r#""m": [Rx("in"), Gro(hold: "$h"), Tx("out")]"#)
        .replace("ports:", "params: { \"h\": 50 }, ports:");
    let message =
        "`Gro`: expected a time such as \"50us\" for `hold`, found the unsigned integer `50`";
    only(&text, "bad-value", "\"$h\"", message, "");
}

#[test]
fn all_mistakes_are_shown_together_with_one_of_syntax() {
    let text = with_chains("\"m\": [Rx(\"ni\"), Gro(hold: %), Cuont, Tx(\"out\" 5), Dorp]");
    let codes: Vec<String> = shown(&text).into_iter().map(|[code, ..]| code).collect();
    assert_eq!(codes, ["no-such-port", "syntax", "unknown-stage", "unknown-stage"]);
}

#[test]
fn what_is_shown_looks_as_a_compiler_would_show_it() {
    let text = with_chains("\t\"m\": [Rx(\"ni\"), Tx(\"out\")]");
    let mut problems = problems(&text);
    problems.file = "gw.ron".into();
    let expected = "\
error[no-such-port]: `Rx` names port `ni`, which is not there
 --> gw.ron:5:11
5 | \t\"m\": [Rx(\"ni\"), Tx(\"out\")]
  | \t         ^^^^ did you mean `in`?
1 error";
    assert_eq!(problems.to_string(), expected);
}

#[test]
fn what_follows_from_a_bracket_never_closed_is_not_told() {
    let text = "Pipeline(name: \"x\", ports: {}, ";
    only(text, "syntax", "(", "this `(` is never closed", "");
}

#[test]
fn a_mark_in_front_of_the_text_is_no_part_of_it() {
    let text = with_chains(r#""m": [Rx("in"), Tx("uot")]"#);
    assert_eq!(problems(&format!("\u{feff}{text}")), problems(&text));
}

#[test]
fn a_long_line_is_shown_around_the_mistake() {
    let filler = "Count, ".repeat(100_000);
    let text = with_chains(&format!(r#""m": [Rx("in"), {filler}Cuont, {filler}Tx("out")]"#));
    let shown = problems(&text).to_string();
    assert!(shown.len() < 1000, "{}", shown.len());
    let lines: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
    let at = lines[3].iter().position(|&c| c == '^').expect("marks");
    assert_eq!(lines[2][at..at + 5], ['C', 'u', 'o', 'n', 't']);
}

#[test]
fn no_more_problems_are_shown_than_anybody_reads() {
    let text = with_chains(&format!(r#""m": [Rx("in"), {}Drop]"#, "Cuont, ".repeat(60)));
    let problems = problems(&text);
    assert_eq!((problems.list.len(), problems.more, problems.errors()), (50, 10, 60));
    assert!(problems.to_string().ends_with("\nand 10 more\n60 errors"));
    let places: Vec<_> = problems.list.iter().map(|problem| problem.place.clone()).collect();
    assert!(places.is_sorted_by_key(|place| place.as_ref().map(|place| place.column)));
}

#[test]
fn what_would_drive_a_terminal_is_shown_as_a_picture() {
    let text = with_chains("\"m\": [Rx(\"in\"), Tx(\"\u{1b}[2J\u{9b}\")]");
    let shown = problems(&text).to_string();
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    assert!(shown.contains("`\u{241b}[2J\u{fffd}`"), "{shown:?}");
}

#[test]
fn a_parameter_that_stands_nowhere_is_a_warning() {
    let text = with_chains(r#""m": [Rx("in"), Tx("out")]"#)
        .replace("ports:", "params: { \"h\": 50 }, ports:");
    only(&text, "unused-parameter", "\"h\"", "parameter `h` is used nowhere", "");
    assert_eq!(problems(&text).errors(), 0);
}

#[test]
fn a_port_that_nothing_stands_on_is_a_warning() {
    let text = with_chains(r#""m": [Rx("in"), Drop]"#);
    only(&text, "unused-port", "\"out\"", "port `out` is used by no stage", "");
    assert_eq!(problems(&text).errors(), 0);
}
