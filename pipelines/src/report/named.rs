//! A map that keeps the order in which its entries were made, as reports show them.

use serde::{Serialize, Serializer};
use std::ops::AddAssign;

/// Values by name, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<T>(Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Vec::new())
    }
}

impl<T> Named<T> {
    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The value of that name, made if it is not there yet.
    pub(crate) fn entry(&mut self, name: &str) -> &mut T
    where
        T: Default,
    {
        let at = self.0.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), T::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Adds each value to the one of the same name.
    pub(crate) fn add(&mut self, other: &Named<T>)
    where
        T: Default + Copy + AddAssign,
    {
        for (name, value) in other.iter() {
            *self.entry(name) += *value;
        }
    }
}

impl Named<u64> {
    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.iter().map(|(_, value)| value).sum()
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
