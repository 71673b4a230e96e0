//! What the tests of this crate share: a stage with two outputs, and short ways to a plan.

use crate::place::Plan;
use crate::{Failure, Machine, Pipeline, Registry};
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Outputs, Stage, StageContext};
use corelane_runtime::topology::Cpu;
use corelane_stages::declare::Output;
use corelane_stages::stage;

stage! {
    /// Sends every second packet to another chain.
    pub(crate) struct Fork {
        /// the other chain
        to: Output,
    }
    subject { to }
    state { odd: bool = false }
}

impl Stage for Fork {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            match self.odd {
                true => out.send(self.to, packet),
                false => out.next(packet),
            }
            self.odd = !self.odd;
        }
    }
}

stage! {
    /// Passes packets on; an instance panics once, at its packet of that number.
    pub(crate) struct Panics {
        /// which packet
        at: u64,
    }
    subject { at }
    state { seen: u64 = 0 }
}

impl Stage for Panics {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.seen += 1;
            assert!(self.seen != self.at, "panics as it was told");
            out.next(packet);
        }
    }
}

/// The standard stages, [`Fork`] and [`Panics`].
pub(crate) fn registry() -> Registry {
    corelane_stages::standard().with::<Fork>().with::<Panics>()
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
