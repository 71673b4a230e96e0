//! The packet inside: its IP header, as far as tunnels look at it, and what is known of a frame looked at anew.
//!
//! It promises that meta after a header was put on or taken off is what a look at the bytes gives, and that the books
//! follow: payload is what comes after the innermost TCP or UDP header, so a tunnel header over UDP around what has
//! neither makes payload of it, and the end of that tunnel ends that.

use crate::payload::summed_level;
use crate::rx::describe;
use corelane_runtime::packet::{Csum, L3, Layers, MetaFlags, Packet};
use corelane_runtime::stage::StageContext;
use corelane_wire::ethernet::{EthernetHeader, ethertype};
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::view;
use corelane_wire::vlan::VlanTag;

/// What the header of an IP packet says of its treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    /// Where the header starts.
    pub(super) at: usize,
    pub(super) kind: L3,
    /// DSCP and ECN.
    pub(super) tos: u8,
    /// TTL or hop limit.
    pub(super) ttl: u8,
}

/// The outermost IP header of a packet, if there is one.
#[inline]
pub(super) fn network(packet: &Packet) -> Option<Network> {
    let meta = packet.meta();
    let tracked = meta.layers.count > 0 && !meta.flags.contains(MetaFlags::DEEPER);
    if tracked {
        let level = &meta.layers.levels[0];
        return header(packet.data(), usize::from(level.l3), level.l3_kind);
    }
    network_of_frame(packet.data(), 0)
}

/// The IP header of the frame at `at`, if it carries IP.
pub(super) fn network_of_frame(data: &[u8], at: usize) -> Option<Network> {
    let mut ethertype = view::<EthernetHeader>(data, at)?.ethertype.get();
    let mut at = at + EthernetHeader::LEN;
    while ethertype::is_vlan(ethertype) {
        ethertype = view::<VlanTag>(data, at)?.ethertype.get();
        at += VlanTag::LEN;
    }
    match ethertype {
        ethertype::IPV4 => header(data, at, L3::V4),
        ethertype::IPV6 => header(data, at, L3::V6),
        _ => None,
    }
}

fn header(data: &[u8], at: usize, kind: L3) -> Option<Network> {
    let (tos, ttl) = match kind {
        L3::V4 => {
            let header = view::<Ipv4Header>(data, at).filter(|header| header.version() == 4)?;
            (header.tos, header.ttl)
        }
        L3::V6 => {
            let header = view::<Ipv6Header>(data, at).filter(|header| header.version() == 6)?;
            (header.traffic_class(), header.hop_limit)
        }
        L3::None => return None,
    };
    Some(Network { at, kind, tos, ttl })
}

/// Whether something is still to be done before the packet can leave as it is: it is to be cut, or has a checksum
/// that was put off.
pub(super) fn is_unfinished(packet: &Packet) -> bool {
    let meta = packet.meta();
    packet.is_super() || meta.l3.contains(&Csum::Partial) || meta.l4.contains(&Csum::Partial)
}

/// Says that so many bytes are the packet's payload now, and books the difference.
pub(super) fn set_payload(packet: &mut Packet, payload: u32, ctx: &mut StageContext<'_>) {
    let before = packet.units();
    if packet.payload_len() != payload {
        packet.forget_payload_sums();
        let layers = packet.meta().layers;
        packet.set_layers(layers, payload);
        ctx.changed(packet, before);
    }
}

/// Where what follows the outer header has no TCP or UDP header of its own, all of it is payload.
pub(super) fn settle_payload(packet: &mut Packet, ctx: &mut StageContext<'_>) {
    let meta = packet.meta();
    let outermost = !meta.flags.contains(MetaFlags::DEEPER);
    if outermost && summed_level(&meta.layers) == Some(0) {
        let payload = packet.len() - u32::from(meta.layers.levels[0].payload);
        set_payload(packet, payload, ctx);
    }
}

/// Takes `n` bytes off the front and looks at what comes then. What was known of the checksums of a level that is
/// found again stays known.
pub(super) fn look_again(packet: &mut Packet, n: u16, key: u64, ctx: &mut StageContext<'_>) {
    let before = packet.units();
    let known = *packet.meta();
    let facts = MetaFlags::FRAGMENT | MetaFlags::ODD_PSEUDO | MetaFlags::OVERRUN;
    let meta = packet.meta_mut();
    meta.flags -= facts | MetaFlags::DEEPER | MetaFlags::KNOWN | MetaFlags::PARSED;
    if n > 0 {
        // It may be that of the flow that was around this one.
        meta.flags -= MetaFlags::HASHED;
    }
    meta.layers = Layers::default();
    (meta.l3, meta.l4) = ([Csum::Unknown; 2], [Csum::Unknown; 2]);
    meta.orig_len = meta.orig_len.saturating_sub(u32::from(n));
    packet.pull(u32::from(n), ctx.buffers);
    // Without a buffer for headers that lie far apart nothing is known of it, and it is passed on as it is.
    let _ = describe(packet, key, ctx.buffers);
    restore(packet, &known, n);
    if packet.payload_len() != before.bytes as u32 {
        packet.forget_payload_sums();
    }
    ctx.changed(packet, before);
}

/// Puts the states of those levels back that lie where they lay, `n` bytes further to the front.
fn restore(packet: &mut Packet, known: &corelane_runtime::packet::Meta, n: u16) {
    let meta = packet.meta_mut();
    for new in 0..usize::from(meta.layers.count.min(2)) {
        let level = meta.layers.levels[new];
        let is_same = |&old: &usize| {
            let was = known.layers.levels[old];
            was.l3.checked_sub(n) == Some(level.l3) && was.l3_kind == level.l3_kind
        };
        let Some(old) = (0..usize::from(known.layers.count.min(2))).find(is_same) else { continue };
        (meta.l3[new], meta.l4[new]) = (known.l3[old], known.l4[old]);
        if known.l4[old] == Csum::Partial {
            let mut partial = known.partial[old];
            partial.start -= n.min(partial.start);
            partial.field -= n.min(partial.field);
            meta.request(new, partial);
        }
    }
}
