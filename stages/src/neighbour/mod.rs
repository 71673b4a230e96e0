//! `Neighbour`: answers for the addresses of a port, and finds out whom to send to.
//!
//! The files: `config` the keys, `me` what the port is on its link, `table` who is where, `message` the frames it
//! sends, `answering` the half behind `Rx`, `resolving` and `waiting` the half before `Tx`.
//!
#![doc = include_str!("README.md")]

mod answering;
mod config;
mod me;
mod message;
mod resolving;
mod table;
#[cfg(test)]
mod tests;
mod waiting;

pub use config::{INFO, NeighbourSpec, Side};

use answering::Answering;
use corelane_runtime::Time;
use corelane_runtime::packet::{Burst, Units};
use corelane_runtime::stage::{OutputId, Outputs, Progress, Stage, StageContext};
use me::is_host;
use resolving::Resolving;
use table::Table;

/// How often a part of the table is looked at for entries that nobody needs.
const SWEEP_EVERY: Time = 1_000_000_000;
/// An entry is forgotten when it was last confirmed so many times longer ago than it is believed.
const UNUSED: Time = 10;

/// The stage: one or both halves.
struct Neighbour {
    answering: Option<Answering>,
    resolving: Option<Resolving>,
    table: Table,
    reachable: Time,
    swept: Time,
    cursor: usize,
}

impl Neighbour {
    fn new(
        answering: Option<Answering>,
        resolving: Option<Resolving>,
        table: Table,
        reachable: Time,
    ) -> Neighbour {
        Neighbour { answering, resolving, table, reachable, swept: 0, cursor: 0 }
    }

    fn sweep(&mut self, now: Time) {
        if now.saturating_sub(self.swept) >= SWEEP_EVERY {
            self.swept = now;
            let before = now.saturating_sub(self.reachable.saturating_mul(UNUSED));
            self.table.sweep(&mut self.cursor, before);
        }
    }
}

impl Stage for Neighbour {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        self.sweep(ctx.now);
        let mut room = out.room_of(OutputId::NEXT);
        while room > 0 {
            let Some(packet) = burst.pop() else { break };
            if self.answering.as_ref().is_some_and(|half| half.concerns(&packet)) {
                let Some(half) = &self.answering else { break };
                if let Some(packet) = half.take(packet, out, ctx) {
                    out.next(packet);
                }
                room = out.room_of(OutputId::NEXT);
                continue;
            }
            match &mut self.resolving {
                Some(half) if half.concerns(&packet) => {
                    half.take(packet, out, ctx);
                    room = out.room_of(OutputId::NEXT);
                }
                _ => {
                    out.next(packet);
                    room -= 1;
                }
            }
        }
    }

    fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let Some(half) = &mut self.resolving else { return Progress::Idle(None) };
        let before = half.held().packets;
        half.tick(out, ctx);
        match before.saturating_sub(half.held().packets) {
            0 => Progress::Idle(half.next_deadline()),
            sent => Progress::Worked(sent as usize),
        }
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        self.resolving.as_mut().map_or(Progress::Done, |half| half.drain(out, ctx))
    }

    fn next_deadline(&self) -> Option<Time> {
        self.resolving.as_ref().and_then(Resolving::next_deadline)
    }

    fn held(&self) -> Units {
        self.resolving.as_ref().map_or(Units::default(), Resolving::held)
    }
}
