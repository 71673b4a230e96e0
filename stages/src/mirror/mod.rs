//! `Mirror`: copies of packets go to another chain; the originals go on, untouched and never held up.
#![doc = include_str!("README.md")]

mod copy;
#[cfg(test)]
mod tests;

use crate::config::OneIn;
use crate::declare::Output;
use crate::sample::By;
use crate::sample::sampler::Sampler;
use crate::stage;
use copy::copy;
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::stage::{CounterId, Outputs, Stage, StageContext};

stage! {
    /// Sends copies of packets to another chain; the originals go on untouched.
    ///
    /// A copy is what its original is: a superpacket stays one, a checksum to be finished is still to be finished. One cut to `snap` bytes is
    /// a single frame that asks for nothing, and knows how long it was. Where the other chain has no room, or buffers run low, there is no copy: the original never waits for it.
    pub struct Mirror {
        /// the chain that gets the copies
        to: Output,
        /// how many are copied
        sample: OneIn = "1/1",
        /// what is counted for that
        by: By = Packet,
        /// bytes kept of each copy; 0: all
        snap: u32 = 0,
    }
    subject { to }
    counters { COPIES, MIRROR_FULL, NO_BUFFER }
    state { sampler: Sampler = Sampler::NEW }
    given { key: u64 = |ctx| ctx.hash_key() }
    traits { mirrors }
}

impl Mirror {
    /// Copies a packet if there is room for the copy. Returns what is to be counted.
    fn mirror(
        &self,
        packet: &Packet,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> CounterId {
        if out.room_of(self.to) == 0 {
            return Self::MIRROR_FULL;
        }
        // What is left is for those that go on.
        if ctx.buffers.is_low() {
            return Self::NO_BUFFER;
        }
        match copy(packet, self.snap, self.key, ctx.buffers) {
            Ok(copy) => {
                ctx.share(&copy);
                out.send(self.to, copy);
                Self::COPIES
            }
            Err(_) => Self::NO_BUFFER,
        }
    }
}

impl Stage for Mirror {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for packet in burst.drain() {
            if self.sampler.takes(&packet, self.sample.0, self.by, self.key) {
                let counter = self.mirror(&packet, out, ctx);
                ctx.count(counter, 1);
            }
            out.next(packet);
        }
    }
}
