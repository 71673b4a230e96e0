//! Which flow a packet belongs to: what must stay in order, and what may be merged at all.
//!
//! It promises that two packets of one TCP or UDP 5-tuple always name the same flow, whatever VLAN they came
//! by, and that a packet whose ports cannot be read names its address pair. It looks at the outermost
//! headers only and judges nothing.

use corelane_runtime::packet::{L3, L4, Level, MetaFlags, Packet, SegKind};
use corelane_wire::protocol;

/// Addresses of an IP packet, source first; IPv4 uses one word.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub(super) struct Addresses {
    words: [u64; 4],
    v6: bool,
}

impl PartialEq for Addresses {
    #[inline]
    fn eq(&self, other: &Addresses) -> bool {
        // IPv4 leaves the rest of the words zero.
        let (a, b) = (&self.words, &other.words);
        a[0] == b[0] && self.v6 == other.v6 && (!self.v6 || a[1..] == b[1..])
    }
}

/// A TCP or UDP flow, one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowKey {
    pub(super) addresses: Addresses,
    /// Both L4 ports as they stand in the header.
    ports: u32,
    udp: bool,
}

/// What a packet must not overtake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Packets of this flow.
    One(FlowKey),
    /// Packets of this flow and, since extension headers hide ports from many a router, any other between
    /// the same addresses.
    Hidden(FlowKey),
    /// Any packet between these addresses: a fragment, or a transport header that cannot be read.
    Pair(Addresses),
    /// Anything: the outermost headers are not known.
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
        let level = &meta.layers.levels[0];
        let data = packet.data();
        if meta.layers.count == 0 || level.l4_kind == L4::Other {
            return Flow::None;
        }
        let Some((addresses, next)) = network(data, level) else { return Flow::None };
        let ports = data.get(usize::from(level.l4)..).and_then(|l4| l4.first_chunk::<4>());
        match ports {
            Some(ports)
                if level.l4_kind != L4::None && !meta.flags.contains(MetaFlags::FRAGMENT) =>
            {
                let udp = level.l4_kind == L4::Udp;
                let key = FlowKey { addresses, ports: u32::from_ne_bytes(*ports), udp };
                let named = next == protocol::TCP || next == protocol::UDP;
                if named { Flow::One(key) } else { Flow::Hidden(key) }
            }
            Some(_) | None => Flow::Pair(addresses),
        }
    }
}

/// Addresses and protocol field of the IP header.
fn network(data: &[u8], level: &Level) -> Option<(Addresses, u8)> {
    let header = data.get(usize::from(level.l3)..)?;
    match level.l3_kind {
        L3::None => None,
        L3::V4 => {
            let ip: &[u8; 20] = header.first_chunk()?;
            let (_, pair) = ip.split_last_chunk::<8>()?;
            let words = [u64::from_ne_bytes(*pair), 0, 0, 0];
            Some((Addresses { words, v6: false }, ip[9]))
        }
        L3::V6 => {
            let ip: &[u8; 40] = header.first_chunk()?;
            let (_, pair) = ip.split_last_chunk::<32>()?;
            let (words, _) = pair.as_chunks::<8>();
            let word = |index: usize| words.get(index).map(|word| u64::from_ne_bytes(*word));
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            Some((Addresses { words, v6: true }, ip[6]))
        }
    }
}

impl FlowKey {
    pub(super) fn is_v6(&self) -> bool {
        self.addresses.v6
    }

    pub(super) fn is_udp(&self) -> bool {
        self.udp
    }

    /// What a superpacket of this flow is.
    pub(super) fn kind(&self) -> SegKind {
        match (self.udp, self.addresses.v6) {
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
        let mut hash = fold(words[0] ^ seed, ports ^ MIX[0]);
        if self.addresses.v6 {
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
