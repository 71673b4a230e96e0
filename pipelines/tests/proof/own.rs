//! Stages of a test's own: what the control path asks of any stage, so that a test holds only what its does.

use corelane_runtime::Error;
use corelane_runtime::stage::spec::{Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, StageConfig, StageInfo, StageSpec,
};

/// A stage in the middle of a chain, without keys and drop reasons.
pub(crate) const fn info(name: &'static str, counters: &'static [&'static str]) -> StageInfo {
    StageInfo {
        name,
        summary: "A stage of the tests.",
        role: Role::Middle,
        subject: None,
        keys: &[],
        drop_reasons: &[],
        counters,
    }
}

/// A kind of stage whose instances `make` builds.
#[derive(Clone)]
pub(crate) struct Own<F> {
    pub(crate) info: &'static StageInfo,
    pub(crate) make: F,
}

impl<F: Fn() -> Built + Clone + Send + Sync + 'static> StageSpec for Own<F> {
    fn info(&self) -> &'static StageInfo {
        self.info
    }

    fn configure(&self, _: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(self.clone()))
    }
}

impl<F: Fn() -> Built + Send> StageConfig for Own<F> {
    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Ok((self.make)())
    }
}
