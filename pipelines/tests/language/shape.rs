//! What problems look like, to people and to programs, and that they stay bounded whatever the text is.

use crate::support::{problems, shown, with_chains, with_keys};
use proptest::prelude::*;
use serde_json::{Value, json};

const TABBED: &str = "\t\"m\": [Rx(\"ni\"), Tx(\"out\")]";

#[test]
fn what_is_shown_looks_as_a_compiler_would_show_it() {
    let expected = "\
error[no-such-port]: `Rx` names port `ni`, which is not there
 --> gw.ron:5:11
5 | \t\"m\": [Rx(\"ni\"), Tx(\"out\")]
  | \t         ^^^^ did you mean `in`?
1 error";
    let problems = problems(&with_chains(TABBED));
    assert_eq!(problems.to_string(), expected);
    assert_eq!(problems.render(false), expected);
}

#[test]
fn colours_are_put_around_the_same_text() {
    let problems = problems(&with_chains(TABBED));
    let coloured = problems.render(true);
    let expected = "\
\u{1b}[1;31merror[no-such-port]\u{1b}[0m\u{1b}[1m: `Rx` names port `ni`, which is not there\u{1b}[0m
 \u{1b}[36m-->\u{1b}[0m gw.ron:5:11
\u{1b}[36m5 |\u{1b}[0m \t\"m\": [Rx(\"ni\"), Tx(\"out\")]
 \u{1b}[36m |\u{1b}[0m \t         \u{1b}[1;31m^^^^ did you mean `in`?\u{1b}[0m
1 error";
    assert_eq!(coloured, expected);
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').expect("a colour").1;
    }
    assert_eq!(plain + rest, problems.render(false));
}

#[test]
fn programs_read_the_same() {
    let text = with_keys("params: { \"h\": 1 }, coers: Auto");
    let found = serde_json::to_value(problems(&text)).unwrap();
    let line = text.lines().next().unwrap();
    let place = |marked: &str| {
        let lead = line.find(marked).unwrap();
        json!({
            "line": 1, "column": lead + 1, "width": marked.len(), "text": line, "lead": lead,
        })
    };
    let expected = json!({
        "schema": 1, "file": "gw.ron", "errors": 1, "warnings": 1, "more": 0,
        "problems": [
            {
                "severity": "warning", "code": "unused-parameter", "place": place("\"h\""),
                "message": "parameter `h` is used nowhere",
                "help": "write \"$h\" where its value belongs, or leave it out",
            },
            {
                "severity": "error", "code": "unknown-key", "place": place("coers"),
                "message": "`Pipeline` has no key `coers`", "help": "did you mean `cores`?",
            },
        ],
    });
    assert_eq!(found, expected);
    let unplaced = serde_json::to_value(crate::support::problems_with(
        &with_chains("\"m\": [Rx(\"in\"), Tx(\"out\")]"),
        &corelane::Overrides::sets([("x".to_owned(), "1".to_owned())]),
    ));
    assert_eq!(unplaced.unwrap()["problems"][0]["place"], Value::Null);
}

#[test]
fn sound_files_have_no_problem() {
    let sound = problems(include_str!("sound.ron"));
    assert!(sound.list.is_empty(), "{sound}");
    for chains in [
        r#""m": [Rx("in"), Tx("out")]"#,
        r#""m": [Rx(port: "in"), Count(), Ring, Count(name: "n", on_panic: Restart(3)), Tx("out")]"#,
        r#""m": [Rx("in"), Fork("b"), Fork(to: "b"), Tx("out")], "b": [Count(on_panic: Bypass), Tx("out")] // so"#,
        r#""m": [Rx("in"), Ring("r"), Fork("b"), Ring(by: InnerFlow), Tx("out")], "b": [Ring, Tx("out")]"#,
    ] {
        let found = problems(&with_chains(chains));
        assert!(found.list.is_empty(), "{chains}: {found}");
    }
}

#[test]
fn a_value_given_by_a_parameter_is_shown_where_it_is_used() {
    let text = with_chains(r#""m": [Rx("in"), Gro(hold: "$h"), Tx("out")]"#)
        .replace("ports:", "params: { \"h\": 50 }, ports:");
    let message = "`Gro`: `hold` takes a time such as \"50us\", not `50`";
    let expected = ["bad-value", "\"$h\"", message, ""].map(str::to_owned);
    assert_eq!(shown(&problems(&text)), [expected]);
}

#[test]
fn all_mistakes_are_shown_together_with_one_of_syntax() {
    let chain = "\"m\": [Rx(\"ni\"), Gro(hold: %, flws: 2), Cuont, Tx(\"out\" 5), Dorp]";
    let codes: Vec<String> =
        shown(&problems(&with_chains(chain))).into_iter().map(|[code, ..]| code).collect();
    let expected = [
        "no-such-port",
        "syntax",
        "unknown-key",
        "unknown-stage",
        "unknown-stage",
        "after-the-end",
    ];
    assert_eq!(codes, expected);
}

#[test]
fn a_mark_in_front_of_the_text_is_no_part_of_it() {
    let text = with_chains(r#""m": [Rx("in"), Tx("uot")]"#);
    assert_eq!(problems(&format!("\u{feff}{text}")), problems(&text));
}

#[test]
fn a_long_line_is_shown_around_the_mistake() {
    let filler = "Count, ".repeat(4_000);
    let text = with_chains(&format!(r#""m": [Rx("in"), {filler}Cuont, {filler}Tx("out")]"#));
    let shown = problems(&text).to_string();
    assert!(shown.len() < 1000, "{}", shown.len());
    let lines: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
    let at = lines[3].iter().position(|&c| c == '^').expect("marks");
    assert_eq!(lines[2][at..at + 5], ['C', 'u', 'o', 'n', 't']);
}

#[test]
fn no_more_problems_are_shown_than_anybody_reads() {
    let text = with_chains(&format!(r#""m": [Rx("in"), {}Tx("out")]"#, "Cuont, ".repeat(60)));
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

/// What stands for a value whose mistake has been told must not silence a file that says it itself.
#[test]
fn a_reserved_name_is_told() {
    for text in ["__missing__", "Pipeline(name: __missing__, ports: {}, chains: {})"] {
        assert!(shown(&problems(text)).iter().any(|problem| problem[0] == "reserved"), "{text}");
    }
}

/// Many mistakes of one kind cost no more than they are many.
#[test]
fn large_files_are_read_in_bounded_time() {
    let numbers = 0..1_000;
    let chains: Vec<String> = numbers
        .map(|n| format!("\"c{n}\": [Fork(\"c{}\"), Use(\"p{n}\"), Tx(\"o{n}\")]", (n + 1) % 1_000))
        .collect();
    let problems = problems(&with_chains(&chains.join(",\n")));
    assert_eq!((problems.list.len(), problems.errors()), (50, 2_001), "{problems}");
}

proptest! {
    /// Whatever is cut out of a file or put into it, there are problems that can be shown, or a plan.
    #[test]
    fn no_change_of_a_file_makes_it_panic(
        at in 0..2000_usize, length in 0..40_usize, with in "[(){}\\[\\],:\"$a-zA-Z0-9. ]{0,8}",
    ) {
        let text = include_str!("sound.ron");
        let start = (0..=at.min(text.len())).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let end = (start..=text.len()).find(|&at| at >= start + length && text.is_char_boundary(at));
        let changed = text[..start].to_owned() + &with + &text[end.unwrap_or(text.len())..];
        match crate::support::plan(&changed, &corelane::Overrides::default()) {
            Ok(_) => {}
            Err(failure) => prop_assert!(!failure.to_string().is_empty()),
        }
    }
}
