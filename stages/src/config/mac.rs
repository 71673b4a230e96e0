//! Link-layer addresses: `"02:00:00:00:00:01"`.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;

/// A link-layer address of 48 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// The address that `text` writes: six times two hexadecimal digits, colons between them.
    pub fn parse(text: &str) -> Option<Mac> {
        let mut bytes = [0; 6];
        let mut pieces = text.split(':');
        for byte in &mut bytes {
            let digits = |piece: &&str| piece.bytes().all(|digit| digit.is_ascii_hexdigit());
            let piece = pieces.next().filter(|piece| piece.len() == 2).filter(digits)?;
            *byte = u8::from_str_radix(piece, 16).ok()?;
        }
        pieces.next().is_none().then_some(Mac(bytes))
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Mac;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a link-layer address such as \"02:00:00:00:00:01\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Mac, E> {
        Mac::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Mac, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_is_read_and_no_other() {
        let read = |text: &str| crate::config::read_value::<Mac>(text);
        assert_eq!(read("\"02:00:00:aB:00:fe\""), Ok(Mac([2, 0, 0, 0xab, 0, 0xfe])));
        for text in [
            "02:00:00:00:00",
            "2:0:0:0:0:1",
            "02:00:00:00:00:+1",
            "02:00:00:00:00:01:02",
            "02-00-00-00-00-01",
        ] {
            let error = read(&format!("\"{text}\"")).unwrap_err();
            assert!(error.contains("such as \"02:00:00:00:00:01\""), "{error}");
        }
    }
}
