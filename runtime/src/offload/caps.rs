//! Capabilities of a port as sets of bits, and the table of what each bit implies.
//!
//! Receive bits say what the device reports; transmit bits say what it may be asked to do.
//!
//! Tunnels. A device finds a VXLAN or Geneve tunnel behind the UDP destination ports that [`super::Limits`] lists, and
//! nowhere else; GRE and IP in IP, which have no ports, it finds if it cuts inside them. Of a packet in which it finds
//! one, `RX_IP`, `RX_TCP` and `RX_UDP` report the innermost headers and `RX_OUTER_IP`, `RX_OUTER_UDP` the outer ones;
//! of any other packet they report the outermost headers. On transmit a bit of a tunnel adds to those of what is
//! inside: TCP over IPv6 inside VXLAN takes `TSO6` and `TSO_VXLAN`.

use bitflags::bitflags;

bitflags! {
    /// What a port can do.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Caps: u64 {
        /// Receive: reports whether the IPv4 header checksum is right.
        const RX_IP = 1 << 0;
        /// Receive: reports whether the TCP checksum is right.
        const RX_TCP = 1 << 1;
        /// Receive: reports whether the UDP checksum is right.
        const RX_UDP = 1 << 2;
        /// Receive: gives the sum of the whole IP datagram.
        const RX_COMPLETE = 1 << 3;
        /// Receive: gives a flow hash.
        const RX_HASH = 1 << 4;
        /// Receive: joins TCP segments so that cutting gives exactly the received frames.
        const RX_HW_GRO = 1 << 5;
        /// Receive: joins TCP segments so that only the byte stream is kept.
        const RX_LRO = 1 << 6;
        /// Receive: reports whether the SCTP CRC is right.
        const RX_SCTP = 1 << 7;
        /// Receive: reports whether the outer IPv4 header checksum of a tunnel is right.
        const RX_OUTER_IP = 1 << 8;
        /// Receive: reports whether the outer UDP checksum of a tunnel is right.
        const RX_OUTER_UDP = 1 << 9;
        /// Receive: takes the VLAN tag off and reports it.
        const RX_VLAN_STRIP = 1 << 10;
        /// Receive: gives the time of arrival.
        const RX_TIMESTAMP = 1 << 11;
        /// Receive: may hand over packets whose checksum was never finished (virtio, tap, veth).
        const RX_PARTIAL = 1 << 12;

        /// Transmit: fills the IPv4 header checksum.
        const TX_IP = 1 << 16;
        /// Transmit: finishes partial TCP checksums over IPv4.
        const TX_TCP4 = 1 << 17;
        /// Transmit: finishes partial TCP checksums over IPv6.
        const TX_TCP6 = 1 << 18;
        /// Transmit: finishes partial UDP checksums over IPv4.
        const TX_UDP4 = 1 << 19;
        /// Transmit: finishes partial UDP checksums over IPv6.
        const TX_UDP6 = 1 << 20;
        /// Transmit: finishes any partial checksum given its start and field.
        const TX_GENERIC = 1 << 21;
        /// Transmit: fills SCTP CRCs.
        const TX_SCTP = 1 << 22;
        /// Transmit: fills the outer IPv4 header checksum of a tunnel. What cuts inside a tunnel writes those of
        /// its segments without it.
        const TX_OUTER_IP = 1 << 23;
        /// Transmit: finishes the partial outer UDP checksum of a tunnel along with the inner checksum that it
        /// covers. The outer one alone, over a finished packet, is a UDP checksum like any other.
        const TX_OUTER_UDP = 1 << 24;
        /// Transmit: cuts TCP over IPv4, IDs counting up.
        const TSO4 = 1 << 25;
        /// Transmit: cuts TCP over IPv6.
        const TSO6 = 1 << 26;
        /// Transmit: cuts TCP over IPv4 with one and the same ID.
        const TSO_FIXED_ID = 1 << 27;
        /// Transmit: cuts TCP that has CWR, which stays on the first segment (RFC 3168).
        const TSO_ECN = 1 << 28;
        /// Transmit: repeats CWR on every segment (accurate ECN), instead of leaving it on the first.
        const TSO_CWR_ALL = 1 << 29;
        /// Transmit: pads a short last segment to the 60 bytes of the smallest frame.
        const TSO_PAD = 1 << 30;
        /// Transmit: cuts UDP over IPv4 into equal datagrams.
        const USO4 = 1 << 31;
        /// Transmit: cuts UDP over IPv6 into equal datagrams.
        const USO6 = 1 << 32;
        /// Transmit: cuts UDP over IPv4 into IP fragments.
        const UFO = 1 << 33;
        /// Transmit: takes packets of several parts.
        const MULTI_PART = 1 << 34;
        /// Transmit: puts a VLAN tag in.
        const VLAN_INSERT = 1 << 35;
        /// Transmit: cuts TCP in any tunnel behind headers that it copies as they are (GSO_PARTIAL of Linux). It needs
        /// to find no tunnel for that; the request is `SegFlags::PARTIAL`.
        const GSO_PARTIAL = 1 << 36;
        /// Transmit: cuts TCP inside VXLAN, over IPv4 or IPv6, the outer UDP checksum being 0. The outer IPv4 ID
        /// counts up, or stays where the request says so and DF is set. With `TX_TCP4` or `TX_TCP6`: finishes TCP
        /// checksums inside VXLAN, and with `TX_UDP4` or `TX_UDP6` those of UDP.
        const TSO_VXLAN = 1 << 37;
        /// Transmit: cuts TCP inside VXLAN and finishes the partial outer UDP checksum of each segment.
        const TSO_VXLAN_CSUM = 1 << 38;
        /// Transmit: cuts TCP inside Geneve, as `TSO_VXLAN` does inside VXLAN.
        const TSO_GENEVE = 1 << 39;
        /// Transmit: cuts TCP inside Geneve and finishes the partial outer UDP checksum of each segment.
        const TSO_GENEVE_CSUM = 1 << 40;
        /// Transmit: cuts TCP inside GRE without checksum, as `TSO_VXLAN` does inside VXLAN.
        const TSO_GRE = 1 << 41;
        /// Transmit: cuts TCP inside GRE and fills the GRE checksum.
        const TSO_GRE_CSUM = 1 << 42;
        /// Transmit: cuts TCP inside IP in IP, as `TSO_VXLAN` does inside VXLAN.
        const TSO_IPIP = 1 << 43;
    }
}

