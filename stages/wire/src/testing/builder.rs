//! Frames from named fields, with lengths and checksums filled in.
//!
//! It promises that what is not said is right: lengths, next-protocol fields and checksums follow
//! from what was put below them. It writes whatever is said, so malformed frames are built with it
//! as well. A tunnel is built in one go, or by giving a built frame as the payload of another.

use super::headers::{Checksum, Ethernet, Extension, Ipv4, Ipv6, Tcp, Udp, Vlan, Vxlan};
use super::{slow_pseudo_header, slow_sum};

#[derive(Clone, Debug)]
enum Layer {
    Ethernet(Ethernet),
    Vlan(Vlan),
    Snap,
    Ipv4(Ipv4),
    Ipv6(Ipv6),
    Tcp(Tcp),
    Udp(Udp),
    Vxlan(Vxlan),
    Bytes(Vec<u8>),
}

/// The addresses a checksum below an IP header covers.
struct Addresses {
    src: Vec<u8>,
    dst: Vec<u8>,
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
            Layer::Vxlan(header) => {
                let vni = (header.vni << 8).to_be_bytes();
                [&[header.flags, 0, 0, 0], &vni[..]].concat()
            }
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
            // The type for local experiments (IEEE 802).
            _ => 0x88b5,
        }
    }

    fn protocol(&self, index: usize) -> u8 {
        match self.layers.get(index + 1) {
            Some(Layer::Tcp(_)) => 6,
            Some(Layer::Udp(_)) => 17,
            Some(Layer::Ipv4(_)) => 4,
            Some(Layer::Ipv6(_)) => 41,
            _ => 253,
        }
    }

    /// The addresses of the nearest IP header outside of `index`.
    fn addresses(&self, index: usize) -> Addresses {
        for layer in self.layers[..index].iter().rev() {
            match layer {
                Layer::Ipv4(ip) => return Addresses { src: ip.src.into(), dst: ip.dst.into() },
                Layer::Ipv6(ip) => return final_addresses(ip),
                _ => {}
            }
        }
        Addresses { src: Vec::new(), dst: Vec::new() }
    }
}

/// RFC 8200 section 8.1 and RFC 6275 section 11.3: where the packet will be when its checksum is
/// checked.
fn final_addresses(ip: &Ipv6) -> Addresses {
    let mut found = Addresses { src: ip.src.into(), dst: ip.dst.into() };
    for extension in &ip.extensions {
        match extension {
            Extension::HomeAddress(home) => found.src = home.to_vec(),
            Extension::Routing { kind, left, addresses } if *left > 0 => {
                let last = if *kind == 4 { addresses.first() } else { addresses.last() };
                found.dst = last.map_or(found.dst, |last| last.to_vec());
            }
            _ => {}
        }
    }
    found
}

fn padded(bytes: &[u8], unit: usize) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(unit), 0);
    padded
}

fn header_options(options: &[u8]) -> Vec<u8> {
    let mut options = padded(options, 4);
    options.truncate(40);
    options
}

/// Writes a checksum: `sum` is over everything with the field zero, `pseudo` over the pseudo header
/// alone.
fn put_checksum(bytes: &mut [u8], what: Checksum, sum: u16, pseudo: u16, udp: bool) {
    let right = match !sum {
        0xffff if !udp => 0,
        0 if udp => 0xffff,
        right => right,
    };
    let value = match what {
        Checksum::Right => right,
        Checksum::OtherZero => match right {
            0 => 0xffff,
            0xffff => 0,
            other => other,
        },
        Checksum::Partial => pseudo,
        // Never 0, which UDP would take for "none"; never the other zero, which would be right.
        Checksum::Wrong if right == 0xfffe || right == 0xffff => 0x0001,
        Checksum::Wrong => right + 1,
        Checksum::Value(value) => value,
    };
    bytes.copy_from_slice(&value.to_be_bytes());
}

fn ipv4(header: &Ipv4, next: u8, body: &[u8]) -> Vec<u8> {
    let options = header_options(&header.options);
    let len = 20 + options.len();
    let total_length = header.total_length.unwrap_or((len + body.len()) as u16);
    let flags = u16::from(header.dont_fragment) << 14 | u16::from(header.more_fragments) << 13;
    let mut bytes = vec![0x40 | (len / 4) as u8, header.tos];
    bytes.extend(total_length.to_be_bytes());
    bytes.extend(header.id.to_be_bytes());
    bytes.extend((flags | (header.fragment_offset / 8)).to_be_bytes());
    bytes.extend([header.ttl, header.protocol.unwrap_or(next), 0, 0]);
    bytes.extend(header.src);
    bytes.extend(header.dst);
    bytes.extend(options);
    let sum = slow_sum(&[&bytes]);
    put_checksum(&mut bytes[10..12], header.checksum, sum, 0, false);
    bytes
}

