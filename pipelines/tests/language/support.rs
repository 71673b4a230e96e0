//! What the tests share: a stage with two outputs, and short ways to the problems of a text.

use corelane::{Failure, Machine, Overrides, Pipeline, Plan, Problem, Problems, Registry};
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Outputs, Stage, StageContext};
use corelane_runtime::topology::Cpu;
use corelane_stages::declare::Output;
use corelane_stages::stage;

stage! {
    /// Sends every so many packets one to another chain.
    pub(crate) struct Fork {
        /// the other chain
        to: Output,
        /// which packets
        every: u8 = 2,
    }
    subject { to }
    state { turn: u8 = 0 }
}

impl Stage for Fork {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.turn = (self.turn + 1) % self.every.max(2);
            match self.turn {
                0 => out.send(self.to, packet),
                _ => out.next(packet),
            }
        }
    }
}

stage! {
    /// Sends packets to one of two chains in turn; all its outputs have names, so it ends a chain.
    pub(crate) struct Split {
        /// the one
        left: Output,
        /// the other
        right: Output,
    }
    role { Sink }
    state { odd: bool = false }
}

impl Stage for Split {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            out.send(if self.odd { self.right } else { self.left }, packet);
            self.odd = !self.odd;
        }
    }
}

/// The standard stages, [`Fork`] and [`Split`].
pub(crate) fn registry() -> Registry {
    corelane::standard().with::<Fork>().with::<Split>()
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
