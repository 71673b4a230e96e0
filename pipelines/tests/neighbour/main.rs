//! Ports with addresses: what the plan adds for them, and a gateway whose neighbours answer.

mod gateway;
mod plans;

use corelane::explain::Explanation;
use corelane::{Machine, Pipeline, Plan};
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Outputs, Registry, Stage, StageContext};
use corelane_stages::stage;

stage! {
    /// Takes the link addresses off, as a stage does that leaves it to the port whom to send to.
    pub struct Blank {}
}

impl Stage for Blank {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for mut packet in burst.drain() {
            if let Some(addresses) = packet.data_mut().and_then(|bytes| bytes.get_mut(..12)) {
                addresses.fill(0);
            }
            out.next(packet);
        }
    }
}

pub(crate) fn registry() -> Registry {
    corelane::standard().with::<Blank>()
}

pub(crate) fn file(ports: &str, chains: &str, more: &str) -> String {
    format!(
        "Pipeline(name: \"gateway\", hash_seed: 7, ports: {{ {ports} }}, chains: {{ {chains} }}, {more})"
    )
}

pub(crate) const WAN: &str = r#""wan": Emulated(mac: "02:00:00:00:00:01", addresses: ["192.0.2.1/24"], gateway: "192.0.2.254")"#;

pub(crate) fn plan_on(text: &str, cores: usize) -> Plan {
    let machine = Machine::from_ron(&format!("Machine(packages: 1, cores: {cores}, threads: 1)"));
    let pipeline = Pipeline::parse(text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let plan = pipeline.plan(&registry(), &machine.expect("a machine"));
    plan.unwrap_or_else(|failure| panic!("{failure}\n{text}"))
}

pub(crate) fn explained(text: &str, cores: usize) -> Explanation {
    plan_on(text, cores).explain()
}
