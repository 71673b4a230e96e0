//! Reads what a packet asks of the transmit hardware, and holds it against what the port granted.
//!
//! A NIC does not repair a request it cannot serve, and does not guess. Whatever goes beyond the granted
//! capabilities and limits, or contradicts the packet's own headers, is refused with a reason; the packet is
//! then lost and counted. A test over this port asserts that nothing was refused. Which level a request is about
//! it reads off the place of the checksum, with the devices' own parser: what software thinks of layers it does
//! not look at.

mod cut;
mod refusal;
mod sums;

pub(super) use cut::{Cut, Outer};
pub use refusal::{Refusal, Refusals};
pub(super) use sums::{Finish, Sums};

use crate::headers::{Carrier, Family, Headers, Parses, TCP, UDP};
use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::{Csum, Packet, Partial};

/// Where the checksum is in a TCP header.
const TCP_FIELD: usize = 16;
/// Where the checksum is in a UDP header.
const UDP_FIELD: usize = 6;

/// What is to be done to a packet before it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Nothing.
    Nothing,
    /// Finish checksums.
    Finish(Sums),
    /// Cut it into segments.
    Cut(Cut),
}

/// What a device may be asked, and how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granted {
    pub(super) caps: Caps,
    pub(super) limits: Limits,
    /// Tunnels it finds.
    pub(super) parses: Parses,
}

impl Granted {
    /// Reads the request of a packet that starts with the bytes `front`: all of it, or enough for headers.
    pub(super) fn read(&self, packet: &Packet, front: &[u8]) -> Result<Work, Refusal> {
        if packet.part_count() > 1 && !self.caps.contains(Caps::MULTI_PART) {
            return Err(Refusal::Parts);
        }
        if packet.is_super() {
            return self.cut(packet, front).map(Work::Cut);
        }
        let asks = asks(packet);
        if asks && packet.is_cut() {
            return Err(Refusal::Incomplete);
        }
        self.check_mtu(front, packet.len() as usize)?;
        if asks { self.sums(packet, front).map(Work::Finish) } else { Ok(Work::Nothing) }
    }

    /// Whether a frame of `len` bytes may be sent.
    fn check_mtu(&self, front: &[u8], len: usize) -> Result<(), Refusal> {
        let Some(mtu) = self.limits.mtu else { return Ok(()) };
        let link = Headers::parse(front).map_or(14, |headers| headers.l3);
        if len > link + mtu as usize { Err(Refusal::OverMtu) } else { Ok(()) }
    }
}

/// Whether a packet asks for a checksum.
pub(super) fn asks(packet: &Packet) -> bool {
    let meta = packet.meta();
    meta.l3.contains(&Csum::Partial) || meta.l4.contains(&Csum::Partial)
}

/// The unfinished transport checksum of each level.
fn partials(packet: &Packet) -> [Option<Partial>; 2] {
    let meta = packet.meta();
    [0, 1].map(|level| (meta.l4[level] == Csum::Partial).then(|| meta.partial[level]))
}

/// Whether that is the checksum in the header at `start`, `offset` bytes into it.
fn is_at(partial: Partial, start: usize, offset: usize) -> bool {
    (usize::from(partial.start), usize::from(partial.field)) == (start, start + offset)
}

/// The capability bit for a plain TCP or UDP checksum, and where the field is in the header. Devices that know
/// protocols do not look behind IPv6 extension headers.
fn simple_checksum(headers: &Headers) -> Option<(Caps, usize)> {
    if headers.fragment || (headers.options && headers.family == Family::V6) {
        return None;
    }
    match (headers.protocol, headers.family) {
        (TCP, Family::V4) => Some((Caps::TX_TCP4, TCP_FIELD)),
        (TCP, Family::V6) => Some((Caps::TX_TCP6, TCP_FIELD)),
        (UDP, Family::V4) => Some((Caps::TX_UDP4, UDP_FIELD)),
        (UDP, Family::V6) => Some((Caps::TX_UDP6, UDP_FIELD)),
        _ => None,
    }
}

/// The bit for work inside a tunnel, and the one that fills the checksum of the tunnel in each segment too. IP
/// in IP has none.
fn tunnel_bits(carrier: Carrier) -> (Caps, Caps) {
    match carrier {
        Carrier::Vxlan => (Caps::TSO_VXLAN, Caps::TSO_VXLAN_CSUM),
        Carrier::Geneve => (Caps::TSO_GENEVE, Caps::TSO_GENEVE_CSUM),
        Carrier::Gre { .. } => (Caps::TSO_GRE, Caps::TSO_GRE_CSUM),
        Carrier::Ip => (Caps::TSO_IPIP, Caps::empty()),
    }
}
