//! `Count`: counts what passes, and passes it on untouched.
#![doc = include_str!("README.md")]

use crate::stage;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Outputs, Stage, StageContext};

stage! {
    /// Counts packets, wire frames and bytes, and passes everything on.
    ///
    /// A superpacket of n segments counts n wire frames. Bytes are those of frames as they are now: the headers
    /// that cutting a superpacket will repeat are not in them.
    pub struct Count {}
    counters { PACKETS, SEGMENTS, BYTES }
}

impl Stage for Count {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let (mut packets, mut segments, mut bytes) = (0, 0, 0);
        for packet in burst.drain() {
            packets += 1;
            segments += u64::from(packet.segments());
            bytes += u64::from(packet.len());
            out.next(packet);
        }
        ctx.count(Self::PACKETS, packets);
        ctx.count(Self::SEGMENTS, segments);
        ctx.count(Self::BYTES, bytes);
    }
}
