//! Why a packet was not sent, and how often that happened on a port.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a packet was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Refusal {
    /// Several parts, without `MULTI_PART`.
    Parts,
    /// A partial checksum that no granted bit covers.
    Checksum,
    /// More than one partial checksum at once, other than those of a tunnel that the port fills.
    TwoChecksums,
    /// A partial checksum with its start or field outside the packet, or not those of the header there.
    ChecksumPlace,
    /// An IPv4 header checksum to be made, without `TX_IP`, or `TX_OUTER_IP` for the outer header of a tunnel.
    HeaderChecksum,
    /// Anything asked for a frame of which the capture lacks bytes.
    Incomplete,
    /// Anything asked for inside a tunnel that the device does not find: of another kind, or on another UDP port.
    Tunnel,
    /// A superpacket of a kind that is not granted.
    Cutting,
    /// One ID for all segments, without `TSO_FIXED_ID`; or for all outer headers, without DF in them.
    FixedId,
    /// CWR on the first segment, without `TSO_ECN`.
    Ecn,
    /// CWR on all segments, without `TSO_CWR_ALL`.
    CwrAll,
    /// Padding of the last segment, without `TSO_PAD`, or inside a tunnel.
    Padding,
    /// A superpacket whose headers are not those of its kind, or whose checksum is not partial.
    CutHeaders,
    /// A superpacket in a tunnel whose outer checksum is neither absent nor partial, or is partial without the bit for it.
    OuterChecksum,
    /// A superpacket of one segment, or of another number of segments than it says; or, where headers are
    /// repeated as they are, with a last segment of another length.
    SegmentCount,
    /// A superpacket over the limits of bytes, segments or header length.
    Limits,
    /// A frame with more than the MTU behind its Ethernet header and VLAN tags.
    OverMtu,
}

impl Refusal {
    /// All of them, in the order of their numbers.
    pub const ALL: [Refusal; 17] = [
        Refusal::Parts,
        Refusal::Checksum,
        Refusal::TwoChecksums,
        Refusal::ChecksumPlace,
        Refusal::HeaderChecksum,
        Refusal::Incomplete,
        Refusal::Tunnel,
        Refusal::Cutting,
        Refusal::FixedId,
        Refusal::Ecn,
        Refusal::CwrAll,
        Refusal::Padding,
        Refusal::CutHeaders,
        Refusal::OuterChecksum,
        Refusal::SegmentCount,
        Refusal::Limits,
        Refusal::OverMtu,
    ];

    /// The name it is counted under in the report of the queue.
    pub fn drop_name(self) -> &'static str {
        if self == Refusal::OverMtu { "over_mtu" } else { "unsupported_request" }
    }
}

/// How often each [`Refusal`] happened on a port, all its queues together.
#[derive(Debug, Default)]
pub struct Refusals([AtomicU64; Refusal::ALL.len()]);

impl Refusals {
    pub(in crate::emulated) fn count(&self, refusal: Refusal) {
        self.0[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often this one happened.
    pub fn of(&self, refusal: Refusal) -> u64 {
        self.0[refusal as usize].load(Ordering::Relaxed)
    }

    /// All together; 0 says that nobody asked for anything that was not granted.
    pub fn total(&self) -> u64 {
        Refusal::ALL.iter().map(|&refusal| self.of(refusal)).sum()
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = Refusal::ALL.iter().map(|&refusal| (refusal, self.of(refusal)));
        let happened = counts.filter(|&(_, count)| count > 0);
        f.debug_map().entries(happened).finish()
    }
}
