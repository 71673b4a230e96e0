//! `Gro` and `Gso` together: what is merged, what is not, and that cutting gives back what was received.
//!
//! Packets in, packets out, through the real stages: `describe` (what `Rx` does), `ChecksumValidate`, `Gro`,
//! `Gso`. Expected lists come from the kernel's and other frameworks' conformance tables, superpackets are
//! judged by `oracle`, which shares no code with the stages.

mod behaviour;
mod carried;
mod cases;
mod cut_ports;
mod cut_tables;
mod inside;
mod merge_ip;
mod merge_tcp;
mod merge_udp;
mod oracle;
mod ports;
mod property;
mod rig;
mod shortcut;
mod stream;
mod supers;
