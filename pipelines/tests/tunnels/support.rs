//! A pipeline between ports whose traffic and capabilities a test decides, and frames compared flow by flow.
//!
//! It promises that a run is judged as a whole: balanced, without errors, and without a request that the sending
//! device refused.

use crate::whole::{Whole, WholePort};
use corelane::{Failure, Machine, Pipeline, Plan, Registry, Report, SimConfig};
use corelane_device::capture::CaptureFile;
use corelane_device::emulated::{Collector, Frame, Refusals, Sink, Traffic};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::offload::{Caps, Limits, UdpPorts};
use corelane_runtime::port::Port;
use corelane_runtime::testing::skip;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// UDP port of VXLAN.
pub(crate) const VXLAN: u16 = 4789;

/// Keys of `Vxlan(..)` in `Encap` for a next hop that is known, and a station that sends.
pub(crate) const HOP: &str = "next_hop: \"02:00:00:00:00:09\", mac: \"02:00:00:00:00:01\"";

/// What comes in.
#[derive(Clone)]
pub(crate) enum Comes {
    /// Frames off a wire.
    Frames(Vec<Frame>),
    /// Packets of a sender on this host, which left work to the device.
    Whole(Vec<Whole>),
}

/// What a test decides.
#[derive(Clone)]
pub(crate) struct Lane {
    /// Between `Rx("in")` and `Tx("out")`.
    pub(crate) stages: String,
    /// Other chains.
    pub(crate) chains: String,
    pub(crate) comes: Comes,
    pub(crate) rx: Caps,
    pub(crate) tx: Caps,
    /// UDP ports behind which both ports look for VXLAN.
    pub(crate) known: UdpPorts,
    /// Of the sending port.
    pub(crate) mtu: Option<u32>,
}

/// What came of it.
pub(crate) struct Ran {
    pub(crate) report: Report,
    pub(crate) frames: Vec<Frame>,
    refused: u64,
}

impl Lane {
    pub(crate) fn new(stages: &str, frames: Vec<Frame>) -> Lane {
        Lane {
            stages: stages.to_owned(),
            chains: String::new(),
            comes: Comes::Frames(frames),
            rx: Caps::empty(),
            tx: Caps::MULTI_PART,
            known: UdpPorts::one(VXLAN),
            mtu: None,
        }
    }

    pub(crate) fn of_host(stages: &str, packets: Vec<Whole>) -> Lane {
        let comes = Comes::Whole(packets);
        Lane { comes, rx: Caps::RX_PARTIAL, ..Lane::new(stages, Vec::new()) }
    }

