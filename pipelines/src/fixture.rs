//! What the tests of this crate share: a stage with two outputs, and short ways to a plan.

use crate::place::Plan;
use crate::{Failure, Machine, Pipeline, Registry};
use corelane_runtime::Error;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, OutputId, Outputs, Stage, StageConfig, StageContext,
    StageInfo, StageSpec,
};
use corelane_runtime::topology::Cpu;
use corelane_stages::config;
use serde::Deserialize;

/// `Fork(to: "chain")`: every second packet goes to another chain.
pub(crate) struct Fork;

const INFO: StageInfo = StageInfo {
    name: "Fork",
    summary: "Sends every second packet to another chain.",
    role: Role::Middle,
    subject: Some("to"),
    keys: &[KeyInfo { name: "to", kind: "chain", default: None, doc: "the other chain" }],
    drop_reasons: &[],
    counters: &[],
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForkConfig {
    to: String,
}

impl StageSpec for Fork {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<ForkConfig>(args)?))
    }
}

impl StageConfig for ForkConfig {
    fn traits(&self) -> Traits {
        Traits { outputs: vec![("to".into(), self.to.clone())], ..Traits::default() }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Ok(Built::restartable(|| Forking { turn: 0 }))
    }
}

struct Forking {
    turn: usize,
}

impl Stage for Forking {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            out.send(OutputId(self.turn % 2), packet);
            self.turn += 1;
        }
    }
}

/// `Panics(at: 100)`: passes packets on; an instance panics once, at its packet of that number.
pub(crate) struct Panics;

const PANICS: StageInfo = StageInfo {
    name: "Panics",
    summary: "Panics at one packet.",
    role: Role::Middle,
    subject: Some("at"),
    keys: &[KeyInfo { name: "at", kind: "number", default: None, doc: "which packet" }],
    drop_reasons: &[],
    counters: &[],
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PanicsConfig {
    at: u64,
}

impl StageSpec for Panics {
    fn info(&self) -> &'static StageInfo {
        &PANICS
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<PanicsConfig>(args)?))
    }
}

impl StageConfig for PanicsConfig {
    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        let at = self.at;
        Ok(Built::restartable(move || Panicking { left: at }))
    }
}

struct Panicking {
    left: u64,
}

impl Stage for Panicking {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.left = self.left.wrapping_sub(1);
            assert!(self.left != 0, "panics as it was told");
            out.next(packet);
        }
    }
}

/// The standard stages, [`Fork`] and [`Panics`].
pub(crate) fn registry() -> Registry {
    corelane_stages::standard().with_spec(Fork).with_spec(Panics)
}

/// A machine of `cpus` CPUs, two to a core: 0 and 1 are siblings.
pub(crate) fn machine(cpus: usize) -> Machine {
    let cpu = |id| Cpu { core: (0, id / 2), ..Cpu::alone(id) };
    Machine::of((0..cpus).map(cpu).collect(), "test")
}

/// The plan of a description on a machine of four CPUs.
pub(crate) fn plan(text: &str) -> Result<Plan, Failure> {
    Pipeline::parse(text)?.plan(&registry(), &machine(4))
}

/// A pipeline that receives generated traffic on `in`, and has a sink `out`.
pub(crate) fn with_chains(chains: &str) -> String {
    format!(
        "Pipeline(name: \"test\", ports: {{\n\
         \"in\": Emulated(traffic: (flows: 3, size: 300, protocol: TcpBulk, count: 1000)),\n\
         \"out\": Emulated(),\n}}, chains: {{\n{chains}\n}})"
    )
}
