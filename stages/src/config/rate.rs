//! Rates and shares: `"10Gbps"`, `"1Mpps"`, `"1/1000"`.
//!
//! It promises exact integers or an error that shows the right form. A rate says whether it counts bits or
//! packets; a share is never more than all, and never none.

use super::units::read;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;

/// How much a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits a second; written `"64kbps"`, `"10Gbps"`.
    Bits(u64),
    /// Packets a second; written `"7pps"`, `"1.5Mpps"`.
    Packets(u64),
}

/// One of so many; written `"1/1000"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneIn(pub u64);

const BITS: &[(&str, u64)] =
    &[("bps", 1), ("kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000)];
const PACKETS: &[(&str, u64)] =
    &[("pps", 1), ("kpps", 1_000), ("Mpps", 1_000_000), ("Gpps", 1_000_000_000)];

struct RateReader;

impl Visitor<'_> for RateReader {
    type Value = Rate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rate such as \"10Gbps\" or \"1Mpps\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Rate, E> {
        let bits = read(text, BITS).map(Rate::Bits);
        let rate = bits.or_else(|| read(text, PACKETS).map(Rate::Packets));
        rate.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        deserializer.deserialize_any(RateReader)
    }
}

struct ShareReader;

impl Visitor<'_> for ShareReader {
    type Value = OneIn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a share such as \"1/1000\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<OneIn, E> {
        let digits = text.strip_prefix("1/").filter(|digits| !digits.starts_with('+'));
        let share = digits.and_then(|digits| digits.parse().ok()).filter(|&of: &u64| of > 0);
        share.map(OneIn).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for OneIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneIn, D::Error> {
        deserializer.deserialize_any(ShareReader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_runtime::stage::Args;
    use serde::Deserialize as Derive;

    #[derive(Debug, Derive)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        rate: Rate,
        share: OneIn,
    }

    fn sample(rate: &str, share: &str) -> Result<(Rate, u64), Vec<String>> {
        let text = format!("(rate: {rate}, share: {share})");
        let read = crate::config::parse::<Sample>(Args { text: &text });
        let read = read.map(|sample| (sample.rate, sample.share.0));
        read.map_err(|errors| errors.into_iter().map(|error| error.message).collect())
    }

    #[test]
    fn every_form_is_read_exactly() {
        assert_eq!(sample("\"10Gbps\"", "\"1/1000\""), Ok((Rate::Bits(10_000_000_000), 1000)));
        assert_eq!(sample("\"1.5Mpps\"", "\"1/1\""), Ok((Rate::Packets(1_500_000), 1)));
        assert_eq!(sample("\"64 kbps\"", "\"1/7\""), Ok((Rate::Bits(64_000), 7)));
    }

    #[test]
    fn what_is_no_rate_or_share_is_told_with_the_right_form() {
        for rate in ["10", "\"10\"", "\"10Gb\"", "\"1.5bps\"", "\"-1pps\""] {
            let messages = sample(rate, "\"1/2\"").unwrap_err();
            assert_eq!(messages.len(), 1, "{rate}");
            assert!(messages[0].contains("a rate such as \"10Gbps\" or \"1Mpps\""), "{messages:?}");
        }
        for share in ["0.001", "\"2/3\"", "\"1/0\"", "\"1/+5\"", "\"1/\"", "\"1000\""] {
            let messages = sample("\"1pps\"", share).unwrap_err();
            assert_eq!(messages.len(), 1, "{share}");
            assert!(messages[0].contains("a share such as \"1/1000\""), "{messages:?}");
        }
    }
}
