//! Headers rewritten by the stage against frames that were built with those fields from the start.

mod property;
mod states;
mod vectors;

use crate::checksum_fill::{self, ChecksumFill};
use crate::fixture::received;
use corelane_runtime::packet::{Csum, L4, Packet};
use corelane_runtime::stage::{Args, Declared, Nowhere};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{
    Checksum, Ethernet, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vlan, Vxlan, slow_pseudo_header,
    slow_sum,
};

/// A stage of that kind with these arguments.
pub(crate) fn stage<S: Declared>(arguments: &str) -> Harness {
    let spec = S::spec();
    let config = spec.configure(Args { text: arguments });
    let config = config.unwrap_or_else(|errors| panic!("{arguments}: {errors:?}"));
    let built = config.build(&mut Nowhere).unwrap_or_else(|error| panic!("{error}"));
    let outputs = 1 + config.traits().outputs.len();
    Harness::built(built, spec.info()).outputs(outputs).home(64, 64, 4)
}

/// One packet through a stage that passes it on.
pub(crate) fn through(harness: &mut Harness, packet: Packet) -> Packet {
    harness.push(packet);
    harness.run();
    harness.take().pop().expect("the packet passes")
}

/// The bytes of a packet once its checksums are finished.
pub(crate) fn finished(packet: Packet) -> Vec<u8> {
    let mut fill = Harness::new(ChecksumFill::new(None), &checksum_fill::INFO).home(64, 64, 4);
    let packet = through(&mut fill, packet);
    fill.unpack(packet)
}

/// What a device says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Unknown,
    Good,
    Bad,
    /// The field is replaced by what a sender leaves for its device.
    Partial,
}

/// A packet of `frame` with that status at its outermost level.
pub(crate) fn with_status(harness: &mut Harness, frame: &[u8], status: Status) -> Packet {
    let mut packet = received(harness, frame, &[]);
    let level = packet.meta().layers.levels[0];
    let has_sum = matches!(level.l4_kind, L4::Tcp | L4::Udp);
    let (state, header) = match status {
        Status::Unknown => (Csum::Unknown, Csum::Unknown),
        Status::Good => (Csum::Good, Csum::Good),
        Status::Bad => (Csum::Bad, Csum::Bad),
        Status::Partial => (Csum::Partial, Csum::Good),
    };
    if packet.meta().layers.count == 0 {
        return packet;
    }
    let v4 = level.l3_kind == corelane_runtime::packet::L3::V4;
    packet.meta_mut().l3[0] = if v4 { header } else { Csum::Unknown };
    if !has_sum {
        return packet;
    }
    if status == Status::Partial {
        return put_off(packet);
    }
    packet.meta_mut().l4[0] = state;
    packet
}

/// Replaces the outermost TCP or UDP checksum by the sum of the pseudo header, by metadata too.
pub(crate) fn put_off(mut packet: Packet) -> Packet {
    let frame: Vec<u8> = packet.parts().flatten().copied().collect();
    let wire = corelane_wire::layers(&frame, frame.len() as u32).levels()[0];
    let udp = wire.l4_kind == corelane_wire::L4::Udp;
    let len = if wire.l3_kind == corelane_wire::L3::V4 { 4 } else { 16 };
    let (src, dst) = (usize::from(wire.pseudo_src), usize::from(wire.pseudo_dst));
    let start = usize::from(wire.l4);
    let length = wire.l4_end - u32::from(wire.l4);
    let (src, dst) = (&frame[src..src + len], &frame[dst..dst + len]);
    let seed = slow_sum(&[&slow_pseudo_header(src, dst, length, if udp { 17 } else { 6 })]);
    let field = start + if udp { 6 } else { 16 };
    let data = packet.data_mut().expect("its own");
    if udp && data[field..field + 2] == [0, 0] {
        return packet;
    }
    data[field..field + 2].copy_from_slice(&seed.to_be_bytes());
    let partial = corelane_runtime::packet::Partial { start: start as u16, field: field as u16 };
    packet.meta_mut().request(0, partial);
    packet
}

/// The network layer of a frame.
#[derive(Clone, Debug)]
pub(crate) enum Net {
    V4(Ipv4),
    V6(Ipv6),
}

/// The transport layer of a frame.
#[derive(Clone, Debug)]
pub(crate) enum Top {
    Tcp(Tcp),
    Udp(Udp),
}

/// A frame by its fields.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) ethernet: Ethernet,
    pub(crate) tag: Option<Vlan>,
    pub(crate) net: Net,
    pub(crate) top: Top,
    /// A frame in VXLAN, where the top is UDP; otherwise any bytes.
    pub(crate) payload: Vec<u8>,
    pub(crate) tunnel: bool,
    pub(crate) trailer: Vec<u8>,
}

impl Shape {
    pub(crate) fn plain(v6: bool, udp: bool) -> Shape {
        Shape {
            ethernet: Ethernet::default(),
            tag: None,
            net: if v6 { Net::V6(Ipv6::default()) } else { Net::V4(Ipv4::default()) },
            top: if udp { Top::Udp(Udp::default()) } else { Top::Tcp(Tcp::default()) },
            payload: (0..101_usize).map(|at| (at * 7) as u8).collect(),
            tunnel: false,
            trailer: Vec::new(),
        }
    }

    pub(crate) fn checksum(&mut self) -> &mut Checksum {
        match &mut self.top {
            Top::Tcp(tcp) => &mut tcp.checksum,
            Top::Udp(udp) => &mut udp.checksum,
        }
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let mut frame = FrameBuilder::with(self.ethernet.clone());
        if let Some(tag) = &self.tag {
            frame = frame.vlan_with(tag.clone());
        }
        frame = match &self.net {
            Net::V4(ip) => frame.ipv4(ip.clone()),
            Net::V6(ip) => frame.ipv6(ip.clone()),
        };
        frame = match &self.top {
            Top::Tcp(tcp) => frame.tcp(tcp.clone()),
            Top::Udp(udp) => frame.udp(udp.clone()),
        };
        if self.tunnel {
            frame = frame.vxlan(Vxlan::default());
        }
        frame.payload(&self.payload).trailer(&self.trailer).build()
    }
}

#[test]
fn a_stage_that_sets_nothing_or_a_ttl_of_0_is_refused() {
    let error = |arguments: &str| {
        let errors = super::Rewrite::spec().configure(Args { text: arguments }).err();
        errors.map(|errors| errors[0].message.clone()).unwrap_or_default()
    };
    assert!(error("()").starts_with("it sets nothing; name a field"));
    assert!(error("(ttl: 0)").ends_with("write 1 to 255"));
    assert_eq!(error("(ttl: 1)"), "");
}
