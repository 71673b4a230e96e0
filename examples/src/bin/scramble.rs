//! The command `corelane` with one more stage: `scramble run FILE`, `scramble stages Scramble`, and so on.
use corelane::prelude::*;

stage! {
    /// XORs each payload with a key, so that it looks encrypted.
    ///
    /// Doing it twice restores the payload. Checksums stay what they were, right or wrong.
    pub struct Scramble {
        /// what payloads are XORed with, over and over
        key: Hex<16>,
        /// bytes at the start of the payload left as they are
        skip: u32 = 0,
        /// where packets go that have no payload after `skip`
        short: Output,
    }
    counters { BYTES }
    traits { edits_payload }
}

impl Stage for Scramble {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs, ctx: &mut StageContext) {
        let key = self.key;
        for mut packet in burst.drain() {
            let xor = |at: usize, piece: &mut [u8]| {
                piece.iter_mut().zip(key.iter().cycle().skip(at % 16)).for_each(|(b, k)| *b ^= k);
            };
            match packet.edit_payload(ctx, self.skip, xor) {
                Some(bytes) => {
                    ctx.count(Self::BYTES, bytes);
                    out.next(packet);
                }
                None => out.send(self.short, packet),
            }
        }
    }
}

fn main() -> ExitCode {
    corelane_cli::main_with(Registry::standard().with::<Scramble>())
}
