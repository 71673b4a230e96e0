//! `Rx`: packets come in from a port and their headers are looked at once, here and nowhere else.
#![doc = include_str!("README.md")]

pub(crate) mod flow;
pub(crate) mod hardware;
mod plain;
mod request;
mod software;
#[cfg(test)]
mod tests;

pub use software::{CONTIGUOUS, describe};

use crate::config;
use corelane_runtime::Error;
use corelane_runtime::offload::{Need, Offload};
use corelane_runtime::packet::{Burst, MetaFlags, RX_BURST, Units};
use corelane_runtime::port::{QueueReport, RxQueue};
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, Outputs, Progress, Source, StageConfig, StageContext,
    StageInfo, StageSpec,
};
use serde::Deserialize;
use std::os::fd::BorrowedFd;

/// What `Rx` is.
pub const INFO: StageInfo = StageInfo {
    name: "Rx",
    summary: "Brings packets in from a port and finds their layers.",
    role: Role::Source,
    subject: Some("port"),
    keys: &[KeyInfo { name: "port", kind: "port", default: None, doc: "the port to read" }],
    drop_reasons: &[],
    counters: &[],
};

/// The kind of stage `Rx`.
#[derive(Clone, Copy, Debug)]
pub struct RxSpec;

/// Arguments of `Rx`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RxConfig {
    /// Port to read.
    pub port: String,
}

impl StageSpec for RxSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn example(&self) -> &'static str {
        "Rx(\"port\")"
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<RxConfig>(args)?))
    }
}

impl StageConfig for RxConfig {
    fn traits(&self) -> Traits {
        Traits { port: Some(self.port.clone()), ..Traits::default() }
    }

    fn needs(&self) -> Vec<Need> {
        hardware::NEEDS.to_vec()
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let queue = ctx.open_rx(&self.port)?;
        let number = ctx.port_number(&self.port);
        let trusts = ctx.offload() != Offload::SoftwareOnly;
        Ok(Built::Source(Box::new(Rx { trusts, ..Rx::new(queue, number, ctx.hash_key()) })))
    }
}

/// Reads one queue.
pub struct Rx {
    queue: Box<dyn RxQueue>,
    /// What came from the queue and is not looked at yet: more than nothing only where buffers are out.
    taken: Box<Burst>,
    number: u16,
    key: u64,
    /// Whether the device's word on hash and checksums is taken over.
    trusts: bool,
    stopped: bool,
}

impl Rx {
    /// Reads `queue` of port `number`; flow hashes are keyed by `key`.
    pub fn new(queue: Box<dyn RxQueue>, number: u16, key: u64) -> Rx {
        Rx { queue, taken: Box::new(Burst::new()), number, key, trusts: true, stopped: false }
    }

    /// Takes from the queue and books it at once: from here on nothing can be lost unseen.
    fn take(&mut self, budget: usize, ctx: &mut StageContext<'_>) -> Progress {
        let progress = ctx.in_device(|ctx| self.queue.rx(&mut self.taken, budget, ctx));
        if !self.trusts {
            for packet in self.taken.iter_mut() {
                packet.meta_mut().flags.remove(MetaFlags::HASHED);
                hardware::forget(packet);
            }
        }
        self.taken.iter().for_each(|packet| ctx.received(packet));
        progress
    }

    /// Looks at what was taken and sends it on, up to `budget`. False where buffers are out.
    fn forward(
        &mut self,
        budget: usize,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> (usize, bool) {
        for sent in 0..budget {
            let Some(packet) = self.taken.first_mut() else { return (sent, true) };
            if describe(packet, self.key, ctx.buffers).is_err() {
                return (sent, false);
            }
            packet.meta_mut().port = self.number;
            if let Some(packet) = self.taken.pop() {
                ctx.described(&packet);
                out.next(packet);
            }
        }
        (budget, true)
    }
}

impl Source for Rx {
    fn poll(
        &mut self,
        budget: usize,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        let budget = budget.min(RX_BURST);
        let progress = match (self.taken.is_empty(), self.stopped) {
            (true, true) => Progress::Done,
            (true, false) => self.take(budget, ctx),
            (false, _) => Progress::Worked(0),
        };
        match self.forward(budget, out, ctx) {
            (0, true) => progress,
            (0, false) => Progress::Starved,
            (sent, _) => Progress::Worked(sent),
        }
    }

    fn stop(&mut self) {
        self.stopped = true;
    }

    fn held(&self) -> Units {
        self.taken.iter().fold(Units::default(), |sum, packet| {
            // The payload is booked when a packet is looked at, and not before.
            sum + Units { bytes: 0, ..packet.units() }
        })
    }

    fn queue_report(&self) -> Option<QueueReport> {
        Some(self.queue.report())
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        // What was taken and not looked at yet is not asked for again.
        self.queue.wait_fd().filter(|_| !self.stopped)
    }
}
