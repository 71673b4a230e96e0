//! Single mistakes, each as it is told: the message, the text, what is underlined, and the advice.
//!
//! The tables beside this file hold one mistake a paragraph. Every one was read by a person: it says what is
//! wrong, where, and what to write instead. Where the advice is a word to write, writing it cures the mistake.

use crate::support::{marked, plan, problems, shown, with_chains, with_keys, with_port};
use corelane::{Failure, Overrides, Problem, Severity};

/// A paragraph of a table.
struct Row<'t> {
    /// `error[code]: message`
    said: &'t str,
    text: &'t str,
    /// Marks under the text, and the advice behind them.
    marks: &'t str,
}

/// The paragraphs of a table. Lines of text are set in by four columns.
fn rows(table: &str) -> Vec<Row<'_>> {
    let paragraphs = table.trim_end().split("\n\n");
    let rows = paragraphs.map(|paragraph| {
        let lines: Vec<&str> = paragraph.lines().collect();
        let [said, text, marks] = lines[..] else { panic!("three lines: {paragraph}") };
        Row { said, text: &text[4..], marks: &marks[4..] }
    });
    rows.collect()
}

/// A problem as the tables have it, with so many columns of the file in front of the text left out.
fn said(problem: &Problem, before: usize) -> [String; 2] {
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = problem.place.as_ref().expect("a place");
    let help = problem.help.as_deref().map(|help| format!(" {help}")).unwrap_or_default();
    // A long line is shown in part, so its column counts and not how far in it is shown.
    let lead = " ".repeat(place.column - 1 - before);
    let marks = format!("{lead}{}{help}", "^".repeat(place.width));
    [format!("{severity}[{}]: {}", problem.code, problem.message), marks]
}

/// Where the text of a row stands in its line of the file.
fn before(whole: &str, text: &str) -> usize {
    let line = whole.lines().find(|line| line.contains(text)).expect("the text is in the file");
    line[..line.find(text).unwrap_or(0)].chars().count()
}

/// Fails unless each text has exactly its mistake; what else there is to warn of for `besides` is left out.
fn told(table: &str, whole: impl Fn(&str) -> String, besides: &[&str]) {
    let rows = rows(table);
    for Row { said: message, text, marks } in &rows {
        let file = whole(text);
        let expected = [(*message).to_owned(), (*marks).to_owned()];
        let found: Vec<_> = problems(&file)
            .list
            .iter()
            .map(|problem| (problem.code, said(problem, before(&file, text))))
            .filter(|(code, said)| *said == expected || !besides.contains(code))
            .map(|(_, said)| said)
            .collect();
        assert_eq!(found, [expected], "{text}");
        cure(message, text, marks, &whole);
    }
}

/// Where the advice is what to write in place of what is underlined, writing it mends the mistake.
fn cure(message: &str, text: &str, marks: &str, whole: &impl Fn(&str) -> String) {
    let advice = marks.trim_start_matches([' ', '^']);
    let words = advice.strip_prefix("did you mean `").or(advice.strip_prefix("write `"));
    let Some((word, rest)) = words.and_then(|words| words.split_once('`')) else { return };
    let is_whole = matches!(rest, "" | "?" | " without quotes") || rest.starts_with(", a time");
    if !is_whole || word.contains("..)") || word.contains("PART") {
        return;
    }
    let start = marks.chars().take_while(|&c| c == ' ').count();
    let width = marks.chars().skip(start).take_while(|&c| c == '^').count();
    let marked: String = text.chars().skip(start).take(width).collect();
    let quoted = marked.starts_with('"') && advice.starts_with("did you mean");
    let word =
        if quoted { marked.replace(marked.trim_matches('"'), word) } else { word.to_owned() };
    let mended: String = text.chars().take(start).collect::<String>()
        + &word
        + &text.chars().skip(start + width).collect::<String>();
    // What keeps it from running beyond that is another matter.
    let Err(Failure::Description(found)) = plan(&whole(&mended), &Overrides::default()) else {
        return;
    };
    let again = found.list.iter().any(|problem| message.ends_with(&problem.message));
    assert!(!again, "{text}\nas advised: {mended}\n{found}");
}

#[test]
fn each_mistake_in_chains_is_told_at_its_place_with_its_cure() {
    told(include_str!("chains.txt"), with_chains, &[]);
}

/// That a key does nothing yet is a warning beside the mistake in its value.
#[test]
fn each_mistake_in_a_port_is_told_at_its_place_with_its_cure() {
    told(include_str!("ports.txt"), with_port, &["not-yet"]);
}

