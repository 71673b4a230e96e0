//! Where the entries of `(key: value, ..)` stand in the text.
//!
//! It finds places, values are not looked into. Text that is not RON has no entries.

use super::options;
use ron::value::RawValue;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::ops::Range;

/// One `key: value` and the comma behind it, as byte ranges of the text.
#[derive(Debug)]
pub(super) struct Entry {
    /// The key alone.
    pub(super) key: Range<usize>,
    /// The value alone.
    pub(super) value: Range<usize>,
    /// From the first byte of the key to behind the comma.
    pub(super) all: Range<usize>,
}

/// The values of a struct with any fields.
struct Values<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Values<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Values<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("arguments")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(Name(key)) = map.next_key()? {
                    values.push((key, map.next_value::<&RawValue>()?));
                }
                Ok(Values(values))
            }
        }
        deserializer.deserialize_struct("", &[], Fields)
    }
}

/// A field name; ron gives it as an identifier.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                Ok(Name(name.to_owned()))
            }
        }
        deserializer.deserialize_identifier(Text)
    }
}

/// The entries in order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let Ok(Values(values)) = options().from_str::<Values<'_>>(text) else { return Vec::new() };
    let mut from = skip(text, 0);
    from = skip(text, from + usize::from(text[from..].starts_with('(')));
    let mut found = Vec::new();
    for (key, value) in values {
        // The raw value is a slice of `text`, so its address says where.
        let start = value.get_ron().as_ptr() as usize - text.as_ptr() as usize;
        let value_end = skip(text, start + value.get_ron().len());
        let comma = usize::from(text[value_end..].starts_with(','));
        let trimmed = value.trim().get_ron();
        let value_at = trimmed.as_ptr() as usize - text.as_ptr() as usize;
        found.push(Entry {
            key: from..from + key.len(),
            value: value_at..value_at + trimmed.len(),
            all: from..value_end + comma,
        });
        from = skip(text, value_end + comma);
    }
    found
}

/// Overwrites a range with spaces; line breaks stay, so that positions do.
pub(super) fn blank(text: &mut String, range: &Range<usize>) {
    let spaces: String =
        text[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    text.replace_range(range.clone(), &spaces);
}

/// Past white space and comments.
pub(super) fn skip(text: &str, from: usize) -> usize {
    let mut rest = &text[from..];
    loop {
        rest = rest.trim_start();
        rest = if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return text.len() - rest.len();
        };
    }
}
