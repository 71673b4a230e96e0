//! What the device already knows: which of it can be taken over, and how to read a packet it has joined.
//!
//! It promises that a state the device reported ends up at the level it was reported for, or is forgotten.

use corelane_runtime::offload::{Caps, Looks, Need};
use corelane_runtime::packet::{Csum, Meta, MetaFlags, Packet};
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::udp::UdpHeader;
use corelane_wire::{L3, L4, Layers, Level, U16, layers, view_mut};

/// Bytes of headers looked at in a joined packet.
const HEADERS: usize = 256;

/// Lengths that can hide each other in two levels, each of IP and UDP.
const HIDDEN_MAX: usize = 4;

/// What a port may have done with packets before they come here.
pub(super) const NEEDS: [Need; 2] = [
    Need::entry(
        "flow hash",
        Looks::empty(),
        Some(Caps::RX_HASH),
        "a keyed hash of addresses and ports, from headers that are read anyway",
    ),
    Need::entry("joined segments", Looks::empty(), Some(Caps::RX_HW_GRO), "the port joins none")
        .welcome(),
];

/// Forgets what a device, or whoever saw the packet before, said of its checksums. A packet that a device has
/// joined keeps it: its fields are those of no packet, so nobody else can know. So does a checksum that
/// was never finished.
pub(crate) fn forget(packet: &mut Packet) {
    if packet.is_super() {
        return;
    }
    let meta = packet.meta_mut();
    meta.flags.remove(MetaFlags::KNOWN);
    for state in meta.l3.iter_mut().chain(&mut meta.l4) {
        if *state != Csum::Partial {
            *state = Csum::Unknown;
        }
    }
}

/// Devices count levels from the outside. Where the outermost is no longer among the two that are tracked,
/// nobody can say which level a status belongs to. A checksum to be finished says itself where it is.
pub(super) fn adopt(meta: &mut Meta) {
    if meta.flags.contains(MetaFlags::DEEPER) {
        meta.l3 = [Csum::Unknown; 2];
        let told = meta.l4.iter_mut().filter(|state| **state != Csum::Partial);
        told.for_each(|state| *state = Csum::Unknown);
    }
}

/// The walk over a packet that a device has joined. Its 16-bit length fields may have wrapped or may still
/// be those of the first segment; the length of the frame is the truth. So they are read as 0, which every
/// format defines as "as long as there is data".
pub(super) fn layers_of_super(frame: &[u8], frame_len: u32) -> Layers {
    let mut copy = [0; HEADERS];
    let len = frame.len().min(HEADERS);
    copy[..len].copy_from_slice(&frame[..len]);
    let headers = &mut copy[..len];
    let mut found = layers(headers, frame_len);
    // Behind each length another can hide: that of UDP behind that of IP, a level behind the one around it.
    for _ in 0..HIDDEN_MAX {
        let forgotten = found.levels().iter().filter(|level| forget_lengths(headers, level));
        if forgotten.count() == 0 {
            break;
        }
        found = layers(headers, frame_len);
    }
    found
}

/// Writes 0 into the length fields of a level; false where they held that already.
fn forget_lengths(headers: &mut [u8], level: &Level) -> bool {
    let l3 = usize::from(level.l3);
    // The walk refuses a header whose length is shorter than itself, so the version is asked for here.
    let ip = match (level.l3_kind, headers.get(l3).map(|byte| byte >> 4)) {
        (L3::V4, _) | (L3::None, Some(4)) if l3 > 0 => {
            view_mut::<Ipv4Header>(headers, l3).map(|header| &mut header.total_length)
        }
        (L3::V6, _) => view_mut::<Ipv6Header>(headers, l3).map(|header| &mut header.payload_length),
        _ => None,
    };
    let mut forgotten = ip.is_some_and(clear);
    if level.l4_kind == L4::Udp {
        let udp = view_mut::<UdpHeader>(headers, usize::from(level.l4));
        forgotten |= udp.is_some_and(|header| clear(&mut header.length));
    }
    forgotten
}

/// Makes a field 0; false if it was.
fn clear(field: &mut U16) -> bool {
    std::mem::replace(field, U16::ZERO) != U16::ZERO
}