/// For each bit, the bits without which it means nothing. Cutting IPv4 does not stand on [`Caps::TX_IP`]: whoever
/// cuts writes new IPv4 headers, and a virtio device that does so fills no header checksum otherwise.
const IMPLIED: &[(Caps, Caps)] = &[
    (Caps::RX_HW_GRO, Caps::RX_TCP.union(Caps::RX_IP)),
    (Caps::TX_GENERIC, Caps::TX_CHECKSUMS),
    (Caps::TSO4, Caps::TX_TCP4.union(Caps::MULTI_PART)),
    (Caps::TSO6, Caps::TX_TCP6.union(Caps::MULTI_PART)),
    (Caps::TSO_FIXED_ID, Caps::TSO4),
    (Caps::TSO_ECN, Caps::TSO4),
    (Caps::TSO_CWR_ALL, Caps::TSO_ECN.union(Caps::TSO6)),
    (Caps::TSO_PAD, Caps::TSO4),
    (Caps::USO4, Caps::TX_UDP4.union(Caps::MULTI_PART)),
    (Caps::USO6, Caps::TX_UDP6.union(Caps::MULTI_PART)),
    (Caps::RX_LRO, Caps::RX_TCP.union(Caps::RX_IP)),
    (Caps::UFO, Caps::TX_UDP4.union(Caps::MULTI_PART)),
    (Caps::GSO_PARTIAL, Caps::TSO4),
    (Caps::TSO_VXLAN, Caps::TSO4),
    (Caps::TSO_VXLAN_CSUM, Caps::TSO_VXLAN.union(Caps::TX_OUTER_UDP)),
    (Caps::TSO_GENEVE, Caps::TSO4),
    (Caps::TSO_GENEVE_CSUM, Caps::TSO_GENEVE.union(Caps::TX_OUTER_UDP)),
    (Caps::TSO_GRE, Caps::TSO4),
    (Caps::TSO_GRE_CSUM, Caps::TSO_GRE),
    (Caps::TSO_IPIP, Caps::TSO4),
];

impl Caps {
    /// Every bit that finishes an L4 checksum for one protocol and family.
    pub const TX_CHECKSUMS: Caps =
        Caps::TX_TCP4.union(Caps::TX_TCP6).union(Caps::TX_UDP4).union(Caps::TX_UDP6);

