//! What devices did before: superpackets they joined, and checksums they vouched for.
//!
//! A superpacket that arrives is passed on as it is (after what is held of its flow), since the device
//! promised that cutting it gives what it received. It is not merged any further.

use super::flow::FlowKey;
use corelane_runtime::offload::{Caps, Looks, Need};
use corelane_runtime::packet::{Csum, Meta};

/// What a port may have done before packets come here.
pub(super) const NEEDS: [Need; 5] = [
    Need::entry(
        "join tcp",
        Looks::empty(),
        Some(Caps::RX_HW_GRO),
        "segments are joined by flow, nothing is copied",
    ),
    Need::entry(
        "join udp",
        Looks::empty(),
        None,
        "no port is asked to: datagrams are joined by flow, nothing is copied",
    ),
    Need::entry(
        "check ipv4",
        Looks::UNCHECKED_IPV4,
        Some(Caps::RX_IP),
        "nobody before did, so 20 to 60 header bytes are read here",
    ),
    check("check tcp", Looks::UNCHECKED_TCP, Caps::RX_TCP),
    check("check udp", Looks::UNCHECKED_UDP, Caps::RX_UDP),
];

const fn check(work: &'static str, about: Looks, caps: Caps) -> Need {
    const HERE: &str = "nobody before did, so each payload byte is read once here";
    Need::entry(work, about, Some(caps), HERE)
}

/// What superpackets made here may look like. Their headers are those of the whole, and GRE with a checksum is not
/// joined.
pub(super) const MAKES: Looks = Looks::SUPER
    .union(Looks::REFINED)
    .difference(Looks::ECN)
    .difference(Looks::REPEATED)
    .difference(Looks::GRE_SUM);

/// What is known about the checksums of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// All that is there is right.
    Good,
    /// Nobody looked at one of them.
    Open,
    /// One is wrong, or is still to be finished.
    No,
}

/// What the device or a stage before said of the level that the flow is of.
pub(super) fn known(meta: &Meta, key: &FlowKey) -> Known {
    let level = key.level();
    // An IPv6 header has no checksum.
    let network = if key.is_v6() { Csum::Good } else { meta.l3[level] };
    match (network, meta.l4[level]) {
        (Csum::Good, Csum::Good) => Known::Good,
        (Csum::Good | Csum::Unknown, Csum::Good | Csum::Unknown) => Known::Open,
        _ => Known::No,
    }
}
