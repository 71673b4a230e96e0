//! Values of rules as they are written: one, a range, a list of those, or what is none of them.
//!
//! It promises for each mistake the bytes it stands at and what would do. Names of ports are kept as names: whose
//! numbers and addresses they are is known when the stage is built.

use super::field::{Form, Key, Word};
use super::set::Set;
use crate::config::{Mac, RangeText, options, raw};
use corelane_runtime::stage::ConfigError;
use std::net::IpAddr;
use std::ops::Range;

/// The values that a rule asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// None of them, instead of any.
    pub(super) not: bool,
    pub(super) set: Set,
    /// Ports whose addresses are among them.
    pub(super) own: Vec<String>,
    /// Ports whose numbers are among them.
    pub(super) ports: Vec<String>,
}

/// What is wrong with a value, and where.
struct Wrong {
    at: Range<usize>,
    message: String,
}

/// Reads the value of a key.
pub(super) fn read(text: &str, pair: &raw::Pair, key: &Key) -> Result<Wanted, ConfigError> {
    let mut reader = Reader { text, key, wanted: Wanted::default() };
    match reader.value(pair.value.clone()) {
        Ok(()) => {
            reader.wanted.set = reader.wanted.set.normal();
            Ok(reader.wanted)
        }
        Err(Wrong { at, message }) => Err(ConfigError {
            span: Some((at.start, at.end)),
            key: Some(key.name.to_owned()),
            message,
        }),
    }
}

struct Reader<'a> {
    text: &'a str,
    key: &'a Key,
    wanted: Wanted,
}

impl<'a> Reader<'a> {
    fn slice(&self, at: &Range<usize>) -> &'a str {
        self.text.get(at.clone()).unwrap_or_default()
    }

    fn value(&mut self, at: Range<usize>) -> Result<(), Wrong> {
        let inside = raw::inside(self.text, at.clone(), "Not");
        self.wanted.not = inside.is_some();
        let at = inside.unwrap_or(at);
        match raw::items(self.text, at.clone()) {
            Some(items) if items.is_empty() => {
                let name = self.key.name;
                let message = format!(
                    "the list of `{name}` is empty: nothing would match; leave the key out"
                );
                Err(Wrong { at, message })
            }
            Some(items) => items.into_iter().try_for_each(|item| self.one(item)),
            None => self.one(at),
        }
    }

    fn one(&mut self, at: Range<usize>) -> Result<(), Wrong> {
        match self.key.form {
            Form::Number(max, words) => self.number(at, max, words),
            Form::Mac => self.mac(at),
            Form::Ip => self.ip(at),
            Form::Flags => self.flags(at),
            Form::Port => {
                let port = self.string(&at)?;
                self.wanted.ports.push(port);
                Ok(())
            }
        }
    }

    fn expected(&self, at: &Range<usize>) -> Wrong {
        let message = match raw::inside(self.text, at.clone(), "Not") {
            Some(_) => "`Not` stands around the whole value; write Not([.., ..])".to_owned(),
            None => format!("expected {}", self.key.expected),
        };
        Wrong { at: at.clone(), message }
    }

    fn string(&self, at: &Range<usize>) -> Result<String, Wrong> {
        options().from_str(self.slice(at)).map_err(|_| self.expected(at))
    }

    fn number(&mut self, at: Range<usize>, max: u64, words: &[(&str, Word)]) -> Result<(), Wrong> {
        let written = self.slice(&at);
        let range = match words.iter().find(|(word, _)| *word == written) {
            Some((_, Word::Absent)) => {
                self.wanted.set.absent = true;
                return Ok(());
            }
            Some(&(_, Word::Range(low, high))) => (low, high),
            None => self.range(&at, written)?,
        };
        if range.1 > max {
            return Err(self.expected(&at));
        }
        self.wanted.set.narrow.push(range);
        Ok(())
    }

    /// A number, or a range of them.
    fn range(&self, at: &Range<usize>, written: &str) -> Result<(u64, u64), Wrong> {
        if let Ok(number) = options().from_str::<u64>(written) {
            return Ok((number, number));
        }
        if let Ok(RangeText(range)) = options().from_str::<RangeText<u64>>(written) {
            return Ok(range.into_inner());
        }
        let halves = written.split_once("..=").or_else(|| written.split_once(".."));
        let halves =
            halves.map(|(low, high)| (low.trim().parse::<u64>(), high.trim().parse::<u64>()));
        match halves {
            Some((Ok(low), Ok(high))) => {
                let (low, high) = (low.min(high), low.max(high));
                let message = format!(
                    "a range has its smaller end first and both in it; write {low}..={high}"
                );
                Err(Wrong { at: at.clone(), message })
            }
            _ => Err(self.expected(at)),
        }
    }

    fn mac(&mut self, at: Range<usize>) -> Result<(), Wrong> {
        let text = self.string(&at)?;
        let (address, bits) = split(&text, 48).ok_or_else(|| self.expected(&at))?;
        let Some(Mac(bytes)) = Mac::parse(address) else { return Err(self.expected(&at)) };
        let mut wide = [0; 8];
        wide[2..].copy_from_slice(&bytes);
        let value = u64::from_be_bytes(wide);
        let low_bits = if bits == 0 { 0xffff_ffff_ffff } else { (1 << (48 - bits)) - 1 };
        if value & low_bits != 0 {
            let [_, _, start @ ..] = (value & !low_bits).to_be_bytes();
            let start = start.map(|byte| format!("{byte:02x}")).join(":");
            return Err(beyond(&at, &text, bits, &start));
        }
        self.wanted.set.narrow.push((value, value | low_bits));
        Ok(())
    }

    fn ip(&mut self, at: Range<usize>) -> Result<(), Wrong> {
        if let Some(port) = raw::inside(self.text, at.clone(), "Own") {
            let port = self.string(&port)?;
            self.wanted.own.push(port);
            return Ok(());
        }
        let text = self.string(&at)?;
        let address = text.split_once('/').map_or(text.as_str(), |(address, _)| address);
        let address: IpAddr = address.parse().map_err(|_| self.expected(&at))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let (_, bits) = split(&text, most).ok_or_else(|| self.expected(&at))?;
        let start = match address {
            IpAddr::V4(address) => {
                let (value, low_bits) = (u32::from(address), ones(32 - bits) as u32);
                self.wanted.set.narrow.push((u64::from(value), u64::from(value | low_bits)));
                IpAddr::V4((value & !low_bits).into())
            }
            IpAddr::V6(address) => {
                let (value, low_bits) = (u128::from(address), ones(128 - bits));
                self.wanted.set.wide.push((value, value | low_bits));
                IpAddr::V6((value & !low_bits).into())
            }
        };
        if start == address { Ok(()) } else { Err(beyond(&at, &text, bits, &start.to_string())) }
    }

    fn flags(&mut self, at: Range<usize>) -> Result<(), Wrong> {
        let text = self.string(&at)?;
        let (mask, value) = flags(&text).ok_or_else(|| self.expected(&at))?;
        let matching = (0..=0xff_u64).filter(|flags| flags & mask == value);
        self.wanted.set.narrow.extend(matching.map(|flags| (flags, flags)));
        Ok(())
    }
}

