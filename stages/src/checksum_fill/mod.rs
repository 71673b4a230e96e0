//! `ChecksumFill`: the checksums that were put off are finished, as far as the exit port cannot; none is repaired.
#![doc = include_str!("README.md")]

mod hardware;
mod software;
#[cfg(test)]
mod tests;

pub use hardware::WORK;

use crate::config;
use corelane_runtime::Error;
use corelane_runtime::offload::{Actions, Caps, Need, Offload, PortCaps};
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, Outputs, Reason, Stage, StageConfig,
    StageContext, StageInfo, StageSpec,
};
use hardware::{Action, Class, action, class, left, needs};
use serde::Deserialize;
use software::{Unfinished, fill};
use std::sync::Arc;

/// What `ChecksumFill` is.
pub const INFO: StageInfo = StageInfo {
    name: "ChecksumFill",
    summary: "Finishes the partial checksums that the exit port cannot.",
    role: Role::Middle,
    subject: None,
    keys: &[],
    drop_reasons: &["impossible_request"],
    counters: &["left", "reused", "summed", "ipv4"],
};

const IMPOSSIBLE: Reason = Reason(0);
const LEFT: CounterId = CounterId(0);
const REUSED: CounterId = CounterId(1);
const SUMMED: CounterId = CounterId(2);
const IPV4: CounterId = CounterId(3);

/// The kind of stage `ChecksumFill`.
#[derive(Clone, Copy, Debug)]
pub struct ChecksumFillSpec;

/// Arguments of `ChecksumFill`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChecksumFillConfig {}

impl StageSpec for ChecksumFillSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<ChecksumFillConfig>(args)?))
    }
}

impl StageConfig for ChecksumFillConfig {
    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn needs(&self) -> Vec<Need> {
        needs()
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let exit = ctx.exit_caps().filter(|_| ctx.offload() != Offload::SoftwareOnly);
        Ok(Built::restartable(move || ChecksumFill::new(exit.clone())))
    }
}

/// Finishes checksums.
pub struct ChecksumFill {
    exit: Option<Arc<PortCaps>>,
    /// What is done with each class.
    actions: Actions<Action>,
}

impl ChecksumFill {
    /// A stage before the port that can do `exit`; without one, everything is done in software.
    pub fn new(exit: Option<Arc<PortCaps>>) -> ChecksumFill {
        ChecksumFill { exit, actions: Actions::new(WORK, Caps::empty(), action) }
    }
}

impl ChecksumFill {
    fn finish(
        &self,
        packet: &mut Packet,
        class: Class,
        ctx: &mut StageContext<'_>,
    ) -> Result<(), Unfinished> {
        let mut action = self.actions.of(class.transport);
        action.set(Action::IPV4, class.header);
        if !action.is_empty() {
            fill(packet, action, ctx)?;
        }
        ctx.count(LEFT, left(class, action));
        Ok(())
    }
}

impl Stage for ChecksumFill {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        self.actions.follow(self.exit.as_ref().map_or(Caps::empty(), |port| port.effective()));
        while let Some(packet) = burst.first_mut() {
            let class = class(packet, self.exit.as_ref().map(|port| &port.facts.limits));
            let finished = match class {
                Class::NOTHING => Ok(()),
                class => self.finish(packet, class, ctx),
            };
            if finished == Err(Unfinished::Wait) {
                return;
            }
            let Some(packet) = burst.pop() else { return };
            match finished {
                Ok(()) => out.next(packet),
                Err(_) => ctx.drop(packet, IMPOSSIBLE),
            }
        }
    }
}
