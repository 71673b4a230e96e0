//! The packets a stage is tried on, as they would come to it in a pipeline.
//!
//! It promises the same ones each time: sound frames of every shape, damaged and unfinished ones, superpackets as
//! `Gro` and as a port makes them, packets that share their bytes, and bytes that are no frames. Not part of
//! them is what a stage says it does not take.

use corelane_runtime::packet::{Csum, Packet, Partial, SegFlags, SegKind, Segmentation};
use corelane_runtime::stage::spec::Traits;
use corelane_runtime::stage::{Declared, StageContext, Tally};
use corelane_runtime::testing::Harness;
use corelane_stages::checksum_fill::ChecksumFill;
use corelane_stages::checksum_validate::{ChecksumValidate, OnBad};
use corelane_stages::gro::{Gro, GroConfig};
use corelane_stages::gso::Gso;
use corelane_stages::rx::describe;
use corelane_stages::{checksum_fill, gro, gso};
use corelane_wire::testing::{
    Checksum, Extension, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vlan, Vxlan,
};

/// Key of flow hashes.
const KEY: u64 = 0x5eed;

/// Payload lengths where something changes: nothing, odd, words, the smallest frame, an Ethernet frame.
const LENGTHS: [usize; 12] = [0, 1, 2, 3, 7, 8, 9, 18, 100, 255, 1001, 1448];

/// All packets of a round.
pub(super) fn round(harness: &mut Harness, traits: &Traits) -> Vec<Packet> {
    let mut packets = Vec::new();
    for frame in sound().iter().chain(&damaged()) {
        packets.push(arrive(harness, frame, &[]));
        packets.push(arrive(harness, frame, &[60, 61, 300]));
    }
    for frame in garbage() {
        packets.push(arrive(harness, &frame, &[]));
    }
    packets.extend(cut_by_a_capture(harness));
    packets.extend(through(validate(), trains(harness)));
    if !traits.no_partial {
        packets.extend((0..4).map(|port| unfinished(harness, port)));
    }
    if !traits.no_superpackets {
        let trains = through(validate(), trains(harness));
        packets.extend(through(gro(), trains));
        packets.push(request(harness, 3000, 1448));
        packets.push(request(harness, 10, 1448));
    }
    let shared = request(harness, 5000, 999);
    packets.extend(through(fill(), through(gso(), vec![shared])));
    packets
}

/// Frames as they would leave in the end, each flow in its order.
pub(super) fn as_sent(packets: Vec<Packet>, harness: &mut Harness) -> Vec<Vec<u8>> {
    let sent = through(fill(), through(gso(), packets));
    let mut flows: Vec<(Flow, Vec<u8>)> = Vec::new();
    for packet in sent {
        let key = flow_of(&packet);
        flows.push((key, harness.unpack(packet)));
    }
    flows.sort_by(|(one, _), (other, _)| one.cmp(other));
    flows.into_iter().map(|(_, frame)| frame).collect()
}

/// The link header of a flow, and its hash.
type Flow = (Vec<u8>, u32);

/// Which flow a packet belongs to.
fn flow_of(packet: &Packet) -> Flow {
    let meta = packet.meta();
    let link = packet.data().get(..usize::from(meta.layers.levels[0].l3)).unwrap_or_default();
    (link.to_vec(), meta.hash)
}

fn ip(v6: bool, id: u16) -> FrameBuilder {
    match v6 {
        true => FrameBuilder::new().ipv6(Ipv6::default()),
        false => FrameBuilder::new().ipv4(Ipv4 { id, ..Ipv4::default() }),
    }
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + len) as u8).collect()
}

/// One frame of the usual kind.
fn plain(v6: bool, udp: bool, checksum: Checksum, len: usize) -> Vec<u8> {
    let builder = ip(v6, len as u16);
    let builder = match udp {
        true => builder.udp(Udp { checksum, ..Udp::default() }),
        false => builder.tcp(Tcp { checksum, seq: len as u32, ..Tcp::default() }),
    };
    builder.payload(&payload(len)).pad_to(60).build()
}

fn sound() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for (v6, udp) in [(false, false), (false, true), (true, false), (true, true)] {
        frames.extend(LENGTHS.map(|len| plain(v6, udp, Checksum::Right, len)));
    }
    let tagged = FrameBuilder::new().vlan(5).vlan_with(Vlan::default());
    frames.push(tagged.ipv4(Ipv4::default()).udp(Udp::default()).payload(b"tagged").build());
    let extended =
        Ipv6 { extensions: vec![Extension::HopByHop(vec![5, 2, 0, 0])], ..Ipv6::default() };
    frames.push(FrameBuilder::new().ipv6(extended).tcp(Tcp::default()).payload(b"far").build());
    for (inner, outer) in [(true, true), (true, false), (false, true), (false, false)] {
        let sum = |on: bool| if on { Checksum::Right } else { Checksum::Value(0) };
        let inside = plain(false, true, sum(inner), 77);
        let udp = Udp { checksum: sum(outer), dst_port: 4789, ..Udp::default() };
        let tunnel = ip(false, 1).udp(udp).vxlan(Vxlan::default());
        frames.push(tunnel.payload(&inside).build());
    }
    let fragment = Ipv4 { more_fragments: true, ..Ipv4::default() };
    frames.push(FrameBuilder::new().ipv4(fragment).udp(Udp::default()).payload(&[7; 64]).build());
    let later = Ipv4 { fragment_offset: 64, ..Ipv4::default() };
    frames.push(FrameBuilder::new().ipv4(later).bytes(&[7; 64]).build());
    frames.push(FrameBuilder::new().ipv4(Ipv4::default()).bytes(&[9; 30]).build());
    frames
}

