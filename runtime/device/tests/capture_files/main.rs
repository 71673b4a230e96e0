//! Captures as files: against other readers and writers, the corpus, and files that cannot be read.
//!
//! Damage to bytes is tested in memory, beside the readers.

#[cfg(test)]
mod comments;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod refusal;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod support;
