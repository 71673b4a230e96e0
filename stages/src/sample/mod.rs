//! `Sample`: one of so many packets, or flows, goes on; the rest goes elsewhere or ends here.
#![doc = include_str!("README.md")]

pub(crate) mod sampler;
#[cfg(test)]
mod tests;

use crate::config::OneIn;
use crate::declare::Output;
use crate::stage;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Outputs, Stage, StageContext};
pub use sampler::By;
use sampler::Sampler;

stage! {
    /// Passes one of so many packets, or flows, on.
    ///
    /// A superpacket is one packet here. The rest goes to `otherwise`, or is dropped as `not_sampled`.
    pub struct Sample {
        /// how many
        share: OneIn,
        /// what is counted
        by: By = Packet,
        /// where the rest goes
        otherwise: Option<Output> = None,
    }
    subject { share }
    counters { SAMPLED }
    drops { NOT_SAMPLED }
    state { sampler: Sampler = Sampler::NEW }
    given { key: u64 = |ctx| ctx.hash_key() }
}

impl Stage for Sample {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let mut sampled = 0;
        for packet in burst.drain() {
            if self.sampler.takes(&packet, self.share.0, self.by, self.key) {
                sampled += 1;
                out.next(packet);
            } else if let Some(output) = self.otherwise {
                out.send(output, packet);
            } else {
                ctx.drop(packet, Self::NOT_SAMPLED);
            }
        }
        ctx.count(Self::SAMPLED, sampled);
    }
}
