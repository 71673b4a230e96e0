//! The frames of a stream: each with a payload of its own, so that it is found again inside a superpacket.
//!
//! It promises that no two payloads of a stream begin with the same byte, and frames that are sound but for what a
//! test changes.

use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{
    Checksum, Ethernet, FrameBuilder, Gre, Ipv4, Ipv6, Tcp, Udp, Vxlan, address_v6,
};

/// What is around a segment.
#[derive(Clone, Debug)]
pub(crate) enum Around {
    /// Nothing: it is on the wire as it is.
    Nothing,
    /// VXLAN in UDP with this header before it.
    Vxlan(Udp, u32),
    /// GRE with this key.
    Gre(Option<u32>),
    /// IPv4 alone.
    Ip(Ipv4),
}

/// One segment or datagram.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) flow: u16,
    pub(crate) v6: bool,
    pub(crate) vlan: Option<u16>,
    pub(crate) ip4: Ipv4,
    pub(crate) ip6: Ipv6,
    pub(crate) tcp: Tcp,
    /// UDP in place of TCP.
    pub(crate) udp: Option<Udp>,
    pub(crate) len: usize,
    /// Zeros up to 60 bytes.
    pub(crate) padded: bool,
    pub(crate) around: Around,
}

/// TCP at sequence offset `off` with `len` bytes; what the kernel's own tests send.
pub(crate) fn p(v6: bool, off: u32, len: usize) -> Segment {
    let tcp = Tcp {
        src_port: 1500,
        dst_port: 8000,
        seq: 100 + off,
        ack: 100,
        window: 65_535,
        ..Tcp::default()
    };
    Segment {
        flow: 0,
        v6,
        vlan: None,
        ip4: Ipv4 { id: 0, ttl: 8, ..Ipv4::default() },
        ip6: Ipv6 { hop_limit: 8, src: address_v6(1), ..Ipv6::default() },
        tcp,
        udp: None,
        len,
        padded: false,
        around: Around::Nothing,
    }
}

/// A datagram of `len` bytes.
pub(crate) fn d(v6: bool, len: usize) -> Segment {
    p(v6, 0, len).edit(|s| s.udp = Some(Udp { src_port: 1500, dst_port: 8000, ..Udp::default() }))
}

impl Segment {
    pub(crate) fn edit(mut self, change: impl FnOnce(&mut Segment)) -> Segment {
        change(&mut self);
        self
    }

    pub(crate) fn tcp(self, change: impl FnOnce(&mut Tcp)) -> Segment {
        self.edit(|s| change(&mut s.tcp))
    }

    pub(crate) fn flags(self, flags: TcpFlags) -> Segment {
        self.tcp(|tcp| tcp.flags = TcpFlags::ACK | flags)
    }

    pub(crate) fn ip4(self, change: impl FnOnce(&mut Ipv4)) -> Segment {
        self.edit(|s| change(&mut s.ip4))
    }

    pub(crate) fn ip6(self, change: impl FnOnce(&mut Ipv6)) -> Segment {
        self.edit(|s| change(&mut s.ip6))
    }

    pub(crate) fn datagram(self, change: impl FnMut(&mut Udp)) -> Segment {
        self.edit(|s| s.udp.iter_mut().for_each(change))
    }

    pub(crate) fn id(self, id: u16) -> Segment {
        self.ip4(|ip| ip.id = id)
    }

    pub(crate) fn checksum(self, what: Checksum) -> Segment {
        self.edit(|s| {
            s.tcp.checksum = what;
            s.udp.iter_mut().for_each(|udp| udp.checksum = what);
        })
    }

    pub(crate) fn pad(self) -> Segment {
        self.edit(|s| s.padded = true)
    }

    pub(crate) fn inside(self, around: Around) -> Segment {
        self.edit(|s| s.around = around)
    }

    /// The frame, as number `number` of its stream.
    pub(crate) fn build(&self, number: usize) -> Sent {
        let stamp = u8::try_from(number).expect("streams are short");
        let payload: Vec<u8> = std::iter::once(stamp)
            .chain((1..self.len).map(|at| (at * 31 + number * 7) as u8))
            .take(self.len)
            .collect();
        let frame = self.headers().payload(&payload).pad_to(if self.padded { 60 } else { 0 });
        let bytes = frame.build();
        // Without padding, the payload is the end of the frame.
        let header = self.headers().payload(&payload).build().len() - self.len;
        Sent { flow: self.flow, tagged: self.vlan.is_some(), header, payload, bytes }
    }

    fn headers(&self) -> FrameBuilder {
        let mut builder = FrameBuilder::new();
        if let Some(tci) = self.vlan {
            builder = builder.vlan(tci);
        }
        let outer = || Ipv4 { id: self.ip4.id, ..Ipv4::default() };
        builder = match &self.around {
            Around::Nothing => builder,
            Around::Vxlan(udp, vni) => builder
                .ipv4(outer())
                .udp(udp.clone())
                .vxlan(Vxlan { vni: *vni, ..Vxlan::default() })
                .ethernet(Ethernet::default()),
            Around::Gre(key) => builder.ipv4(outer()).gre(Gre { key: *key, ..Gre::default() }),
            Around::Ip(ip) => builder.ipv4(ip.clone()),
        };
        builder =
            if self.v6 { builder.ipv6(self.ip6.clone()) } else { builder.ipv4(self.ip4.clone()) };
        match &self.udp {
            Some(udp) => builder.udp(udp.clone()),
            None => builder.tcp(self.tcp.clone()),
        }
    }
}

/// A frame as sent, and where its payload is.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) flow: u16,
    pub(crate) tagged: bool,
    pub(crate) header: usize,
    pub(crate) payload: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
}
