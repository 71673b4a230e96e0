//! Reading a stage's arguments: RON text to a configuration struct, with every mistake reported at once.
//!
//! It promises for each mistake the key, the bytes it stands at, what was expected, and the nearest name
//! where a name is wrong. It reads one stage's arguments and knows nothing of the file around them. A syntax
//! error hides the mistakes behind it, since nobody can say where the next key begins.

mod entries;
mod errors;
mod mac;
mod range;
mod rate;
pub(crate) mod raw;
#[cfg(test)]
mod tests;
mod units;

pub use mac::Mac;
pub use range::RangeText;
pub use rate::{OneIn, Rate};
pub use units::{Bytes, Nanoseconds};

use corelane_runtime::stage::{Args, ConfigError};
use entries::{blank, entries};
use ron::Options;
use ron::extensions::Extensions;
use ron::value::RawValue;
use serde::de::DeserializeOwned;

/// The RON that stages are written in: `Some` is not written, nor is the name of a newtype.
pub(crate) fn options() -> Options {
    Options::default()
        .with_default_extension(Extensions::IMPLICIT_SOME)
        .with_default_extension(Extensions::UNWRAP_NEWTYPES)
        .with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES)
}

/// Reads `(key: value, ..)` into a struct that derives `Deserialize` with
/// `#[serde(deny_unknown_fields, default)]`; a key that must be given has no default.
///
/// # Errors
/// One [`ConfigError`] for each key that is unknown, given twice, missing, or has a value that cannot be
/// read; or a single one where the text is not RON.
pub fn parse<T: DeserializeOwned>(args: Args<'_>) -> Result<T, Vec<ConfigError>> {
    parse_with(args, &[])
}

/// As [`parse`], for a struct that leaves to its caller which keys must be given. Every one that is missing is a
/// mistake of its own.
pub(crate) fn parse_with<T: DeserializeOwned>(
    args: Args<'_>,
    required: &[&str],
) -> Result<T, Vec<ConfigError>> {
    let mut text = args.text.to_owned();
    let mut found = missing(&text, required);
    let mut removed: Vec<String> = Vec::new();
    loop {
        let error = match options().from_str::<T>(&text) {
            Ok(value) if found.is_empty() => return Ok(value),
            Ok(_) => return Err(found),
            Err(error) => error,
        };
        let (error, at) = errors::translate(&error, &text);
        let follows = error.key.as_ref().is_some_and(|key| removed.contains(key));
        let missing = error.span.is_none();
        if !(missing && follows) {
            found.push(error);
        }
        // The entry at fault is blanked, positions kept, and the rest read again.
        let entry = entries(&text).into_iter().find(|entry| entry.all.contains(&at));
        match entry {
            Some(entry) if !missing => {
                removed.push(text[entry.key.clone()].to_owned());
                blank(&mut text, &entry.all);
            }
            _ => return Err(found),
        }
    }
}

/// The keys that are not there. Where the text is no RON nobody can say.
fn missing(text: &str, required: &[&str]) -> Vec<ConfigError> {
    if options().from_str::<&RawValue>(text).is_err() {
        return Vec::new();
    }
    let given = entries(text);
    let is_missing = |key: &&&str| !given.iter().any(|entry| text[entry.key.clone()] == ***key);
    let missing = required.iter().filter(is_missing);
    missing.map(|key| ConfigError::at(*key, format!("`{key}` must be given"))).collect()
}

/// Reads one value as it would stand behind a key.
pub(crate) fn read_value<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    options().from_str(text).map_err(|error| errors::translate(&error, text).0.message)
}
