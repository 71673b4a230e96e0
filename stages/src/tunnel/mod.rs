//! `Encap` and `Decap`: packets go into tunnels and come out of them.
#![doc = include_str!("README.md")]

pub mod decap;
mod ecn;
pub mod encap;
mod finish;
mod inner;
mod keys;
mod names;
mod tenants;
mod vxlan;

pub use crate::config::Mac;
pub use decap::{Decap, DecapSpec};
pub use encap::{Encap, EncapSpec};
pub use keys::{Ecn, Local, OrInherit, Ports, SourcePorts};
pub use vxlan::{Reserved, UdpChecksum, VxlanIn, VxlanOut, ZeroChecksum};
