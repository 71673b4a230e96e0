//! A stage for tests of negotiation: it passes packets on and is what it is told to be.

use corelane_runtime::Error;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, Outputs, Stage, StageConfig, StageContext, StageInfo,
    StageSpec,
};

/// A stage that passes packets on and says this of itself.
#[derive(Clone)]
pub(super) struct Says(pub(super) &'static StageInfo, pub(super) Traits);

impl StageSpec for Says {
    fn info(&self) -> &'static StageInfo {
        self.0
    }

    fn configure(&self, _: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(self.clone()))
    }
}

impl StageConfig for Says {
    fn traits(&self) -> Traits {
        self.1.clone()
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Ok(Built::restartable(|| Pass))
    }
}

struct Pass;

impl Stage for Pass {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        burst.drain().for_each(|packet| out.next(packet));
    }
}

/// What a stage of that name is.
pub(super) const fn named(name: &'static str) -> StageInfo {
    StageInfo {
        name,
        summary: "A stage of the tests.",
        role: Role::Middle,
        subject: None,
        keys: &[],
        drop_reasons: &[],
        counters: &[],
    }
}
