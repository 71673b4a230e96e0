//! A stage that one of the files comes with, as far as the language sees it: keys, and an output among them.

use corelane_runtime::Error;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, Outputs, Stage, StageConfig, StageContext, StageInfo,
    StageSpec,
};
use corelane_stages::config;
use serde::Deserialize;

pub(crate) struct Scramble;

const fn key(name: &'static str, kind: &'static str) -> KeyInfo {
    KeyInfo { name, kind, default: None, doc: "" }
}

const INFO: StageInfo = StageInfo {
    name: "Scramble",
    summary: "Stands in for a stage of a program's own.",
    role: Role::Middle,
    subject: None,
    keys: &[key("key", "text"), key("skip", "number"), key("short", "chain")],
    drop_reasons: &[],
    counters: &[],
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    key: String,
    skip: u32,
    short: String,
}

impl StageSpec for Scramble {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        let config: Config = config::parse(args)?;
        assert_eq!((config.key.len(), config.skip), (32, 8), "as the file says");
        Ok(Box::new(config))
    }
}

impl StageConfig for Config {
    fn traits(&self) -> Traits {
        Traits { outputs: vec![("short".into(), self.short.clone())], ..Traits::default() }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Ok(Built::restartable(|| Passing))
    }
}

struct Passing;

impl Stage for Passing {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        burst.drain().for_each(|packet| out.next(packet));
    }
}
