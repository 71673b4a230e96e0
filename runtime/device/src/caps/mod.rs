//! Records of what devices can do: named profiles that come with corelane, and files that `caps --record` wrote.
//!
//! A record says who measured or documented it. It is data: no device is asked here. Its text is RON:
//!
//! ```ron
//! Caps(
//!     name: "mine",
//!     source: "ethtool -k eth0, Linux 6.8",
//!     advertised: ["rx_ip", "rx_tcp", "tx_tcp4", "multi_part"],
//!     granted: ["rx_ip", "rx_tcp", "multi_part"],                     // left out: all that is advertised
//!     reasons: [No(["tx_tcp4"], "a probe frame came back wrong"), Unknown(["rx_udp"], "never tried")],
//!     limits: (tso_bytes: 65536, tso_segments: 64, header_len: 128, mtu: 9000,    // those that are known
//!              vxlan_ports: [4789], geneve_ports: [6081]),                        // UDP ports it knows tunnels by; "any": needs none
//!     queues: 8,                                                       // left out: as many as are asked for
//!     lies: ["skip_checksum"],                                         // for emulation; left out: none
//! )
//! ```

mod names;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use names::{instead, list};

use crate::emulated::Lies;
use corelane_runtime::offload::{Caps, Facts, Limits, UdpPorts};

/// What is remembered of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Short name, such as `i40e-like`.
    pub name: String,
    /// Where the facts come from.
    pub source: String,
    /// What it can do.
    pub facts: Facts,
    /// What it does other than it says, for emulation.
    pub lies: Lies,
}

/// Names and texts of the records that come with corelane, from little to much.
const PROFILES: [(&str, &str); 10] = [
    ("bare-virtio", include_str!("bare-virtio.ron")),
    ("tap", include_str!("tap.ron")),
    ("veth", include_str!("veth.ron")),
    ("one-queue", include_str!("one-queue.ron")),
    ("ena-like", include_str!("ena-like.ron")),
    ("no-outer-udp", include_str!("no-outer-udp.ron")),
    ("ixgbe-like", include_str!("ixgbe-like.ron")),
    ("i40e-like", include_str!("i40e-like.ron")),
    ("mlx5-like", include_str!("mlx5-like.ron")),
    ("lies", include_str!("lies.ron")),
];

/// The names of the records that come with corelane.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

impl Record {
    /// A device that can do this, with the usual limits; nobody measured it. Tunnels that it must find for that it
    /// finds behind the UDP ports registered for them.
    pub fn of(name: &str, source: &str, caps: Caps) -> Record {
        let mut limits = Limits::default();
        let outer = Caps::RX_OUTER_IP | Caps::RX_OUTER_UDP | Caps::TX_OUTER_IP | Caps::TX_OUTER_UDP;
        if caps.intersects(Caps::TSO_VXLAN | Caps::TSO_VXLAN_CSUM | outer) {
            limits.vxlan_ports = UdpPorts::one(4789);
        }
        if caps.intersects(Caps::TSO_GENEVE | Caps::TSO_GENEVE_CSUM | outer) {
            limits.geneve_ports = UdpPorts::one(6081);
        }
        let facts = Facts::new(caps, limits);
        Record { name: name.to_owned(), source: source.to_owned(), facts, lies: Lies::empty() }
    }

    /// The record that comes with corelane under this name.
    pub fn named(name: &str) -> Option<Record> {
        let (_, text) = PROFILES.iter().find(|(known, _)| *known == name)?;
        // A test reads all of them.
        Record::parse(text).ok()
    }
}
