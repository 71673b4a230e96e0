//! Ranges: `8000..=8099`, both ends included.
//!
//! It promises ends in order, or an error that shows the right form.

use serde::de::{self, Deserialize, Deserializer};
use std::fmt;
use std::ops::RangeInclusive;

/// A range that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeText<T>(pub RangeInclusive<T>);

impl<'de, T: Deserialize<'de> + PartialOrd + fmt::Display> Deserialize<'de> for RangeText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let range = RangeInclusive::<T>::deserialize(deserializer)?;
        if range.is_empty() {
            let (low, high) = range.into_inner();
            let message = format!("the range {low}..={high} holds nothing; write {high}..={low}");
            return Err(de::Error::custom(message));
        }
        Ok(RangeText(range))
    }
}
