//! `Tx`: hands packets to a port.
//!
//! What the port cannot take as it is, is mended or dropped by rule before it sees it: a packet of several
//! parts is copied into one piece for a port that takes no others (counted as a copy); a frame whose IP
//! packet is longer than the port's MTU, and a superpacket whose segments would be, is dropped as `too_big`.
//! Nothing is dropped for want of room: what the port leaves stays in the burst and comes up again.

mod fit;
#[cfg(test)]
mod tests;

use crate::config;
use corelane_runtime::offload::PortCaps;
use corelane_runtime::packet::Burst;
use corelane_runtime::port::{QueueReport, TxQueue};
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, Outputs, Progress, Reason, Stage, StageConfig,
    StageContext, StageInfo, StageSpec,
};
use corelane_runtime::{Error, Time};
use serde::Deserialize;
use std::sync::Arc;

/// What `Tx` is.
pub const INFO: StageInfo = StageInfo {
    name: "Tx",
    summary: "Hands packets to a port.",
    role: Role::Sink,
    subject: Some("port"),
    keys: &[KeyInfo { name: "port", kind: "port", default: None, doc: "the port to write" }],
    drop_reasons: &["too_big"],
    counters: &[],
};

const TOO_BIG: Reason = Reason(0);

/// The kind of stage `Tx`.
#[derive(Clone, Copy, Debug)]
pub struct TxSpec;

/// Arguments of `Tx`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TxConfig {
    /// Port to write.
    pub port: String,
}

impl StageSpec for TxSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<TxConfig>(args)?))
    }
}

impl StageConfig for TxConfig {
    fn traits(&self) -> Traits {
        Traits { port: Some(self.port.clone()), ..Traits::default() }
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let missing = || Error::user(&self.port, "there is no such port; declare it under `ports`");
        let caps = ctx.port_caps(&self.port).ok_or_else(missing)?;
        let queue = ctx.open_tx(&self.port)?;
        // A queue cannot be opened twice, so this stage is not restarted after a panic.
        Ok(Built::Stage(Box::new(Tx::new(queue, caps)), None))
    }
}

/// Writes one queue.
pub struct Tx {
    queue: Box<dyn TxQueue>,
    caps: Arc<PortCaps>,
    retry: Option<Time>,
}

impl Tx {
    /// Writes `queue` of a port that can do `caps`.
    pub fn new(queue: Box<dyn TxQueue>, caps: Arc<PortCaps>) -> Tx {
        Tx { queue, caps, retry: None }
    }
}

impl Stage for Tx {
    fn process(&mut self, burst: &mut Burst, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        if let Some(mtu) = self.caps.limits.mtu {
            burst.extract(|packet| fit::exceeds(packet, mtu), |packet| ctx.drop(packet, TOO_BIG));
        }
        let ready = fit::make_fit(burst, self.caps.effective(), ctx, TOO_BIG);
        burst.with_front(ready, |front| self.queue.tx(front, ctx));
        let starved = !burst.is_empty() && ready < burst.len() && ctx.buffers.starved();
        // Where buffers are out, their return wakes the actor.
        self.retry = match burst.is_empty() || starved {
            true => None,
            false => Some(self.queue.retry_at().unwrap_or(ctx.now)),
        };
    }

    fn tick(&mut self, _: &mut Outputs<'_>, _: &mut StageContext<'_>) -> Progress {
        // What waits is in the burst, which the engine brings up again by itself.
        Progress::Idle(self.retry)
    }

    fn drain(&mut self, _: &mut Outputs<'_>, _: &mut StageContext<'_>) -> Progress {
        self.queue.finish();
        Progress::Done
    }

    fn next_deadline(&self) -> Option<Time> {
        self.retry
    }

    fn queue_report(&self) -> Option<QueueReport> {
        Some(self.queue.report())
    }
}
