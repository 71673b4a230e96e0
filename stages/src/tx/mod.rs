//! `Tx`: hands packets to a port, and finishes anew what the port can no longer do.
#![doc = include_str!("README.md")]

mod again;
mod config;
mod fit;
#[cfg(test)]
mod tests;

pub use config::{Finish, INFO, TxConfig, TxSpec};

use again::{Again, Next};
use config::{TOO_BIG, TX_FULL};
use corelane_runtime::Time;
use corelane_runtime::offload::{Caps, PortCaps};
use corelane_runtime::packet::{BURST_MAX, Burst, Units};
use corelane_runtime::port::{QueueReport, TxQueue};
use corelane_runtime::stage::{Outputs, Progress, Stage, StageContext};
use std::sync::Arc;

/// Writes one queue.
pub struct Tx {
    queue: Box<dyn TxQueue>,
    caps: Arc<PortCaps>,
    /// What was in force at the start, and is what packets are finished for as long as nothing is lost.
    first: Caps,
    again: Box<Again>,
    /// Whether `again` ever had work.
    lost: bool,
    drops: bool,
    /// When the queue is to be asked again.
    retry: Option<Time>,
    /// Whether what is inside waits for buffers.
    starved: bool,
}

/// Why some packets were left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// None were.
    Nothing,
    /// The queue has no room.
    Full,
    /// A copy needs a buffer.
    Starved,
}

impl Tx {
    /// Writes `queue` of a port that can do `caps`.
    pub fn new(queue: Box<dyn TxQueue>, caps: Arc<PortCaps>) -> Tx {
        let again = Box::new(Again::new(&caps));
        let first = caps.effective();
        Tx { queue, caps, first, again, lost: false, drops: false, retry: None, starved: false }
    }

    /// Whether packets that the port has no room for are dropped instead of waiting.
    #[must_use]
    pub fn dropping_when_full(mut self, drops: bool) -> Tx {
        self.drops = drops;
        self
    }

    /// What is left waits until the queue says, or buffers come home.
    fn wait(&mut self, left: Left, ctx: &StageContext<'_>) {
        self.starved = left == Left::Starved;
        // Where buffers are out, their return wakes the actor.
        self.retry = match left {
            Left::Nothing | Left::Starved => None,
            Left::Full => Some(self.queue.retry_at().unwrap_or(ctx.now)),
        };
    }

    /// Sends what is inside and then `input`, finished for what the port can do now; a bounded number. Returns
    /// how many went.
    #[cold]
    fn send_anew(&mut self, input: &mut Burst, ctx: &mut StageContext<'_>) -> usize {
        let mut gone = 0;
        self.lost = true;
        while gone < BURST_MAX {
            let caps = self.caps.effective();
            self.again.follow(caps);
            match self.again.next(input, ctx) {
                Next::Ready => {}
                Next::Nothing => {
                    self.wait(Left::Nothing, ctx);
                    return gone;
                }
                Next::Starved => {
                    self.wait(Left::Starved, ctx);
                    return gone;
                }
            }
            let ready = &mut self.again.ready;
            let before = ready.len();
            let left = send(self.queue.as_mut(), ready, caps, ctx);
            let went = before - ready.len();
            gone += went;
            if went > 0 || self.caps.effective() != caps {
                continue;
            }
            if left == Left::Full && self.drops {
                gone += before;
                ready.drain().for_each(|packet| ctx.drop(packet, TX_FULL));
                continue;
            }
            self.wait(left, ctx);
            return gone;
        }
        (self.starved, self.retry) = (false, Some(ctx.now));
        gone
    }

    /// Goes on with what is inside.
    fn go_on(&mut self, ctx: &mut StageContext<'_>) -> Progress {
        match self.send_anew(&mut Burst::new(), ctx) {
            0 if self.starved => Progress::Starved,
            0 => Progress::Idle(self.retry),
            gone => Progress::Worked(gone),
        }
    }
}

/// Hands the front of a burst to a queue, as far as that takes it.
fn send(
    queue: &mut dyn TxQueue,
    burst: &mut Burst,
    caps: Caps,
    ctx: &mut StageContext<'_>,
) -> Left {
    let fit = fit::make_fit(burst, caps, ctx, TOO_BIG);
    let behind = burst.len() - fit;
    burst.with_front(fit, |front| ctx.in_device(|ctx| queue.tx(front, ctx)));
    match burst.len() {
        0 => Left::Nothing,
        len if len > behind => Left::Full,
        _ => Left::Starved,
    }
}

impl Stage for Tx {
    fn process(&mut self, burst: &mut Burst, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        if let Some(mtu) = self.caps.facts.limits.mtu {
            burst.extract(|packet| fit::exceeds(packet, mtu), |packet| ctx.drop(packet, TOO_BIG));
        }
        while self.caps.effective() == self.first {
            let before = burst.len();
            let left = send(self.queue.as_mut(), burst, self.first, ctx);
            let dropping = left == Left::Full && self.drops;
            if dropping && burst.len() < before {
                continue;
            }
            // A queue that lost a capability left what asks for it, and had room.
            if left == Left::Full && self.caps.effective() != self.first {
                break;
            }
            if dropping {
                burst.drain().for_each(|packet| ctx.drop(packet, TX_FULL));
                return self.wait(Left::Nothing, ctx);
            }
            return self.wait(left, ctx);
        }
        self.send_anew(burst, ctx);
    }

    fn tick(&mut self, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        // What waits in the burst the engine brings up again by itself.
        if self.again.is_empty() { Progress::Idle(self.retry) } else { self.go_on(ctx) }
    }

    fn drain(&mut self, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        if !self.again.is_empty() {
            let progress = self.go_on(ctx);
            if !self.again.is_empty() {
                return progress;
            }
        }
        self.queue.finish();
        Progress::Done
    }

    fn next_deadline(&self) -> Option<Time> {
        // Where buffers come home the burst comes up by itself; what is inside has to ask.
        let inside = self.starved && !self.again.is_empty();
        if inside { Some(0) } else { self.retry }
    }

    fn held(&self) -> Units {
        if self.lost { self.again.held() } else { Units::default() }
    }

    fn queue_report(&self) -> Option<QueueReport> {
        Some(self.queue.report())
    }
}
