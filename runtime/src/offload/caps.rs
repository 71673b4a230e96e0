//! Capabilities of a port as sets of bits, and the table of what each bit implies.
//!
//! Receive bits say what the device reports; transmit bits say what it may be asked to do.

use bitflags::bitflags;
use std::sync::atomic::{AtomicU32, Ordering};

bitflags! {
    /// What a port can do.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Caps: u32 {
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

        /// Transmit: fills the IPv4 header checksum.
        const TX_IP = 1 << 8;
        /// Transmit: finishes partial TCP checksums over IPv4.
        const TX_TCP4 = 1 << 9;
        /// Transmit: finishes partial TCP checksums over IPv6.
        const TX_TCP6 = 1 << 10;
        /// Transmit: finishes partial UDP checksums over IPv4.
        const TX_UDP4 = 1 << 11;
        /// Transmit: finishes partial UDP checksums over IPv6.
        const TX_UDP6 = 1 << 12;
        /// Transmit: finishes any partial checksum given its start and field.
        const TX_GENERIC = 1 << 13;
        /// Transmit: cuts TCP over IPv4, IDs counting up.
        const TSO4 = 1 << 14;
        /// Transmit: cuts TCP over IPv6.
        const TSO6 = 1 << 15;
        /// Transmit: cuts TCP over IPv4 with one and the same ID.
        const TSO_FIXED_ID = 1 << 16;
        /// Transmit: repeats CWR on every segment (accurate ECN), instead of leaving it on the first.
        const TSO_CWR_ALL = 1 << 17;
        /// Transmit: pads a short last segment to the 60 bytes of the smallest frame.
        const TSO_PAD = 1 << 18;
        /// Transmit: cuts UDP over IPv4 into equal datagrams.
        const USO4 = 1 << 19;
        /// Transmit: cuts UDP over IPv6 into equal datagrams.
        const USO6 = 1 << 20;
        /// Transmit: takes packets of several parts.
        const MULTI_PART = 1 << 21;
    }
}

/// For each bit, the bits without which it means nothing.
const IMPLIED: &[(Caps, Caps)] = &[
    (Caps::RX_HW_GRO, Caps::RX_TCP.union(Caps::RX_IP)),
    (Caps::TX_GENERIC, Caps::TX_CHECKSUMS),
    (Caps::TSO4, Caps::TX_IP.union(Caps::TX_TCP4).union(Caps::MULTI_PART)),
    (Caps::TSO6, Caps::TX_TCP6.union(Caps::MULTI_PART)),
    (Caps::TSO_FIXED_ID, Caps::TSO4),
    (Caps::TSO_CWR_ALL, Caps::TSO4.union(Caps::TSO6)),
    (Caps::TSO_PAD, Caps::TSO4),
    (Caps::USO4, Caps::TX_IP.union(Caps::TX_UDP4).union(Caps::MULTI_PART)),
    (Caps::USO6, Caps::TX_UDP6.union(Caps::MULTI_PART)),
];

impl Caps {
    /// Every bit that finishes an L4 checksum for one protocol and family.
    pub const TX_CHECKSUMS: Caps =
        Caps::TX_TCP4.union(Caps::TX_TCP6).union(Caps::TX_UDP4).union(Caps::TX_UDP6);

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

    /// Nothing, everything, and each bit with what it implies: the sets that equivalence is tested over.
    pub fn every_set() -> Vec<Caps> {
        let single = Caps::all().iter().map(Caps::with_implied);
        [Caps::empty(), Caps::all()].into_iter().chain(single).collect()
    }
}

/// How much a port takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a superpacket, headers included.
    pub tso_bytes: u32,
    /// Most segments of a superpacket.
    pub tso_segments: u16,
    /// Most header bytes in front of the payload to be cut.
    pub header_len: u16,
    /// Largest IP packet on the wire, if there is a limit.
    pub mtu: Option<u32>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { tso_bytes: 65536, tso_segments: u16::MAX, header_len: 255, mtu: None }
    }
}

/// What a port can do: as it says, as it granted, and as it is in force.
#[derive(Debug)]
pub struct PortCaps {
    /// Name of the port in the description.
    pub port: String,
    /// What the device says of itself.
    pub advertised: Caps,
    /// What it agreed to when asked.
    pub granted: Caps,
    /// How much it takes.
    pub limits: Limits,
    effective: AtomicU32,
}

impl PortCaps {
    /// A port that grants what it advertises, as far as the bits make sense together.
    pub fn new(port: &str, advertised: Caps, limits: Limits) -> PortCaps {
        let granted = advertised.without_orphans();
        let effective = AtomicU32::new(granted.bits());
        PortCaps { port: port.to_owned(), advertised, granted, limits, effective }
    }

    /// What is in force; read once a burst.
    pub fn effective(&self) -> Caps {
        Caps::from_bits_truncate(self.effective.load(Ordering::Relaxed))
    }

    /// Takes capabilities away for the rest of the run, with whatever stands on them. Returns what is new.
    pub fn demote(&self, lost: Caps) -> Caps {
        let before = self.effective();
        let after = (before - lost).without_orphans();
        self.effective.store(after.bits(), Ordering::Relaxed);
        before - after
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
    fn demotion_takes_along_what_stands_on_the_lost_bit_and_never_comes_back() {
        let caps = PortCaps::new("p", Caps::all(), Limits::default());
        let lost = caps.demote(Caps::TX_TCP4);
        let expected =
            Caps::TX_TCP4 | Caps::TX_GENERIC | Caps::TSO4 | Caps::TSO_FIXED_ID | Caps::TSO_CWR_ALL;
        assert_eq!(lost, expected | Caps::TSO_PAD);
        assert_eq!(caps.demote(Caps::TX_TCP4), Caps::empty());
        assert!(!caps.effective().contains(Caps::TSO4));
        assert!(caps.effective().contains(Caps::TSO6));
    }
}
