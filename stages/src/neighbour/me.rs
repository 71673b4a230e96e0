//! What a port is on its link: its addresses, its networks, and by whom the rest of the world is reached.
//!
//! Pure functions of the description; nothing here remembers anybody.

use corelane_runtime::stage::PortInfo;
use corelane_wire::ethernet::ethertype;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A link address.
pub(super) type Mac = [u8; 6];

/// A port with addresses.
#[derive(Clone, Debug)]
pub(super) struct Me {
    pub(super) mac: Mac,
    v4: Vec<(Ipv4Addr, u8)>,
    v6: Vec<(Ipv6Addr, u8)>,
    gateway_v4: Option<Ipv4Addr>,
    gateway_v6: Option<Ipv6Addr>,
}

/// Where a packet is to go on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// To this address, which is known without asking.
    Direct(Mac),
    /// To the host that has this address.
    Host(IpAddr),
    /// To nobody.
    Nobody,
    /// It has no destination address.
    NotIp,
}

impl Me {
    pub(super) fn new(info: &PortInfo) -> Result<Me, &'static str> {
        let mac = info.mac.ok_or("has no link address to send from; give it a `mac`")?;
        if info.addresses.is_empty() {
            return Err("has no addresses to answer for; give it `addresses`");
        }
        let mut me = Me { mac, v4: Vec::new(), v6: Vec::new(), gateway_v4: None, gateway_v6: None };
        for &(address, prefix) in &info.addresses {
            match address {
                IpAddr::V4(address) => me.v4.push((address, prefix)),
                IpAddr::V6(address) => me.v6.push((address, prefix)),
            }
        }
        for &gateway in &info.gateways {
            match gateway {
                IpAddr::V4(gateway) => me.gateway_v4 = Some(gateway),
                IpAddr::V6(gateway) => me.gateway_v6 = Some(gateway),
            }
        }
        Ok(me)
    }

    pub(super) fn owns_v4(&self, address: Ipv4Addr) -> bool {
        self.v4.iter().any(|&(own, _)| own == address)
    }

    pub(super) fn owns_v6(&self, address: Ipv6Addr) -> bool {
        self.v6.iter().any(|&(own, _)| own == address)
    }

    /// The address to ask from about a neighbour: one of the same network, else the first.
    pub(super) fn source_v4(&self, about: Ipv4Addr) -> Option<Ipv4Addr> {
        let near = self.v4.iter().find(|&&(own, prefix)| agree_v4(own, about, prefix));
        near.or(self.v4.first()).map(|&(own, _)| own)
    }

    /// The same.
    pub(super) fn source_v6(&self, about: Ipv6Addr) -> Option<Ipv6Addr> {
        let near = self.v6.iter().find(|&&(own, prefix)| agree_v6(own, about, prefix));
        near.or(self.v6.first()).map(|&(own, _)| own)
    }

    /// Where a frame is to go, by its outermost IP destination. VLAN tags are passed over.
    pub(super) fn hop_of(&self, frame: &[u8]) -> Hop {
        match destination(frame) {
            Some(IpAddr::V4(to)) => self.hop_v4(to),
            Some(IpAddr::V6(to)) => self.hop_v6(to),
            None => Hop::NotIp,
        }
    }

    fn hop_v4(&self, to: Ipv4Addr) -> Hop {
        if to.is_multicast() {
            // RFC 1112, section 6.4: the low 23 bits.
            let [_, b, c, d] = to.octets();
            return Hop::Direct([0x01, 0x00, 0x5e, b & 0x7f, c, d]);
        }
        let on_link = self.v4.iter().find(|&&(own, prefix)| agree_v4(own, to, prefix));
        let directed = on_link.is_some_and(|&(_, prefix)| prefix < 31 && is_last(to, prefix));
        if to.is_broadcast() || directed {
            return Hop::Direct([0xff; 6]);
        }
        // Without an address of the family there is none to ask from.
        if to.is_unspecified() || self.v4.is_empty() {
            return Hop::Nobody;
        }
        let hop = if on_link.is_some() { Some(to) } else { self.gateway_v4 };
        hop.map_or(Hop::Nobody, |hop| Hop::Host(hop.into()))
    }

    fn hop_v6(&self, to: Ipv6Addr) -> Hop {
        if to.is_multicast() {
            // RFC 2464, section 7: the low 32 bits.
            let [.., a, b, c, d] = to.octets();
            return Hop::Direct([0x33, 0x33, a, b, c, d]);
        }
        if to.is_unspecified() || self.v6.is_empty() {
            return Hop::Nobody;
        }
        let on_link = to.is_unicast_link_local()
            || self.v6.iter().any(|&(own, prefix)| agree_v6(own, to, prefix));
        let hop = if on_link { Some(to) } else { self.gateway_v6 };
        hop.map_or(Hop::Nobody, |hop| Hop::Host(hop.into()))
    }
}

/// The address that a frame's outermost IP header is for.
fn destination(frame: &[u8]) -> Option<IpAddr> {
    let mut at = 12;
    // Two tags are a service tag and a customer's; more are nothing that a neighbour could read.
    for _ in 0..3 {
        match u16::from_be_bytes(*frame.get(at..)?.first_chunk()?) {
            ethertype::IPV4 => {
                let header = corelane_wire::view::<Ipv4Header>(frame, at + 2)?;
                return Some(Ipv4Addr::from(header.dst).into());
            }
            ethertype::IPV6 => {
                let header = corelane_wire::view::<Ipv6Header>(frame, at + 2)?;
                return Some(Ipv6Addr::from(header.dst).into());
            }
            tag if ethertype::is_vlan(tag) => at += 4,
            _ => return None,
        }
    }
    None
}

fn agree_v4(one: Ipv4Addr, other: Ipv4Addr, prefix: u8) -> bool {
    let differ = u32::from(one) ^ u32::from(other);
    differ.checked_shr(32 - u32::from(prefix.min(32))).unwrap_or(0) == 0
}

fn agree_v6(one: Ipv6Addr, other: Ipv6Addr, prefix: u8) -> bool {
    let differ = u128::from(one) ^ u128::from(other);
    differ.checked_shr(128 - u32::from(prefix.min(128))).unwrap_or(0) == 0
}

/// Whether an address is the broadcast address of its network.
fn is_last(address: Ipv4Addr, prefix: u8) -> bool {
    let host = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
    u32::from(address) & host == host
}

/// The multicast address that all who share the low 24 bits of an address listen to (RFC 4291, section 2.7.1).
pub(super) fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let low = u128::from(address) & 0xff_ffff;
    Ipv6Addr::from(0xff02_0000_0000_0000_0000_0001_ff00_0000 | low)
}

/// The link address of an IPv6 multicast address.
pub(super) fn multicast_v6(address: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = address.octets();
    [0x33, 0x33, a, b, c, d]
}

/// Whether a link address can be that of one host.
pub(super) fn is_host(mac: &Mac) -> bool {
    mac[0] & 1 == 0 && *mac != [0; 6]
}
