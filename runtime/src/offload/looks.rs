//! What packets may look like at some place of a pipeline, as a set: the vocabulary in which stages say what
//! they make and take, and in which the plan follows packets from port to port.
//!
//! A set says "may": a bit that is missing says that no such packet comes. It speaks of requests only, not of
//! sizes.

use super::Caps;
use bitflags::bitflags;

bitflags! {
    /// What packets may look like.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Looks: u64 {
        /// Superpackets of TCP over IPv4 whose pieces' sums are known.
        const SUPER_TCP4 = 1 << 0;
        /// Superpackets of TCP over IPv6 whose pieces' sums are known.
        const SUPER_TCP6 = 1 << 1;
        /// Superpackets of UDP over IPv4 whose pieces' sums are known.
        const SUPER_UDP4 = 1 << 2;
        /// Superpackets of UDP over IPv6 whose pieces' sums are known.
        const SUPER_UDP6 = 1 << 3;
        /// Superpackets of TCP over IPv4 that came as one: nobody here has summed their pieces.
        const BARE_TCP4 = 1 << 4;
        /// Superpackets of TCP over IPv6 that came as one.
        const BARE_TCP6 = 1 << 5;
        /// Superpackets of UDP over IPv4 that came as one.
        const BARE_UDP4 = 1 << 6;
        /// Superpackets of UDP over IPv6 that came as one.
        const BARE_UDP6 = 1 << 7;

        /// Superpackets of TCP of which all segments carry one IPv4 ID.
        const FIXED_TCP = 1 << 8;
        /// Superpackets of UDP of which all datagrams carry one IPv4 ID.
        const FIXED_UDP = 1 << 9;
        /// Superpackets with CWR, which belongs on the first segment only.
        const ECN = 1 << 10;
        /// Superpackets with CWR, which belongs on every segment.
        const CWR_ALL = 1 << 11;
        /// Superpackets whose last segment is padded to the smallest frame.
        const PAD_LAST = 1 << 12;
        /// Superpackets of several parts.
        const PARTS = 1 << 13;
        /// Superpackets that no device cuts: segments of uneven length, headers behind IPv6 extension headers,
        /// a checksum that is not partial.
        const FOREIGN = 1 << 14;

        /// TCP over IPv4 whose checksum is still to be finished.
        const PARTIAL_TCP4 = 1 << 16;
        /// TCP over IPv6 whose checksum is still to be finished.
        const PARTIAL_TCP6 = 1 << 17;
        /// UDP over IPv4 whose checksum is still to be finished.
        const PARTIAL_UDP4 = 1 << 18;
        /// UDP over IPv6 whose checksum is still to be finished.
        const PARTIAL_UDP6 = 1 << 19;
        /// An unfinished checksum behind IPv6 extension headers, in an atomic fragment, of another protocol, or
        /// inside a tunnel that no device finds.
        const PARTIAL_HIDDEN = 1 << 20;
        /// An unfinished checksum that does not reach to the end of the datagram.
        const PARTIAL_ODD = 1 << 21;
        /// An IPv4 header whose checksum is still to be made.
        const PARTIAL_IPV4 = 1 << 22;

        /// IPv4 headers that nobody has checked here.
        const UNCHECKED_IPV4 = 1 << 24;
        /// TCP checksums that nobody has checked here.
        const UNCHECKED_TCP = 1 << 25;
        /// UDP checksums that nobody has checked here.
        const UNCHECKED_UDP = 1 << 26;
        /// Headers inside tunnels that nobody has checked here.
        const UNCHECKED_INNER = 1 << 27;

        /// Superpackets of TCP inside VXLAN.
        const VXLAN = 1 << 32;
        /// Superpackets of TCP inside Geneve.
        const GENEVE = 1 << 33;
        /// Superpackets of TCP inside GRE.
        const GRE = 1 << 34;
        /// Superpackets of TCP in IP in IP.
        const IPIP = 1 << 35;
        /// Superpackets inside VXLAN whose outer UDP checksum is wanted.
        const VXLAN_SUM = 1 << 36;
        /// Superpackets inside Geneve whose outer UDP checksum is wanted.
        const GENEVE_SUM = 1 << 37;
        /// Superpackets inside GRE whose GRE checksum is wanted.
        const GRE_SUM = 1 << 38;
        /// Superpackets in a tunnel of which all segments carry one outer IPv4 ID although they may be fragmented.
        const OUTER_ID = 1 << 39;
        /// Superpackets of UDP inside a tunnel.
        const UDP_INSIDE = 1 << 40;
        /// Superpackets in a tunnel whose headers are those of one segment, to be repeated.
        const REPEATED = 1 << 41;

        /// An unfinished checksum inside VXLAN.
        const PARTIAL_VXLAN = 1 << 48;
        /// An unfinished checksum inside Geneve.
        const PARTIAL_GENEVE = 1 << 49;
        /// An unfinished checksum inside GRE.
        const PARTIAL_GRE = 1 << 50;
        /// An unfinished checksum inside IP in IP.
        const PARTIAL_IPIP = 1 << 51;
        /// The checksum of the tunnel unfinished along with one inside.
        const PARTIAL_OUTER = 1 << 52;
    }
}