    /// How what is cut may differ from the plain kinds: a device that lacks one of these cuts all the others.
    pub const TSO_REFINEMENTS: Caps = Caps::TSO_FIXED_ID
        .union(Caps::TSO_ECN)
        .union(Caps::TSO_CWR_ALL)
        .union(Caps::TSO_PAD)
        .union(Caps::MULTI_PART);

    /// What a device is asked to do, or to tell, about packets it receives. [`Caps::RX_PARTIAL`] is not of it: that
    /// is the sender's doing, whoever is asked for what.
    pub const RX_WORK: Caps = Caps::RX_IP
        .union(Caps::RX_TCP)
        .union(Caps::RX_UDP)
        .union(Caps::RX_COMPLETE)
        .union(Caps::RX_HASH)
        .union(Caps::RX_HW_GRO)
        .union(Caps::RX_LRO)
        .union(Caps::RX_SCTP)
        .union(Caps::RX_OUTER_IP)
        .union(Caps::RX_OUTER_UDP)
        .union(Caps::RX_VLAN_STRIP)
        .union(Caps::RX_TIMESTAMP);

    /// What no stage asks for yet: known by name, so that what is recorded of a device is whole.
    pub const NOT_ASKED: Caps = Caps::RX_LRO
        .union(Caps::RX_SCTP)
        .union(Caps::RX_VLAN_STRIP)
        .union(Caps::RX_TIMESTAMP)
        .union(Caps::RX_PARTIAL)
        .union(Caps::TX_SCTP)
        .union(Caps::UFO)
        .union(Caps::VLAN_INSERT)
        .union(Caps::TSO_GRE_CSUM);

    /// Cutting inside tunnels that the device finds.
    pub const TSO_TUNNELS: Caps = Caps::TSO_VXLAN
        .union(Caps::TSO_VXLAN_CSUM)
        .union(Caps::TSO_GENEVE)
        .union(Caps::TSO_GENEVE_CSUM)
        .union(Caps::TSO_GRE)
        .union(Caps::TSO_GRE_CSUM)
        .union(Caps::TSO_IPIP);

    /// Everything that some stage asks for.
    pub fn asked() -> Caps {
        Caps::all() - Caps::NOT_ASKED
    }

    /// The bit, or bits, as written in descriptions and records: `tx_tcp4, tso4`.
    pub fn names(self) -> String {
        let names: Vec<String> = self.iter_names().map(|(name, _)| name.to_lowercase()).collect();
        names.join(", ")
    }

    /// The bit of that name, written in any case.
    pub fn named(name: &str) -> Option<Caps> {
        Caps::from_name(&name.to_uppercase())
    }

    /// These capabilities and all that they imply.
    pub fn with_implied(self) -> Caps {
        let mut all = self;
        loop {
            let before = all;
            for &(bit, implied) in IMPLIED {
                if all.contains(bit) {
                    all |= implied;
                }
            }
            if all == before {
                return all;
            }
        }
    }

    /// These capabilities without those whose implied bits are missing.
    pub fn without_orphans(self) -> Caps {
        let mut kept = self;
        loop {
            let before = kept;
            for &(bit, implied) in IMPLIED {
                if !kept.contains(implied) {
                    kept -= bit;
                }
            }
            if kept == before {
                return kept;
            }
        }
    }

    /// Nothing, everything that is asked for, and each bit of it with what it implies: the sets that equivalence
    /// is tested over.
    pub fn every_set() -> Vec<Caps> {
        let single = Caps::asked().iter().map(Caps::with_implied);
        [Caps::empty(), Caps::asked()].into_iter().chain(single).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_closed_under_implication_and_orphan_free() {
        for set in Caps::every_set() {
            assert_eq!(set, set.with_implied());
            assert_eq!(set, set.without_orphans(), "{set:?}");
        }
    }

    #[test]
    fn work_on_receipt_is_every_receive_bit_but_the_senders_doing() {
        for bit in Caps::all() {
            let receives = bit.names().starts_with("rx_") && bit != Caps::RX_PARTIAL;
            assert_eq!(Caps::RX_WORK.contains(bit), receives, "{}", bit.names());
        }
        assert_eq!(
            (Caps::all() - Caps::RX_WORK).without_orphans(),
            Caps::all() - Caps::RX_WORK,
            "nothing else stands on it"
        );
    }
}
