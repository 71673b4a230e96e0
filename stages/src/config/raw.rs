//! RON taken apart without types: the entries of a struct, the items of a list, what stands in `Name(..)`.
//!
//! For values whose form depends on more than a type, such as those of rules. It promises places in the text that
//! was given, and that what it takes apart is RON; it reads no value.

use super::entries::entries;
use super::{errors, options};
use corelane_runtime::stage::ConfigError;
use ron::value::RawValue;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::ops::Range;

/// `key: value`, as byte ranges of the text.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// The entries of `(key: value, ..)` in order.
///
/// # Errors
/// Where the text is no RON.
pub(crate) fn pairs(text: &str) -> Result<Vec<Pair>, ConfigError> {
    let whole = options().from_str::<IgnoredAny>(text);
    whole.map_err(|error| errors::translate(&error, text).0)?;
    let pair = |entry: super::entries::Entry| Pair { key: entry.key, value: entry.value };
    Ok(entries(text).into_iter().map(pair).collect())
}

/// Whether it is `()`, comments aside.
pub(crate) fn is_empty(text: &str) -> bool {
    options().from_str::<()>(text).is_ok()
}

/// The value of a key.
///
/// # Errors
/// What is wrong, at the value.
pub(crate) fn value<T: DeserializeOwned>(
    text: &str,
    pair: &Pair,
    what: &str,
) -> Result<T, ConfigError> {
    let written = text.get(pair.value.clone()).unwrap_or_default();
    options().from_str(written).map_err(|_| ConfigError {
        span: Some((pair.value.start, pair.value.end)),
        key: text.get(pair.key.clone()).map(str::to_owned),
        message: format!("expected {what}"),
    })
}

/// The items of the list that stands at a place; `None` where there is no list.
pub(crate) fn items(text: &str, at: Range<usize>) -> Option<Vec<Range<usize>>> {
    let items = options().from_str::<Vec<&RawValue>>(text.get(at)?).ok()?;
    Some(items.into_iter().map(|item| place(text, item)).collect())
}

/// A key that is none of `known`, at its place.
pub(crate) fn unknown_key(text: &str, key: &Range<usize>, known: &[&str]) -> ConfigError {
    let found = text.get(key.clone()).unwrap_or_default();
    let message = format!("there is no key `{found}`; {}", errors::instead(found, known, "keys"));
    ConfigError { span: Some((key.start, key.end)), key: Some(found.to_owned()), message }
}

/// What stands in the brackets of `name(..)` at a place; `None` where something else stands there.
pub(crate) fn inside(text: &str, at: Range<usize>, name: &str) -> Option<Range<usize>> {
    let brackets = text.get(at)?.strip_prefix(name)?;
    let (value,) = options().from_str::<(&RawValue,)>(brackets).ok()?;
    Some(place(text, value))
}

/// Where a value stands, without the space and the comments around it.
fn place(text: &str, value: &RawValue) -> Range<usize> {
    // It is a slice of `text`, so its address says where.
    let value = value.trim().get_ron();
    let start = value.as_ptr() as usize - text.as_ptr() as usize;
    start..start + value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_values() {
        let text = "( a: [1, Not( 2 /* two */ ), \"]\" ,], // b\n b : Own(\"x\"), c: () )";
        let pairs = pairs(text).expect("RON");
        let shown = |at: &Range<usize>| text[at.clone()].to_owned();
        let keys: Vec<String> = pairs.iter().map(|pair| shown(&pair.key)).collect();
        assert_eq!(keys, ["a", "b", "c"]);
        assert_eq!(shown(&pairs[1].value), "Own(\"x\")");
        let list = items(text, pairs[0].value.clone()).expect("a list");
        let list_shown: Vec<String> = list.iter().map(shown).collect();
        assert_eq!(list_shown, ["1", "Not( 2 /* two */ )", "\"]\""]);
        assert_eq!(inside(text, list[1].clone(), "Not").as_ref().map(shown), Some("2".to_owned()));
        assert_eq!(inside(text, pairs[1].value.clone(), "Not"), None);
        assert_eq!(items(text, pairs[1].value.clone()), None);
    }

    #[test]
    fn what_is_no_ron_is_told_where() {
        for text in ["(a: )", "(a: 1 b: 2)", "(a: [)", ""] {
            assert!(super::pairs(text).is_err(), "{text}");
        }
        assert!(super::pairs("()").expect("RON").is_empty());
    }
}
