//! Eight hex digits that stand for a plan: what was described and what was decided, CPUs included.
//!
//! FNV-1a over a plain listing: the same on every machine and in every build, not meant against forgery.

use super::Plan;
use crate::check::{Checked, CheckedStep};

/// Collects what goes into the hash.
pub(super) struct Hasher {
    state: u64,
}

impl Hasher {
    /// Everything described, steps added before ports included.
    pub(super) fn of(checked: &Checked) -> Hasher {
        let mut hasher = Hasher { state: 0xcbf2_9ce4_8422_2325 };
        hasher.add(&checked.name);
        hasher.add(&format!("{:?} {:?}", checked.hash_seed, checked.pools));
        for port in &checked.ports {
            [&port.name, &port.kind, &port.arguments].into_iter().for_each(|text| hasher.add(text));
            hasher.add(&format!("{:?}", port.mtu));
        }
        for chain in &checked.chains {
            hasher.add(&chain.name);
            for step in &chain.steps {
                match step {
                    CheckedStep::Stage(stage) => {
                        hasher.add(stage.info.name);
                        hasher.add(&stage.arguments);
                        let name = stage.name.as_deref().unwrap_or_default();
                        hasher.add(&format!("{name} {:?} {}", stage.on_panic, stage.added));
                    }
                    CheckedStep::Ring(ring) => {
                        hasher.add(&format!("{} {} {:?}", ring.name, ring.capacity, ring.on_full));
                    }
                }
            }
        }
        hasher
    }

    /// The digits, with what was decided about actors, CPUs and pools.
    pub(super) fn with(mut self, plan: &Plan) -> String {
        for actor in &plan.actors {
            let nodes: Vec<_> = actor.nodes.iter().map(|n| (n.stage, &n.targets)).collect();
            self.add(&format!("{} {:?} {:?} {nodes:?}", actor.name, actor.cpu, actor.home));
        }
        let folded = (self.state >> 32) ^ (self.state & 0xffff_ffff);
        format!("{folded:08x}")
    }

    fn add(&mut self, text: &str) {
        // The end of each text counts too, so that no two lists run together.
        for byte in text.bytes().chain([0xff]) {
            self.state = (self.state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
