//! What goes into tunnels and what comes out of them, shown on whole pipelines: the traffic of others, every set of
//! capabilities, superpackets that were never cut, and what other programs read.

mod read_by_others;
mod recorded;
mod subsets;
mod support;
mod vpp;
mod whole;
