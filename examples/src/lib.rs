//! What the programs in this folder share: reading captures, naming flows, judging a run.
//!
//! Promises to use no code of corelane's, so that what it says about a run is a second opinion. Does
//! not process packets; the descriptions beside this crate do that, through the `corelane` command, and so do the
//! programs `04_count_stage` and `scramble`, which are that command with a stage of their own, and `05_embed`.
//!
//! - [`captures`]: frames as a capture file holds them
//! - [`flow`]: which flow a frame belongs to
//! - [`compare`]: whether a capture holds what another holds, in the order of each flow
//! - [`inside`]: the frame inside a tunnel
//! - [`report`]: whether a JSON report shows what the demo must show

#![forbid(unsafe_code)]

pub mod captures;
pub mod compare;
pub mod flow;
pub mod inside;
pub mod report;
