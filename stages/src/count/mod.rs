//! `Count`: counts what passes, and passes it on untouched.
//!
//! Packets, wire frames (a superpacket of n segments counts n) and frame bytes as they are now: the headers
//! that cutting a superpacket will repeat are not in them.

use crate::config;
use corelane_runtime::Error;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, Outputs, Stage, StageConfig, StageContext,
    StageInfo, StageSpec,
};
use serde::Deserialize;

/// What `Count` is.
pub const INFO: StageInfo = StageInfo {
    name: "Count",
    summary: "Counts packets, wire frames and bytes, and passes everything on.",
    role: Role::Middle,
    subject: None,
    keys: &[],
    drop_reasons: &[],
    counters: &["packets", "segments", "bytes"],
};

const PACKETS: CounterId = CounterId(0);
const SEGMENTS: CounterId = CounterId(1);
const BYTES: CounterId = CounterId(2);

/// The kind of stage `Count`.
#[derive(Clone, Copy, Debug)]
pub struct CountSpec;

/// Arguments of `Count`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CountConfig {}

impl StageSpec for CountSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<CountConfig>(args)?))
    }
}

impl StageConfig for CountConfig {
    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Ok(Built::restartable(|| Count))
    }
}

/// Counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count;

impl Stage for Count {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let (mut packets, mut segments, mut bytes) = (0, 0, 0);
        for packet in burst.drain() {
            packets += 1;
            segments += u64::from(packet.segments());
            bytes += u64::from(packet.len());
            out.next(packet);
        }
        ctx.count(PACKETS, packets);
        ctx.count(SEGMENTS, segments);
        ctx.count(BYTES, bytes);
    }
}
