//! A pipeline between two emulated NICs whose traffic, capabilities and faults a test decides, and frames
//! compared flow by flow.

use corelane::{Machine, Pipeline, Registry, Report, SimConfig};
use corelane_device::emulated::{Collector, Faults, Frame, Sink, Traffic};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::exec::sim::SimOutcome;
use corelane_runtime::offload::{Caps, Limits};
use std::collections::BTreeMap;

/// The chain of the main job, in two actors.
pub(crate) const STAGES: &str = "ChecksumValidate(on_bad: Mark, on_zero6: Pass), GRO, Ring(name: \"cut\", capacity: RING), Gso, ChecksumFill";

/// What a test decides.
pub(crate) struct Lane {
    pub(crate) stages: String,
    pub(crate) more: String,
    pub(crate) gro: String,
    pub(crate) ring: usize,
    pub(crate) frames: Vec<Frame>,
    pub(crate) rx: Caps,
    pub(crate) tx: Caps,
    pub(crate) limits: Limits,
    pub(crate) faults: Faults,
    pub(crate) registry: Registry,
}

/// What came of it.
pub(crate) struct Ran {
    pub(crate) report: Report,
    pub(crate) outcome: Option<SimOutcome>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) refused: u64,
}

impl Lane {
    pub(crate) fn new(frames: Vec<Frame>) -> Lane {
        Lane {
            stages: STAGES.to_owned(),
            more: String::new(),
            gro: "Gro".to_owned(),
            ring: 64,
            frames,
            rx: Caps::empty(),
            tx: Caps::MULTI_PART,
            limits: Limits::default(),
            faults: Faults::default(),
            registry: corelane::standard(),
        }
    }

    fn text(&self) -> String {
        let stages = self.stages.replace("GRO", &self.gro).replace("RING", &self.ring.to_string());
        format!(
            "Pipeline(name: \"proof\", hash_seed: 7, ports: {{ \"in\": Emulated, \"out\": Emulated }},
             chains: {{ \"main\": [Rx(\"in\"), {stages}, Tx(\"out\")] }}, {})",
            self.more
        )
    }

    fn plan(
        &self,
    ) -> (corelane::Plan, Collector, std::sync::Arc<corelane_device::emulated::Refusals>) {
        let text = self.text();
        let parsed = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        let plan = parsed.plan(&self.registry, &Machine::here());
        let plan = plan.unwrap_or_else(|failure| panic!("{failure}\n{text}"));
        let rx = EmulatedConfig {
            caps: self.rx,
            rx: Traffic::Frames { frames: self.frames.clone(), repeat: false },
            ..EmulatedConfig::new("in")
        };
        let collector = Collector::new();
        let tx = EmulatedConfig {
            caps: self.tx,
            limits: self.limits,
            tx: Sink::Collect(collector.clone()),
            faults: self.faults.clone(),
            ..EmulatedConfig::new("out")
        };
        let out = Emulated::open(tx).expect("a port");
        let refusals = out.refusals();
        let plan = plan.with_port("in", Box::new(Emulated::open(rx).expect("a port")));
        (plan.with_port("out", Box::new(out)), collector, refusals)
    }

    /// On threads.
    pub(crate) fn run(&self) -> Ran {
        let (plan, collector, refusals) = self.plan();
        let report = plan.start().unwrap_or_else(|failure| panic!("{failure}")).wait();
        Ran { report, outcome: None, frames: collector.take(), refused: refusals.total() }
    }

    /// On threads, with a sink that keeps nothing.
    pub(crate) fn discard(&self) -> Ran {
        let (plan, ..) = self.plan();
        let (caps, faults) = (self.tx, self.faults.clone());
        let sink = EmulatedConfig { caps, faults, ..EmulatedConfig::new("out") };
        let plan = plan.with_port("out", Box::new(Emulated::open(sink).expect("a port")));
        let report = plan.start().unwrap_or_else(|failure| panic!("{failure}")).wait();
        Ran { report, outcome: None, frames: Vec::new(), refused: 0 }
    }

    /// In the simulator.
    pub(crate) fn simulate(&self, config: &SimConfig) -> Ran {
        let (plan, collector, refusals) = self.plan();
        let (report, outcome) = plan.simulate_with(config).unwrap_or_else(|e| panic!("{e}"));
        let (frames, refused) = (collector.take(), refusals.total());
        Ran { report, outcome: Some(outcome), frames, refused }
    }
}

impl Ran {
    pub(crate) fn assert_clean(&self, context: &str) {
        let Report { balanced, unbalanced, errors, .. } = &self.report;
        assert!(*balanced == Some(true), "{context}: {unbalanced:?}");
        assert!(errors.is_empty(), "{context}: {errors:?}");
        assert_eq!(self.refused, 0, "{context}: the device was asked for what it cannot do");
    }

    pub(crate) fn counter(&self, kind: &str, name: &str) -> u64 {
        let stages = self.report.stages.iter().filter(|stage| stage.kind == kind);
        stages.filter_map(|stage| stage.counters.get(name)).sum()
    }

    pub(crate) fn absorbed(&self, kind: &str) -> u64 {
        let stages = self.report.stages.iter().filter(|stage| stage.kind == kind);
        stages.map(|stage| stage.absorbed).sum()
    }
}

/// Frames as the stream strategy makes them, as the emulated NIC takes them.
pub(crate) fn received(frames: Vec<crate::rig::Frame>) -> Vec<Frame> {
    let frame = |frame: crate::rig::Frame| Frame {
        time_ns: frame.time,
        data: frame.bytes,
        orig_len: frame.orig_len,
    };
    frames.into_iter().map(frame).collect()
}

type Flows<'a> = BTreeMap<Vec<u8>, Vec<&'a Frame>>;

fn flows(frames: &[Frame]) -> Flows<'_> {
    let mut flows = Flows::new();
    for frame in frames {
        // Hostile captures have frames that are IP but for their type, and the other way round.
        let kind = frame.data.get(12..14).unwrap_or_default();
        let flow = [kind, &crate::stream::flow_of(&frame.data)].concat();
        flows.entry(flow).or_default().push(frame);
    }
    flows
}

/// What left is what came: every flow's frames, in order, byte for byte, with length on the wire and time.
pub(crate) fn assert_same(left: &[Frame], came: &[Frame], context: &str) {
    assert_same_bytes(left, came, context);
    for (left, came) in flows(left).values().flatten().zip(flows(came).values().flatten()) {
        assert_eq!(left.time_ns, came.time_ns, "{context}: receive time");
    }
}

/// The same without times: a device that joins segments gives one time for all of them.
pub(crate) fn assert_same_bytes(left: &[Frame], came: &[Frame], context: &str) {
    let (left, came) = (flows(left), flows(came));
    for (flow, frames) in &came {
        let others = left.get(flow).map_or(&[][..], Vec::as_slice);
        for (index, frame) in frames.iter().enumerate() {
            let Some(other) = others.get(index) else {
                panic!("{context}: flow {flow:02x?} lost its frame {index} of {}", frames.len())
            };
            if other.data != frame.data {
                corelane_wire::testing::assert_same_frames(&[&other.data], &[&frame.data]);
            }
            assert_eq!(other.orig_len, frame.orig_len, "{context}: length on the wire");
        }
        assert_eq!(others.len(), frames.len(), "{context}: frames nobody sent");
    }
    assert_eq!(left.len(), came.len(), "{context}: flows nobody sent");
}
