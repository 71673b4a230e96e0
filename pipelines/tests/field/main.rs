//! What went wrong for others in the field, tried on whole pipelines: one test a report, named after it (A2 to A10, B1
//! to B5, and of C those about superpackets in tunnels). A1 and A3 need real ports and are not here; where the stage
//! alone can show it, a test of the same name stands beside the stage as well.

mod sizes;
mod tunnels;
mod unfinished;

/// Lanes and ports, shared with the tests of tunnels.
#[path = "../tunnels/support.rs"]
mod support;
#[path = "../tunnels/whole.rs"]
mod whole;
