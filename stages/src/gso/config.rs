//! How `Gso` is written in a description, and what it asks of the plan.

use super::{Gso, WORK, carried};
use crate::config;
use corelane_runtime::Error;
use corelane_runtime::offload::{Need, Offload};
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, Reason, StageConfig, StageInfo, StageSpec,
};
use serde::Deserialize;

/// What `Gso` is.
pub const INFO: StageInfo = StageInfo {
    name: "Gso",
    summary: "Cuts superpackets that the port cannot, into what was received or asked for.",
    role: Role::Middle,
    subject: None,
    keys: &[],
    drop_reasons: &["too_many_segments", "bad_segmentation"],
    counters: &["cut", "segments", "left", "rechunked"],
};

/// Cutting needs more parts than the home has.
pub(super) const TOO_MANY_SEGMENTS: Reason = Reason(0);
/// The request contradicts the packet.
pub(super) const BAD_SEGMENTATION: Reason = Reason(1);

/// Superpackets cut into frames.
pub(super) const CUT: CounterId = CounterId(0);
/// Frames made by that.
pub(super) const SEGMENTS: CounterId = CounterId(1);
/// Superpackets left to the port whole.
pub(super) const LEFT: CounterId = CounterId(2);
/// Superpackets cut into smaller ones for the port.
pub(super) const RECHUNKED: CounterId = CounterId(3);

/// The kind of stage `Gso`.
#[derive(Clone, Copy, Debug)]
pub struct GsoSpec;

/// Arguments of `Gso`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GsoConfig {}

impl StageSpec for GsoSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<GsoConfig>(args)?))
    }
}

impl StageConfig for GsoConfig {
    fn traits(&self) -> Traits {
        // What is held is the rest of one superpacket, which came in as one packet.
        Traits { multiplies: true, cuts: true, holds: 1, ..Traits::default() }
    }

    fn needs(&self) -> Vec<Need> {
        WORK.iter().map(|entry| entry.need).chain(carried::needs()).collect()
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let exit = ctx.exit_caps().filter(|_| ctx.offload() != Offload::SoftwareOnly);
        Ok(Built::restartable(move || Gso::new(exit.clone())))
    }
}