/// What a port must be able to do to be handed packets that look so; `None`: no port takes them.
const TAKEN: &[(Looks, Option<Caps>)] = &[
    (Looks::SUPER_TCP4.union(Looks::BARE_TCP4), Some(Caps::TSO4)),
    (Looks::SUPER_TCP6.union(Looks::BARE_TCP6), Some(Caps::TSO6)),
    (Looks::SUPER_UDP4.union(Looks::BARE_UDP4), Some(Caps::USO4)),
    (Looks::SUPER_UDP6.union(Looks::BARE_UDP6), Some(Caps::USO6)),
    (Looks::FIXED_TCP, Some(Caps::TSO_FIXED_ID)),
    (Looks::FIXED_UDP, None),
    (Looks::ECN, Some(Caps::TSO_ECN)),
    (Looks::CWR_ALL, Some(Caps::TSO_CWR_ALL)),
    (Looks::PAD_LAST, Some(Caps::TSO_PAD)),
    (Looks::PARTS, Some(Caps::MULTI_PART)),
    (Looks::FOREIGN, None),
    (Looks::PARTIAL_TCP4, Some(Caps::TX_TCP4)),
    (Looks::PARTIAL_TCP6, Some(Caps::TX_TCP6)),
    (Looks::PARTIAL_UDP4, Some(Caps::TX_UDP4)),
    (Looks::PARTIAL_UDP6, Some(Caps::TX_UDP6)),
    (Looks::PARTIAL_HIDDEN, Some(Caps::TX_GENERIC)),
    (Looks::PARTIAL_ODD, None),
    (Looks::PARTIAL_IPV4, None),
    (Looks::VXLAN, Some(Caps::TSO_VXLAN)),
    (Looks::GENEVE, Some(Caps::TSO_GENEVE)),
    (Looks::GRE, Some(Caps::TSO_GRE)),
    (Looks::IPIP, Some(Caps::TSO_IPIP)),
    (Looks::VXLAN_SUM, Some(Caps::TSO_VXLAN_CSUM)),
    (Looks::GENEVE_SUM, Some(Caps::TSO_GENEVE_CSUM)),
    (Looks::GRE_SUM, None),
    (Looks::OUTER_ID, Some(Caps::TSO_FIXED_ID)),
    (Looks::UDP_INSIDE, None),
    (Looks::REPEATED, Some(Caps::GSO_PARTIAL)),
    (Looks::PARTIAL_VXLAN, Some(Caps::TSO_VXLAN)),
    (Looks::PARTIAL_GENEVE, Some(Caps::TSO_GENEVE)),
    (Looks::PARTIAL_GRE, Some(Caps::TSO_GRE)),
    (Looks::PARTIAL_IPIP, Some(Caps::TSO_IPIP)),
    (Looks::PARTIAL_OUTER, Some(Caps::TX_OUTER_UDP)),
];

/// Inside a tunnel, where a port that finishes any checksum needs to find no tunnel.
const GENERIC: Looks = Looks::PARTIAL_VXLAN
    .union(Looks::PARTIAL_GENEVE)
    .union(Looks::PARTIAL_GRE)
    .union(Looks::PARTIAL_IPIP);

