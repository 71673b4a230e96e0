//! `VlanPush` and `VlanPop`: VLAN tags are put on and taken off, at the cost of moving twelve bytes.
#![doc = include_str!("README.md")]

mod config;
mod pop;
mod push;
mod tag;
#[cfg(test)]
mod tests;

pub use config::{INFO, VlanPushConfig, VlanPushSpec};
pub use pop::VlanPop;
pub use push::VlanPush;
