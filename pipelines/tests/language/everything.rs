//! One file with everything wrong: all of it is told in one run, at its line and column, and nothing else.

use crate::support::{marked, problems};

/// Lines count from 1; what is wrong stands in the comment beside it.
const FILE: &str = r#"Pipeline(
    name: "everything",
    params: { "hold": "20us" },
    ports: {
        "in":  Emulated(traffic: (flows: 3, count: 1000)),
        "out": Emulated(mtu: 70000),                // value out of range
    },
    chains: {
        "main": [
            Rx("in"),
            Cuont,                                  // unknown stage
            Gro(hold_us: 50, flows: "many"),        // unknown key and wrong type, inside one stage
            ChecksumValidate(on_bad: Dorp),         // a word that is none
            Fork("tennant"),                        // unknown chain
            Fork(every: 3),                         // missing key
            Fork(to: "loop_a", every: 300),         // value out of range
            Tx("uot"),                              // unknown port
            Count,                                  // stage after the end of a chain
        ],
        "tenant": [Gro(hold: "$hodl"), Tx("out")],  // undefined parameter
        "loop_a": [Fork("loop_b"), Drop("a")],      // cycle
        "loop_b": [Fork("loop_a"), Drop("b")],
        "main": [Rx("in"), Drop("again")],          // duplicate chain
        "left_over": [Count, Tx("out")],            // unused chain
    },
)
"#;

/// Code, line, column, what is underlined, message, help.
const FOUND: &[(&str, usize, usize, &str, &str, &str)] = &[
    (
        "bad-value",
        6,
        30,
        "70000",
        "`mtu` takes a number of bytes from 68 to 65535, not `70000`",
        "",
    ),
    ("unknown-stage", 11, 13, "Cuont", "no stage is called `Cuont`", "did you mean `Count`?"),
    (
        "unknown-key",
        12,
        17,
        "hold_us",
        "`Gro` has no key `hold_us`",
        "did you mean `hold`, a time such as \"50us\"?",
    ),
    ("bad-value", 12, 37, "\"many\"", "`Gro`: `flows` takes a whole number, not `\"many\"`", ""),
    (
        "bad-value",
        13,
        38,
        "Dorp",
        "`ChecksumValidate`: `Dorp` cannot be written for `on_bad`",
        "did you mean `Drop`?",
    ),
    (
        "no-such-chain",
        14,
        18,
        "\"tennant\"",
        "`Fork` sends to chain `tennant`, which is not in this file",
        "did you mean `tenant`?",
    ),
    ("missing-key", 15, 13, "Fork", "`Fork` needs `to`, the other chain", "add `to: ..`"),
    (
        "bad-value",
        16,
        39,
        "300",
        "`Fork`: `300` is out of range for `every`",
        "it takes a whole number up to 255",
    ),
    (
        "no-such-port",
        17,
        16,
        "\"uot\"",
        "`Tx` names port `uot`, which is not there",
        "did you mean `out`?",
    ),
    (
        "after-the-end",
        18,
        13,
        "Count",
        "nothing comes here: `Tx` before it ends the chain",
        "take it out, or put it in front of `Tx`",
    ),
    (
        "unknown-parameter",
        20,
        30,
        "\"$hodl\"",
        "no parameter is called `hodl`",
        "did you mean `hold`?",
    ),
    (
        "circle",
        21,
        9,
        "\"loop_a\"",
        "packets go in a circle: loop_a -> loop_b -> loop_a; they would never leave",
        "send them to a chain that ends",
    ),
    (
        "duplicate-name",
        23,
        9,
        "\"main\"",
        "there are two chains called `main`",
        "the first one is on line 9; keep one",
    ),
    (
        "no-entrance",
        24,
        9,
        "\"left_over\"",
        "no packet comes to chain `left_over`",
        "begin it with `Rx(\"PORT\")`, or name it as an output of a stage",
    ),
];

#[test]
fn everything_that_is_wrong_is_told_in_one_run() {
    let problems = problems(FILE);
    let found: Vec<_> = problems
        .list
        .iter()
        .map(|problem| {
            let place = problem.place.as_ref().expect("a place");
            let marked = marked(problem);
            let help = problem.help.clone().unwrap_or_default();
            (problem.code, place.line, place.column, marked, problem.message.clone(), help)
        })
        .collect();
    let expected = FOUND.iter().map(|&(code, line, column, marked, message, help)| {
        (code, line, column, marked.to_owned(), message.to_owned(), help.to_owned())
    });
    assert_eq!(found, expected.collect::<Vec<_>>(), "{problems}");
    assert_eq!(problems.warnings(), 0);
}

/// The places are those of the words in the file, counted by hand of this test.
#[test]
fn what_is_underlined_stands_at_line_and_column() {
    for &(_, line, column, marked, ..) in FOUND {
        let text = FILE.lines().nth(line - 1).expect("a line");
        assert!(text[column - 1..].starts_with(marked), "{line}:{column}: {marked}");
    }
}

/// The file without its mistakes has none: what is told above is told because it is wrong.
#[test]
fn the_same_file_put_right_has_no_problem() {
    let right = FILE
        .replace("mtu: 70000", "mtu: 7000")
        .replace("Cuont", "Count")
        .replace("hold_us: 50, flows: \"many\"", "hold: \"50us\", flows: 32")
        .replace("Dorp", "Drop")
        .replace("tennant", "tenant")
        .replace("Fork(every: 3)", "Fork(to: \"left_over\", every: 3)")
        .replace("every: 300", "every: 30")
        .replace("Tx(\"uot\"), ", "Tx(\"out\"), ")
        .replace("Count,                                  // stage after", "// stage after")
        .replace("$hodl", "$hold")
        .replace("\"loop_b\": [Fork(\"loop_a\"), ", "\"loop_b\": [")
        .replace("\"main\": [Rx(\"in\"), Drop(\"again\")],  ", "");
    let found = problems(&right);
    assert!(found.list.is_empty(), "{found}\n{right}");
}
