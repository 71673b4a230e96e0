//! Which flow a packet belongs to: what must stay in order, and what may be merged at all.
//!
//! It promises that two packets of one TCP or UDP 5-tuple always name the same flow, whatever VLAN they came
//! by, and that a packet whose ports cannot be read names its address pair. In a tunnel the flow is the inner
//! one, in that tunnel: between those outer addresses, with that identifier. It judges nothing.

use super::tunnel;
use corelane_runtime::packet::{L3, L4, Level, MetaFlags, Packet, SegKind};
use corelane_wire::layers::is_tunnel_port;
use corelane_wire::protocol;

/// Addresses of an IP packet, source first, and the tunnel it is in. Not compared as such: IPv4 uses one word.
#[derive(Clone, Copy, Debug)]
struct Addresses {
    words: [u64; 4],
    /// Digest of the tunnel, or 0.
    around: u64,
}

impl Addresses {
    /// Whether both are the same, of this IP version.
    #[inline]
    fn are(&self, other: &Addresses, v6: bool) -> bool {
        let (a, b) = (&self.words, &other.words);
        a[0] == b[0] && self.around == other.around && (!v6 || a[1..] == b[1..])
    }
}

/// A TCP or UDP flow, one direction. (Small, since a merge in progress has one.)
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowKey {
    addresses: Addresses,
    /// Both L4 ports as they stand in the header.
    ports: u32,
    udp: bool,
    v6: bool,
}

impl Eq for FlowKey {}

impl PartialEq for FlowKey {
    #[inline]
    fn eq(&self, other: &FlowKey) -> bool {
        let same = self.ports == other.ports && self.udp == other.udp && self.v6 == other.v6;
        same && self.addresses.are(&other.addresses, self.v6)
    }
}

/// Two addresses, in a tunnel or not, whose packets hide of which flow they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between {
    addresses: Addresses,
    v6: bool,
    /// Digest of the addresses, by which tunnels between them are known.
    pair: u32,
}

impl Between {
    /// Whether a packet between them may be one of that flow: it is between the same addresses, or in a tunnel
    /// that is.
    pub(super) fn may_be(&self, key: &FlowKey) -> bool {
        let around = key.addresses.around;
        let inside =
            self.addresses.around == 0 && around != 0 && (around >> 32) as u32 == self.pair;
        inside || self.v6 == key.v6 && self.addresses.are(&key.addresses, self.v6)
    }
}

/// What a packet must not overtake.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flow {
    /// Packets of this flow.
    One(FlowKey),
    /// Packets of this flow and, since extension headers hide ports from many a router, any other between
    /// the same addresses.
    Hidden(FlowKey, Between),
    /// Any packet between these addresses: a fragment, a transport header that cannot be read, or a tunnel that
    /// was not looked into and may carry any flow.
    Pair(Between),
    /// Anything: the headers are not known.
    All,
    /// Nothing that could be held here.
    None,
}

impl Flow {
    /// The flow of a packet.
    pub(super) fn of(packet: &Packet) -> Flow {
        let meta = packet.meta();
        if meta.flags.contains(MetaFlags::DEEPER) {
            return Flow::All;
        }
        let Some(index) = meta.innermost() else { return Flow::None };
        let level = &meta.layers.levels[index.min(1)];
        let data = packet.data();
        let Some((words, next)) = network(data, level) else { return Flow::None };
        let around = if index == 0 { 0 } else { tunnel::digest(data, meta) };
        let (addresses, v6) = (Addresses { words, around }, level.l3_kind == L3::V6);
        let between = || Between { addresses, v6, pair: tunnel::pair(data, level) };
        if level.l4_kind == L4::Other {
            return if may_carry(next) { Flow::Pair(between()) } else { Flow::None };
        }
        let ports = data.get(usize::from(level.l4)..).and_then(|l4| l4.first_chunk::<4>());
        match ports {
            Some(ports)
                if level.l4_kind != L4::None && !meta.flags.contains(MetaFlags::FRAGMENT) =>
            {
                let udp = level.l4_kind == L4::Udp;
                if udp && is_tunnel_port(u16::from_be_bytes([ports[2], ports[3]])) {
                    return Flow::Pair(between());
                }
                let key = FlowKey { addresses, ports: u32::from_ne_bytes(*ports), udp, v6 };
                let named = next == protocol::TCP || next == protocol::UDP;
                if named { Flow::One(key) } else { Flow::Hidden(key, between()) }
            }
            Some(_) | None => Flow::Pair(between()),
        }
    }
}

/// Whether a packet with this in its IP header, and neither TCP nor UDP, may carry another packet that was not
/// looked into.
fn may_carry(next: u8) -> bool {
    !matches!(next, protocol::ICMP | protocol::ICMP6 | protocol::SCTP | protocol::ESP)
}

/// Addresses and protocol field of the IP header.
fn network(data: &[u8], level: &Level) -> Option<([u64; 4], u8)> {
    let header = data.get(usize::from(level.l3)..)?;
    match level.l3_kind {
        L3::None => None,
        L3::V4 => {
            let ip: &[u8; 20] = header.first_chunk()?;
            let (_, pair) = ip.split_last_chunk::<8>()?;
            Some(([u64::from_ne_bytes(*pair), 0, 0, 0], ip[9]))
        }
        L3::V6 => {
            let ip: &[u8; 40] = header.first_chunk()?;
            let (_, pair) = ip.split_last_chunk::<32>()?;
            let (words, _) = pair.as_chunks::<8>();
            let word = |index: usize| words.get(index).map(|word| u64::from_ne_bytes(*word));
            Some(([word(0)?, word(1)?, word(2)?, word(3)?], ip[6]))
        }
    }
}

impl FlowKey {
    pub(super) fn is_v6(&self) -> bool {
        self.v6
    }

    pub(super) fn is_tunnelled(&self) -> bool {
        self.addresses.around != 0
    }

    /// The level of a packet that the flow is of.
    pub(super) fn level(&self) -> usize {
        usize::from(self.is_tunnelled())
    }

    pub(super) fn is_udp(&self) -> bool {
        self.udp
    }

    /// What a superpacket of this flow is.
    pub(super) fn kind(&self) -> SegKind {
        match (self.udp, self.v6) {
            (false, false) => SegKind::Tcp4,
            (false, true) => SegKind::Tcp6,
            (true, false) => SegKind::Udp4,
            (true, true) => SegKind::Udp6,
        }
    }

    /// A hash under `seed`, which an outsider who does not know the seed cannot steer. It is always computed
    /// here: hashes that devices give may differ between the packets of one flow, which must not be missed.
    pub(super) fn hash(&self, seed: u64) -> u32 {
        let words = &self.addresses.words;
        let ports = u64::from(self.ports) << 8 | u64::from(self.udp);
        let mut hash =
            fold(words[0] ^ seed ^ self.addresses.around.rotate_left(29), ports ^ MIX[0]);
        if self.v6 {
            hash = fold(hash ^ words[1], words[2] ^ MIX[1]);
            hash = fold(hash ^ words[3], MIX[2]);
        }
        (hash ^ hash >> 32) as u32
    }
}

/// Odd constants with balanced bits (the first digits of the fractional parts of square roots).
const MIX: [u64; 3] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b];

/// The two halves of a full product, folded: every input bit reaches every output bit.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b | 1);
    product as u64 ^ (product >> 64) as u64
}
