//! Flows inside tunnels: random traffic in VXLAN, Geneve, GRE and IP in IP, merged inside and cut back, and the
//! cases the field has stumbled over.

use crate::cases::{expect, p};
use crate::property::{Run, reversible, run, whole};
use crate::rig::{Frame, Proof, Rig};
use crate::stream::{Stream, stream};
use corelane_device::capture::CaptureFile;
use corelane_runtime::packet::{SegFlags, Tunnel};
use corelane_stages::gro::GroConfig;
use corelane_wire::testing::{
    Checksum, FrameBuilder, Geneve, Gre, Ipv4, Ipv6, Udp, Vxlan, address_v6, problems,
    slow_pseudo_header, slow_sum,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Vxlan,
    Geneve,
    /// Geneve, with IP inside and no Ethernet.
    GeneveIp,
    /// GRE, with IP inside and no Ethernet.
    Gre,
    /// GRE around frames.
    GreFrame,
    Ip,
}

/// A tunnel, as it stays the same.
#[derive(Clone, Debug)]
struct Carrier {
    kind: Kind,
    v6: bool,
    /// With an outer UDP checksum.
    sum: bool,
    id: u16,
    id_step: u16,
    vni: u32,
    options: Vec<u8>,
    host: u8,
}

/// What is odd about the outer headers of one packet.
#[derive(Clone, Copy, Debug)]
enum Odd {
    Nothing,
    Ttl,
    Tos,
    Id(u16),
    Port,
    Vni,
    Sum(Checksum),
    Header(Checksum),
    Sequence,
    GreSum,
    Length(u16),
    Trailer(u8),
}

/// A stream whose flows are in tunnels.
#[derive(Clone, Debug)]
struct Carried {
    stream: Stream,
    carriers: Vec<Carrier>,
    odd: Vec<Odd>,
}

fn carrier() -> impl Strategy<Value = Carrier> {
    let kind = prop::sample::select(vec![
        Kind::Vxlan,
        Kind::Vxlan,
        Kind::Geneve,
        Kind::GeneveIp,
        Kind::Gre,
        Kind::GreFrame,
        Kind::Ip,
    ]);
    let id_step = prop_oneof![2 => Just(0_u16), 2 => Just(1), 1 => any::<u16>()];
    let options = prop_oneof![Just(Vec::new()), vec(any::<u8>(), 0..24)];
    let shape = (any::<bool>(), any::<bool>(), 0..2_u32, 0..3_u8);
    (kind, shape, (any::<u16>(), id_step), options).prop_map(
        |(kind, (v6, sum, vni, host), (id, id_step), options)| Carrier {
            kind,
            v6,
            sum,
            id,
            id_step,
            vni,
            options,
            host,
        },
    )
}

fn odd() -> impl Strategy<Value = Odd> {
    prop_oneof![
        40 => Just(Odd::Nothing),
        1 => Just(Odd::Ttl),
        1 => Just(Odd::Tos),
        1 => any::<u16>().prop_map(Odd::Id),
        1 => Just(Odd::Port),
        1 => Just(Odd::Vni),
        1 => Just(Odd::Sum(Checksum::Wrong)),
        1 => Just(Odd::Sum(Checksum::Partial)),
        1 => Just(Odd::Sum(Checksum::Value(0))),
        1 => Just(Odd::Sum(Checksum::Right)),
        1 => Just(Odd::Header(Checksum::Wrong)),
        1 => Just(Odd::Header(Checksum::OtherZero)),
        1 => Just(Odd::Sequence),
        1 => Just(Odd::GreSum),
        1 => any::<u16>().prop_map(Odd::Length),
        1 => (1..20_u8).prop_map(Odd::Trailer),
    ]
}

fn carried(most: usize) -> impl Strategy<Value = Carried> {
    (stream(most), vec(carrier(), 1..4), vec(odd(), 1..200))
        .prop_map(|(stream, carriers, odd)| Carried { stream, carriers, odd })
}

impl Carried {
    fn frames(&self) -> Vec<Frame> {
        let mut carriers = self.carriers.clone();
        let mut odd = self.odd.iter().copied().cycle();
        self.stream.frames_through(|flow, frame| {
            let at = flow % carriers.len();
            carriers[at].wrap(frame, odd.next().unwrap_or(Odd::Nothing))
        })
    }
}