fn damaged() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for checksum in [Checksum::Wrong, Checksum::Partial, Checksum::OtherZero, Checksum::Value(0)] {
        for (v6, udp) in [(false, false), (false, true), (true, false), (true, true)] {
            frames.push(plain(v6, udp, checksum, 101));
        }
    }
    let long = Ipv4 { total_length: Some(9000), ..Ipv4::default() };
    frames.push(FrameBuilder::new().ipv4(long).udp(Udp::default()).payload(b"long").build());
    let wrong = Ipv4 { checksum: Checksum::Wrong, ..Ipv4::default() };
    frames.push(FrameBuilder::new().ipv4(wrong).tcp(Tcp::default()).payload(b"bad").build());
    frames
}

/// Bytes that never were a frame, and frames with bytes overwritten and cut off.
fn garbage() -> Vec<Vec<u8>> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let noise = [0, 1, 13, 14, 15, 33, 34, 53, 60, 200, 1514, 2048, 4000];
    let mut frames: Vec<Vec<u8>> =
        noise.map(|len| (0..len).map(|_| random.next() as u8).collect()).into();
    for mut frame in sound() {
        for _ in 0..4 {
            let at = random.below(frame.len().min(80));
            frame[at] = random.next() as u8;
        }
        let len = random.below(frame.len()) + 1;
        frame.truncate(if random.below(3) == 0 { len } else { frame.len() });
        frames.push(frame);
    }
    frames
}

/// xorshift; the same numbers each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// A packet as it leaves `Rx`, in several parts where it is cut.
fn arrive(harness: &mut Harness, frame: &[u8], cuts: &[usize]) -> Packet {
    let mut bounds = vec![0];
    bounds.extend(cuts.iter().copied().filter(|&cut| cut < frame.len()));
    bounds.push(frame.len());
    let mut packet = harness.packet(&frame[..bounds[1]]);
    for pair in bounds[1..].windows(2) {
        let more = harness.packet(&frame[pair[0]..pair[1]]);
        let mut tally = Tally::new(0, 0);
        StageContext::new(0, &mut harness.buffers, &mut tally).absorb(&mut packet, more, 0);
        packet.set_segmentation(Segmentation { count: 1, ..Segmentation::default() });
    }
    packet.meta_mut().orig_len = packet.len();
    described(packet, harness)
}

fn described(mut packet: Packet, harness: &mut Harness) -> Packet {
    assert!(describe(&mut packet, KEY, &mut harness.buffers).is_ok(), "there are buffers enough");
    packet
}

fn cut_by_a_capture(harness: &mut Harness) -> Vec<Packet> {
    let frame = plain(false, false, Checksum::Right, 1000);
    let packets = [40, 54, 55, 96].map(|len| {
        let mut packet = harness.packet(&frame[..len]);
        packet.meta_mut().orig_len = frame.len() as u32;
        described(packet, harness)
    });
    packets.into()
}

/// Segments of three flows in turns, in and out of the order in which they can be joined.
fn trains(harness: &mut Harness) -> Vec<Packet> {
    let mut packets = Vec::new();
    for step in 0..12_u16 {
        for (flow, v6) in [(1_u16, false), (2, true), (3, false)] {
            let len = if step == 11 { 333 } else { 700 };
            let seq = u32::from(step) * 700;
            let tcp = Tcp { src_port: flow, seq, ..Tcp::default() };
            let frame = ip(v6, step).tcp(tcp).payload(&payload(len)).build();
            packets.push(arrive(harness, &frame, &[]));
        }
    }
    packets
}

/// A packet whose checksum is to be finished, by metadata.
fn unfinished(harness: &mut Harness, kind: u16) -> Packet {
    let (v6, udp) = (kind & 1 != 0, kind & 2 != 0);
    let frame = plain(v6, udp, Checksum::Partial, 301);
    let packet = arrive(harness, &frame, &[]);
    asked(packet, udp)
}

fn asked(mut packet: Packet, udp: bool) -> Packet {
    let meta = packet.meta_mut();
    let start = meta.layers.levels[0].l4;
    meta.l4[0] = Csum::Partial;
    meta.partial[0] = Partial { start, field: start + if udp { 6 } else { 16 } };
    packet
}

/// A superpacket as a port brings it: a size to cut by, the checksum to be finished.
fn request(harness: &mut Harness, len: usize, size: u16) -> Packet {
    let tcp = Tcp { checksum: Checksum::Partial, src_port: size, ..Tcp::default() };
    let frame = FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).payload(&payload(len)).build();
    let mut packet = harness.packet(&frame);
    packet.set_segmentation(Segmentation {
        kind: SegKind::Tcp4,
        gso_size: size,
        count: len.div_ceil(usize::from(size)) as u16,
        flags: SegFlags::empty(),
    });
    packet.meta_mut().orig_len = packet.len();
    asked(described(packet, harness), false)
}

fn validate() -> Harness {
    Harness::new(ChecksumValidate::new(OnBad::Mark), ChecksumValidate::spec().info())
}

fn gro() -> Harness {
    Harness::new(Gro::new(GroConfig::default(), KEY), &gro::INFO)
}

fn gso() -> Harness {
    Harness::new(Gso::new(None), &gso::INFO).multiplies()
}

fn fill() -> Harness {
    Harness::new(ChecksumFill::new(None), &checksum_fill::INFO)
}

/// Packets through a stage that works; those it makes outlive the harness it worked in.
fn through(mut harness: Harness, packets: Vec<Packet>) -> Vec<Packet> {
    harness.feed(packets, &[32]);
    harness.drain();
    harness.take()
}
