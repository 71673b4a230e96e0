//! The step that spreads packets over the copies of the actor behind a ring. It is in no registry.
#![doc = include_str!("README.md")]

#[cfg(test)]
mod tests;

use crate::rx::flow;
use corelane_runtime::Error;
use corelane_runtime::packet::{Burst, L4, MetaFlags, Packet};
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    BuildContext, Built, OutputId, Outputs, Stage, StageConfig, StageContext, StageInfo,
};

/// What the spreading step is.
pub const INFO: StageInfo = StageInfo {
    name: "Spread",
    summary: "Spreads packets by flow over the copies of the actor behind a ring.",
    role: Role::Sink,
    subject: None,
    keys: &[],
    drop_reasons: &[],
    counters: &[],
};

/// What packets are spread by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The flow hash that came with the packet or that `Rx` gave it.
    #[default]
    Flow,
    /// Addresses and ports of the innermost headers the packet has now.
    InnerFlow,
}

/// How to spread. Output `i` leads to copy `i`; there is no next stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpreadConfig {
    /// Number of copies, at least 1.
    pub ways: usize,
    /// What decides which one a packet goes to.
    pub by: By,
}

impl StageConfig for SpreadConfig {
    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let (SpreadConfig { ways, by }, key) = (*self, ctx.hash_key());
        Ok(Built::restartable(move || Spread::new(ways, by, key)))
    }
}

/// Spreads packets over its outputs.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    ways: u64,
    by: By,
    key: u64,
}

impl Spread {
    /// Spreads over `ways` outputs, keyed by `key`.
    pub fn new(ways: usize, by: By, key: u64) -> Spread {
        Spread { ways: ways.max(1) as u64, by, key }
    }

    /// The output of a packet.
    fn way(&self, packet: &Packet) -> OutputId {
        let hash = match self.by {
            By::Flow => packet.meta().hash,
            By::InnerFlow => inner_hash(packet, self.key),
        };
        // Mixed once more: a port that chose the queue by the same hash must not have chosen the copy too.
        let mixed = flow::mix(u64::from(hash), self.key);
        OutputId(((u64::from(mixed) * self.ways) >> 32) as usize)
    }
}

impl Stage for Spread {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            let way = self.way(&packet);
            out.send(way, packet);
        }
    }
}

/// The hash of the innermost flow; where no IP header is known, what the packet came with.
fn inner_hash(packet: &Packet, key: u64) -> u32 {
    let meta = packet.meta();
    let Some(level) = meta.layers.innermost() else { return meta.hash };
    let whole = !meta.flags.contains(MetaFlags::FRAGMENT);
    let ports = whole && matches!(level.l4_kind, L4::Tcp | L4::Udp);
    // Without ports the protocol does not count either: later fragments may not show it.
    let protocol = if ports { level.l4_kind as u8 } else { 0 };
    let ends = flow::Ends::of_ip(level.l3_kind, level.l3, protocol, ports.then_some(level.l4));
    flow::hash(packet.data(), &ends, key)
}
