//! The one look at a packet's headers: where its layers are, and which of its lengths can be believed.
//!
//! It promises, for any bytes, offsets that lie in the contiguous first part, and a payload length that lies
//! in the packet. It reads headers only.

use super::flow::{self, Ends};
use super::{hardware, plain, request};
use corelane_runtime::packet::{self, Buffers, MetaFlags, NoBuffer, Packet, SMALL_ROOM};
use corelane_wire::{Fragment, L3, L4, Layers, Level, Tunnel, layers};

/// Bytes made contiguous at the front of every packet.
pub const CONTIGUOUS: u32 = 256;

/// What the look at a packet's headers came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) layers: packet::Layers,
    /// What keeps the packet from being a usual one.
    pub(super) facts: MetaFlags,
    /// Bytes of the L4 payload.
    pub(super) payload: u32,
    /// Where the outermost datagram ends, or the frame.
    pub(super) end: u32,
    /// What its flow hash is made of.
    pub(super) ends: Ends,
}

/// Looks at a packet's headers and fills in its meta: layers, facts, trailer, flow hash.
///
/// # Errors
/// [`NoBuffer`] where headers lie in several parts and there is no buffer to gather them; the packet is as
/// it was.
pub fn describe(packet: &mut Packet, key: u64, buffers: &mut Buffers) -> Result<(), NoBuffer> {
    packet.pull_up(CONTIGUOUS, buffers)?;
    let usual = match packet.is_super() {
        true => None,
        false => plain::look(packet.data(), packet.len()),
    };
    let found = match usual {
        Some(found) => found,
        None => look(packet, buffers)?,
    };
    store(packet, &found, key);
    Ok(())
}

/// The general way.
fn look(packet: &mut Packet, buffers: &mut Buffers) -> Result<Found, NoBuffer> {
    let mut found = walk(packet);
    let contiguous = packet.data().len() as u32;
    if found.levels().iter().any(|level| level.incomplete) && contiguous < packet.len() {
        packet.pull_up(SMALL_ROOM, buffers)?;
        found = walk(packet);
    }
    let mut gathered = gather(&found, packet.len(), packet.is_super());
    if packet.is_super() {
        if let Some(level) = request::outermost(packet, &found) {
            gathered.keep(level);
        }
        request::settle_seed(packet, &found, &gathered);
    }
    Ok(gathered)
}

impl Found {
    /// Keeps one level, with what of it is not usual. The flow is still that of what is inside.
    fn keep(&mut self, level: &Level) {
        self.layers = packet::Layers::default();
        (self.layers.levels[0], self.layers.count) = (convert(level), 1);
        self.facts = facts_of(level, true);
        self.payload = payload_len(level);
    }
}

fn walk(packet: &Packet) -> Layers {
    if packet.is_super() {
        hardware::layers_of_super(packet.data(), packet.len())
    } else {
        layers(packet.data(), packet.len())
    }
}

/// What the walk says, in the terms of the runtime. Levels without IP are nothing to it.
pub(super) fn gather(walked: &Layers, len: u32, joined: bool) -> Found {
    let mut layers = packet::Layers::default();
    let mut facts = MetaFlags::default();
    let mut payload = 0;
    for level in walked.levels().iter().filter(|level| level.l3_kind != L3::None) {
        layers.levels[usize::from(layers.count)] = convert(level);
        layers.count += 1;
        facts |= facts_of(level, joined);
        if matches!(level.l4_kind, L4::Tcp | L4::Udp) {
            payload = payload_len(level);
        }
    }
    if layers.count == 2 {
        layers.tunnel = tunnel_of(walked.tunnel);
    }
    facts.set(MetaFlags::DEEPER, walked.deeper);
    let end = if layers.count > 0 { walked.levels[0].limit } else { len };
    let ends = walked.innermost().map_or(Ends::of_ethernet(0), ends_of);
    Found { layers, facts, payload, end, ends }
}

#[inline]
fn store(packet: &mut Packet, found: &Found, key: u64) {
    let hashed = packet.meta().flags.contains(MetaFlags::HASHED);
    let hash = match hashed {
        true => packet.meta().hash,
        false => flow::hash(packet.data(), &found.ends, key),
    };
    let trailer = packet.len().saturating_sub(found.end);
    let meta = packet.meta_mut();
    meta.flags |= found.facts | MetaFlags::HASHED;
    meta.hash = hash;
    meta.trailer = u16::try_from(trailer).unwrap_or(u16::MAX);
    request::settle_level(meta, &found.layers);
    hardware::adopt(meta);
    packet.set_layers(found.layers, found.payload);
}

fn ends_of(level: &Level) -> Ends {
    let kind = kind_of(level);
    if kind == packet::L3::None {
        return Ends::of_ethernet(level.l2);
    }
    // A fragment hashes without ports and protocol, which later fragments do not show: all of a datagram go one
    // way. What else is odd about a packet must not part it from its flow.
    let whole = level.fragment == Fragment::No;
    let with_ports = whole && matches!(level.l4_kind, L4::Tcp | L4::Udp);
    let protocol = level.l4_kind.protocol().filter(|_| whole).unwrap_or(0);
    Ends::of_ip(kind, level.l3, protocol, with_ports.then_some(level.l4))
}

fn kind_of(level: &Level) -> packet::L3 {
    match level.l3_kind {
        L3::None => packet::L3::None,
        L3::V4 => packet::L3::V4,
        L3::V6 => packet::L3::V6,
    }
}

/// Tunnels whose header has another length, or which number their packets, are none that a port or a later
/// stage could take for one of the usual ones.
fn tunnel_of(walked: Tunnel) -> packet::Tunnel {
    match walked {
        Tunnel::None => packet::Tunnel::None,
        Tunnel::Vxlan => packet::Tunnel::Vxlan,
        Tunnel::Geneve => packet::Tunnel::Geneve,
        Tunnel::Gre => packet::Tunnel::Gre,
        Tunnel::Ip => packet::Tunnel::Ip,
        Tunnel::VxlanGpe | Tunnel::Erspan => packet::Tunnel::Other,
    }
}

fn convert(level: &Level) -> packet::Level {
    packet::Level {
        l2: level.l2,
        l3: level.l3,
        l4: level.l4,
        // A transport header that is not all there has no payload behind it.
        payload: if level.payload == 0 { level.l4 } else { level.payload },
        l3_kind: kind_of(level),
        l4_kind: match level.l4_kind {
            L4::None => packet::L4::None,
            L4::Tcp => packet::L4::Tcp,
            L4::Udp => packet::L4::Udp,
            _ => packet::L4::Other,
        },
    }
}

fn facts_of(level: &Level, joined: bool) -> MetaFlags {
    let mut flags = MetaFlags::default();
    flags.set(MetaFlags::FRAGMENT, level.fragment != Fragment::No);
    flags.set(MetaFlags::ODD_PSEUDO, level.unusual_pseudo);
    let in_doubt = level.overrun | level.jumbo | level.malformed | level.incomplete;
    flags.set(MetaFlags::OVERRUN, in_doubt | (level.zero_length && !joined));
    flags
}

/// Bytes of the L4 payload that are there.
fn payload_len(level: &Level) -> u32 {
    if level.payload == 0 {
        return 0;
    }
    level.l4_end.min(level.limit).saturating_sub(u32::from(level.payload))
}
