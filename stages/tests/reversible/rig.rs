//! The stages under test, each in its own harness, and packets on their way through them.

use corelane_runtime::packet::{Csum, L3, L4, Packet};
use corelane_runtime::stage::Declared;
use corelane_runtime::testing::Harness;
use corelane_stages::checksum_validate::{ChecksumValidate, OnBad};
use corelane_stages::gro::{Gro, GroConfig, INFO as GRO};
use corelane_stages::gso::{Gso, INFO as GSO};
use corelane_stages::rx::describe;
use corelane_wire::testing::problems;

/// A frame as received, or as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) time: u64,
    /// Length on the wire; more than `bytes` if the capture was cut.
    pub(crate) orig_len: u32,
}

impl Frame {
    pub(crate) fn new(bytes: Vec<u8>) -> Frame {
        let orig_len = bytes.len() as u32;
        Frame { bytes, time: 0, orig_len }
    }
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What a packet is, as a frame.
pub(crate) fn frame_of(packet: &Packet) -> Frame {
    Frame {
        bytes: packet.parts().flatten().copied().collect(),
        time: packet.time(),
        orig_len: packet.meta().orig_len,
    }
}

/// Who says that checksums are right before `Gro` sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// `ChecksumValidate`.
    Stage,
    /// A device: it says good of what is, and knows no sums.
    Device,
    /// Nobody: `Gro` has to look itself.
    Nobody,
}

/// Whether the UDP header at `l4` says that there is no checksum.
fn has_none(frame: &[u8], l4: u16) -> bool {
    frame[usize::from(l4) + 6..][..2] == [0, 0]
}

/// Validation, merging and cutting.
pub(crate) struct Rig {
    pub(crate) validate: Harness,
    pub(crate) gro: Harness,
    pub(crate) gso: Harness,
}

impl Rig {
    pub(crate) fn new(config: GroConfig) -> Rig {
        let gro = Harness::new(Gro::new(config, 0x5eed), &GRO);
        Rig {
            validate: Harness::new(
                ChecksumValidate::new(OnBad::Mark),
                ChecksumValidate::spec().info(),
            ),
            gro: if config.hold.is_some() { gro.multiplies() } else { gro },
            gso: Harness::new(Gso::new(None), &GSO).multiplies(),
        }
    }

    /// Receives, describes and validates frames.
    pub(crate) fn receive(&mut self, frames: &[Frame]) -> Vec<Packet> {
        let packets: Vec<Packet> = frames.iter().map(|frame| self.arrive(frame)).collect();
        packets.into_iter().for_each(|packet| self.validate.push(packet));
        self.validate.run();
        self.validate.assert_balanced();
        self.validate.take()
    }

    /// Receives frames on somebody's word.
    pub(crate) fn receive_by(&mut self, proof: Proof, frames: &[Frame]) -> Vec<Packet> {
        if proof == Proof::Stage {
            return self.receive(frames);
        }
        let mut packets: Vec<Packet> = frames.iter().map(|frame| self.arrive(frame)).collect();
        for (packet, frame) in packets.iter_mut().zip(frames) {
            let layers = packet.meta().layers;
            let complete = layers.count > 0 && packet.payload_len() > 0 && !packet.is_cut();
            if proof == Proof::Device && complete && problems(&frame.bytes).is_empty() {
                for (index, level) in layers.levels[..usize::from(layers.count)].iter().enumerate()
                {
                    let none = level.l4_kind == L4::Udp && has_none(&frame.bytes, level.l4);
                    let meta = packet.meta_mut();
                    if level.l3_kind == L3::V4 {
                        meta.l3[index] = Csum::Good;
                    }
                    if matches!(level.l4_kind, L4::Tcp | L4::Udp) && !none {
                        meta.l4[index] = Csum::Good;
                    }
                }
            }
        }
        packets
    }

    fn arrive(&mut self, frame: &Frame) -> Packet {
        let mut packet = self.validate.packet(&frame.bytes);
        packet.set_time(frame.time);
        packet.meta_mut().orig_len = frame.orig_len;
        describe(&mut packet, 7, &mut self.validate.buffers).expect("headers are contiguous");
        packet
    }

    /// One burst through `Gro`, call by call, however little room there is.
    pub(crate) fn merge(&mut self, packets: Vec<Packet>) -> Vec<Packet> {
        packets.into_iter().for_each(|packet| self.gro.push(packet));
        let mut merged = Vec::new();
        loop {
            let taken = self.gro.step();
            self.gro.assert_balanced();
            let sent = self.gro.take();
            // A call may be spent on what had found no room before.
            if taken == 0 && sent.is_empty() {
                break;
            }
            merged.extend(sent);
        }
        assert_eq!(self.gro.waiting(), 0, "stuck");
        merged
    }

    /// Packets through `Gso`, call by call, however little room there is.
    pub(crate) fn cut(&mut self, packets: Vec<Packet>) -> Vec<Frame> {
        let mut frames = Vec::new();
        for packet in packets {
            self.gso.push(packet);
            loop {
                self.gso.step();
                self.gso.assert_balanced();
                let made = self.gso.take();
                if made.is_empty() && self.gso.waiting() == 0 {
                    break;
                }
                frames.extend(made.iter().map(frame_of));
                self.gso.release(made);
            }
        }
        frames
    }

    /// Everything at home, all books balanced.
    pub(crate) fn finish(mut self) {
        for harness in [&mut self.gro, &mut self.gso] {
            harness.drain();
            assert!(harness.take().is_empty(), "something was still inside");
            harness.buffers.flush();
        }
        self.validate.buffers.flush();
        self.gso.finish();
        self.gro.finish();
        self.validate.finish();
    }
}

/// Payload bytes of each packet in order: what the kernel's tables list.
pub(crate) fn payloads(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(Packet::payload_len).collect()
}
