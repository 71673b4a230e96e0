//! `Drop`: ends every packet, counted.
//!
//! `Drop("not_ours")` gives the instance a label, under which reports list it; the drop reason is always
//! `dropped`, since the list of reasons is closed before any file is read.

use crate::config;
use corelane_runtime::Error;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, Outputs, Reason, Stage, StageConfig, StageContext,
    StageInfo, StageSpec,
};
use serde::Deserialize;

/// What `Drop` is.
pub const INFO: StageInfo = StageInfo {
    name: "Drop",
    summary: "Ends every packet, counted.",
    role: Role::Sink,
    subject: Some("label"),
    keys: &[KeyInfo {
        name: "label",
        kind: "text",
        default: Some("none"),
        doc: "what reports call it",
    }],
    drop_reasons: &["dropped"],
    counters: &[],
};

const DROPPED: Reason = Reason(0);

/// The kind of stage `Drop`.
#[derive(Clone, Copy, Debug)]
pub struct DropSpec;

/// Arguments of `Drop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropConfig {
    /// What reports call it.
    pub label: Option<String>,
}

impl StageSpec for DropSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<DropConfig>(args)?))
    }
}

impl StageConfig for DropConfig {
    fn traits(&self) -> Traits {
        Traits { label: self.label.clone(), ..Traits::default() }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Ok(Built::restartable(|| Discard))
    }
}

/// Ends packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Stage for Discard {
    fn process(&mut self, burst: &mut Burst, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        burst.drain().for_each(|packet| ctx.drop(packet, DROPPED));
    }
}