    /// The description.
    pub(crate) fn text(&self) -> String {
        let Lane { stages, chains, .. } = self;
        let mtu = self.mtu.map_or(String::new(), |mtu| format!("(mtu: {mtu})"));
        let given = match self.comes {
            Comes::Frames(_) => "Emulated",
            Comes::Whole(_) => "Emulated(caps: [\"rx_partial\"])",
        };
        format!(
            "Pipeline(name: \"tunnels\", hash_seed: 7,
             ports: {{ \"in\": {given}, \"out\": Emulated{mtu} }},
             chains: {{ \"main\": [Rx(\"in\"), {stages} Tx(\"out\")], {chains} }})"
        )
    }

    /// The plan, whose sending port is still that of the description.
    pub(crate) fn planned(&self, registry: &Registry) -> Result<Plan, Failure> {
        let text = self.text();
        let parsed = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        parsed.plan(registry, &Machine::here())
    }

    fn receiving(&self) -> Box<dyn Port> {
        match &self.comes {
            Comes::Whole(packets) => Box::new(WholePort::new("in", packets.clone())),
            Comes::Frames(frames) => Box::new(open(EmulatedConfig {
                caps: self.rx,
                limits: Limits { vxlan_ports: self.known, ..Limits::default() },
                rx: Traffic::Frames { frames: frames.clone(), repeat: false },
                ..EmulatedConfig::new("in")
            })),
        }
    }

    fn sending(&self) -> (Emulated, Collector) {
        let collector = Collector::new();
        let limits = Limits { vxlan_ports: self.known, mtu: self.mtu, ..Limits::default() };
        let port = open(EmulatedConfig {
            caps: self.tx,
            limits,
            tx: Sink::Collect(collector.clone()),
            ..EmulatedConfig::new("out")
        });
        (port, collector)
    }

    /// In the simulator, with these stages.
    pub(crate) fn simulate_with(&self, registry: &Registry) -> Ran {
        let plan = self.planned(registry);
        let plan = plan.unwrap_or_else(|failure| panic!("{failure}\n{}", self.text()));
        let (out, collector) = self.sending();
        let refusals: Arc<Refusals> = out.refusals();
        let plan = plan.with_port("in", self.receiving()).with_port("out", Box::new(out));
        let run = plan.simulate_with(&SimConfig::new(1));
        let (report, _) = run.unwrap_or_else(|failure| panic!("{failure}"));
        Ran { report, frames: collector.take(), refused: refusals.total() }
    }

    /// In the simulator.
    pub(crate) fn simulate(&self) -> Ran {
        self.simulate_with(&corelane::standard())
    }
}

fn open(config: EmulatedConfig) -> Emulated {
    Emulated::open(config).expect("a port")
}

impl Ran {
    #[track_caller]
    pub(crate) fn assert_clean(&self, context: &str) {
        let Report { balanced, unbalanced, errors, totals, .. } = &self.report;
        assert!(*balanced == Some(true), "{context}: {unbalanced:?}");
        assert!(errors.is_empty(), "{context}: {errors:?}");
        assert_eq!((totals.panics, totals.implicit_drops), (0, 0), "{context}");
        assert_eq!(self.refused, 0, "{context}: the device was asked for what it cannot do");
    }

    /// Nothing was dropped either.
    #[track_caller]
    pub(crate) fn assert_lossless(&self, context: &str) {
        self.assert_clean(context);
        assert_eq!(self.report.totals.dropped, 0, "{context}: {:?}", self.drops());
    }

    /// A counter over all stages of a kind.
    pub(crate) fn counter(&self, kind: &str, name: &str) -> u64 {
        let stages = self.report.stages.iter().filter(|stage| stage.kind == kind);
        stages.filter_map(|stage| stage.counters.get(name)).sum()
    }

    /// Every drop there was, by stage and reason.
    pub(crate) fn drops(&self) -> BTreeMap<String, u64> {
        let mut drops = BTreeMap::new();
        for stage in &self.report.stages {
            let found = stage.drops.iter().filter(|(_, count)| **count > 0);
            drops.extend(found.map(|(why, count)| (format!("{}.{why}", stage.kind), *count)));
        }
        drops
    }

    /// The bytes of what left.
    pub(crate) fn bytes(&self) -> Vec<&[u8]> {
        self.frames.iter().map(|frame| &frame.data[..]).collect()
    }
}

/// The frames of a capture file.
pub(crate) fn frames_of(path: &Path) -> Vec<Frame> {
    let mut file = CaptureFile::open(path).unwrap_or_else(|error| panic!("{error}"));
    let (mut records, mut frames) = (file.records(), Vec::new());
    while let Some(record) = records.next_record() {
        let record = record.unwrap_or_else(|error| panic!("{error}"));
        let (time_ns, orig_len) = (record.time_ns, record.orig_len);
        frames.push(Frame { time_ns, data: record.data.to_vec(), orig_len });
    }
    frames
}

/// The frames of a capture that comes with the examples.
pub(crate) fn recorded(name: &str) -> Vec<Frame> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/captures");
    frames_of(&folder.join(name))
}

/// Where the corpus is, if it is here; else the test is skipped by name.
pub(crate) fn corpus(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CORELANE_CORPUS");
    if folder.is_none() {
        skip(test, "CORELANE_CORPUS is unset");
    }
    folder.map(PathBuf::from)
}

/// Frames at times one behind the other.
pub(crate) fn timed(frames: Vec<Vec<u8>>) -> Vec<Frame> {
    frames.into_iter().zip(1000..).map(|(data, time)| Frame::new(time, data)).collect()
}

fn be16(frame: &[u8], at: usize) -> Option<u16> {
    let bytes = frame.get(at..at + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// Where IP begins, behind VLAN tags, and whether it is IPv6.
fn ip_at(frame: &[u8]) -> Option<(usize, bool)> {
    let mut at = 12;
    while matches!(be16(frame, at)?, 0x8100 | 0x88a8 | 0x9100) {
        at += 4;
    }
    match be16(frame, at)? {
        0x0800 => Some((at + 2, false)),
        0x86dd => Some((at + 2, true)),
        _ => None,
    }
}

/// Where UDP begins in a datagram to that port that is no fragment.
pub(crate) fn udp_to(frame: &[u8], ports: &[u16]) -> Option<usize> {
    let (ip, v6) = ip_at(frame)?;
    let (protocol, udp) = match v6 {
        true => (*frame.get(ip + 6)?, ip + 40),
        false => (*frame.get(ip + 9)?, ip + usize::from(frame.get(ip)? & 15) * 4),
    };
    let fragment = !v6 && be16(frame, ip + 6)? & 0x3fff != 0;
    (protocol == 17 && !fragment && ports.contains(&be16(frame, udp + 2)?)).then_some(udp)
}

/// The frame inside a VXLAN datagram, found with plain indices; `None` where this is none.
pub(crate) fn inside(frame: &[u8], ports: &[u16]) -> Option<Vec<u8>> {
    let udp = udp_to(frame, ports)?;
    let end = udp + usize::from(be16(frame, udp + 4)?);
    let header = frame.get(udp + 8..udp + 16)?;
    let sound = header[0] == 8 && header[1..4] == [0; 3] && header[7] == 0;
    frame.get(udp + 16..end).filter(|_| sound).map(<[u8]>::to_vec)
}

/// What must stay in order: frames of the same innermost addresses, protocol and ports.
fn flow_of(frame: &[u8]) -> Vec<u8> {
    if let Some(inner) = inside(frame, &[VXLAN, 8472]) {
        return [&[1], &flow_of(&inner)[..]].concat();
    }
    let Some((ip, v6)) = ip_at(frame) else { return frame.get(..14).unwrap_or(frame).to_vec() };
    let (addresses, protocol, l4) = match v6 {
        true => (ip + 8..ip + 40, ip + 6, ip + 40),
        false => (ip + 12..ip + 20, ip + 9, ip + 20),
    };
    let part = |range: std::ops::Range<usize>| frame.get(range).unwrap_or_default();
    [part(addresses), part(protocol..protocol + 1), part(l4..l4 + 4)].concat()
}

fn flows<F: AsRef<[u8]>>(frames: &[F]) -> BTreeMap<Vec<u8>, Vec<&[u8]>> {
    let mut flows: BTreeMap<_, Vec<&[u8]>> = BTreeMap::new();
    for frame in frames {
        flows.entry(flow_of(frame.as_ref())).or_default().push(frame.as_ref());
    }
    flows
}

/// The same frames, every flow's in the same order.
#[track_caller]
pub(crate) fn assert_same<A: AsRef<[u8]>, B: AsRef<[u8]>>(left: &[A], came: &[B], context: &str) {
    let (left, came) = (flows(left), flows(came));
    for (flow, expected) in &came {
        let found = left.get(flow).map_or(&[][..], Vec::as_slice);
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            if found != expected {
                eprintln!("{context}: frame {index} of flow {flow:02x?}");
                corelane_wire::testing::assert_same_frames(&[found], &[expected]);
            }
        }
        assert_eq!(found.len(), expected.len(), "{context}: frames of flow {flow:02x?}");
    }
    assert_eq!(left.len(), came.len(), "{context}: flows");
}
