//! Eight hex digits that stand for a plan: what was described, what ports can do, what was decided and why, copies,
//! rings and CPUs included.
//!
//! FNV-1a over a plain listing: the same on every machine and in every build, not meant against forgery.

use super::Plan;
use crate::check::{Checked, CheckedStep};
use crate::negotiate::Contract;
use crate::spec::Common;

/// Collects what goes into the hash.
pub(super) struct Hasher {
    state: u64,
}

impl Hasher {
    /// Everything described, steps added before ports included.
    pub(super) fn of(checked: &Checked, edges: &[Contract]) -> Hasher {
        let mut hasher = Hasher { state: 0xcbf2_9ce4_8422_2325 };
        hasher.add(&checked.name);
        hasher.add(&format!("{:?} {:?}", checked.hash_seed, checked.pools));
        for port in &checked.ports {
            [&port.name, &port.kind, &port.arguments].into_iter().for_each(|text| hasher.add(text));
            // Without the places where words stand: a comment more is the same plan.
            let Common { queues, mtu, mac, drop_when_full, verify, .. } = &port.common;
            hasher.add(&format!("{queues:?} {mtu:?} {mac:?} {drop_when_full} {verify}"));
            let Common { addresses, gateways, .. } = &port.common;
            if !addresses.is_empty() {
                hasher.add(&format!("{addresses:?} {gateways:?}"));
            }
            hasher.add(&format!("{:?} {:?}", port.facts, port.origin));
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
                        hasher.add(&format!("{:?} {:?}", stage.offload, stage.exit));
                        stage.verdicts.iter().for_each(|it| hasher.add(&it.decision()));
                    }
                    CheckedStep::Ring(ring) => {
                        hasher.add(&format!("{} {} {:?}", ring.name, ring.capacity, ring.on_full));
                        hasher.add(&format!("{} {:?}", ring.ways, ring.by));
                    }
                }
            }
        }
        hasher.add(&format!("{edges:?}"));
        hasher
    }

    /// The digits, with what was decided about actors, CPUs and pools.
    pub(super) fn with(mut self, plan: &Plan) -> String {
        for actor in &plan.actors {
            let nodes: Vec<_> = actor.nodes.iter().map(|n| (n.stage, &n.targets)).collect();
            self.add(&format!("{} {:?} {:?} {nodes:?}", actor.name, actor.cpu, actor.home));
            self.add(&format!("{} {}", actor.why_copies, actor.why));
        }
        plan.rings.iter().for_each(|ring| self.add(&format!("{ring:?}")));
        self.add(&format!("{:?}", plan.left_free));
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
