//! The headers a test can ask for, field by field, each with a sensible default.
//!
//! It promises that a header written with `..Default::default()` makes a frame that every check
//! accepts. `None` in a field says: fill in what is right; a value is written as it is, however
//! wrong.

use crate::tcp::TcpFlags;

/// What to write into a checksum field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Checksum {
    /// The right one.
    #[default]
    Right,
    /// The right one in the other representation of zero, where it is zero: 0xFFFF for 0 and back.
    OtherZero,
    /// The pseudo-header sum, folded, not complemented: what a sender leaves for its device.
    Partial,
    /// One that is wrong by one.
    Wrong,
    /// This value.
    Value(u16),
}

/// An Ethernet header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// Destination address.
    pub dst: [u8; 6],
    /// Source address.
    pub src: [u8; 6],
    /// EtherType; `None`: by what follows.
    pub ethertype: Option<u16>,
}

impl Default for Ethernet {
    fn default() -> Ethernet {
        Ethernet { dst: [2, 0, 0, 0, 0, 0xb], src: [2, 0, 0, 0, 0, 0xa], ethertype: None }
    }
}

/// A VLAN tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// The EtherType that announces the tag.
    pub tag_type: u16,
    /// Priority, drop eligible and identifier.
    pub tci: u16,
    /// EtherType of what follows; `None`: by what follows.
    pub ethertype: Option<u16>,
}

impl Default for Vlan {
    fn default() -> Vlan {
        Vlan { tag_type: 0x8100, tci: 100, ethertype: None }
    }
}

/// An IPv4 header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// Differentiated services and ECN.
    pub tos: u8,
    /// Identification.
    pub id: u16,
    /// DF.
    pub dont_fragment: bool,
    /// MF.
    pub more_fragments: bool,
    /// Fragment offset in bytes, a multiple of 8.
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// Options, padded with zeros to a multiple of 4; at most 40 bytes are written.
    pub options: Vec<u8>,
    /// Protocol; `None`: by what follows, else 253 (for experiments, RFC 3692).
    pub protocol: Option<u8>,
    /// Total length; `None`: what is there, modulo 2^16.
    pub total_length: Option<u16>,
    /// Header checksum; [`Checksum::Partial`] means 0.
    pub checksum: Checksum,
}

impl Default for Ipv4 {
    fn default() -> Ipv4 {
        Ipv4 {
            tos: 0,
            id: 1,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            src: [192, 0, 2, 1],
            dst: [198, 51, 100, 2],
            options: Vec::new(),
            protocol: None,
            total_length: None,
            checksum: Checksum::Right,
        }
    }
}

/// An address below 2001:db8::/32, the documentation prefix.
pub fn address_v6(last: u16) -> [u8; 16] {
    let [high, low] = last.to_be_bytes();
    [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, high, low]
}

/// An IPv6 header with its extension headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipv6 {
    /// Differentiated services and ECN.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: [u8; 16],
    /// Destination address.
    pub dst: [u8; 16],
    /// Extension headers in order.
    pub extensions: Vec<Extension>,
    /// Next header of the last of them; `None`: by what follows, else 253 (for experiments, RFC
    /// 3692).
    pub next_header: Option<u8>,
    /// Payload length; `None`: what is there, modulo 2^16, or 0 if there is a jumbo option.
    pub payload_length: Option<u16>,
}

impl Default for Ipv6 {
    fn default() -> Ipv6 {
        Ipv6 {
            traffic_class: 0,
            flow_label: 0,
            hop_limit: 64,
            src: address_v6(1),
            dst: address_v6(2),
            extensions: Vec::new(),
            next_header: None,
            payload_length: None,
        }
    }
}

/// An IPv6 extension header. Bodies are padded to the unit of their header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Hop-by-hop options, as they are.
    HopByHop(Vec<u8>),
    /// A hop-by-hop header with a jumbo payload option that says what is there.
    Jumbo,
    /// Destination options, as they are.
    Destination(Vec<u8>),
    /// A destination header with a home address, which stands for the source in the pseudo header.
    HomeAddress([u8; 16]),
    /// A routing header. With segments left, its final address stands for the destination in the
    /// pseudo header: the last of types 0 and 2, the first of type 4.
    Routing {
        /// Routing type.
        kind: u8,
        /// Segments left.
        left: u8,
        /// Addresses, as they stand.
        addresses: Vec<[u8; 16]>,
    },
    /// A fragment header.
    Fragment {
        /// Offset in bytes, a multiple of 8.
        offset: u16,
        /// More fragments.
        more: bool,
        /// Identification.
        id: u32,
    },
    /// An authentication header with this many 4-byte words of check value.
    Authentication(u8),
    /// Any other of the usual layout: protocol number and body.
    Other(u8, Vec<u8>),
}

/// A TCP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options, padded with zeros to a multiple of 4; at most 40 bytes are written.
    pub options: Vec<u8>,
    /// Header length in 32-bit words; `None`: what is there.
    pub header_words: Option<u8>,
    /// Checksum.
    pub checksum: Checksum,
}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp {
            src_port: 40_000,
            dst_port: 80,
            seq: 1,
            ack: 1,
            flags: TcpFlags::ACK,
            window: 502,
            urgent: 0,
            options: Vec::new(),
            header_words: None,
            checksum: Checksum::Right,
        }
    }
}

impl Tcp {
    /// A timestamp option with the two paddings in front that most stacks send (RFC 7323 appendix
    /// A), 12 bytes.
    pub fn timestamps(value: u32, echo: u32) -> Vec<u8> {
        let mut option = vec![1, 1, 8, 10];
        option.extend(value.to_be_bytes());
        option.extend(echo.to_be_bytes());
        option
    }
}

/// A UDP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Length; `None`: what is there, or 0 if that is more than the field can say.
    pub length: Option<u16>,
    /// Checksum; `Value(0)` for none.
    pub checksum: Checksum,
}

impl Default for Udp {
    fn default() -> Udp {
        Udp { src_port: 40_000, dst_port: 53, length: None, checksum: Checksum::Right }
    }
}

/// The first 8 bytes of an ICMP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// What follows the checksum.
    pub rest: u32,
    /// Checksum; [`Checksum::Partial`] means the pseudo header's sum in ICMPv6, 0 in ICMP.
    pub checksum: Checksum,
}

impl Default for Icmp {
    /// An echo request over IPv4.
    fn default() -> Icmp {
        Icmp { kind: 8, code: 0, rest: 0x0001_0001, checksum: Checksum::Right }
    }
}

/// An ARP packet for Ethernet and IPv4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arp {
    /// 1 for a request, 2 for a reply.
    pub operation: u16,
    /// Link address of the sender.
    pub sender_mac: [u8; 6],
    /// Network address of the sender.
    pub sender_ip: [u8; 4],
    /// Link address of the target.
    pub target_mac: [u8; 6],
    /// Network address of the target.
    pub target_ip: [u8; 4],
}

impl Default for Arp {
    fn default() -> Arp {
        Arp {
            operation: 1,
            sender_mac: [2, 0, 0, 0, 0, 0xa],
            sender_ip: [192, 0, 2, 1],
            target_mac: [0; 6],
            target_ip: [198, 51, 100, 2],
        }
    }
}
