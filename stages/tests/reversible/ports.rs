//! Whatever the port behind can do, the frames on the wire are the same: those that were received.
//!
//! An emulated NIC stands on the hardware side; it is written from the specifications and shares no code with
//! the stages. It must never be asked for what it did not grant.

use crate::property::{assert_same_by_flow, stream_run};
use crate::rig::{Frame, Rig};
use crate::stream::{Stream, stream};
use corelane_device::emulated::{Collector, Sink, Traffic};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::Packet;
use corelane_runtime::port::Port;
use corelane_runtime::stage::Progress;
use corelane_runtime::testing::Harness;
use corelane_stages::checksum_fill::{ChecksumFill, INFO as FILL};
use corelane_stages::gro::GroConfig;
use corelane_stages::gso::{Gso, INFO as GSO};
use corelane_stages::rx::{INFO as RX, Rx};
use corelane_stages::tx::{INFO as TX, Tx};
use proptest::prelude::*;

/// The stages in front of a port, and the port.
struct Exit {
    port: Emulated,
    wire: Collector,
    gso: Harness,
    fill: Harness,
    tx: Harness,
}

impl Exit {
    fn new(caps: Caps, limits: Limits) -> Exit {
        let wire = Collector::new();
        let tx = Sink::Collect(wire.clone());
        let config = EmulatedConfig { caps, limits, tx, ..EmulatedConfig::new("out") };
        let mut port = Emulated::open(config).expect("it has a queue");
        let queue = port.open_tx().expect("it has a queue");
        let exit = port.caps();
        Exit {
            wire,
            gso: Harness::new(Gso::new(Some(exit.clone())), &GSO).multiplies(),
            fill: Harness::new(ChecksumFill::new(Some(exit.clone())), &FILL),
            tx: Harness::new(Tx::new(queue, exit), &TX).outputs(0),
            port,
        }
    }

    fn send(&mut self, packets: Vec<Packet>) {
        for packet in packets {
            self.gso.push(packet);
            loop {
                self.gso.step();
                let made = self.gso.take();
                if made.is_empty() && self.gso.waiting() == 0 {
                    break;
                }
                made.into_iter().for_each(|packet| self.fill.push(packet));
                self.fill.run();
                self.fill.take().into_iter().for_each(|packet| self.tx.push(packet));
                self.tx.run();
            }
        }
    }

    /// Frames that left, and superpackets that were left to the port.
    fn finish(mut self) -> (Vec<Frame>, u64) {
        assert_eq!(self.port.refusals().total(), 0, "{}", self.port.refusals());
        for harness in [&mut self.gso, &mut self.fill, &mut self.tx] {
            harness.drain();
            harness.assert_balanced();
            harness.buffers.flush();
        }
        let left = self.gso.counter("left");
        self.tx.finish();
        self.fill.finish();
        self.gso.finish();
        let frames = self.wire.take().into_iter();
        let frame = |frame: corelane_device::emulated::Frame| Frame {
            bytes: frame.data,
            time: frame.time_ns,
            orig_len: frame.orig_len,
        };
        (frames.map(frame).collect(), left)
    }
}

fn run(frames: &[Frame], caps: Caps, limits: Limits) -> u64 {
    let mut rig = Rig::new(GroConfig::default());
    let mut exit = Exit::new(caps, limits);
    for burst in frames.chunks(64) {
        let packets = rig.receive(burst);
        exit.send(rig.merge(packets));
    }
    let (sent, left) = exit.finish();
    assert_same_by_flow(frames, &sent);
    rig.finish();
    left
}

fn limits() -> impl Strategy<Value = Limits> {
    let (bytes, segments) = (prop_oneof![Just(65_536_u32), 200..6_000_u32], 1..40_u16);
    let header_len = prop_oneof![3 => Just(255_u16), 1 => 40..90_u16];
    (bytes, segments, header_len).prop_map(|(tso_bytes, tso_segments, header_len)| Limits {
        tso_bytes,
        tso_segments,
        header_len,
        ..Limits::default()
    })
}

/// Frames through a NIC that receives with `caps`, all stages in software, and out again.
fn receive(frames: &[Frame], caps: Caps) -> u64 {
    let given = |frame: &Frame| {
        corelane_device::emulated::Frame::cut(frame.time, frame.bytes.clone(), frame.orig_len)
    };
    let rx = Traffic::Frames { frames: frames.iter().map(given).collect(), repeat: false };
    let config = EmulatedConfig { caps, rx, ..EmulatedConfig::new("in") };
    let mut port = Emulated::open(config).expect("it has a queue");
    let queue = port.open_rx().expect("it has a queue");
    let mut source = Harness::source(Rx::new(queue, 0, 7), &RX);
    let mut rig = Rig::new(GroConfig::default());
    let mut exit = Exit::new(Caps::MULTI_PART, Limits::default());
    let mut joined = 0;
    while source.poll(32) != Progress::Done {
        let packets = source.take();
        joined += packets.iter().filter(|packet| packet.is_super()).count() as u64;
        packets.into_iter().for_each(|packet| rig.validate.push(packet));
        rig.validate.run();
        let packets = rig.validate.take();
        exit.send(rig.merge(packets));
    }
    let (sent, _) = exit.finish();
    // A device that joins gives the receive time of the first frame only.
    let timeless = |frames: &[Frame]| -> Vec<Frame> {
        frames.iter().map(|frame| Frame { time: 0, ..frame.clone() }).collect()
    };
    assert_same_by_flow(&timeless(frames), &timeless(&sent));
    rig.finish();
    source.finish();
    joined
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn every_port_sends_the_same_frames(
        stream in stream(80),
        caps in prop::sample::select(Caps::every_set()),
        limits in limits(),
    ) {
        run(&stream.frames(), caps, limits);
    }

    #[test]
    fn whatever_a_port_reports_and_joins_the_same_frames_leave(
        stream in stream(80),
        caps in prop::sample::select(Caps::every_set()),
    ) {
        receive(&stream.frames(), caps);
    }
}

#[test]
fn a_port_that_joins_is_believed() {
    let streams = stream_run(20, 120);
    let joined: u64 = streams.iter().map(|stream| receive(&stream.frames(), Caps::all())).sum();
    assert!(joined > 20, "only {joined} superpackets came from the port");
}

#[test]
fn a_port_that_can_is_given_superpackets() {
    let frames: Vec<Stream> = stream_run(20, 120);
    let left: u64 =
        frames.iter().map(|stream| run(&stream.frames(), Caps::all(), Limits::default())).sum();
    assert!(left > 20, "only {left} superpackets were left to the port");
    let none: u64 =
        frames.iter().map(|stream| run(&stream.frames(), Caps::empty(), Limits::default())).sum();
    assert_eq!(none, 0);
}
