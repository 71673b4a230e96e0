//! `Neighbour` from outside: what it answers, whom it finds, what becomes of packets that wait.
//!
//! Frames are typed in hex or built by the test's own few lines; checksums are verified by a sum of the test's own, and
//! by tshark where it is there.

mod answers;
mod oracle;
mod property;
mod resolves;
mod rig;
