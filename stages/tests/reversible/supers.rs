//! Superpackets in one piece, as a device or a tap gives them, and what `Gso` makes of one: every segment is
//! judged with a checksum of the test's own.

use crate::rig::frame_of;
use corelane_runtime::offload::{Caps, Limits, PortCaps};
use corelane_runtime::packet::{Csum, Packet, Partial, SegFlags, SegKind, Segmentation};
use corelane_runtime::testing::Harness;
use corelane_stages::gso::{Gso, INFO};
use corelane_stages::rx::describe;
use corelane_wire::testing::{
    Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, assert_sound, slow_sum,
};
use std::sync::Arc;

/// A superpacket to be made.
#[derive(Clone)]
pub(crate) struct Super {
    pub(crate) frame: Vec<u8>,
    pub(crate) kind: SegKind,
    pub(crate) gso_size: u16,
    pub(crate) count: u16,
    pub(crate) flags: SegFlags,
    pub(crate) state: Csum,
}

pub(crate) fn tcp4(ip: Ipv4, tcp: Tcp, payload: usize, gso_size: u16) -> Super {
    let tcp = Tcp { checksum: Checksum::Partial, ..tcp };
    let frame = FrameBuilder::new().ipv4(ip).tcp(tcp).payload_len(payload).build();
    of(frame, SegKind::Tcp4, payload, gso_size)
}

pub(crate) fn tcp6(ip: Ipv6, tcp: Tcp, payload: usize, gso_size: u16) -> Super {
    let tcp = Tcp { checksum: Checksum::Partial, ..tcp };
    let frame = FrameBuilder::new().ipv6(ip).tcp(tcp).payload_len(payload).build();
    of(frame, SegKind::Tcp6, payload, gso_size)
}

pub(crate) fn udp(v6: bool, payload: usize, gso_size: u16) -> Super {
    let header = Udp { checksum: Checksum::Partial, ..Udp::default() };
    let builder = FrameBuilder::new();
    let builder = if v6 { builder.ipv6(Ipv6::default()) } else { builder.ipv4(Ipv4::default()) };
    let frame = builder.udp(header).payload_len(payload).build();
    of(frame, if v6 { SegKind::Udp6 } else { SegKind::Udp4 }, payload, gso_size)
}

pub(crate) fn of(frame: Vec<u8>, kind: SegKind, payload: usize, gso_size: u16) -> Super {
    let count = payload.div_ceil(usize::from(gso_size).max(1)) as u16;
    Super { frame, kind, gso_size, count, flags: SegFlags::empty(), state: Csum::Partial }
}

impl Super {
    pub(crate) fn with(mut self, flags: SegFlags) -> Super {
        self.flags = flags;
        self
    }

    pub(crate) fn packet(&self, harness: &mut Harness) -> Packet {
        let mut packet = harness.packet(&self.frame);
        let Super { kind, gso_size, count, flags, .. } = *self;
        packet.set_segmentation(Segmentation { kind, gso_size, count, flags });
        describe(&mut packet, 7, &mut harness.buffers).expect("headers are contiguous");
        packet.set_time(99);
        let l4 = packet.meta().layers.levels[0].l4;
        let field = l4 + if matches!(kind, SegKind::Udp4 | SegKind::Udp6) { 6 } else { 16 };
        let meta = packet.meta_mut();
        meta.l4[0] = self.state;
        meta.partial[0] = Partial { start: l4, field };
        packet
    }
}

pub(crate) fn software() -> Harness {
    Harness::new(Gso::new(None), &INFO).multiplies()
}

pub(crate) fn port(caps: Caps, limits: Limits) -> (Arc<PortCaps>, Harness) {
    let caps = Arc::new(PortCaps::new("p", caps, limits));
    let harness = Harness::new(Gso::new(Some(Arc::clone(&caps))), &INFO).multiplies();
    (caps, harness)
}

/// What a segment's frame is once a partial checksum is finished, by hand.
pub(crate) fn finished(packet: &Packet) -> Vec<u8> {
    let mut bytes = frame_of(packet).bytes;
    let meta = packet.meta();
    if meta.l4[0] == Csum::Partial {
        let Partial { start, field } = meta.partial[0];
        let (start, field) = (usize::from(start), usize::from(field));
        let end = bytes.len() - usize::from(meta.trailer);
        // The seed is in the field already.
        let checksum = match !slow_sum(&[&bytes[start..end]]) {
            0 if field - start == 6 => 0xffff,
            checksum => checksum,
        };
        bytes[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    bytes
}

/// Runs one superpacket; every frame that comes out is sound and says its own length and time.
#[track_caller]
pub(crate) fn cut(mut harness: Harness, request: &Super) -> Vec<Vec<u8>> {
    let packet = request.packet(&mut harness);
    harness.push(packet);
    harness.run();
    harness.assert_balanced();
    let packets = harness.take();
    let frames: Vec<Vec<u8>> = packets.iter().map(finished).collect();
    for (packet, frame) in packets.iter().zip(&frames) {
        assert!(!packet.is_super());
        assert_eq!(packet.meta().orig_len, packet.len());
        assert_eq!(packet.time(), 99);
        assert_sound(frame);
    }
    harness.release(packets);
    harness.finish();
    frames
}
