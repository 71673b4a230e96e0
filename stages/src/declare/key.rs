//! What can be the type of a key: how its value is read, and what the catalogue says of it.
//!
//! It promises that words in the catalogue and in messages are those of the language, not of Rust. A type says
//! here how it looks; whether a value makes sense for a stage is the stage's own `check`.

use crate::config::{Bytes, Mac, Nanoseconds, OneIn, RangeText};
use corelane_runtime::stage::OutputId;
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, Visitor};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::{Deref, RangeInclusive};

/// A type that a key can have.
pub trait Key: Clone + Send + Sync + 'static {
    /// What is read from a description.
    type Written: DeserializeOwned;

    /// What kind of value it is, in the words of the language.
    fn kind() -> String;

    /// A value that can be written for the key of that name.
    fn example(key: &str) -> String;

    /// Makes the value of what was written; chains that it names become outputs.
    fn from_written(written: Self::Written, outputs: &mut OutputNames) -> Self;

    /// The words it can be, with their meanings, where it is a choice.
    fn choices() -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// The chains that the keys of a stage name, in the order of its outputs.
#[derive(Clone, Debug, Default)]
pub struct OutputNames {
    first: usize,
    key: &'static str,
    names: Vec<(String, String)>,
}

impl OutputNames {
    /// The first named output has the number `first`: 1 behind a next stage, 0 where there is none.
    pub fn new(first: usize) -> OutputNames {
        OutputNames { first, ..OutputNames::default() }
    }

    /// What follows is the value of this key.
    pub fn of_key(&mut self, key: &'static str) -> &mut OutputNames {
        self.key = key;
        self
    }

    /// A chain is named; returns its output.
    pub fn add(&mut self, chain: String) -> OutputId {
        self.names.push((self.key.to_owned(), chain));
        OutputId(self.first + self.names.len() - 1)
    }

    /// Keys and chains in order.
    pub fn names(&self) -> &[(String, String)] {
        &self.names
    }
}

impl Key for OutputId {
    type Written = String;

    fn kind() -> String {
        "chain".to_owned()
    }

    fn example(key: &str) -> String {
        format!("\"{key}\"")
    }

    fn from_written(chain: String, outputs: &mut OutputNames) -> OutputId {
        outputs.add(chain)
    }
}

/// Types that are read as they are.
macro_rules! plain {
    ($($ty:ty: $kind:expr, $example:expr;)*) => {$(
        impl Key for $ty {
            type Written = $ty;
            fn kind() -> String {
                $kind.to_owned()
            }
            fn example(_: &str) -> String {
                $example.to_owned()
            }
            fn from_written(written: $ty, _: &mut OutputNames) -> $ty {
                written
            }
        }
    )*};
}

plain! {
    bool: "true | false", "true";
    u8: "whole number up to 255", "1";
    u16: "whole number up to 65535", "1";
    u32: "whole number", "1";
    u64: "whole number", "1";
    usize: "whole number", "1";
    i32: "whole number, may be negative", "1";
    i64: "whole number, may be negative", "1";
    f64: "number", "0.5";
    String: "text", "\"text\"";
    Nanoseconds: "time", "\"50us\"";
    Bytes: "size", "\"64KiB\"";
    OneIn: "share", "\"1/1000\"";
    Mac: "link-layer address", "\"02:00:00:00:00:01\"";
    IpAddr: "IP address", "\"192.0.2.1\"";
    Ipv4Addr: "IPv4 address", "\"192.0.2.1\"";
    Ipv6Addr: "IPv6 address", "\"2001:db8::1\"";
}

impl<T: Key> Key for Option<T> {
    type Written = Option<T::Written>;

    fn kind() -> String {
        T::kind()
    }

    fn example(key: &str) -> String {
        T::example(key)
    }

    fn from_written(written: Self::Written, outputs: &mut OutputNames) -> Self {
        written.map(|written| T::from_written(written, outputs))
    }

    fn choices() -> Vec<(&'static str, String)> {
        T::choices()
    }
}

impl<T: Key> Key for Vec<T> {
    type Written = Vec<T::Written>;

    fn kind() -> String {
        format!("list of: {}", T::kind())
    }

    fn example(key: &str) -> String {
        format!("[{}]", T::example(key))
    }

    fn from_written(written: Self::Written, outputs: &mut OutputNames) -> Self {
        written.into_iter().map(|written| T::from_written(written, outputs)).collect()
    }

    fn choices() -> Vec<(&'static str, String)> {
        T::choices()
    }
}

impl<T: DeserializeOwned + PartialOrd + Clone + Send + Sync + fmt::Display + 'static> Key
    for RangeInclusive<T>
{
    type Written = RangeText<T>;

    fn kind() -> String {
        "range such as 1..=9".to_owned()
    }

    fn example(_: &str) -> String {
        "1..=9".to_owned()
    }

    fn from_written(written: RangeText<T>, _: &mut OutputNames) -> Self {
        written.0
    }
}

/// So many bytes, written as two hexadecimal digits each: `"00112233445566778899aabbccddeeff"`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> Deref for Hex<N> {
    type Target = [u8; N];

    fn deref(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits<const N: usize>;
        impl<const N: usize> Visitor<'_> for Digits<N> {
            type Value = Hex<N>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{N} bytes in hex, a string of {} digits", 2 * N)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Hex<N>, E> {
                if let Some(other) = text.chars().find(|digit| !digit.is_ascii_hexdigit()) {
                    return Err(E::custom(format!("`{other}` is no hexadecimal digit")));
                }
                if text.len() != 2 * N {
                    let (digits, wanted) = (text.len(), 2 * N);
                    let message = format!("expected {wanted} hexadecimal digits, found {digits}");
                    return Err(E::custom(message));
                }
                let digit = |at: usize| (text.as_bytes()[at] as char).to_digit(16).unwrap_or(0);
                Ok(Hex(std::array::from_fn(|i| (digit(2 * i) << 4 | digit(2 * i + 1)) as u8)))
            }
        }
        deserializer.deserialize_any(Digits::<N>)
    }
}

impl<const N: usize> Key for Hex<N> {
    type Written = Hex<N>;

    fn kind() -> String {
        format!("{N} bytes in hex")
    }

    fn example(_: &str) -> String {
        let bytes: Vec<String> = (0..N).map(|byte| format!("{byte:02x}")).collect();
        format!("\"{}\"", bytes.concat())
    }

    fn from_written(written: Hex<N>, _: &mut OutputNames) -> Hex<N> {
        written
    }
}