fn ipv6(header: &Ipv6, next: u8, body: &[u8]) -> Vec<u8> {
    let mut next = header.next_header.unwrap_or(next);
    let extension_len = |extension| extension_header(extension, 0, 0).1.len();
    let payload_length = header.extensions.iter().map(extension_len).sum::<usize>() + body.len();
    let mut extensions = Vec::new();
    for extension in header.extensions.iter().rev() {
        let (number, mut bytes) = extension_header(extension, next, payload_length);
        bytes.append(&mut extensions);
        extensions = bytes;
        next = number;
    }
    let length = match header.payload_length {
        Some(length) => length,
        None if header.extensions.contains(&Extension::Jumbo) => 0,
        None => payload_length as u16,
    };
    let first = 6 << 28 | u32::from(header.traffic_class) << 20 | header.flow_label & 0xf_ffff;
    let mut bytes = first.to_be_bytes().to_vec();
    bytes.extend(length.to_be_bytes());
    bytes.extend([next, header.hop_limit]);
    bytes.extend(header.src);
    bytes.extend(header.dst);
    bytes.extend(extensions);
    bytes
}

/// Protocol number and bytes of an extension header before one of type `next`, in a datagram of
/// this payload length.
fn extension_header(extension: &Extension, next: u8, payload_length: usize) -> (u8, Vec<u8>) {
    let usual = |body: &[u8]| {
        let mut bytes = padded(&[&[next, 0], body].concat(), 8);
        bytes[1] = (bytes.len() / 8 - 1) as u8;
        bytes
    };
    match extension {
        Extension::HopByHop(options) => (0, usual(options)),
        Extension::Jumbo => {
            let length = (payload_length as u32).to_be_bytes();
            (0, usual(&[&[0xc2, 4], &length[..]].concat()))
        }
        Extension::Destination(options) => (60, usual(options)),
        // Two bytes of padding first: the address belongs at 8n + 6.
        Extension::HomeAddress(home) => (60, usual(&[&[1, 0, 201, 16], &home[..]].concat())),
        Extension::Routing { kind, left, addresses } => {
            (43, usual(&[&[*kind, *left, 0, 0, 0, 0], &addresses.concat()[..]].concat()))
        }
        Extension::Fragment { offset, more, id } => {
            let mut bytes = vec![next, 0];
            bytes.extend((offset & 0xfff8 | u16::from(*more)).to_be_bytes());
            bytes.extend(id.to_be_bytes());
            (44, bytes)
        }
        Extension::Authentication(words) => {
            let mut bytes = vec![next, words + 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
            bytes.resize(12 + 4 * usize::from(*words), 0x5a);
            (51, bytes)
        }
        Extension::Other(number, body) => (*number, usual(body)),
    }
}

fn tcp(header: &Tcp, addresses: &Addresses, body: &[u8]) -> Vec<u8> {
    let options = header_options(&header.options);
    let len = 20 + options.len();
    let words = header.header_words.map_or(len / 4, usize::from) as u16;
    let mut bytes = header.src_port.to_be_bytes().to_vec();
    bytes.extend(header.dst_port.to_be_bytes());
    bytes.extend(header.seq.to_be_bytes());
    bytes.extend(header.ack.to_be_bytes());
    bytes.extend((words << 12 | header.flags.bits()).to_be_bytes());
    bytes.extend(header.window.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(header.urgent.to_be_bytes());
    bytes.extend(options);
    let length = (len + body.len()) as u32;
    let pseudo = slow_pseudo_header(&addresses.src, &addresses.dst, length, 6);
    let sum = slow_sum(&[&pseudo, &bytes, body]);
    put_checksum(&mut bytes[16..18], header.checksum, sum, slow_sum(&[&pseudo]), false);
    bytes
}

fn udp(header: &Udp, addresses: &Addresses, body: &[u8]) -> Vec<u8> {
    let len = 8 + body.len();
    let length = header.length.unwrap_or(u16::try_from(len).unwrap_or(0));
    let mut bytes = header.src_port.to_be_bytes().to_vec();
    bytes.extend(header.dst_port.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0]);
    // A length that is said is also what the checksum covers, as far as there are bytes.
    let covered = match header.length {
        Some(length) if length >= 8 => usize::from(length).min(len),
        _ => len,
    };
    let pseudo = slow_pseudo_header(&addresses.src, &addresses.dst, covered as u32, 17);
    let sum = slow_sum(&[&pseudo, &bytes, &body[..covered - 8]]);
    put_checksum(&mut bytes[6..8], header.checksum, sum, slow_sum(&[&pseudo]), true);
    bytes
}
