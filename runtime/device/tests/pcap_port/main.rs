//! Capture files as ports: what is read comes out as it was, and every failure has its place and its words.

#![allow(clippy::unwrap_used, reason = "what tests call is a test, too")]

mod failures;
mod reading;
mod support;
mod writing;