/// A network whose address has bits behind its length.
fn beyond(at: &Range<usize>, text: &str, bits: u32, start: &str) -> Wrong {
    let message = format!("\"{text}\" has bits behind the first {bits}; write \"{start}/{bits}\"");
    Wrong { at: at.clone(), message }
}

/// An address and how many of its bits count: `address/bits`, or all of them.
fn split(text: &str, most: u32) -> Option<(&str, u32)> {
    let Some((address, bits)) = text.split_once('/') else { return Some((text, most)) };
    let digits = !bits.is_empty() && bits.bytes().all(|digit| digit.is_ascii_digit());
    let bits = bits.parse().ok().filter(|bits| digits && *bits <= most)?;
    Some((address, bits))
}

/// So many low bits.
fn ones(bits: u32) -> u128 {
    1_u128.checked_shl(bits).map_or(u128::MAX, |bit| bit - 1)
}

/// Which TCP flags must be looked at, and which of those be set.
fn flags(text: &str) -> Option<(u64, u64)> {
    const LETTERS: &str = "FSRPAUEC";
    let signed = text.contains(['+', '-']);
    let (mut mask, mut value) = (if signed { 0 } else { 0xff }, 0);
    let mut sign = None;
    for letter in text.chars() {
        if matches!(letter, '+' | '-') {
            sign = Some(letter);
            continue;
        }
        let bit = 1 << LETTERS.find(letter)?;
        if signed {
            sign?;
            // Both set and not set: no packet is that.
            if mask & bit != 0 {
                return None;
            }
            mask |= bit;
        }
        if sign != Some('-') {
            value |= bit;
        }
    }
    let ends_in_sign = text.ends_with(['+', '-']);
    (!ends_in_sign).then_some((mask, value))
}
