//! The kernel as oracle for `Gro`: the same frames through both, the same merges, or a listed reason.
//!
//! Frames enter one end of a veth pair by a packet socket; at the other end the kernel's GRO joins them, and a second
//! packet socket sees what comes out. What `Gro` makes of the same frames in one burst is compared with it: which
//! frames were joined, in which order they left, and every byte of a superpacket where both joined the same. A case
//! in which the two differ says what the kernel does and why `Gro` does not; any other difference fails.
//!
//! It promises nothing about time: kernel merges are cut short by its jiffies, so the attempt with the most merges
//! counts.

mod cases;
mod groups;
mod reasons;
mod segment;
mod streams;
mod veth;
