//! Values that only tunnels have in a description: an address or that of a port, a number or `Inherit`, ports.
//!
//! Each takes a word or a call beside a number or a text, which `serde` alone cannot tell apart in RON. What cannot
//! be read says what would do.

use crate::config::{RangeText, options};
use ron::value::RawValue;
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer};
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Reads a value as it is written; `expected` says what would do.
fn read<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    expected: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let text = raw.get_ron().trim();
    read(text).ok_or_else(|| de::Error::custom(format!("expected {expected}, found {text}")))
}

fn typed<T: DeserializeOwned>(text: &str) -> Option<T> {
    options().from_str(text).ok()
}

/// An address of this end: `"192.0.2.1"`, or `Own("wan")`, the first of that port's of the family needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Local {
    /// That one.
    Address(IpAddr),
    /// One of this port's.
    Own(String),
}

#[derive(serde::Deserialize)]
enum LocalWord {
    Own(String),
}

impl<'de> Deserialize<'de> for Local {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Local, D::Error> {
        read(deserializer, "an address such as \"192.0.2.1\", or Own(\"port\")", |text| {
            let own = typed(text).map(|LocalWord::Own(port)| Local::Own(port));
            own.or_else(|| typed(text).map(Local::Address))
        })
    }
}

/// A number, or `Inherit`: that of the packet inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrInherit {
    /// This one for every packet.
    Fixed(u8),
    /// That of the packet inside, where it is IP.
    Inherit,
}

#[derive(serde::Deserialize)]
enum InheritWord {
    Inherit,
}

impl<'de> Deserialize<'de> for OrInherit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OrInherit, D::Error> {
        read(deserializer, "a number up to 255, or Inherit", |text| {
            let word = typed(text).map(|InheritWord::Inherit| OrInherit::Inherit);
            word.or_else(|| typed(text).map(OrInherit::Fixed))
        })
    }
}

/// UDP source ports: `Entropy(49152..=65535)`, one for each flow inside, or one number for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePorts(pub RangeInclusive<u16>);

#[derive(serde::Deserialize)]
enum EntropyWord {
    Entropy(RangeText<u16>),
}

impl<'de> Deserialize<'de> for SourcePorts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SourcePorts, D::Error> {
        read(deserializer, "a port number, or a range such as Entropy(49152..=65535)", |text| {
            let word = typed(text).map(|EntropyWord::Entropy(range)| SourcePorts(range.0));
            word.or_else(|| typed(text).map(|port| SourcePorts(port..=port)))
        })
    }
}

/// UDP ports: one, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(pub Vec<u16>);

impl<'de> Deserialize<'de> for Ports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ports, D::Error> {
        read(deserializer, "a port number such as 4789, or a list such as [4789, 8472]", |text| {
            let one = typed(text).map(|port| Ports(vec![port]));
            one.or_else(|| typed(text).map(Ports)).filter(|ports| !ports.0.is_empty())
        })
    }
}

/// Which rules the ECN bits follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum Ecn {
    /// RFC 6040, normal mode: outer headers carry the ECN field of the packet inside, CE too; of what comes out,
    /// an outer ECT(1) is kept.
    #[default]
    Rfc6040,
    /// RFC 3168, full functionality, as older ends do: CE inside becomes ECT(0) outside; of what comes out, only CE
    /// is kept.
    Rfc3168,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        assert_eq!(typed("Own(\"wan\")"), Some(Local::Own("wan".into())));
        assert_eq!(
            typed("\"2001:db8::1\""),
            Some(Local::Address("2001:db8::1".parse().expect("an address")))
        );
        assert_eq!(typed("64"), Some(OrInherit::Fixed(64)));
        assert_eq!(typed("Inherit"), Some(OrInherit::Inherit));
        assert_eq!(typed("57363"), Some(SourcePorts(57363..=57363)));
        assert_eq!(typed("Entropy(49152..=65535)"), Some(SourcePorts(49152..=65535)));
        assert_eq!(typed("4789"), Some(Ports(vec![4789])));
        assert_eq!(typed("[4789, 8472]"), Some(Ports(vec![4789, 8472])));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_the_right_form() {
        let message = |error: ron::error::SpannedError| error.code.to_string();
        let local = options().from_str::<Local>("\"192.0.2\"").map_err(message);
        assert!(local.is_err_and(|error| error.contains("Own(\"port\")")));
        let ttl = options().from_str::<OrInherit>("300").map_err(message);
        assert!(ttl.is_err_and(|error| error.contains("Inherit, found 300")));
        assert_eq!(typed::<Ports>("[]"), None);
        assert_eq!(typed::<SourcePorts>("Entropy(9..=1)"), None);
    }
}
