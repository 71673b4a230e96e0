//! What `stage!` and `choice!` expand to calls of. Public only because macros need it to be.

pub use super::key::{Key, OutputNames};
pub use corelane_runtime::Error;
pub use corelane_runtime::offload::Need;
pub use corelane_runtime::stage::spec::{Choice, KeyInfo, Role, Traits};
pub use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, Declared, Nowhere, Reason, StageConfig,
    StageInfo, StageSpec,
};
pub use serde;

use crate::config;
use corelane_runtime::stage::{Stage, Unshared};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use std::fmt;

/// What a stage may have as methods of its own, which then go before these.
pub trait Hooks {
    /// What is wrong with the keys beyond their types.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// What the plan must know, where that depends on the keys.
    fn traits(&self, traits: &mut Traits) {
        let _ = traits;
    }

    /// The work that a port could take over.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

impl<S: Stage> Hooks for S {}

/// A word of RON: a key, or one of the words of a choice.
pub struct Name(pub String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                Ok(Name(name.to_owned()))
            }
        }
        deserializer.deserialize_identifier(Text)
    }
}

/// Reads the value of a key into its place, once.
pub fn read<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    map: &mut A,
    key: &'static str,
    place: &mut Option<T>,
) -> Result<(), A::Error> {
    if place.is_some() {
        return Err(A::Error::duplicate_field(key));
    }
    *place = Some(map.next_value()?);
    Ok(())
}

/// What a choice expects, in words.
pub fn expecting_words(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    write!(f, "one of {}", words.join(", "))
}

/// Reads the arguments; every key without a default that is missing is a mistake of its own.
pub fn parse<T: DeserializeOwned>(args: Args<'_>, info: &StageInfo) -> Result<T, Vec<ConfigError>> {
    let required = info.keys.iter().filter(|key| key.default.is_none());
    let required: Vec<&str> = required.map(|key| key.name).collect();
    config::parse_with(args, &required)
}

/// The value of a key: what was written, else its default.
pub fn value<T: Key>(
    written: Option<T::Written>,
    (stage, key): (&str, &'static str),
    default: Option<&str>,
    outputs: &mut OutputNames,
) -> Result<T, Vec<ConfigError>> {
    let missing = || vec![ConfigError::at(key, format!("`{key}` must be given"))];
    let written = match (written, default) {
        (Some(written), _) => written,
        (None, Some(default)) => default_of::<T>(default).map_err(|error| {
            let message = format!("the default {default} that `{stage}` has for it: {error}");
            vec![ConfigError::at(key, message)]
        })?,
        (None, None) => return Err(missing()),
    };
    Ok(T::from_written(written, outputs.of_key(key)))
}

fn default_of<T: Key>(default: &str) -> Result<T::Written, String> {
    config::read_value(default)
}

/// # Panics
/// Where a default that a stage declares is no value of its key: a mistake of whoever wrote the stage.
pub fn expect_default<T: Key>(stage: &str, key: &str, default: &str) {
    if let Err(error) = default_of::<T>(default) {
        panic!("stage `{stage}` declares the default {default} for `{key}`: {error}");
    }
}

/// Numbers for the named outputs of a stage.
pub fn outputs(role: Role) -> OutputNames {
    OutputNames::new(usize::from(role != Role::Sink))
}

/// What is known of any stage's traits.
pub fn traits(outputs: &OutputNames) -> Traits {
    Traits { outputs: outputs.names().to_vec(), ..Traits::default() }
}

/// A value that the place of a stage in the plan decides.
pub fn given<T>(ctx: &mut dyn BuildContext, of: fn(&mut dyn BuildContext) -> T) -> T {
    of(ctx)
}

/// An instance, and how to make more.
pub fn built<S: Stage + 'static>(make: impl Fn() -> S + Send + 'static, edits: bool) -> Built {
    match edits {
        true => Built::restartable(move || Unshared(make())),
        false => Built::restartable(make),
    }
}

/// A declaration, as it is written.
pub struct Outline {
    /// Name of the struct.
    pub name: &'static str,
    /// Its doc lines.
    pub doc: &'static [&'static str],
    /// Where it may stand.
    pub role: Role,
    /// The key that a value without a key is for.
    pub subject: Option<&'static str>,
    /// Its keys.
    pub keys: Vec<KeyInfo>,
    /// Names of its drop reasons.
    pub drops: Vec<&'static str>,
    /// Names of its counters.
    pub counters: Vec<&'static str>,
}

/// What the catalogue says of a stage. Made once for a kind, and kept for as long as the program runs.
pub fn info(outline: Outline) -> StageInfo {
    let Outline { name, doc, role, subject, keys, drops, counters } = outline;
    assert!(
        subject.is_none_or(|subject| keys.iter().any(|key| key.name == subject)),
        "stage `{name}` has no key `{subject:?}` to be its subject"
    );
    let first = doc.iter().position(|line| line.trim().is_empty()).unwrap_or(doc.len());
    StageInfo {
        name,
        summary: paragraph(&doc[..first]).leak(),
        role,
        subject,
        keys: keys.leak(),
        drop_reasons: drops.leak(),
        counters: counters.leak(),
    }
}

/// What the catalogue says of a key.
pub fn key<T: Key>(name: &'static str, doc: &[&str], default: Option<&'static str>) -> KeyInfo {
    // What an `Option` is without a value cannot be written in a file.
    let kind = T::kind();
    let is_word = kind.split(" | ").any(|word| word == "None");
    let default =
        default.map(|default| if default == "None" && !is_word { "none" } else { default });
    KeyInfo { name, kind: kind.leak(), default, doc: paragraph(doc).leak() }
}

/// The words that a key can be, where they have a meaning of their own.
pub fn choices<T: Key>(key: &'static str) -> impl Iterator<Item = Choice> {
    let said = T::choices().into_iter().filter(|(_, meaning)| !meaning.is_empty());
    said.map(move |(word, meaning)| Choice { key, word, doc: meaning.leak() })
}

/// Doc lines as one.
pub fn paragraph(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ").trim().to_owned()
}

/// Doc lines behind the first empty one, as they are.
pub fn paragraphs_after_the_first(lines: &[&str]) -> String {
    let rest = lines.iter().skip_while(|line| !line.trim().is_empty());
    let rest: Vec<&str> = rest.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    rest.join("\n").trim().to_owned()
}

/// Names in reports are in small letters.
pub fn lower_case(names: &[&str]) -> Vec<&'static str> {
    names.iter().map(|name| &*name.to_lowercase().leak()).collect()
}

/// A line with all keys that must be given. Where each of several may be left out for nothing, one of them is there:
/// without any the stage would do nothing.
pub fn example(info: &StageInfo, values: &[(&str, String)]) -> String {
    let mut required: Vec<_> = info.keys.iter().filter(|key| key.default.is_none()).collect();
    if info.keys.len() > 1 && info.keys.iter().all(|key| key.default == Some("none")) {
        required.extend(info.keys.first());
    }
    let value = |key: &str| values.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
    let written = |key: &&KeyInfo| value(key.name).map(|value| (key.name, value));
    let arguments: Vec<_> = required.iter().filter_map(written).collect();
    match arguments.as_slice() {
        [] => info.name.to_owned(),
        [(key, value)] if info.subject == Some(*key) => format!("{}({value})", info.name),
        _ => {
            let arguments: Vec<_> =
                arguments.iter().map(|(key, value)| format!("{key}: {value}")).collect();
            format!("{}({})", info.name, arguments.join(", "))
        }
    }
}
