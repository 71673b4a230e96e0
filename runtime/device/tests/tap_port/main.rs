//! A tap against the kernel at its other end, in network namespaces that each test makes and takes away again.
//!
//! The kernel is the oracle: its sockets and devices say whether what was received and sent is right. Without the
//! right to make namespaces, or without `/dev/net/tun`, tests skip by name.

mod errors;
mod faults;
mod forward;
mod frames;
mod kernel;
mod queue;
mod space;
mod write;
