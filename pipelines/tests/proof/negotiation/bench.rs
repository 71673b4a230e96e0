//! A pipeline of a test's own between emulated NICs of given facts: planned twice, run once.

use crate::own;
use corelane::explain::{Explanation, Stage as Told};
use corelane::{Failure, Machine, Pipeline, Plan, Registry, Report, SimConfig, Verdict, Where};
use corelane_device::caps::Record;
use corelane_device::emulated::{Frame, Refusals, Traffic};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::Error;
use corelane_runtime::offload::{Caps, Facts, Limits, UdpPorts};
use corelane_runtime::packet::{Burst, Csum};
use corelane_runtime::stage::spec::Traits;
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, OutputId, Outputs, Stage, StageConfig, StageContext,
    StageInfo, StageSpec,
};
use std::sync::Arc;

static PICKY: StageInfo = own::info("Picky", &[]);
static FUSSY: StageInfo = own::info("Fussy", &[]);
static FORK: StageInfo = own::info("Fork", &[]);

/// Stages that insist on what they say of themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    /// Takes no superpackets.
    Picky,
    /// Takes no unfinished checksums.
    Fussy,
    /// Sends every third packet to chain `side`.
    Fork,
}

impl StageSpec for Own {
    fn info(&self) -> &'static StageInfo {
        match self {
            Own::Picky => &PICKY,
            Own::Fussy => &FUSSY,
            Own::Fork => &FORK,
        }
    }

    fn configure(&self, _: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(*self))
    }
}

impl StageConfig for Own {
    fn traits(&self) -> Traits {
        let outputs = match self {
            Own::Fork => vec![("to".to_owned(), "side".to_owned())],
            Own::Picky | Own::Fussy => Vec::new(),
        };
        let (no_superpackets, no_partial) = (*self == Own::Picky, *self == Own::Fussy);
        Traits { outputs, no_superpackets, no_partial, ..Traits::default() }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        let kind = *self;
        Ok(Built::restartable(move || Insists { kind, seen: 0 }))
    }
}

struct Insists {
    kind: Own,
    seen: usize,
}

impl Stage for Insists {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            let partial = packet.meta().l4.contains(&Csum::Partial);
            assert!(self.kind != Own::Picky || !packet.is_super(), "a superpacket");
            assert!(self.kind != Own::Fussy || !partial, "an unfinished checksum");
            self.seen += 1;
            let aside = self.kind == Own::Fork && self.seen.is_multiple_of(3);
            out.send(OutputId(usize::from(aside)), packet);
        }
    }
}

fn registry() -> Registry {
    corelane::standard().with_spec(Own::Picky).with_spec(Own::Fussy).with_spec(Own::Fork)
}

/// A device of these capabilities, which finds tunnels behind their usual ports where it can do something with them.
pub(super) fn device(caps: Caps, limits: Limits) -> Facts {
    let mut facts = Facts::new(caps, limits);
    let outer = Caps::RX_OUTER_IP | Caps::RX_OUTER_UDP;
    if facts.granted.intersects(outer | Caps::TSO_VXLAN) {
        facts.limits.vxlan_ports = UdpPorts::one(4789);
    }
    if facts.granted.contains(Caps::TSO_GENEVE) {
        facts.limits.geneve_ports = UdpPorts::one(6081);
    }
    facts
}

/// A pipeline to be.
#[derive(Clone, Debug)]
pub(super) struct Bench {
    /// Ports by name.
    pub(super) ports: Vec<(&'static str, Facts)>,
    /// The text of the chains.
    pub(super) chains: String,
}

/// What came of it.
pub(super) struct Ran {
    pub(super) told: Explanation,
    pub(super) report: Report,
    pub(super) refused: Vec<(&'static str, Arc<Refusals>)>,
}

impl Bench {
    /// The plan, the same twice over.
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, facts) in &self.ports {
            let record =
                Record { facts: facts.clone(), ..Record::of(name, "a test", Caps::empty()) };
            std::fs::write(folder.path().join(format!("{name}.ron")), record.to_ron())
                .expect("a file");
        }
        let file = folder.path().join("test.ron");
        let text = self.text();
        let plan = || {
            let overrides = corelane::Overrides::default();
            let pipeline = Pipeline::load(&file.display().to_string(), &text, &overrides)?;
            pipeline.plan(&registry(), &Machine::here())
        };
        let (first, second) = (plan(), plan());
        match (&first, &second) {
            (Ok(first), Ok(second)) => {
                assert_eq!(first.hash(), second.hash(), "{text}");
                assert_eq!(first.explain(), second.explain(), "{text}");
            }
            (Err(first), Err(second)) => assert_eq!(first.to_string(), second.to_string()),
            _ => panic!("refused once and not again: {text}"),
        }
        first
    }

    pub(super) fn text(&self) -> String {
        let port =
            |(name, _): &(&str, Facts)| format!("\"{name}\": Emulated(caps: \"{name}.ron\")");
        let ports: Vec<String> = self.ports.iter().map(port).collect();
        format!(
            "Pipeline(name: \"test\", hash_seed: 7, ports: {{ {} }},\nchains: {{ {} }})",
            ports.join(", "),
            self.chains
        )
    }

    /// Runs a plan with these frames at `in`, in the simulator, with devices of exactly these facts.
    pub(super) fn run(&self, mut plan: Plan, frames: &[Frame], seed: u64) -> Ran {
        let told = plan.explain();
        let mut refused = Vec::new();
        for (name, facts) in &self.ports {
            let rx = match *name {
                "in" => Traffic::Frames { frames: frames.to_vec(), repeat: false },
                _ => Traffic::None,
            };
            let config = EmulatedConfig {
                imitates: Some(facts.clone()),
                rx,
                queues: 4,
                ..EmulatedConfig::new(*name)
            };
            let port = Emulated::open(config).expect("a port");
            refused.push((*name, port.refusals()));
            plan = plan.with_port(name, Box::new(port));
        }
        let (report, outcome) =
            plan.simulate_with(&SimConfig::new(seed)).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(outcome.finished, "stuck");
        Ran { told, report, refused }
    }
}

impl Ran {
    /// Nothing was refused by a device, nothing lost, nothing panicked.
    pub(super) fn assert_clean(&self, context: &str) {
        for (port, refusals) in &self.refused {
            assert_eq!(refusals.total(), 0, "{context}: `{port}` refused {refusals}");
        }
        let Report { balanced, unbalanced, errors, totals, .. } = &self.report;
        assert!(*balanced == Some(true), "{context}: {unbalanced:?}");
        assert!(errors.is_empty(), "{context}: {errors:?}");
        assert_eq!(totals.panics, 0, "{context}");
    }

    /// A counter, over all stages of a kind.
    pub(super) fn counter(&self, kind: &str, name: &str) -> u64 {
        let stages = self.report.stages.iter().filter(|stage| stage.kind == kind);
        stages.filter_map(|stage| stage.counters.get(name)).sum()
    }
}

/// The first stage of a kind.
pub(super) fn stage<'a>(told: &'a Explanation, kind: &str) -> &'a Told {
    let found = told.stages().find(|stage| stage.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind}"))
}

/// Where some work of the first stage of a kind is done.
pub(super) fn place(told: &Explanation, kind: &str, work: &str) -> Where {
    verdict(stage(told, kind), work).place
}

/// The verdict on some work.
pub(super) fn verdict<'a>(stage: &'a Told, work: &str) -> &'a Verdict {
    let found = stage.verdicts.iter().find(|verdict| verdict.work == work);
    found.unwrap_or_else(|| panic!("no {work:?} among {:?}", stage.verdicts))
}
