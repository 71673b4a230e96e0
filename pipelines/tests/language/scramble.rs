//! A stage that one of the files comes with, as far as the language sees it: keys, and an output among them.

use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Outputs, Stage, StageContext};
use corelane_stages::declare::{Hex, Output};
use corelane_stages::stage;

stage! {
    /// Stands in for a stage of a program's own.
    pub(crate) struct Scramble {
        /// 16 bytes
        key: Hex<16>,
        /// bytes left as they are
        skip: u32 = 0,
        /// where packets without payload go
        short: Output,
    }
}

impl Stage for Scramble {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        let Scramble { key, skip, short } = *self;
        for packet in burst.drain() {
            match packet.payload_len() > skip && key[0] == 0 {
                true => out.next(packet),
                false => out.send(short, packet),
            }
        }
    }
}
