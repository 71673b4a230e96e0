//! Frames from named fields, with lengths and checksums filled in.
//!
//! It promises that what is not said is right: lengths, next-protocol fields and checksums follow
//! from what was put below them. It writes whatever is said, so malformed frames are built with it
//! as well. A tunnel is built in one go, or by giving a built frame as the payload of another.

use super::headers::{Arp, Ethernet, Icmp, Ipv4, Ipv6, Tcp, Udp, Vlan};
use super::tunnels::{Geneve, Gre, Vxlan};
use super::write::{self, Addresses, arp, final_addresses, geneve, gre, ipv4, ipv6, tcp, udp};

#[derive(Clone, Debug)]
enum Layer {
    Ethernet(Ethernet),
    Vlan(Vlan),
    Snap,
    Ipv4(Ipv4),
    Ipv6(Ipv6),
    Tcp(Tcp),
    Udp(Udp),
    Icmp(Icmp),
    Arp(Arp),
    Vxlan(Vxlan),
    Geneve(Geneve),
    Gre(Gre),
    Bytes(Vec<u8>),
}

/// Builds one frame. Headers are given outside in; [`FrameBuilder::build`] puts them together
/// inside out.
///
/// ```
/// use corelane_wire::testing::{FrameBuilder, Ipv4, Tcp, assert_sound};
///
/// let frame = FrameBuilder::new()
///     .vlan(100)
///     .ipv4(Ipv4 { ttl: 63, ..Ipv4::default() })
///     .tcp(Tcp { seq: 1000, ..Tcp::default() })
///     .payload(b"hello")
///     .build();
/// assert_sound(&frame);
/// ```
#[derive(Clone, Debug)]
pub struct FrameBuilder {
    layers: Vec<Layer>,
    payload: Vec<u8>,
    pad_to: usize,
    trailer: Vec<u8>,
}

impl Default for FrameBuilder {
    fn default() -> FrameBuilder {
        FrameBuilder::new()
    }
}

impl FrameBuilder {
    /// A frame that starts with the default Ethernet header.
    pub fn new() -> FrameBuilder {
        FrameBuilder::with(Ethernet::default())
    }

    /// A frame that starts with this Ethernet header.
    pub fn with(ethernet: Ethernet) -> FrameBuilder {
        let layers = vec![Layer::Ethernet(ethernet)];
        FrameBuilder { layers, payload: Vec::new(), pad_to: 0, trailer: Vec::new() }
    }

    /// A packet that starts with what is added first: for [`FrameBuilder::inside`] of a tunnel
    /// without an inner Ethernet header.
    pub fn bare() -> FrameBuilder {
        let layers = Vec::new();
        FrameBuilder { layers, payload: Vec::new(), pad_to: 0, trailer: Vec::new() }
    }

    /// Adds the headers and the payload of `inner`, not its padding and trailer. An inner frame
    /// with those is built and given as payload.
    pub fn inside(mut self, inner: FrameBuilder) -> FrameBuilder {
        self.layers.extend(inner.layers);
        self.payload = inner.payload;
        self
    }

    fn add(mut self, layer: Layer) -> FrameBuilder {
        self.layers.push(layer);
        self
    }

    /// Adds an Ethernet header, inside a tunnel.
    pub fn ethernet(self, header: Ethernet) -> FrameBuilder {
        self.add(Layer::Ethernet(header))
    }

    /// Adds an 802.1Q tag.
    pub fn vlan(self, tci: u16) -> FrameBuilder {
        self.vlan_with(Vlan { tci, ..Vlan::default() })
    }

    /// Adds a VLAN tag of any type.
    pub fn vlan_with(self, tag: Vlan) -> FrameBuilder {
        self.add(Layer::Vlan(tag))
    }

    /// Adds LLC and SNAP; the type field before it becomes the 802.3 length.
    pub fn snap(self) -> FrameBuilder {
        self.add(Layer::Snap)
    }

    /// Adds an IPv4 header.
    pub fn ipv4(self, header: Ipv4) -> FrameBuilder {
        self.add(Layer::Ipv4(header))
    }

    /// Adds an IPv6 header with its extension headers.
    pub fn ipv6(self, header: Ipv6) -> FrameBuilder {
        self.add(Layer::Ipv6(header))
    }

    /// Adds a TCP header.
    pub fn tcp(self, header: Tcp) -> FrameBuilder {
        self.add(Layer::Tcp(header))
    }

    /// Adds a UDP header.
    pub fn udp(self, header: Udp) -> FrameBuilder {
        self.add(Layer::Udp(header))
    }

    /// Adds a VXLAN header; an Ethernet header or a built frame as payload should follow.
    pub fn vxlan(self, header: Vxlan) -> FrameBuilder {
        self.add(Layer::Vxlan(header))
    }

    /// Adds a Geneve header; an Ethernet or IP header, or a built frame as payload, should follow.
    pub fn geneve(self, header: Geneve) -> FrameBuilder {
        self.add(Layer::Geneve(header))
    }

    /// Adds a GRE header; an Ethernet or IP header, or a built frame as payload, should follow.
    pub fn gre(self, header: Gre) -> FrameBuilder {
        self.add(Layer::Gre(header))
    }

    /// Adds the first 8 bytes of an ICMP message: ICMPv6 where it is in IPv6.
    pub fn icmp(self, header: Icmp) -> FrameBuilder {
        self.add(Layer::Icmp(header))
    }

