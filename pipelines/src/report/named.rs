//! A map that keeps the order in which its entries were made, as reports show them.
//!
//! It promises a look-up in the logarithm of their number: a stage with many rules has as many counters.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Values by name, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<T> {
    list: Vec<(String, T)>,
    /// Where in the list each name is.
    places: BTreeMap<String, usize>,
}

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named { list: Vec::new(), places: BTreeMap::new() }
    }
}

impl<T> Named<T> {
    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        let place = *self.places.get(name)?;
        self.list.get(place).map(|(_, value)| value)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.list.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The value of that name, made if it is not there yet.
    pub(crate) fn entry(&mut self, name: &str) -> &mut T
    where
        T: Default,
    {
        let known = self.places.get(name).copied();
        let place = known.unwrap_or_else(|| {
            self.list.push((name.to_owned(), T::default()));
            self.places.insert(name.to_owned(), self.list.len() - 1);
            self.list.len() - 1
        });
        &mut self.list[place].1
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
