//! Values that only an emulated port has: sizes, orders, rates, moments of failure.
//!
//! Each takes a word or a call such as `Imix` or `Trains(16)`, and some a text or number beside it, which `serde` alone
//! cannot tell apart in RON.

use corelane_device::emulated::{FrameSize, Onset, Rate};
use corelane_stages::config::Nanoseconds;
use ron::extensions::Extensions;
use ron::value::RawValue;
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer};
use std::ops::Range;

/// Reads a value as it is written; `expected` says what would do.
fn read<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    expected: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    read(raw.get_ron().trim()).ok_or_else(|| de::Error::custom(format!("expected {expected}")))
}

fn typed<T: DeserializeOwned>(text: &str) -> Option<T> {
    let options = ron::Options::default().with_default_extension(Extensions::UNWRAP_NEWTYPES);
    options.from_str(text).ok()
}

#[derive(Clone, Copy, Debug, serde::Deserialize)]
pub(super) enum OrderSpec {
    RoundRobin,
    Trains(u32),
    Zipf(f64),
}

/// A number of bytes, check sequence included, `Imix` or `Mix([(64, 7), (1518, 1)])`.
#[derive(Clone, Debug)]
pub(super) struct SizeSpec(pub(super) FrameSize);

#[derive(serde::Deserialize)]
enum SizeWord {
    Imix,
    Mix(Vec<(u32, u32)>),
}

impl<'de> Deserialize<'de> for SizeSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SizeSpec, D::Error> {
        let expected =
            "a number of bytes, such as 1518, `Imix`, or a mix such as `Mix([(64, 7), (1518, 1)])`";
        read(deserializer, expected, |text| {
            let word = typed(text).map(|word| match word {
                SizeWord::Imix => FrameSize::Imix,
                SizeWord::Mix(parts) => FrameSize::Mix(parts),
            });
            word.or_else(|| typed(text).map(FrameSize::Bytes)).map(SizeSpec)
        })
    }
}

/// `Max`, `"1Mpps"` or `"10Gbps"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateSpec(pub(super) Rate);

/// Factors of `k`, `M` and `G`.
const FACTORS: [(&str, u64); 4] = [("", 1), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

impl<'de> Deserialize<'de> for RateSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RateSpec, D::Error> {
        let expected = "`Max`, packets a second such as \"1Mpps\", or bits a second on the wire such as \"10Gbps\"";
        read(deserializer, expected, |text| match text {
            "Max" => Some(Rate::Max),
            _ => rate(&typed::<String>(text)?),
        })
        .map(RateSpec)
    }
}

fn rate(text: &str) -> Option<Rate> {
    let (number, kind): (&str, fn(u64) -> Rate) = match text.strip_suffix("pps") {
        Some(number) => (number, Rate::Frames),
        None => (text.strip_suffix("bps")?, Rate::Bits),
    };
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &number[digits.len()..];
    let (_, factor) = FACTORS.iter().find(|(name, _)| *name == unit)?;
    exact(digits.trim_end(), *factor).map(kind)
}

/// A number that may have a decimal point, times `factor`; exact, or nothing.
fn exact(digits: &str, factor: u64) -> Option<u64> {
    let digits = digits.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) {
        return None;
    }
    let scaled = format!("{whole}{fraction}").parse::<u64>().ok()?.checked_mul(factor)?;
    let divisor = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    (scaled % divisor == 0).then_some(scaled / divisor)
}

/// `"1ms"` of the run, or `After(1000)` packets of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub(super) Onset);

#[derive(serde::Deserialize)]
enum MomentWord {
    After(u64),
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        let expected = "a time of the run such as \"1ms\", or `After(1000)` packets";
        read(deserializer, expected, |text| {
            let time = typed::<Nanoseconds>(text).map(|time| Onset::At(time.0));
            time.or_else(|| typed(text).map(|MomentWord::After(packets)| Onset::After(packets)))
        })
        .map(Moment)
    }
}

/// `("0s", "1s")`: from when to when in the run.
#[derive(Clone, Debug)]
pub(super) struct Window(pub(super) Range<u64>);

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Window, D::Error> {
        let expected = "pairs of times, from and to, such as (\"1s\", \"2s\")";
        let times = |text: &str| typed::<(Nanoseconds, Nanoseconds)>(text);
        let (from, to) = read(deserializer, expected, times)?;
        Ok(Window(from.0..to.0))
    }
}

/// `("tso4", "1ms")`: a capability, and when it fails.
#[derive(Clone, Debug)]
pub(super) struct Failure(pub(super) String, pub(super) Moment);

impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Failure, D::Error> {
        let expected = "pairs such as (\"tso4\", \"1ms\") or (\"tso4\", After(1000))";
        let pair = |text: &str| typed::<(String, Moment)>(text);
        read(deserializer, expected, pair).map(|(name, moment)| Failure(name, moment))
    }
}
