//! Positions and replacement, against `ron` itself where it can say what is right.

use super::params::{Beside, expand, quote, string_value};
use super::tree::{Kind, Mistake, Node, parse, parse_part};
use super::{Mapped, Span};
use proptest::prelude::*;
use ron::value::RawValue;

/// All strings, numbers and brackets that may stand anywhere: mostly nonsense, sometimes RON.
const SOUP: &str = r##"(Rx|Tx|a|b|\(|\)|\[|\]|\{|\}|:|,|"x"|"\$p"|"\$\{p\}"|"\$\$"|r#"y"#|r#c|'c'|7|-1.5e3|0x1F|2..=5|//c\n|/\*d\*/|#!\[enable\(x\)\]| |\n|"|ü|\\|'|\$){0,24}"##;

fn spans_hold(node: &Node, text: &str) -> bool {
    let inside = text.get(node.span.range()).is_some();
    inside && node.children().into_iter().all(|node| spans_hold(node, text))
}

/// RON of all shapes, with spaces and comments in it.
fn ron_text() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", " ", "\n", " /* , ] */ ", "// ( \"\n"]);
    let leaf = prop::sample::select(vec![
        "1",
        "-2.5",
        "0xff",
        "'x'",
        "'\\''",
        "\"a\"",
        "\"a \\\" ,]\"",
        "r#\"q\"\"#",
        "true",
        "Name",
        "inf",
        "b\"x\"",
    ]);
    let leaf = leaf.prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let space = space.clone();
        let item =
            (space.clone(), inner.clone(), space).prop_map(|(a, item, b)| a.to_owned() + &item + b);
        let items = prop::collection::vec(item.clone(), 0..4);
        prop_oneof![
            items.clone().prop_map(|items| format!("[{}]", items.join(","))),
            items.clone().prop_map(|items| format!("Name({})", items.join(","))),
            items.clone().prop_map(|items| format!("({})", items.join(","))),
            items
                .clone()
                .prop_map(|items| {
                    let fields = items.iter().enumerate().map(|(at, item)| format!("k{at}:{item}"));
                    format!("N({},)", fields.collect::<Vec<_>>().join(","))
                })
                .prop_filter("no lone comma", |text| text != "N(,)"),
            items.prop_map(|items| {
                let entries =
                    items.iter().enumerate().map(|(at, item)| format!("\"k{at}\":{item}"));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_panics_and_all_places_lie_in_it(text in SOUP) {
        let parsed = parse(&text);
        prop_assert!(spans_hold(&parsed.root, &text), "{text:?}");
        prop_assert!(parsed.mistakes.iter().filter(|mistake| mistake.code == "syntax").count() <= 1);
        let beside = [Beside { base: text.len() + 1, text: text.clone() }];
        let mut expanded = expand(&text, &parsed.root, &[("p".into(), "v".into())], &beside, &[]);
        let whole = Span::new(0, text.len() * 3 + 3);
        let raw = expanded.append(&Beside { base: text.len() * 2 + 2, text: text.clone() });
        prop_assert_eq!(&expanded.text.text()[raw.range()], &text);
        let again = parse_part(expanded.text.text(), expanded.file);
        prop_assert!(spans_hold(&again.root, expanded.text.text()));
        for mistake in &again.mistakes {
            let origin = expanded.text.origin(mistake.span);
            prop_assert!(origin.start <= origin.end && origin.start <= text.len() + 1);
        }
        // What stands beside the file reads as the file does, at places of its own.
        let beside = parse_part(expanded.text.text(), expanded.beside[0]);
        prop_assert!(spans_hold(&beside.root, expanded.text.text()));
        prop_assert!(beside.root.span.start >= expanded.beside[0].start);
        for mistake in &beside.mistakes {
            let origin = expanded.text.origin(mistake.span);
            prop_assert!(origin.start > text.len() && origin.end <= whole.end);
        }
    }

    #[test]
    fn what_ron_accepts_is_accepted(text in SOUP) {
        if ron::from_str::<&RawValue>(&text).is_ok() && !text.starts_with("#!") {
            let wrong = |code: &str| code == "syntax";
            let mistakes = parse(&text).mistakes;
            prop_assert!(!mistakes.iter().any(|mistake| wrong(mistake.code)), "{text:?}: {mistakes:?}");
        }
    }

    #[test]
    fn items_are_cut_where_ron_cuts_them(items in prop::collection::vec(ron_text(), 0..5)) {
        let text = format!("[{}]", items.join(" ,\n"));
        let expected: Vec<&RawValue> = ron::from_str(&text).expect("valid RON");
        let parsed = parse(&text);
        prop_assert_eq!(&parsed.mistakes, &[]);
        let Kind::List(found) = parsed.root.kind else { panic!("a list") };
        let found: Vec<&str> = found.iter().map(|node| &text[node.span.range()]).collect();
        let expected: Vec<&str> = expected.iter().map(|raw| raw.get_ron().trim()).collect();
        // `ron` counts comments around a value to the value.
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!(expected.contains(found), "{found:?} in {expected:?}");
        }
    }

    #[test]
    fn a_quoted_text_reads_as_itself(content in any::<String>()) {
        prop_assert_eq!(string_value(&quote(&content)), Some(content));
    }

    #[test]
    fn copied_bytes_know_where_they_came_from(cuts in prop::collection::vec((0..20_usize, 0..20_usize), 1..5)) {
        let source = "abcdefghijklmnopqrstuvwxyz";
        let mut mapped = Mapped::default();
        for (start, length) in cuts {
            mapped.insert("::", Span::new(start, start + 1));
            mapped.copy(source, Span::new(start, start + length.min(6)));
        }
        for (at, byte) in mapped.text().bytes().enumerate() {
            let origin = mapped.origin(Span::new(at, at + 1));
            if byte != b':' {
                prop_assert_eq!(&source.as_bytes()[origin.range()], &[byte]);
            }
        }
    }
}

#[test]
fn keys_given_twice_are_found_everywhere() {
    let text = r#"P(a: 1, b: {"x": 1, "y": (c: 1, c: 2), "x": 2}, a: [{1: 2, 1: 3}])"#;
    let found: Vec<&str> =
        parse(text).mistakes.iter().map(|mistake| &text[mistake.span.range()]).collect();
    assert_eq!(found, ["c", "\"x\"", "a", "1"]);
}

#[test]
fn reading_goes_on_after_a_mistake() {
    let text = "[Rx(\"a\"), Count(, Drop(\"b\")]";
    let parsed = parse(text);
    assert_eq!(parsed.mistakes.len(), 1);
    let text = "[A(1), B(%), C(2)]";
    let parsed = parse(text);
    let Kind::List(items) = &parsed.root.kind else { panic!("a list") };
    let whole: Vec<bool> = items.iter().map(Node::is_whole).collect();
    assert_eq!(whole, [true, false, true]);
    assert_eq!(parsed.mistakes[0].message, "a value is expected, found `%`");
}

#[test]
fn what_is_never_closed_is_shown_where_it_opens() {
    let cases = [
        ("P(a: [1, 2", "[", "this `[` is never closed"),
        ("P(a: \"x)", "\"", "this string is never closed"),
        ("P(a: 1 /* x", "/", "this comment is never closed"),
        ("P(a: (1]", "]", "`)` is expected, to close a `(`, found `]`"),
        ("P(a: 1) b", "b", "nothing may follow the end of the value"),
        ("P(a: {\"x\" 1})", " ", "`:` and a value are expected after a key"),
    ];
    for (text, place, message) in cases {
        let mistakes = parse(text).mistakes;
        assert_eq!(mistakes.len(), 1, "{text}: {mistakes:?}");
        assert_eq!(&text[mistakes[0].span.range()], place, "{text}");
        assert_eq!(mistakes[0].message, message, "{text}");
    }
}

#[test]
fn nesting_is_bounded() {
    let deep = "[".repeat(100_000);
    assert_eq!(parse(&deep).mistakes[0].message, "nested deeper than 64");
}

fn expanded(text: &str, sets: &[(&str, &str)]) -> (String, Vec<String>) {
    let sets: Vec<(String, String)> =
        sets.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (text, found) = expand(text, &parse(text).root, &sets, &[], &[]).finish();
    let said = |mistake: &Mistake| {
        let help = mistake.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        mistake.message.clone() + &help
    };
    let mistakes = found.mistakes.iter().map(said);
    (text.text().to_owned(), mistakes.chain(found.unplaced).collect())
}

/// What stands behind `v:` after parameters are put in.
fn value(params: &str, v: &str, sets: &[(&str, &str)]) -> (String, Vec<String>) {
    let text = format!("P(params: {params}, v: {v})");
    let (text, mistakes) = expanded(&text, sets);
    let (_, value) = text.rsplit_once("v: ").expect("the key stays");
    (value.trim_end_matches(')').to_owned(), mistakes)
}

/// What stands under `params`, behind `v:`, what is set from outside, and what is expected.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

#[test]
fn parameters_become_values_of_any_type() {
    let cases: [Case; 17] = [
        (r#"{"x": 42}"#, r#""$x""#, &[], "42"),
        (r#"{"x": [1, (a: 2)]}"#, r#"[0, "$x"]"#, &[], "[0, [1, (a: 2)]]"),
        (r#"{"x": Imix}"#, r#""$x""#, &[], "Imix"),
        (r#"{"x": "a\"b"}"#, r#""$x""#, &[], r#""a\"b""#),
        (r#"{"x": "dir"}"#, r#""${x}/f-${x}.pcap""#, &[], r#""dir/f-dir.pcap""#),
        (r#"{"x": 7}"#, r#""n${x}""#, &[], r#""n7""#),
        ("{}", r#""5$$""#, &[], r#""5$""#),
        (r#"{"x": "a"}"#, r#""$x""#, &[("x", "7")], r#""7""#),
        (r#"{"x": 42}"#, r#""$x""#, &[("x", "7")], "7"),
        (r#"{"x": 42}"#, r#""$x""#, &[("x", "7"), ("x", "8")], "8"),
        (r#"{"x": Required("a file")}"#, r#""$x""#, &[("x", "10.pcap")], r#""10.pcap""#),
        (r#"{"x": Required("a number")}"#, r#""$x""#, &[("x", "10")], "10"),
        (r#"{"x": Required("a list")}"#, r#""$x""#, &[("x", "[1]")], "[1]"),
        (r#"{"x": 1}"#, r#"{"$x": "$x"}"#, &[], "{1: 1}"),
        // A comment behind a value would swallow what follows it in the file.
        (r#"{"x": 1}"#, r#"["$x", 2]"#, &[("x", " 7//")], "[7, 2]"),
        (r#"{"x": 1}"#, r#"["$x", 2]"#, &[("x", "7/* */")], "[7, 2]"),
        (r#"{"x": Required("a number")}"#, r#"["$x", 2]"#, &[("x", "7//")], "[7, 2]"),
    ];
    for (params, v, sets, expected) in cases {
        assert_eq!(value(params, v, sets), (expected.to_owned(), vec![]), "{params} {v}");
    }
}

#[test]
fn parameters_that_are_not_there_are_named_once() {
    let missing = "__missing__";
    let cases: [Case; 8] = [
        (
            r#"{"hold": 1}"#,
            r#""$hodl""#,
            &[],
            "no parameter is called `hodl`; did you mean `hold`?",
        ),
        ("{}", r#""a $b""#, &[], "`$` in a text begins `${name}`; write `$$` for a dollar"),
        (
            r#"{"x": Required("a file")}"#,
            r#""$x""#,
            &[],
            "parameter `x` must be set: a file; --set x=..",
        ),
        (
            r#"{"x": 1}"#,
            r#""$x""#,
            &[("x", "[")],
            "--set x=[: not a RON value: this `[` is never closed; a text has quotes: --set 'x=\"[\"'",
        ),
        (
            r#"{"x": 1}"#,
            r#""$x""#,
            &[("x", "1, y: 2")],
            "--set x=1, y: 2: not a RON value: nothing may follow the end of the value; a text has quotes: --set \
             'x=\"1, y: 2\"'",
        ),
        (
            r#"{"x": 1}"#,
            r#""$x""#,
            &[("x", "__missing__")],
            "--set x=__missing__: not a RON value: `__missing__` is reserved",
        ),
        (
            "{}",
            r#""${x}""#,
            &[],
            "no parameter is called `x`; declare it under `params`, or write `$$` for a dollar",
        ),
        ("{}", r#""${x""#, &[], "`$` in a text begins `${name}`; write `$$` for a dollar"),
    ];
    for (params, v, sets, expected) in cases {
        assert_eq!(value(params, v, sets), (missing.to_owned(), vec![expected.to_owned()]), "{v}");
    }
    let (_, mistakes) = value(r#"{"x": 1}"#, "1", &[("y", "2")]);
    assert_eq!(mistakes, ["--set y: no parameter has that name; its parameters are x"]);
    let (_, mistakes) = value("{}", "1", &[("y", "2")]);
    assert_eq!(mistakes, ["--set y: no parameter has that name; the file has no parameters"]);
}
