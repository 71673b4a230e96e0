//! One of so many: the choice of packets, or of flows, that `Sample` and `Mirror` share.
//!
//! It promises exactly one of each `n` packets in a row, or about one of `n` flows, whole and the same ones for as long as the
//! plan's hash key is. Which those are cannot be foreseen without that key.

use crate::choice;
use crate::rx::flow;
use corelane_runtime::packet::Packet;

choice! {
    /// What is chosen.
    #[derive(Copy)]
    pub enum By {
        /// every so many packets one
        Packet,
        /// every so many flows one, with all its packets
        Flow,
    }
}

/// Chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    /// Packets that have passed since the last one chosen.
    passed: u64,
}

impl Sampler {
    /// One that chooses the first packet.
    pub(crate) const NEW: Sampler = Sampler { passed: 0 };

    /// Whether a packet is one of the `of` that is chosen; `key` is the plan's.
    pub(crate) fn takes(&mut self, packet: &Packet, of: u64, by: By, key: u64) -> bool {
        match by {
            By::Packet => {
                let chosen = self.passed == 0;
                self.passed = if self.passed + 1 >= of { 0 } else { self.passed + 1 };
                chosen
            }
            By::Flow => {
                // Mixed once more: queues and copies were chosen by the same hash.
                let mixed = flow::hash_of(packet, key ^ FLOW);
                (u128::from(mixed) * u128::from(of)) >> 32 == 0
            }
        }
    }
}

/// Makes another choice of the key than those that spread flows.
const FLOW: u64 = 0x7361_6d70_6c65_0001;