    /// Adds an ARP packet for Ethernet and IPv4.
    pub fn arp(self, packet: Arp) -> FrameBuilder {
        self.add(Layer::Arp(packet))
    }

    /// Adds bytes as a header of a kind this builder does not know.
    pub fn bytes(self, bytes: &[u8]) -> FrameBuilder {
        self.add(Layer::Bytes(bytes.to_vec()))
    }

    /// Sets the payload of the innermost header.
    pub fn payload(mut self, payload: &[u8]) -> FrameBuilder {
        self.payload = payload.to_vec();
        self
    }

    /// Sets a payload of `len` bytes that differ from their neighbours.
    pub fn payload_len(mut self, len: usize) -> FrameBuilder {
        self.payload = (0..len).map(|at| (at * 31 + at / 251) as u8).collect();
        self
    }

    /// Pads the whole frame with zeros to at least `len` bytes (60 for Ethernet's minimum), outside
    /// all lengths.
    pub fn pad_to(mut self, len: usize) -> FrameBuilder {
        self.pad_to = len;
        self
    }

    /// Adds bytes after the padding, outside all lengths.
    pub fn trailer(mut self, trailer: &[u8]) -> FrameBuilder {
        self.trailer = trailer.to_vec();
        self
    }

    /// The frame.
    pub fn build(&self) -> Vec<u8> {
        let mut frame = self.payload.clone();
        for index in (0..self.layers.len()).rev() {
            let mut bytes = self.header(index, &frame);
            bytes.append(&mut frame);
            frame = bytes;
        }
        if frame.len() < self.pad_to {
            frame.resize(self.pad_to, 0);
        }
        frame.extend(&self.trailer);
        frame
    }

    fn header(&self, index: usize, body: &[u8]) -> Vec<u8> {
        match &self.layers[index] {
            Layer::Ethernet(header) => {
                let ethertype = header.ethertype.unwrap_or_else(|| self.ethertype(index, body));
                [&header.dst[..], &header.src, &ethertype.to_be_bytes()].concat()
            }
            Layer::Vlan(tag) => {
                let ethertype = tag.ethertype.unwrap_or_else(|| self.ethertype(index, body));
                [tag.tci.to_be_bytes(), ethertype.to_be_bytes()].concat()
            }
            Layer::Snap => {
                let ethertype = self.ethertype(index, body).to_be_bytes();
                [&[0xaa, 0xaa, 0x03, 0, 0, 0], &ethertype[..]].concat()
            }
            Layer::Ipv4(header) => ipv4(header, self.protocol(index), body),
            Layer::Ipv6(header) => ipv6(header, self.protocol(index), body),
            Layer::Tcp(header) => tcp(header, &self.addresses(index), body),
            Layer::Udp(header) => udp(header, &self.addresses(index), body),
            Layer::Icmp(header) => {
                let v6 = matches!(self.network(index), Some(Layer::Ipv6(_)));
                write::icmp(header, &self.addresses(index), v6, body)
            }
            Layer::Arp(packet) => arp(packet),
            Layer::Vxlan(header) => {
                let vni = (header.vni << 8).to_be_bytes();
                [&[header.flags, 0, 0, header.next_protocol], &vni[..]].concat()
            }
            Layer::Geneve(header) => geneve(header, self.inner_type(index)),
            Layer::Gre(header) => gre(header, self.inner_type(index), body),
            Layer::Bytes(bytes) => bytes.clone(),
        }
    }

    /// The type field before the layer after `index`, which starts `body`.
    fn ethertype(&self, index: usize, body: &[u8]) -> u16 {
        match self.layers.get(index + 1) {
            Some(Layer::Vlan(tag)) => tag.tag_type,
            Some(Layer::Snap) => body.len() as u16,
            Some(Layer::Ipv4(_)) => 0x0800,
            Some(Layer::Ipv6(_)) => 0x86dd,
            Some(Layer::Arp(_)) => 0x0806,
            // The type for local experiments (IEEE 802).
            _ => 0x88b5,
        }
    }

    /// The type in a tunnel header at `index`: a frame, unless an IP header follows.
    fn inner_type(&self, index: usize) -> u16 {
        match self.layers.get(index + 1) {
            Some(Layer::Ipv4(_)) => 0x0800,
            Some(Layer::Ipv6(_)) => 0x86dd,
            _ => 0x6558,
        }
    }

    fn protocol(&self, index: usize) -> u8 {
        match self.layers.get(index + 1) {
            Some(Layer::Tcp(_)) => 6,
            Some(Layer::Udp(_)) => 17,
            Some(Layer::Ipv4(_)) => 4,
            Some(Layer::Ipv6(_)) => 41,
            Some(Layer::Gre(_)) => 47,
            Some(Layer::Icmp(_)) if matches!(self.layers[index], Layer::Ipv6(_)) => 58,
            Some(Layer::Icmp(_)) => 1,
            _ => 253,
        }
    }

    /// The nearest IP header outside of `index`.
    fn network(&self, index: usize) -> Option<&Layer> {
        let is_ip = |layer: &&Layer| matches!(layer, Layer::Ipv4(_) | Layer::Ipv6(_));
        self.layers[..index].iter().rev().find(is_ip)
    }

    /// Its addresses.
    fn addresses(&self, index: usize) -> Addresses {
        match self.network(index) {
            Some(Layer::Ipv4(ip)) => Addresses { src: ip.src.into(), dst: ip.dst.into() },
            Some(Layer::Ipv6(ip)) => final_addresses(ip),
            _ => Addresses { src: Vec::new(), dst: Vec::new() },
        }
    }
}
