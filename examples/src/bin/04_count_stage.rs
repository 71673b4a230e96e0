//! The command `corelane` with a stage that counts: the smallest stage of one's own that does something.
use corelane::prelude::*;

stage! {
    /// Counts small and large packets, and passes everything on.
    pub struct Sizes {
        /// bytes from which a packet is large
        large: u32 = 512,
    }
    counters { SMALL, LARGE }
}

impl Stage for Sizes {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs, ctx: &mut StageContext) {
        for packet in burst.drain() {
            ctx.count(if packet.len() < self.large { Self::SMALL } else { Self::LARGE }, 1);
            out.next(packet);
        }
    }
}

fn main() -> ExitCode {
    corelane_cli::main_with(Registry::standard().with::<Sizes>())
}
