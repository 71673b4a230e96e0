//! The headers of a tunnel around each segment: the outer level's lengths and ID, and the checksum of UDP or GRE
//! over all that the tunnel carries.
//!
//! It promises header cost. The bytes under the inner checksum, once that is finished, add up to the complement of
//! its pseudo header, so the outer checksum follows from headers alone, whether the inner one is finished or
//! left to a port. VXLAN and Geneve headers, and what of GRE is not its checksum, are repeated as they are.

use super::network::Network;
use corelane_runtime::packet::{Csum, L3, Meta, Packet, Partial, SegFlags, Tunnel};
use corelane_sum::Sum;
use corelane_wire::gre::GreHeader;
use corelane_wire::udp::UdpHeader;
use corelane_wire::{protocol, view, view_mut};

/// What the outer headers of all segments share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    network: Network,
    l4: u16,
    udp: bool,
    checksum: Option<Covering>,
}

/// A checksum over the tunnel's header and what it carries.
#[derive(Clone, Copy, Debug)]
struct Covering {
    /// Offset of the field.
    field: u16,
    /// Outer pseudo header without length; none for GRE.
    pseudo: Sum,
    /// What is covered, but for lengths, and for what differs in the inner IP header; the inner transport
    /// header and payload count as the complement of their pseudo header.
    shared: Sum,
}

/// What is around a packet that was made: where its inner transport header is, and how long things are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    /// Offset of the inner transport header.
    pub(super) inner_l4: u32,
    /// End of the packet, or of its first segment where that is what headers are to say.
    pub(super) end: u32,
    /// End of the packet, where several segments stay together and a port finishes their checksums.
    pub(super) seeded: Option<u32>,
    /// Wire segments before it.
    pub(super) before: u16,
}

impl Outer {
    /// Reads the outer headers of a superpacket, which are contiguous; `inner` is the level inside, `pseudo` its
    /// pseudo header without length.
    pub(super) fn read(packet: &Packet, inner: &Network, pseudo: Sum) -> Option<Outer> {
        let meta = packet.meta();
        let level = &meta.layers.levels[0];
        let fixed = packet.segmentation().flags.contains(SegFlags::OUTER_FIXED_ID);
        let network = Network::read(packet, 0, fixed)?;
        let udp = matches!(meta.layers.tunnel, Tunnel::Vxlan | Tunnel::Geneve);
        let mut outer = Outer { network, l4: level.l4, udp, checksum: None };
        if let Some(field) = wanted(packet) {
            let data = packet.data();
            let (l4, inner_l4) = (usize::from(level.l4), usize::from(meta.layers.levels[1].l4));
            let mut shared = Sum::of(data.get(l4..inner_l4)?) - inner.varying(data) - pseudo;
            let at = usize::from(field);
            let old = data.get(at..at + 2)?;
            shared -= Sum::of(old);
            let mut outer_pseudo = Sum::ZERO;
            if udp {
                outer_pseudo = network.addresses + Sum::from_u16(u16::from(protocol::UDP));
                shared -= Sum::from_u16(view::<UdpHeader>(data, l4)?.length.get());
            }
            outer.checksum = Some(Covering { field, pseudo: outer_pseudo, shared });
        }
        Some(outer)
    }

    /// Writes the outer headers of a packet whose inner IP header, of `inner`, is written.
    pub(super) fn write(&self, data: &mut [u8], inner: &Network, at: Around) {
        let l4 = usize::from(self.l4);
        let length = at.end - u32::from(self.l4);
        self.network.write(data, self.network.datagram(at.end), at.before);
        if self.udp
            && let Some(header) = view_mut::<UdpHeader>(data, l4)
        {
            header.length.set(u16::try_from(length).unwrap_or(0));
        }
        let Some(Covering { field, pseudo, shared }) = self.checksum else { return };
        let checksum = match at.seeded {
            Some(end) => (pseudo + Sum::from_u32(end - u32::from(self.l4))).canonical(),
            None => {
                let inside = Sum::from_u32(at.end - at.inner_l4);
                let sum = pseudo + shared + inner.varying(data) - inside;
                // UDP has its length twice: in the pseudo header and in its own.
                let twice = Sum::from_u32(length) + Sum::from_u32(length);
                if self.udp { (sum + twice).udp_checksum() } else { sum.checksum() }
            }
        };
        let field = usize::from(field);
        if let Some(bytes) = data.get_mut(field..field + 2) {
            bytes.copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// Says in the meta of such a packet what is known of its outer level.
    pub(super) fn describe(&self, meta: &mut Meta, seeded: bool) {
        if self.network.is_computed() {
            meta.l3[0] = Csum::Good;
        }
        match self.checksum {
            Some(Covering { field, .. }) if seeded => {
                meta.request(0, Partial { start: self.l4, field });
            }
            Some(_) => meta.l4[0] = Csum::Good,
            None => {}
        }
    }
}

/// Offset of the checksum field of the tunnel, if it has one that is in use.
pub(super) fn wanted(packet: &Packet) -> Option<u16> {
    let layers = &packet.meta().layers;
    let level = &layers.levels[0];
    let word = |at: u16| word(packet, u32::from(at));
    match layers.tunnel {
        Tunnel::Vxlan | Tunnel::Geneve => {
            let field = level.l4 + UdpHeader::CHECKSUM_AT as u16;
            word(field).filter(|&checksum| checksum != 0).map(|_| field)
        }
        Tunnel::Gre => {
            let has = word(level.l4).is_some_and(|flags| gre(flags).has_checksum());
            has.then_some(level.l4 + GreHeader::CHECKSUM_AT as u16)
        }
        Tunnel::None | Tunnel::Ip | Tunnel::Other => None,
    }
}

/// Whether the tunnel of a superpacket can be put around each of its segments: a kind whose headers are known,
/// without sequence numbers, and with a checksum only where that is vouched for, so that nothing is repaired.
pub(super) fn is_repeatable(packet: &Packet) -> bool {
    let meta = packet.meta();
    let [outer, inner] = &meta.layers.levels;
    let known = match meta.layers.tunnel {
        Tunnel::Vxlan | Tunnel::Geneve => {
            inner.l2 >= outer.payload && outer.payload == outer.l4 + 8
        }
        Tunnel::Gre => word(packet, u32::from(outer.l4)).is_some_and(|flags| {
            let header = gre(flags);
            !header.has_sequence() && !header.has_routing() && header.version() == 0
        }),
        Tunnel::Ip => true,
        Tunnel::None | Tunnel::Other => false,
    };
    let vouched = matches!(meta.l4[0], Csum::Good | Csum::Partial) || wanted(packet).is_none();
    let even = inner.l4 > outer.l4 && (inner.l4 - outer.l4).is_multiple_of(2);
    known && vouched && even && outer.l3_kind != L3::None
}

fn gre(flags: u16) -> GreHeader {
    GreHeader { flags: flags.into(), protocol: 0.into() }
}

/// A 16-bit field, wherever its bytes lie.
pub(super) fn word(packet: &Packet, at: u32) -> Option<u16> {
    let mut bytes = packet.slices(at, at + 2).flatten();
    Some(u16::from_be_bytes([*bytes.next()?, *bytes.next()?]))
}