/// Whether a frame can do without its Ethernet header.
fn is_bare_ip(frame: &[u8]) -> Option<u16> {
    let kind = frame.get(12..15).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    kind.filter(|kind| matches!(kind, 0x0800 | 0x86dd))
}

impl Carrier {
    fn wrap(&mut self, frame: Frame, odd: Odd) -> Frame {
        let ip = is_bare_ip(&frame.bytes);
        let kind = match (self.kind, ip) {
            (Kind::GeneveIp, None) => Kind::Geneve,
            (Kind::Gre | Kind::Ip, None) => Kind::GreFrame,
            (kind, _) => kind,
        };
        let inner = match kind {
            Kind::Vxlan | Kind::Geneve | Kind::GreFrame => &frame.bytes[..],
            Kind::GeneveIp | Kind::Gre | Kind::Ip => &frame.bytes[14..],
        };
        let trailer = if let Odd::Trailer(len) = odd { vec![0; usize::from(len)] } else { vec![] };
        let outer = self.outer(kind, ip.unwrap_or(0), odd);
        let bytes = outer.payload(inner).trailer(&trailer).build();
        let orig_len = frame.orig_len + (bytes.len() - frame.bytes.len()) as u32;
        self.id = self.id.wrapping_add(self.id_step);
        Frame { bytes, orig_len, ..frame }
    }

