//! The command `corelane` as a process: what it prints where, and how it exits.

mod checks;
mod doctors;
mod endings;
mod expects;
mod flags;
mod live;
mod pinned;
mod ready;
mod reports;
mod scales;
mod signals;
mod support;
mod trials;
