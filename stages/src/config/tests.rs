//! Every kind of mistake, its place and its cure.

use super::{Bytes, Nanoseconds, parse};
use corelane_runtime::stage::{Args, ConfigError};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Debug, Default, PartialEq, Deserialize)]
enum Choice {
    #[default]
    Pass,
    Output(String),
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Sample {
    hold: Option<Nanoseconds>,
    size: Bytes,
    on_bad: Choice,
    window: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Needy {
    port: String,
    #[serde(default)]
    burst: u16,
}

fn sample(text: &str) -> Result<Sample, Vec<ConfigError>> {
    parse(Args { text })
}

fn errors(text: &str) -> Vec<(String, String, String)> {
    let found = sample(text).unwrap_err().into_iter();
    found
        .map(|error| {
            let at = error.span.map(|(from, to)| text[from..to].to_owned()).unwrap_or_default();
            (error.key.unwrap_or_default(), at, error.message)
        })
        .collect()
}

#[test]
fn every_form_of_value_is_read() {
    let read = sample(r#"(hold: "50us", size: "64KiB", on_bad: Output("bad"), window: true)"#);
    let expected = Sample {
        hold: Some(Nanoseconds(50_000)),
        size: Bytes(65_536),
        on_bad: Choice::Output("bad".into()),
        window: true,
    };
    assert_eq!(read, Ok(expected));
    assert_eq!(sample("()"), Ok(Sample::default()));
    assert_eq!(sample(" ( /* nothing */ ) "), Ok(Sample::default()));
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_nearest_one() {
    let found = errors("(window: true, hold_us: 50)");
    let message = "there is no key `hold_us`; did you mean `hold`?";
    assert_eq!(found, [("hold_us".into(), "hold_us".into(), message.into())]);
    let found = errors("(zebra: 1)");
    assert_eq!(
        found[0].2,
        "there is no key `zebra`; the keys are `hold`, `size`, `on_bad`, `window`"
    );
}

#[test]
fn an_unknown_value_is_named_with_its_key() {
    let found = errors("(on_bad: Pas)");
    assert_eq!(found[0].0, "on_bad");
    assert_eq!(found[0].1, "Pas");
    assert_eq!(found[0].2, "`Pas` cannot be written for `on_bad`; did you mean `Pass`?");
}

#[test]
fn a_number_without_a_unit_shows_the_right_form() {
    for text in ["(hold: 50)", "(hold: \"50\")", "(hold: \"50 parsecs\")", "(hold: \"1.5ns\")"] {
        let found = errors(text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].0, "hold");
        assert!(found[0].2.contains("a time such as \"50us\" for `hold`"), "{}", found[0].2);
    }
}

#[test]
fn all_mistakes_are_reported_together_each_at_its_place() {
    let text = "(\n  hold: 5, // ten, rather\n  ünknown: [1, (2)],\n  window: 3,\n  size: \"1MB\", size: \"2MB\",\n)";
    let found = errors(text);
    let keys: Vec<&str> = found.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys.len(), 4, "{found:?}");
    for key in ["hold", "ünknown", "window", "size"] {
        assert!(keys.contains(&key), "{key} in {found:?}");
    }
    let at = |key| found.iter().find(|(name, ..)| name == key).map(|(_, at, _)| at.as_str());
    assert_eq!(at("ünknown"), Some("ünknown"));
    assert_eq!(at("size"), Some("size"));
}

#[test]
fn a_missing_key_is_named_unless_it_was_there_and_wrong() {
    let missing = parse::<Needy>(Args { text: "(burst: 3)" }).unwrap_err();
    assert_eq!(missing.len(), 1);
    assert_eq!((missing[0].span, missing[0].message.as_str()), (None, "`port` must be given"));
    let wrong = parse::<Needy>(Args { text: "(port: 3, burst: -1)" }).unwrap_err();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong.iter().all(|error| !error.message.contains("must be given")));
}

#[test]
fn a_syntax_error_is_one_error() {
    for text in
        ["(hold: ", "(hold \"1s\")", "(hold: \"1s\" window: true)", "hold", "(\"a\", window: true)"]
    {
        assert_eq!(sample(text).unwrap_err().len(), 1, "{text}");
    }
}

#[test]
fn units_are_exact() {
    let time = |text: &str| sample(&format!("(hold: {text:?})")).map(|s| s.hold.map(|t| t.0));
    assert_eq!(time("1.5ms"), Ok(Some(1_500_000)));
    assert_eq!(time("2 s"), Ok(Some(2_000_000_000)));
    assert_eq!(time("1_000ns"), Ok(Some(1_000)));
    assert!(time("18446744073709551615s").is_err());
    assert!(
        time(".").is_err() && time("").is_err() && time("us").is_err() && time("1..5us").is_err()
    );
}

proptest! {
    #[test]
    fn no_text_panics_or_loops_and_spans_lie_in_it(text in r#"\(?((hold|size|zed|on_bad|[a-zü]{1,3})?:? ?("[0-9.a-zA-Z ]{0,6}"|[0-9-]{1,3}|true|Pass|\(|\[|/\*|//)?,? ?\n?){0,6}\)?"#) {
        for error in sample(&text).err().unwrap_or_default() {
            if let Some((from, to)) = error.span {
                prop_assert!(text.get(from..to).is_some());
            }
            prop_assert!(!error.message.is_empty());
        }
    }
}
