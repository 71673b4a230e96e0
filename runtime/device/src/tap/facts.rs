//! What is known of a tap: from the record without asking anybody, from the kernel once it was asked.
//!
//! A capability is granted where the kernel took a packet that asks for it ([`super::probe()`]). Where that could not be
//! tried, what it offered to leave to us stands for it: both sides of a tap came with the same versions.

use super::open::Opened;
use super::{QUEUES_MAX, TapConfig, probe};
use crate::caps::Record;
use crate::vnet::Agreed;
use corelane_runtime::offload::{Answer, Caps, Facts, Limits, Reason, UdpPorts};

/// Work that a header can ask for since the first of them.
pub(super) const PLAIN: Caps = Caps::TX_CHECKSUMS
    .union(Caps::TX_GENERIC)
    .union(Caps::MULTI_PART)
    .union(Caps::TSO4)
    .union(Caps::TSO6)
    .union(Caps::TSO_ECN);
pub(super) const USO: Caps = Caps::USO4.union(Caps::USO6);
/// A header names no kind of tunnel: what goes for one with UDP goes for the other.
pub(super) const TUNNEL: Caps = Caps::TSO_VXLAN.union(Caps::TSO_GENEVE);
/// Of a packet that is not to be cut the outer checksum is made here, from headers.
pub(super) const TUNNEL_CSUM: Caps =
    Caps::TSO_VXLAN_CSUM.union(Caps::TSO_GENEVE_CSUM).union(Caps::TX_OUTER_UDP);

/// The largest IP packet, an Ethernet header in front.
const TSO_BYTES: u32 = 65535 + 14;
/// More datagrams the kernel does not cut from one packet; for TCP that is no limit at usual sizes.
const TSO_SEGMENTS: u16 = 128;

/// What a current Linux does, from the record that comes with corelane.
pub(super) fn recorded(config: &TapConfig) -> Facts {
    let facts = Record::named("tap").map(|record| record.facts);
    let facts = facts.unwrap_or_else(|| Facts::new(Caps::MULTI_PART, Limits::default()));
    with_config(of(facts.granted, Vec::new()), config, config.mtu)
}

/// What was found when the interface was opened, and what of it the kernel was seen to take.
pub(super) fn of_opened(opened: &Opened, config: &TapConfig) -> (Facts, Caps) {
    let (facts, proven) = match probe() {
        Ok(facts) => {
            let proven = facts.granted;
            (facts, proven)
        }
        Err(error) => {
            tracing::debug!(port = config.name, %error, "the writing side is taken to be like the reading one");
            (inferred(opened.agreed, config.offloads, &error.message), Caps::empty())
        }
    };
    (with_config(facts, config, Some(opened.mtu)), proven)
}

/// What a kernel takes that leaves this much to us.
fn inferred(agreed: Agreed, asked: bool, why: &str) -> Facts {
    let mut granted = PLAIN;
    if agreed.contains(Agreed::USO4) {
        granted |= USO;
    }
    if agreed.contains(Agreed::TUNNEL) {
        granted |= TUNNEL;
    }
    if agreed.contains(Agreed::TUNNEL_CSUM) {
        granted |= TUNNEL_CSUM;
    }
    let missing = (USO | TUNNEL | TUNNEL_CSUM) - granted;
    let why = match asked {
        true => format!(
            "the kernel does not offer it for reading, and writing could not be tried ({why})"
        ),
        false => format!("it could not be tried ({why})"),
    };
    of(granted, vec![Reason { caps: missing, answer: Answer::Unknown, why }])
}

/// A tap whose kernel takes this.
pub(super) fn of(granted: Caps, reasons: Vec<Reason>) -> Facts {
    let granted = granted | Caps::RX_PARTIAL;
    let tunnels = |bit: Caps| if granted.contains(bit) { UdpPorts::ANY } else { UdpPorts::NONE };
    let limits = Limits {
        tso_bytes: TSO_BYTES,
        tso_segments: TSO_SEGMENTS,
        vxlan_ports: tunnels(Caps::TSO_VXLAN),
        geneve_ports: tunnels(Caps::TSO_GENEVE),
        ..Limits::default()
    };
    let mut facts = Facts::new(granted, limits);
    facts.queues = Some(QUEUES_MAX as u16);
    let recorded = Record::named("tap").map(|record| record.facts.reasons).unwrap_or_default();
    facts.reasons =
        reasons.into_iter().chain(recorded).filter(|reason| !reason.caps.is_empty()).collect();
    facts
}

fn with_config(mut facts: Facts, config: &TapConfig, mtu: Option<u32>) -> Facts {
    facts.limits.mtu = mtu;
    if !config.offloads {
        facts.advertised.remove(Caps::RX_PARTIAL);
        facts.granted.remove(Caps::RX_PARTIAL);
        let why = "the host finishes everything before we see it, as the port asks for".to_owned();
        facts.reasons.insert(0, Reason { caps: Caps::RX_PARTIAL, answer: Answer::No, why });
    }
    facts
}