    fn outer(&self, kind: Kind, ethertype: u16, odd: Odd) -> FrameBuilder {
        let protocol = (kind == Kind::Ip).then_some(if ethertype == 0x0800 { 4 } else { 41 });
        let ttl = if matches!(odd, Odd::Ttl) { 7 } else { 64 };
        let tos = if matches!(odd, Odd::Tos) { 3 } else { 0 };
        let id = if let Odd::Id(id) = odd { id } else { self.id };
        let checksum = if let Odd::Header(what) = odd { what } else { Checksum::Right };
        let start = FrameBuilder::new();
        let ip = if self.v6 {
            let src = address_v6(500 + u16::from(self.host));
            let header = Ipv6 { src, hop_limit: ttl, traffic_class: tos, ..Ipv6::default() };
            start.ipv6(Ipv6 { next_header: protocol, ..header })
        } else {
            let src = [172, 16, 0, self.host];
            start.ipv4(Ipv4 { src, id, ttl, tos, protocol, checksum, ..Ipv4::default() })
        };
        let vni = if matches!(odd, Odd::Vni) { self.vni + 7 } else { self.vni };
        let usual = if self.sum { Checksum::Right } else { Checksum::Value(0) };
        let udp = |dst_port| Udp {
            src_port: if matches!(odd, Odd::Port) { 1 } else { 50_000 },
            dst_port,
            checksum: if let Odd::Sum(what) = odd { what } else { usual },
            length: if let Odd::Length(length) = odd { Some(length) } else { None },
        };
        let gre = |protocol| Gre {
            key: (self.vni > 0).then_some(vni),
            sequence: matches!(odd, Odd::Sequence).then_some(9),
            checksum: matches!(odd, Odd::GreSum).then_some(Checksum::Right),
            protocol,
            ..Gre::default()
        };
        let options = self.options.clone();
        match kind {
            Kind::Vxlan => ip.udp(udp(4789)).vxlan(Vxlan { vni, ..Vxlan::default() }),
            Kind::Geneve => ip.udp(udp(6081)).geneve(Geneve { vni, options, ..Geneve::default() }),
            Kind::GeneveIp => ip.udp(udp(6081)).geneve(Geneve {
                vni,
                options,
                protocol: Some(ethertype),
                ..Geneve::default()
            }),
            Kind::Gre => ip.gre(gre(Some(ethertype))),
            Kind::GreFrame => ip.gre(gre(None)),
            Kind::Ip => ip,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn cutting_gives_back_what_was_merged_inside(carried in carried(120), run in run()) {
        reversible(&carried.frames(), &run);
    }
}

/// Always the same streams.
fn runs(count: usize) -> Vec<Carried> {
    let mut runner = TestRunner::deterministic();
    let strategy = carried(120);
    let mut next = || strategy.new_tree(&mut runner).expect("nothing is rejected").current();
    (0..count).map(|_| next()).collect()
}

#[test]
fn random_streams_in_tunnels_are_merged_at_all() {
    let mut merged = [0; 3];
    for carried in runs(30) {
        let frames = carried.frames();
        for (merged, proof) in merged.iter_mut().zip([Proof::Stage, Proof::Device, Proof::Nobody]) {
            *merged += reversible(&frames, &Run { proof, ..whole() });
        }
    }
    assert!(merged[0] > 100, "only {merged:?} packets merged: the property proves nothing");
    assert_eq!(merged[0], merged[1], "by the word of a device as by that of a stage");
    assert_eq!(merged[0], merged[2], "by its own look as by that of a stage");
}

/// Tunnels of every kind over both protocols, with and without an outer checksum.
fn carriers() -> Vec<Carrier> {
    let kinds = [Kind::Vxlan, Kind::Geneve, Kind::GeneveIp, Kind::Gre, Kind::GreFrame, Kind::Ip];
    let mut all = Vec::new();
    for kind in kinds {
        for (v6, sum) in [(false, false), (false, true), (true, false), (true, true)] {
            let (id, id_step, vni, host, options) = (5, 1, 42, 1, vec![1, 2, 3, 0]);
            all.push(Carrier { kind, v6, sum, id, id_step, vni, options, host });
        }
    }
    all
}

#[test]
fn segments_inside_every_kind_of_tunnel_become_one_and_come_back() {
    for v6 in [false, true] {
        for mut carrier in carriers() {
            let frames: Vec<Frame> = (0..4)
                .map(|index| carrier.wrap(p(v6, index * 500, 500).build(), Odd::Nothing))
                .collect();
            let counters = expect(GroConfig::default(), frames, &[2000]);
            assert!(counters.contains(&("merged", 3)), "{carrier:?}");
        }
    }
}

#[test]
fn the_rule_of_outer_identifications_is_recorded() {
    for (id_step, fixed, expected) in [(0, true, 1), (1, false, 1), (2, false, 3)] {
        let mut carrier = Carrier { id_step, id: 65_534, ..carriers().remove(0) };
        let frames: Vec<Frame> = (0..3)
            .map(|index| carrier.wrap(p(false, index * 100, 100).build(), Odd::Nothing))
            .collect();
        let mut rig = Rig::new(GroConfig::default());
        let packets = rig.receive(&frames);
        let merged = rig.merge(packets);
        assert_eq!(merged.len(), expected, "step {id_step}");
        if expected == 1 {
            assert_eq!(merged[0].meta().layers.tunnel, Tunnel::Vxlan);
            let flags = merged[0].segmentation().flags;
            assert_eq!(flags.contains(SegFlags::OUTER_FIXED_ID), fixed);
        }
        assert_eq!(rig.cut(merged), frames);
        rig.finish();
    }
}

/// Anything that differs in what is around them keeps segments apart, and a packet that tells nothing of what it
/// carries ends what it might belong to.
#[test]
fn what_differs_outside_is_not_merged() {
    let different = [
        Odd::Ttl,
        Odd::Tos,
        Odd::Id(9999),
        Odd::Port,
        Odd::Vni,
        Odd::Sum(Checksum::Wrong),
        Odd::Sum(Checksum::Partial),
        Odd::Sum(Checksum::Value(0)),
        Odd::Header(Checksum::Wrong),
        Odd::Length(60),
        Odd::Trailer(3),
    ];
    for odd in different {
        let mut carrier = carriers().remove(1);
        let frames = (0..2).map(|index| {
            let odd = if index == 1 { odd } else { Odd::Nothing };
            carrier.wrap(p(false, index * 100, 100).build(), odd)
        });
        let frames: Vec<Frame> = frames.collect();
        let mut rig = Rig::new(GroConfig::default());
        let packets = rig.receive(&frames);
        let merged = rig.merge(packets);
        assert_eq!(rig.gro.counter("merged"), 0, "{odd:?}");
        assert_eq!(rig.cut(merged), frames, "{odd:?}");
        rig.finish();
    }
    for odd in [Odd::Sequence, Odd::GreSum] {
        let mut carrier = Carrier { kind: Kind::Gre, ..carriers().remove(0) };
        let both = (0..2).map(|index| carrier.wrap(p(false, index * 100, 100).build(), odd));
        expect(GroConfig::default(), both.collect(), &[100, 100]);
    }
}

/// R23: two inner flows in one tunnel never merge with each other.
#[test]
fn r23_two_inner_flows_in_one_tunnel_stay_apart() {
    let mut carrier = carriers().remove(0);
    let flow = |port: u16, off| p(false, off, 100).tcp(|tcp| tcp.src_port = port).build();
    let inner = [flow(1, 0), flow(2, 0), flow(1, 100), flow(2, 100), flow(1, 200), flow(2, 200)];
    let frames: Vec<Frame> =
        inner.into_iter().map(|frame| carrier.wrap(frame, Odd::Nothing)).collect();
    let mut rig = Rig::new(GroConfig::default());
    let packets = rig.receive(&frames);
    let merged = rig.merge(packets);
    // Their outer identifications count up by two each: that is no rule that could be recorded.
    assert_eq!((merged.len(), rig.gro.counter("merged")), (6, 0));
    rig.cut(merged);
    rig.finish();
    let mut fixed = Carrier { id_step: 0, ..carriers().remove(0) };
    let inner = [flow(1, 0), flow(2, 0), flow(1, 100), flow(2, 100), flow(1, 200), flow(2, 200)];
    let frames: Vec<Frame> =
        inner.into_iter().map(|frame| fixed.wrap(frame, Odd::Nothing)).collect();
    let mut rig = Rig::new(GroConfig::default());
    let packets = rig.receive(&frames);
    let merged = rig.merge(packets);
    assert_eq!(merged.iter().map(|packet| packet.payload_len()).collect::<Vec<_>>(), [300, 300]);
    rig.cut(merged);
    rig.finish();
}

/// The frames of a capture of the corpus.
fn capture(name: &str) -> Option<Vec<Frame>> {
    let Some(folder) = std::env::var_os("CORELANE_CORPUS").map(PathBuf::from) else {
        corelane_runtime::testing::skip("b2 and r24", "CORELANE_CORPUS is unset");
        return None;
    };
    let mut file = CaptureFile::open(folder.join(name)).expect("a capture");
    let mut records = file.records();
    let mut frames = Vec::new();
    while let Some(record) = records.next_record() {
        let record = record.expect("a record");
        let time = frames.len() as u64;
        frames.push(Frame { bytes: record.data.to_vec(), time, orig_len: record.orig_len });
    }
    Some(frames)
}

/// Fills in the outer UDP checksum of a frame of IPv4 without options.
fn summed(mut frame: Frame) -> Frame {
    let bytes = &mut frame.bytes;
    assert_eq!((bytes[12..15].to_vec(), bytes[23]), (vec![8, 0, 0x45], 17));
    let end = 34 + usize::from(u16::from_be_bytes([bytes[38], bytes[39]]));
    let pseudo = slow_pseudo_header(&bytes[26..30], &bytes[30..34], (end - 34) as u32, 17);
    assert_eq!(bytes[40..42], [0, 0]);
    let checksum = match !slow_sum(&[&pseudo, &bytes[34..end]]) {
        0 => 0xffff,
        checksum => checksum,
    };
    bytes[40..42].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(problems(bytes), Vec::<String>::new());
    frame
}

/// A copy of frames with the outer checksums filled in merges exactly as often; gives how often.
fn merges_as_often(frames: &[Frame]) -> u64 {
    let right: Vec<Frame> = frames.iter().cloned().map(summed).collect();
    let runs = [Proof::Stage, Proof::Nobody].map(|proof| {
        let run = Run { proof, split: vec![256], ..whole() };
        let merged = reversible(frames, &run);
        assert_eq!(merged, reversible(&right, &run), "{proof:?}");
        merged
    });
    assert_eq!(runs[0], runs[1]);
    runs[0]
}

/// R24, field report B2: an outer checksum of zero does not switch merging off.
#[test]
fn b2_r24_a_zero_outer_checksum_merges_exactly_as_often_as_a_right_one() {
    for kind in [Kind::Vxlan, Kind::Geneve] {
        let mut carrier = Carrier { kind, ..carriers().remove(0) };
        let segments = (0..20).map(|index| p(false, index * 1400, 1400).build());
        let frames: Vec<Frame> = segments.map(|frame| carrier.wrap(frame, Odd::Nothing)).collect();
        assert_eq!(merges_as_often(&frames), 19, "{kind:?}");
    }
    for name in ["vxlan-zero-outer.pcap", "geneve-plain.pcap"] {
        let Some(frames) = capture(name) else { return };
        // Shell sessions, in which each segment has PSH and acknowledges more than the one before: nothing that
        // could be put back as it was, whatever the outer checksum.
        assert_eq!(merges_as_often(&frames), 0, "{name}");
    }
}
