//! `Gro`: packets of a flow that follow each other become one, so that what comes after costs once.
#![doc = include_str!("README.md")]

mod config;
mod counters;
mod finish;
mod flow;
mod hardware;
mod held;
mod network;
mod quick;
mod segment;
mod software;
mod sums;
mod table;
mod tcp;
mod tunnel;
mod udp;

pub use config::{GroConfig, GroSpec, INFO};

use corelane_runtime::Time;
use corelane_runtime::packet::{Packet, Units};
use held::Bounds;
use quick::Hints;
use table::Table;

/// Joins segments.
pub struct Gro {
    table: Table,
    /// Where the merge of a packet may be; for the short way.
    hints: Hints,
    bounds: Bounds,
    /// Longest wait of a merge, ns; `None`: to the end of the burst.
    hold: Option<Time>,
    /// Most wire segments in the table.
    most_held: u64,
    /// What is in the table.
    held: Units,
    /// A packet whose predecessors found no room yet.
    waiting: Option<Packet>,
    /// Whether what a device or a stage before said of checksums is taken over.
    trusts: bool,
    /// Packets absorbed in this call, not yet counted.
    merged: u64,
}

impl Gro {
    /// With these settings; `seed` keeps others from choosing where their flows are kept.
    pub fn new(config: GroConfig, seed: u64) -> Gro {
        let flows = config.flows.clamp(1, 1 << 14);
        Gro {
            table: Table::new(flows, seed),
            hints: Hints::new(flows),
            bounds: config.bounds(),
            hold: config.hold.map(|hold| hold.0),
            most_held: config.most_held(),
            held: Units::default(),
            waiting: None,
            trusts: true,
            merged: 0,
        }
    }
}
