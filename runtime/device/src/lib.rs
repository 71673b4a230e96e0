//! Where packets come from and where they go: the ports of corelane, one backend a folder.
//!
//! A tour in the order a packet travels:
//!
//! 1. [`pcap`] reads frames of a capture file into packets, and writes packets to one.
//! 2. [`emulated`] is a NIC in memory, with any capabilities: frames come from a list or a generator, the
//!    hardware's work is done by slow reference code of its own, and what leaves is kept or thrown away.
//! 3. [`tap`] is an interface of a Linux host; [`vnet`] the header in which it and the host tell each other what is
//!    still to be done to a frame.
//! 4. [`capture`] holds the two file formats behind [`pcap`], apart from any packet type.
//!
//! And what is known of devices: [`caps`] are records of what they can do, those of well-known devices and those in
//! files; [`probe`] tries what a device claims.
//!
//! Each backend opens its device, says what it can, receives and transmits, in that order in its files. A
//! backend says what its hardware can do and does that; it never decides what work is done where.

pub mod caps;
pub mod capture;
pub mod emulated;
pub mod pcap;
pub mod probe;
pub mod tap;
pub mod vnet;

mod headers;
mod receive;
mod shares;

pub use emulated::{Emulated, EmulatedConfig};
pub use pcap::{Pcap, PcapConfig};
pub use tap::{Tap, TapConfig};
