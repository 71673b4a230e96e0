//! The emulated NIC against vectors and sums that were not made by its own code.

#![allow(clippy::unwrap_used, reason = "what tests call is a test, too")]

mod corpus;
mod failing;
mod faults;
mod generated;
mod imitated;
mod joining;
mod ovs_segments;
mod paced;
mod queues;
mod receive;
mod refuse;
mod same;
mod support;
mod transmit;
mod tunnel;
mod tunnel_cut;
mod tunnel_receive;
mod tunnel_refuse;
mod tunnel_sums;
