//! Names the flow of an Ethernet frame: the key inside which packet order must be kept.
//!
//! Promises a key for any bytes whatever, and the same key for frames that any network would keep in
//! order: TCP and UDP by addresses and ports, other IP by addresses and protocol, the rest by
//! addresses and EtherType. Looks at the outermost headers only and judges nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One direction of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FlowKey {
    /// An IP packet whose addresses could be read.
    Ip {
        /// VLAN identifiers, outermost first.
        vlans: Vec<u16>,
        /// Source address.
        source: IpAddr,
        /// Destination address.
        destination: IpAddr,
        /// IPv4 protocol, or the IPv6 next header.
        protocol: u8,
        /// Source and destination port of TCP or UDP where the packet is no fragment.
        ports: Option<(u16, u16)>,
    },
    /// Any other frame.
    Link {
        /// Destination and source address, as far as captured.
        addresses: Vec<u8>,
        /// The innermost EtherType, or `None` where the frame is too short to have one.
        ethertype: Option<u16>,
    },
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const ADDRESSES_LEN: usize = 12;

impl FlowKey {
    /// The flow of `frame`, which starts with an Ethernet header.
    #[must_use]
    pub fn of(frame: &[u8]) -> Self {
        let (vlans, ethertype, packet) = untag(frame);
        let ip = match ethertype {
            Some(0x0800) => ipv4(packet, &vlans),
            Some(0x86dd) => ipv6(packet, &vlans),
            _ => None,
        };
        let addresses = || frame.get(..ADDRESSES_LEN).unwrap_or(frame).to_vec();
        ip.unwrap_or_else(|| Self::Link { addresses: addresses(), ethertype })
    }
}

/// Skips 802.1Q and 802.1ad tags: their identifiers, the EtherType behind them, and what follows it.
fn untag(frame: &[u8]) -> (Vec<u16>, Option<u16>, &[u8]) {
    let mut vlans = Vec::new();
    let mut rest = frame.get(ADDRESSES_LEN..).unwrap_or(&[]);
    while let (Some(0x8100 | 0x88a8), Some(tag)) = (be16(rest, 0), be16(rest, 2)) {
        vlans.push(tag & 0x0fff);
        rest = &rest[4..];
    }
    (vlans, be16(rest, 0), rest.get(2..).unwrap_or(&[]))
}

fn ipv4(packet: &[u8], vlans: &[u16]) -> Option<FlowKey> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    // More fragments, or an offset: later fragments have no ports, so the first uses none either.
    let fragment = be16(header, 6)? & 0x3fff != 0;
    Some(FlowKey::Ip {
        vlans: vlans.to_vec(),
        source: Ipv4Addr::from(*header[12..].first_chunk::<4>()?).into(),
        destination: Ipv4Addr::from(*header[16..].first_chunk::<4>()?).into(),
        protocol: header[9],
        ports: if fragment { None } else { ports(header[9], packet.get(header_len..)) },
    })
}

fn ipv6(packet: &[u8], vlans: &[u16]) -> Option<FlowKey> {
    let header: &[u8; 40] = packet.first_chunk()?;
    Some(FlowKey::Ip {
        vlans: vlans.to_vec(),
        source: Ipv6Addr::from(*header[8..].first_chunk::<16>()?).into(),
        destination: Ipv6Addr::from(*header[24..].first_chunk::<16>()?).into(),
        protocol: header[6],
        ports: ports(header[6], packet.get(40..)),
    })
}

fn ports(protocol: u8, transport: Option<&[u8]>) -> Option<(u16, u16)> {
    let transport = transport.filter(|_| protocol == TCP || protocol == UDP)?;
    Some((be16(transport, 0)?, be16(transport, 2)?))
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip { source, destination, protocol, ports, .. } => {
                match *protocol {
                    TCP => f.write_str("tcp ")?,
                    UDP => f.write_str("udp ")?,
                    other => write!(f, "ip protocol {other} ")?,
                }
                let (from, to) = ports.map_or((None, None), |(from, to)| (Some(from), Some(to)));
                write!(f, "{} to {}", End(*source, from), End(*destination, to))
            }
            Self::Link { ethertype: Some(ethertype), .. } => {
                write!(f, "frames of EtherType {ethertype:#06x}")
            }
            Self::Link { ethertype: None, .. } => f.write_str("frames without an EtherType"),
        }
    }
}

/// One end of a flow, with the brackets that an IPv6 address needs before a port.
struct End(IpAddr, Option<u16>);

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (IpAddr::V6(address), Some(port)) => write!(f, "[{address}]:{port}"),
            (address, Some(port)) => write!(f, "{address}:{port}"),
            (address, None) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of EtherType 0x0800 behind `tags`, with the ports 1 and 2.
    fn ipv4_frame(tags: &[u8], fragment: [u8; 2]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend(tags);
        frame.extend([0x08, 0x00]);
        frame.extend([0x45, 0, 0, 28, 0, 1, fragment[0], fragment[1], 64, UDP, 0, 0]);
        frame.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        frame.extend([0, 1, 0, 2, 0, 8, 0, 0]);
        frame
    }

    #[test]
    fn udp_is_named_by_addresses_and_ports() {
        let key = FlowKey::of(&ipv4_frame(&[], [0x40, 0]));
        assert_eq!(key.to_string(), "udp 192.0.2.1:1 to 192.0.2.2:2");
    }

    #[test]
    fn every_fragment_of_a_datagram_has_the_same_key() {
        let first = FlowKey::of(&ipv4_frame(&[], [0x20, 0]));
        let last = FlowKey::of(&ipv4_frame(&[], [0x00, 9]));
        assert_eq!(first, last);
        assert_eq!(first.to_string(), "udp 192.0.2.1 to 192.0.2.2");
    }

    #[test]
    fn the_same_addresses_in_two_vlans_are_two_flows() {
        let plain = FlowKey::of(&ipv4_frame(&[], [0, 0]));
        let one = FlowKey::of(&ipv4_frame(&[0x81, 0, 0, 1], [0, 0]));
        let other = FlowKey::of(&ipv4_frame(&[0x88, 0xa8, 0, 9, 0x81, 0, 0xe0, 1], [0, 0]));
        assert!(plain != one && one != other && plain != other);
        assert!(matches!(other, FlowKey::Ip { vlans, ports: Some((1, 2)), .. } if vlans == [9, 1]));
    }

    #[test]
    fn every_prefix_of_a_frame_has_a_key() {
        let whole = ipv4_frame(&[0x81, 0, 0, 1], [0, 0]);
        for len in 0..whole.len() {
            let text = FlowKey::of(&whole[..len]).to_string();
            assert!(!text.is_empty(), "at {len} bytes");
        }
    }
}
