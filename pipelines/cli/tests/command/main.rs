//! The command `corelane` as a process: what it prints where, and how it exits.

mod endings;
mod reports;
mod signals;
mod support;
