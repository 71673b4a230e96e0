//! Frames, and in which order flows send them.
//!
//! It promises that the frames of a flow follow each other without a gap (sequence numbers, IPv4 IDs of both levels), that
//! their payloads differ, and that all checksums are right: `corelane-wire`'s builder makes them, which shares no code
//! with the stages.

use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan, address_v6};
use dpdk_sys::{Kind, Lengths};

/// Bytes of a whole frame.
pub(super) const FRAME: usize = 1514;

/// Traffic of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traffic {
    pub(super) kind: Kind,
    /// Flows.
    pub(super) flows: usize,
    /// Frames of a flow in a row before the next flow has its turn.
    pub(super) run: usize,
}

/// Bytes of all headers.
pub(super) fn header_len(kind: Kind) -> usize {
    let Lengths { outer_l2, outer_l3, l2, l3, l4 } = lengths(kind);
    usize::from(outer_l2 + outer_l3 + l2 + l3 + l4)
}

/// Payload bytes of a frame of [`FRAME`] bytes.
pub(super) fn payload_len(kind: Kind) -> usize {
    FRAME - header_len(kind)
}

/// Headers of such frames: TCP has a timestamp option.
pub(super) fn lengths(kind: Kind) -> Lengths {
    let plain = Lengths { outer_l2: 0, outer_l3: 0, l2: 14, l3: 20, l4: 32 };
    match kind {
        Kind::Tcp4 => plain,
        Kind::Tcp6 => Lengths { l3: 40, ..plain },
        Kind::VxlanTcp4 => Lengths { outer_l2: 14, outer_l3: 20, l2: 30, ..plain },
    }
}

impl Traffic {
    /// The first `n` frames.
    pub(super) fn frames(&self, n: usize) -> Vec<Vec<u8>> {
        let mut sent = vec![0; self.flows];
        (0..n)
            .map(|index| {
                let flow = index / self.run % self.flows;
                let number = sent[flow];
                sent[flow] += 1;
                frame(self.kind, flow, number)
            })
            .collect()
    }
}

/// The frame `number` of a flow.
pub(super) fn frame(kind: Kind, flow: usize, number: usize) -> Vec<u8> {
    let payload = payload(payload_len(kind), flow, number);
    whole(kind, flow, number, TcpFlags::ACK, &payload)
}

/// A packet of a flow with this payload, that begins where frame `number` would.
pub(super) fn whole(
    kind: Kind,
    flow: usize,
    number: usize,
    flags: TcpFlags,
    payload: &[u8],
) -> Vec<u8> {
    let tcp = Tcp {
        src_port: 10_000 + flow as u16,
        seq: 1 + (number * payload_len(kind)) as u32,
        flags,
        options: Tcp::timestamps(1000, 2000),
        ..Tcp::default()
    };
    let (high, low) = ((flow >> 8) as u8, flow as u8);
    let inner = match kind {
        Kind::Tcp6 => {
            let src = address_v6(flow as u16 + 10);
            FrameBuilder::new().ipv6(Ipv6 { src, dst: address_v6(2), ..Ipv6::default() })
        }
        Kind::Tcp4 | Kind::VxlanTcp4 => {
            let (id, src) = (number as u16, [10, 1, high, low]);
            FrameBuilder::new().ipv4(Ipv4 { id, src, ..Ipv4::default() })
        }
    };
    let inner = inner.tcp(tcp).payload(payload);
    if kind != Kind::VxlanTcp4 {
        return inner.build();
    }
    let outer = Ipv4 { id: number as u16, dont_fragment: false, ..Ipv4::default() };
    let start = FrameBuilder::new().ipv4(outer).udp(Udp::vxlan());
    start.vxlan(Vxlan::default()).inside(inner).build()
}

/// Bytes that differ from flow to flow and frame to frame.
pub(super) fn payload(len: usize, flow: usize, number: usize) -> Vec<u8> {
    let mut state = (flow as u64) << 32 | number as u64 | 1 << 63;
    let mut byte = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| byte()).collect()
}
