//! What an emulated NIC grants: what it was told to do, as far as there is a unit for it.

use super::EmulatedConfig;
use corelane_runtime::offload::{Answer, Caps, Facts, Reason};

/// Everything the emulation can do.
const UNITS: Caps = Caps::RX_IP
    .union(Caps::RX_TCP)
    .union(Caps::RX_UDP)
    .union(Caps::RX_COMPLETE)
    .union(Caps::RX_HASH)
    .union(Caps::RX_HW_GRO)
    .union(Caps::RX_PARTIAL)
    .union(Caps::RX_OUTER_IP)
    .union(Caps::RX_OUTER_UDP)
    .union(Caps::TX_IP)
    .union(Caps::TX_OUTER_IP)
    .union(Caps::TX_OUTER_UDP)
    .union(Caps::TX_CHECKSUMS)
    .union(Caps::TX_GENERIC)
    .union(CUTS)
    .union(TUNNELS)
    .union(Caps::MULTI_PART);

const CUTS: Caps = Caps::TSO4
    .union(Caps::TSO6)
    .union(Caps::TSO_FIXED_ID)
    .union(Caps::TSO_ECN)
    .union(Caps::TSO_CWR_ALL)
    .union(Caps::TSO_PAD)
    .union(Caps::USO4)
    .union(Caps::USO6)
    .union(Caps::GSO_PARTIAL);

const TUNNELS: Caps = Caps::TSO_VXLAN
    .union(Caps::TSO_VXLAN_CSUM)
    .union(Caps::TSO_GENEVE)
    .union(Caps::TSO_GENEVE_CSUM)
    .union(Caps::TSO_GRE)
    .union(Caps::TSO_GRE_CSUM)
    .union(Caps::TSO_IPIP);

/// What it has no unit for, and the words that is told in.
const MISSING: &[(Caps, &str)] = &[
    (Caps::UFO, "the emulated device has no fragmentation unit"),
    (Caps::RX_SCTP.union(Caps::TX_SCTP), "the emulated device has no SCTP unit"),
    (Caps::RX_LRO, "the emulated device joins only what can be cut again"),
    (Caps::RX_VLAN_STRIP.union(Caps::VLAN_INSERT), "the emulated device has no VLAN unit"),
    (Caps::RX_TIMESTAMP, "the emulated device has no clock of its own"),
];

impl EmulatedConfig {
    /// What the device will grant when it is opened, and why it does not grant the rest. The number of queues
    /// is that of the device it imitates, if it does.
    pub fn facts(&self) -> Facts {
        let mut facts = match &self.imitates {
            Some(facts) => facts.clone(),
            None => Facts::new(self.caps, self.limits),
        };
        let asked = facts.granted;
        facts.granted = (asked & UNITS).without_orphans();
        let without = asked - facts.granted;
        let mut reasons: Vec<Reason> = Vec::new();
        let mut no = |caps: Caps, why: &str| {
            if !caps.is_empty() {
                reasons.push(Reason { caps, answer: Answer::No, why: why.to_owned() });
            }
        };
        MISSING.iter().for_each(|(caps, why)| no(without & *caps, why));
        no(without & UNITS, "means nothing without what the emulated device lacks");
        // What is told of the device itself goes before.
        facts.reasons.extend(reasons);
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::{Record, profiles};
    use corelane_runtime::offload::Limits;

    #[test]
    fn every_bit_has_a_unit_or_words() {
        let told = MISSING.iter().fold(Caps::empty(), |all, (caps, _)| all | *caps);
        assert_eq!((told | UNITS, told & UNITS), (Caps::all(), Caps::empty()));
        assert_eq!(UNITS, UNITS.with_implied(), "no unit stands on one that is missing");
    }

    #[test]
    fn whatever_it_imitates_it_explains_what_it_does_not_do() {
        for name in profiles() {
            let record = Record::named(name).unwrap();
            let imitates = Some(record.facts.clone());
            let facts = EmulatedConfig { imitates, ..EmulatedConfig::new("x") }.facts();
            assert_eq!(facts.granted, record.facts.granted & UNITS, "{name}");
            for bit in record.facts.advertised - facts.granted {
                assert!(facts.why(bit).is_some(), "{name}: {}", bit.names());
            }
            assert_eq!((facts.limits, facts.queues), (record.facts.limits, record.facts.queues));
        }
    }

    #[test]
    fn without_a_device_to_imitate_it_is_what_it_was_told() {
        let limits = Limits { tso_bytes: 9, ..Limits::default() };
        let config = EmulatedConfig { caps: Caps::all(), limits, ..EmulatedConfig::new("x") };
        let facts = config.facts();
        assert_eq!((facts.granted, facts.limits), (UNITS, limits));
        assert_eq!(facts.why(Caps::UFO), Some("the emulated device has no fragmentation unit"));
        assert_eq!(facts.why(Caps::TSO4), None);
    }
}
