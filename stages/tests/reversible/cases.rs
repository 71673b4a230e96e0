//! The common packet of the tables, how a case departs from it, and how a case is run.

use crate::oracle::assert_well_formed;
use crate::rig::{Frame, Rig, payloads};
use corelane_stages::gro::GroConfig;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{FrameBuilder, Ipv4, Ipv6, Tcp, assert_same_frames};

/// The two address families of the tables.
pub(crate) const V4: bool = false;
pub(crate) const V6: bool = true;

/// Says how a packet departs from the common one.
pub(crate) struct P {
    v6: bool,
    ip4: Ipv4,
    ip6: Ipv6,
    tcp: Tcp,
    len: usize,
    pad_to: usize,
    tags: Vec<u16>,
}

/// The common packet of the kernel's tests: `len` bytes at sequence offset `off`.
pub(crate) fn p(v6: bool, off: u32, len: usize) -> P {
    P {
        v6,
        ip4: Ipv4 { id: 0, ttl: 8, ..Ipv4::default() },
        ip6: Ipv6 { hop_limit: 8, ..Ipv6::default() },
        tcp: Tcp {
            src_port: 1500,
            dst_port: 8000,
            seq: 100 + off,
            ack: 100,
            window: 65_535,
            ..Tcp::default()
        },
        len,
        pad_to: 0,
        tags: Vec::new(),
    }
}

impl P {
    pub(crate) fn flags(mut self, flags: TcpFlags) -> P {
        self.tcp.flags = flags;
        self
    }

    pub(crate) fn tcp(mut self, edit: impl FnOnce(&mut Tcp)) -> P {
        edit(&mut self.tcp);
        self
    }

    pub(crate) fn ip4(mut self, edit: impl FnOnce(&mut Ipv4)) -> P {
        edit(&mut self.ip4);
        self
    }

    pub(crate) fn ip6(mut self, edit: impl FnOnce(&mut Ipv6)) -> P {
        edit(&mut self.ip6);
        self
    }

    pub(crate) fn tags(mut self, tags: &[u16]) -> P {
        self.tags = tags.to_vec();
        self
    }

    pub(crate) fn pad(mut self) -> P {
        self.pad_to = 60;
        self
    }

    pub(crate) fn build(self) -> Frame {
        let mut builder = FrameBuilder::new();
        for tag in self.tags {
            builder = builder.vlan(tag);
        }
        builder = if self.v6 { builder.ipv6(self.ip6) } else { builder.ipv4(self.ip4) };
        Frame::new(builder.tcp(self.tcp).payload(&vec![b'a'; self.len]).pad_to(self.pad_to).build())
    }
}

/// All in one burst; each superpacket is well-formed, and cutting gives the frames back in order of flows.
#[track_caller]
pub(crate) fn expect(
    config: GroConfig,
    frames: Vec<Frame>,
    expected: &[u32],
) -> Vec<(&'static str, u64)> {
    let mut rig = Rig::new(config);
    let packets = rig.receive(&frames);
    let mut merged = rig.merge(packets);
    rig.gro.drain();
    merged.extend(rig.gro.take());
    assert_eq!(payloads(&merged), expected);
    merged.iter().filter(|packet| packet.is_super()).for_each(assert_well_formed);
    let counters = rig.gro.counters();
    let cut = rig.cut(merged);
    assert_same_frames(&frames, &cut);
    assert_eq!(frames, cut, "receive time or wire length");
    rig.finish();
    counters
}

#[track_caller]
pub(crate) fn case(packets: Vec<P>, expected: &[u32]) -> Vec<(&'static str, u64)> {
    expect(GroConfig::default(), packets.into_iter().map(P::build).collect(), expected)
}

pub(crate) fn both(test: impl Fn(bool)) {
    test(V4);
    test(V6);
}
