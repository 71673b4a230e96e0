//! `VlanPop`: the outermost VLAN tag is taken off, and remembered for who chooses by it.

use super::tag;
use crate::declare::Output;
use crate::stage;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Outputs, Stage, StageContext};

stage! {
    /// Takes the outermost VLAN tag off.
    ///
    /// Its identifier and priority are remembered with the packet: what stands behind can choose a row or a rule by them, until another
    /// tag or a tunnel is taken off. Packets without a tag pass, or go to `otherwise`.
    pub struct VlanPop {
        /// where packets without a tag go
        otherwise: Option<Output> = None,
    }
    subject { otherwise }
    counters { POPPED, UNTAGGED }
    traits { changes_headers }
}

impl Stage for VlanPop {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        while let Some(packet) = burst.first_mut() {
            let tci = tag::outermost(packet);
            if let Some(tci) = tci
                && tag::pop(packet, tci, ctx.buffers).is_err()
            {
                return;
            }
            let Some(packet) = burst.pop() else { return };
            ctx.count(if tci.is_some() { Self::POPPED } else { Self::UNTAGGED }, 1);
            match self.otherwise {
                Some(output) if tci.is_none() => out.send(output, packet),
                _ => out.next(packet),
            }
        }
    }
}
