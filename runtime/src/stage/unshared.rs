//! `Unshared`: a stage that changes payload bytes is shown only packets whose bytes nobody else can see.
//!
//! It promises that want of a buffer for a copy makes packets wait, in order, and loses none. What the stage
//! does with the bytes, and with the checksums over them, is its own business.

use super::{Outputs, Progress, Stage, StageContext};
use crate::Time;
use crate::packet::{Burst, Units};
use crate::port::QueueReport;

/// A stage in front of which every packet is made unshared. Within it [`StageContext::edits_payload`] is true.
#[derive(Clone, Copy, Debug)]
pub struct Unshared<S>(pub S);

impl<S: Stage> Stage for Unshared<S> {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let (waiting, mut ready) = (burst.len(), 0);
        for packet in burst.iter_mut() {
            if packet.make_unshared(ctx.buffers).is_err() {
                break;
            }
            ready += 1;
        }
        // A stage that multiplies may hold the rest of a packet, and is called for that too.
        if ready > 0 || waiting == 0 {
            burst.with_front(ready, |burst| self.0.process(burst, out, &mut ctx.editing()));
        }
    }

    fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        self.0.tick(out, &mut ctx.editing())
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        self.0.drain(out, &mut ctx.editing())
    }

    fn next_deadline(&self) -> Option<Time> {
        self.0.next_deadline()
    }

    fn held(&self) -> Units {
        self.0.held()
    }

    fn queue_report(&self) -> Option<QueueReport> {
        self.0.queue_report()
    }
}