impl Looks {
    /// Every kind of superpacket whose pieces' sums are known.
    pub const SUPER: Looks = Looks::SUPER_TCP4
        .union(Looks::SUPER_TCP6)
        .union(Looks::SUPER_UDP4)
        .union(Looks::SUPER_UDP6);
    /// Every kind of superpacket that came as one.
    pub const BARE: Looks =
        Looks::BARE_TCP4.union(Looks::BARE_TCP6).union(Looks::BARE_UDP4).union(Looks::BARE_UDP6);
    /// How superpackets may differ from the plain ones of their kind.
    pub const REFINED: Looks = Looks::FIXED_TCP
        .union(Looks::FIXED_UDP)
        .union(Looks::ECN)
        .union(Looks::CWR_ALL)
        .union(Looks::PAD_LAST)
        .union(Looks::PARTS)
        .union(Looks::FOREIGN)
        .union(Looks::CARRIED);
    /// How superpackets may be carried in a tunnel.
    pub const CARRIED: Looks = Looks::VXLAN
        .union(Looks::GENEVE)
        .union(Looks::GRE)
        .union(Looks::IPIP)
        .union(Looks::VXLAN_SUM)
        .union(Looks::GENEVE_SUM)
        .union(Looks::GRE_SUM)
        .union(Looks::OUTER_ID)
        .union(Looks::UDP_INSIDE)
        .union(Looks::REPEATED);
    /// Every packet whose checksum is still to be finished, superpackets left out.
    pub const PARTIAL: Looks = Looks::PARTIAL_TCP4
        .union(Looks::PARTIAL_TCP6)
        .union(Looks::PARTIAL_UDP4)
        .union(Looks::PARTIAL_UDP6)
        .union(Looks::PARTIAL_HIDDEN)
        .union(Looks::PARTIAL_ODD)
        .union(Looks::PARTIAL_IPV4)
        .union(Looks::PARTIAL_INSIDE);
    /// Every packet with an unfinished checksum inside a tunnel.
    pub const PARTIAL_INSIDE: Looks = Looks::PARTIAL_VXLAN
        .union(Looks::PARTIAL_GENEVE)
        .union(Looks::PARTIAL_GRE)
        .union(Looks::PARTIAL_IPIP)
        .union(Looks::PARTIAL_OUTER);
    /// Checksums that nobody has checked here.
    pub const UNCHECKED: Looks = Looks::UNCHECKED_IPV4
        .union(Looks::UNCHECKED_TCP)
        .union(Looks::UNCHECKED_UDP)
        .union(Looks::UNCHECKED_INNER);

    /// The kinds of superpackets among them, as they are once the sums of their pieces are forgotten.
    pub fn bared(self) -> Looks {
        const KINDS: [(Looks, Looks); 4] = [
            (Looks::SUPER_TCP4, Looks::BARE_TCP4),
            (Looks::SUPER_TCP6, Looks::BARE_TCP6),
            (Looks::SUPER_UDP4, Looks::BARE_UDP4),
            (Looks::SUPER_UDP6, Looks::BARE_UDP6),
        ];
        let known = KINDS.iter().filter(|(known, _)| self.contains(*known));
        known.fold(Looks::empty(), |bare, &(_, kind)| bare | kind)
    }

    /// Whether there may be superpackets among them.
    pub fn has_supers(self) -> bool {
        self.intersects(Looks::SUPER | Looks::BARE)
    }

    /// The bits of `self` that a port with these capabilities does not take.
    pub fn beyond(self, caps: Caps) -> Looks {
        let refused = |&&(_, needed): &&(Looks, Option<Caps>)| {
            needed.is_none_or(|needed| !caps.contains(needed))
        };
        let beyond =
            TAKEN.iter().filter(refused).fold(Looks::empty(), |looks, &(bits, _)| looks | bits);
        let taken = if caps.contains(Caps::TX_GENERIC) { GENERIC } else { Looks::empty() };
        (beyond - taken) & self
    }

    /// What a port must be able to do to be handed packets that look so; `None`: no port takes them. One that
    /// finishes any checksum ([`Caps::TX_GENERIC`]) takes those inside tunnels without finding the tunnel.
    pub fn needed(self) -> Option<Caps> {
        let asked = TAKEN.iter().filter(|(bits, _)| bits.intersects(self));
        asked.map(|&(_, caps)| caps).try_fold(Caps::empty(), |sum, caps| Some(sum | caps?))
    }

    /// Without what only superpackets can be, where there are none among them.
    pub fn settled(self) -> Looks {
        if self.has_supers() { self } else { self - Looks::REFINED }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_takes_what_it_can_do_everything_for() {
        for caps in Caps::every_set() {
            for look in Looks::all().iter() {
                let taken = look.beyond(caps).is_empty();
                let named = look.needed().is_some_and(|needed| caps.contains(needed));
                let generic = GENERIC.contains(look) && caps.contains(Caps::TX_GENERIC);
                assert_eq!(taken, named || generic, "{look:?} {caps:?}");
            }
        }
        assert_eq!(Looks::UNCHECKED.needed(), Some(Caps::empty()));
        assert_eq!((Looks::SUPER_TCP4 | Looks::FOREIGN).needed(), None);
        let both = Looks::SUPER_TCP4 | Looks::ECN;
        assert_eq!(both.needed(), Some(Caps::TSO4 | Caps::TSO_ECN));
        assert_eq!(both.beyond(Caps::TSO4), Looks::ECN);
    }

    #[test]
    fn refinements_go_with_the_last_superpacket() {
        let plain = Looks::PARTS | Looks::ECN | Looks::PARTIAL_TCP4;
        assert_eq!(plain.settled(), Looks::PARTIAL_TCP4);
        assert_eq!((plain | Looks::BARE_TCP6).settled(), plain | Looks::BARE_TCP6);
    }
}
