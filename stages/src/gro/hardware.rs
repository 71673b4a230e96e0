//! What devices did before: superpackets they joined, and checksums they vouched for.
//!
//! A superpacket that arrives is passed on as it is (after what is held of its flow), since the device
//! promised that cutting it gives what it received. It is not merged any further.

use corelane_runtime::packet::{Csum, Meta};

/// What is known about the checksums of a packet with one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// All that is there is right.
    Good,
    /// Nobody looked at one of them.
    Open,
    /// One is wrong, or is still to be finished.
    No,
}

/// What the device or a stage before said.
pub(super) fn known(meta: &Meta, v6: bool) -> Known {
    // An IPv6 header has no checksum.
    let network = if v6 { Csum::Good } else { meta.l3[0] };
    match (network, meta.l4[0]) {
        (Csum::Good, Csum::Good) => Known::Good,
        (Csum::Good | Csum::Unknown, Csum::Good | Csum::Unknown) => Known::Open,
        _ => Known::No,
    }
}
