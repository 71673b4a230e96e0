//! What the tests share: a stage with two outputs, and short ways to the problems of a text.

use corelane::{Failure, Machine, Overrides, Pipeline, Plan, Problem, Problems, Registry};
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

/// `Fork(to: "chain", every: 2)`: every second packet goes to another chain.
pub(crate) struct Fork;

const INFO: StageInfo = StageInfo {
    name: "Fork",
    summary: "Sends every second packet to another chain.",
    role: Role::Middle,
    subject: Some("to"),
    keys: &[
        KeyInfo { name: "to", kind: "chain", default: None, doc: "the other chain" },
        KeyInfo {
            name: "every",
            kind: "a number from 2 to 255",
            default: Some("2"),
            doc: "which packets",
        },
    ],
    drop_reasons: &[],
    counters: &[],
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForkConfig {
    to: String,
    #[serde(default)]
    every: u8,
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
        let every = self.every.max(2);
        Ok(Built::restartable(move || Forking { every, turn: 0 }))
    }
}

struct Forking {
    every: u8,
    turn: u8,
}

impl Stage for Forking {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.turn = (self.turn + 1) % self.every;
            out.send(OutputId(usize::from(self.turn == 0)), packet);
        }
    }
}

/// `Split(left: "a", right: "b")`: ends a chain, all its outputs have names.
pub(crate) struct Split;

const SPLIT: StageInfo = StageInfo {
    name: "Split",
    summary: "Sends packets to one of two chains.",
    role: Role::Sink,
    subject: None,
    keys: &[
        KeyInfo { name: "left", kind: "chain", default: None, doc: "the one" },
        KeyInfo { name: "right", kind: "chain", default: None, doc: "the other" },
    ],
    drop_reasons: &[],
    counters: &[],
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SplitConfig {
    left: String,
    right: String,
}

impl StageSpec for Split {
    fn info(&self) -> &'static StageInfo {
        &SPLIT
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<SplitConfig>(args)?))
    }
}

impl StageConfig for SplitConfig {
    fn traits(&self) -> Traits {
        let outputs = [("left", &self.left), ("right", &self.right)];
        let outputs = outputs.map(|(key, chain)| (key.to_owned(), chain.clone()));
        Traits { outputs: outputs.into(), ..Traits::default() }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        Ok(Built::restartable(|| Forking { every: 2, turn: 0 }))
    }
}

/// The standard stages, [`Fork`] and [`Split`].
pub(crate) fn registry() -> Registry {
    corelane::standard().with_spec(Fork).with_spec(Split)
}

/// A machine of eight CPUs.
pub(crate) fn machine() -> Machine {
    Machine::of((0..8).map(Cpu::alone).collect(), "test")
}

/// The plan of a text on that machine.
pub(crate) fn plan(text: &str, overrides: &Overrides) -> Result<Plan, Failure> {
    Pipeline::load("gw.ron", text, overrides)?.plan(&registry(), &machine())
}

/// The problems of a text, with what is given beside it.
pub(crate) fn problems_with(text: &str, overrides: &Overrides) -> Problems {
    match plan(text, overrides) {
        Ok(plan) => plan.warnings().clone(),
        Err(Failure::Description(problems)) => problems,
        Err(Failure::Error(error)) => panic!("{error}"),
    }
}

pub(crate) fn problems(text: &str) -> Problems {
    problems_with(text, &Overrides::default())
}

/// What is underlined.
pub(crate) fn marked(problem: &Problem) -> String {
    problem.place.as_ref().map_or(String::new(), |place| {
        place.text.chars().skip(place.lead).take(place.width).collect()
    })
}

/// Code, what is underlined, message and help of every problem.
pub(crate) fn shown(problems: &Problems) -> Vec<[String; 4]> {
    let list = problems.list.iter();
    list.map(|problem| {
        let help = problem.help.clone().unwrap_or_default();
        [problem.code.to_owned(), marked(problem), problem.message.clone(), help]
    })
    .collect()
}

/// A file that receives generated traffic on `in`, and has a sink `out`.
pub(crate) fn with_chains(chains: &str) -> String {
    format!(
        "Pipeline(name: \"test\", ports: {{\n\
         \"in\": Emulated(traffic: (flows: 3, size: 300, protocol: TcpBulk, count: 1000)),\n\
         \"out\": Emulated(),\n}}, chains: {{\n{chains}\n}})"
    )
}

/// A file whose only port is this one.
pub(crate) fn with_port(port: &str) -> String {
    format!(
        "Pipeline(name: \"test\", ports: {{\"in\": {port}}}, chains: {{\"m\": [Rx(\"in\"), Drop]}})"
    )
}

/// A file with these keys beside sound ports and chains.
pub(crate) fn with_keys(keys: &str) -> String {
    let text = with_chains(r#""m": [Rx("in"), Tx("out")]"#);
    text.replace("ports:", &format!("{keys}, ports:"))
}