/// What is wrong with a parameter or part is told though nothing uses it, which is a warning.
#[test]
fn each_mistake_in_the_keys_of_a_file_is_told_at_its_place_with_its_cure() {
    told(include_str!("keys.txt"), with_keys, &["unused-parameter", "unused-part"]);
}

#[test]
fn a_text_that_is_no_file_is_told() {
    told(include_str!("whole.txt"), str::to_owned, &[]);
}

#[test]
fn there_are_enough_of_them() {
    let tables = [include_str!("chains.txt"), include_str!("ports.txt"), include_str!("keys.txt")];
    let rows: usize = tables.iter().map(|table| rows(table).len()).sum();
    assert!(rows >= 120, "{rows}");
}

#[test]
fn a_port_that_goes_the_other_way_is_told_where_it_is_used() {
    let help = "give it a file to read: `read: \"..\"`";
    let expected = ["wrong-direction", "\"in\"", "port `in` does not receive", help];
    let found = shown(&problems(&with_port("Pcap(write: \"x.pcap\")")));
    assert_eq!(found, [expected.map(str::to_owned)]);
}

/// Texts that have no line to underline, or one that cannot be shown in a table.
#[test]
fn a_text_of_next_to_nothing_is_told() {
    let cases = [
        ("", "a value is expected, the text ends here"),
        ("\0", "a value is expected, found U+0000"),
        ("Pipeline(name: \"x\", ", "this `(` is never closed"),
        ("Pipeline(name: \"x\", ports: {}, \n\n", "this `(` is never closed"),
        ("[", "this `[` is never closed"),
    ];
    for (text, message) in cases {
        let found = problems(text);
        let messages: Vec<&str> = found.list.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, [message], "{text:?}");
        assert_eq!(found.list[0].code, "syntax");
        let advice = "a description is one `Pipeline(..)`; `corelane new` prints ready ones";
        let help = found.list[0].help.as_deref();
        assert_eq!(help.is_some_and(|help| help == advice), text.is_empty(), "{text:?}");
    }
}

/// Two and more mistakes of one stage, and what does not follow from them.
#[test]
fn one_mistake_hides_no_other_and_nothing_follows() {
    let cases: [(&str, &[&str]); 8] = [
        (
            r#""m": [Rx("in"), Gro(hold: "$hodl", flws: 3), Tx("out")]"#,
            &["unknown-parameter", "unknown-key"],
        ),
        (r#""m": [Rx("in"), Tx(port: "uot", mtuu: 3)]"#, &["no-such-port", "unknown-key"]),
        // `e` is named by what is unknown, `f` by nothing.
        (
            r#""m": [Rx("in"), Clasify(rules: [(to: "e")]), Tx("out")], "e": [Drop], "f": [Drop]"#,
            &["unknown-stage", "no-entrance"],
        ),
        (
            r#""m": [Rx("in"), Fork(to: "e", every: %), Tx("out")], "e": [Drop], "f": [Drop]"#,
            &["syntax", "no-entrance"],
        ),
        // The value that is missing could be any chain.
        (r#""m": [Rx("in"), Fork(to: "$x"), Tx("out")], "e": [Drop]"#, &["unknown-parameter"]),
        // What ends a chain does so though its arguments are wrong.
        (r#""m": [Rx("in"), Drop("$x"), Tx("out")]"#, &["unknown-parameter", "after-the-end"]),
        (
            r#""m": [Rx("in"), Split(left: "b"), Tx("out")], "b": [Drop]"#,
            &["missing-key", "after-the-end"],
        ),
        (r#""m": [Rx("in"), Split(left: "b", right: "c")], "b": [Drop], "c": [Tx("out")]"#, &[]),
    ];
    for (chains, codes) in cases {
        let found = problems(&with_chains(chains));
        let found: Vec<&str> = found.list.iter().map(|problem| problem.code).collect();
        assert_eq!(found, codes, "{chains}");
    }
}

/// A key that does nothing yet is told once a file, whatever the number of ports.
#[test]
fn what_does_nothing_yet_is_told_once() {
    let text = with_chains(r#""m": [Rx("in"), Police(a: 1), Police(b: 2), Tx("out")]"#)
        .replace(
            "Emulated()",
            "Emulated(promiscuous: true, takeover: true, rss: (symmetric: false))",
        )
        .replace("count: 1000)", "count: 1000), promiscuous: false");
    let found = problems(&text);
    let mut found: Vec<_> =
        found.list.iter().map(|problem| (problem.code, marked(problem))).collect();
    found.sort();
    let expected = ["Police", "promiscuous", "rss", "takeover"];
    assert_eq!(found, expected.map(|name| ("not-yet", name.to_owned())));
}
