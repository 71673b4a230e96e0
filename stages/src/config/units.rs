//! Values with units: times as `"50us"`, sizes as `"64KiB"`.
//!
//! It promises exact integers or an error that shows the right form. A bare number is refused: nobody could
//! say whether `50` was meant in microseconds.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A time in nanoseconds; written `"500ns"`, `"50us"`, `"1.5ms"`, `"2s"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanoseconds(pub u64);

/// A number of bytes; written `"1500B"`, `"64KiB"`, `"64kB"`, `"1MiB"`, `"1GB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

const TIMES: &[(&str, u64)] =
    &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];

const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

/// Reads a number, which may have a decimal point, and one of the units; exact, or `None`.
pub(super) fn read(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')?;
    let (number, unit) = text.split_at(split);
    let &(_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits = format!("{whole}{fraction}");
    let scaled = digits.parse::<u64>().ok()?.checked_mul(factor)?;
    let divisor = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    (scaled % divisor == 0).then_some(scaled / divisor)
}

/// What both kinds have in common.
trait Unit: Sized {
    const UNITS: &'static [(&'static str, u64)];
    const EXAMPLE: &'static str;
    fn of(value: u64) -> Self;
}

impl Unit for Nanoseconds {
    const UNITS: &'static [(&'static str, u64)] = TIMES;
    const EXAMPLE: &'static str = "a time such as \"50us\"";
    fn of(value: u64) -> Self {
        Nanoseconds(value)
    }
}

impl Unit for Bytes {
    const UNITS: &'static [(&'static str, u64)] = SIZES;
    const EXAMPLE: &'static str = "a size such as \"64KiB\"";
    fn of(value: u64) -> Self {
        Bytes(value)
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: Unit> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXAMPLE)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        let value = read(text, T::UNITS);
        value.map(T::of).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Nanoseconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}
