//! Outer headers: a template for each remote end, and what differs from packet to packet.
//!
//! It promises the header of a new datagram at the cost of its own bytes: what all datagrams to a remote share is
//! summed once, when the template is made. The IPv4 header sum is right; the UDP checksum is left to be finished.

use corelane_runtime::packet::{L3, L4, Level};
use corelane_sum::Sum;
use corelane_wire::ethernet::{EthernetHeader, ethertype};
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::udp::UdpHeader;
use corelane_wire::{IntoBytes, U16, protocol, view_mut};
use std::net::IpAddr;

/// Bytes of the link header.
const LINK: usize = EthernetHeader::LEN;
/// Most bytes of an outer header: IPv6, UDP and eight more.
pub(in crate::tunnel) const HEADER_MAX: usize = LINK + Ipv6Header::LEN + UdpHeader::LEN + 8;
/// DF.
const DONT_FRAGMENT: u16 = 0x4000;

/// What a template is made of.
#[derive(Clone, Copy, Debug)]
pub(in crate::tunnel) struct Ends {
    /// Source and destination; of one family.
    pub(in crate::tunnel) local: IpAddr,
    pub(in crate::tunnel) remote: IpAddr,
    /// Link-layer source and destination; zeros where `Neighbour` fills them in.
    pub(in crate::tunnel) src_mac: [u8; 6],
    pub(in crate::tunnel) dst_mac: [u8; 6],
    /// UDP destination port.
    pub(in crate::tunnel) port: u16,
    /// Whether the IPv4 header says DF.
    pub(in crate::tunnel) df: bool,
    /// Whether the UDP checksum is made.
    pub(in crate::tunnel) checksum: bool,
}

/// What differs from packet to packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// Bytes behind the header.
    pub(super) inside: u32,
    pub(super) tos: u8,
    pub(super) ttl: u8,
    /// IPv4 identification.
    pub(super) id: u16,
    pub(super) src_port: u16,
}

/// The header of all datagrams to one remote end, its variable fields zero.
#[derive(Clone, Debug)]
pub(in crate::tunnel) struct Template {
    bytes: [u8; HEADER_MAX],
    len: usize,
    /// Where the header's levels lie.
    level: Level,
    /// Sum of the IPv4 header.
    network: Sum,
    /// Sum of the pseudo header without its length.
    pseudo: Sum,
    df: bool,
    checksum: bool,
}

impl Template {
    /// The template for datagrams that begin with `tunnel`, the tunnel's own header.
    pub(in crate::tunnel) fn new(ends: &Ends, tunnel: &[u8]) -> Template {
        let mut bytes = [0; HEADER_MAX];
        let v4 = ends.remote.is_ipv4();
        let l4 = LINK + if v4 { Ipv4Header::LEN } else { Ipv6Header::LEN };
        let payload = l4 + UdpHeader::LEN;
        let len = payload + tunnel.len();
        let ethertype = if v4 { ethertype::IPV4 } else { ethertype::IPV6 };
        let link =
            EthernetHeader { dst: ends.dst_mac, src: ends.src_mac, ethertype: U16::new(ethertype) };
        bytes[..LINK].copy_from_slice(link.as_bytes());
        write_network(&mut bytes[LINK..l4], ends);
        bytes[l4 + 2..l4 + 4].copy_from_slice(&ends.port.to_be_bytes());
        bytes[payload..len].copy_from_slice(tunnel);
        let addresses = if v4 { LINK + 12..l4 } else { LINK + Ipv6Header::SRC_AT..l4 };
        Template {
            level: Level {
                l2: 0,
                l3: LINK as u16,
                l4: l4 as u16,
                payload: payload as u16,
                l3_kind: if v4 { L3::V4 } else { L3::V6 },
                l4_kind: L4::Udp,
            },
            network: Sum::of(&bytes[LINK..l4]),
            pseudo: Sum::of(&bytes[addresses]) + Sum::from_u16(u16::from(protocol::UDP)),
            df: ends.df,
            checksum: ends.checksum,
            bytes,
            len,
        }
    }

    /// Bytes of the header.
    pub(in crate::tunnel) fn len(&self) -> u32 {
        self.len as u32
    }

    /// Bytes of it that an MTU counts: all but the link header.
    pub(in crate::tunnel) fn overhead(&self) -> u32 {
        (self.len - LINK) as u32
    }

    /// Where it has what.
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// Whether its checksum is to be finished.
    pub(super) fn wants_checksum(&self) -> bool {
        self.checksum
    }

    /// Whether the IPv4 identification means something: only where routers may fragment (RFC 6864).
    pub(super) fn is_identified(&self) -> bool {
        self.level.l3_kind == L3::V4 && !self.df
    }

    /// Writes a header into `room`, which is as long as it. The checksum field holds what whoever finishes
    /// it starts from: the sum of the pseudo header, or 0 where there is to be none.
    #[inline]
    pub(super) fn write(&self, room: &mut [u8], fields: &Fields) {
        room.copy_from_slice(&self.bytes[..self.len]);
        let l4 = usize::from(self.level.l4);
        let udp_len = fields.inside + (self.len - l4) as u32;
        // Meta, not the field, is the truth about what is longer than the field can say.
        let short = |len: u32| U16::new(u16::try_from(len).unwrap_or(0));
        if self.level.l3_kind == L3::V4 {
            self.write_ipv4(room, fields, short(udp_len + Ipv4Header::LEN as u32));
        } else if let Some(header) = view_mut::<Ipv6Header>(room, LINK) {
            header.version_class_flow = Ipv6Header::first_word(fields.tos, 0);
            header.payload_length = short(udp_len);
            header.hop_limit = fields.ttl;
        }
        if let Some(header) = view_mut::<UdpHeader>(room, l4) {
            header.src_port = U16::new(fields.src_port);
            header.length = short(udp_len);
            let seed = || (self.pseudo + Sum::from_u32(udp_len)).canonical();
            header.checksum = U16::new(if self.checksum { seed() } else { 0 });
        }
    }

    fn write_ipv4(&self, room: &mut [u8], fields: &Fields, total: U16) {
        let Some(header) = view_mut::<Ipv4Header>(room, LINK) else { return };
        header.tos = fields.tos;
        header.total_length = total;
        header.id = U16::new(fields.id);
        header.ttl = fields.ttl;
        let varied = [u16::from(fields.tos), total.get(), fields.id, u16::from(fields.ttl) << 8];
        let sum = varied.into_iter().fold(self.network, |sum, word| sum + Sum::from_u16(word));
        header.checksum = U16::new(sum.checksum());
    }
}

/// An IP header whose length, class, identification, TTL and sum are 0.
fn write_network(room: &mut [u8], ends: &Ends) {
    match (ends.local, ends.remote) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            if let Some(header) = view_mut::<Ipv4Header>(room, 0) {
                header.version_ihl = 0x45;
                header.flags_offset = U16::new(if ends.df { DONT_FRAGMENT } else { 0 });
                header.protocol = protocol::UDP;
                (header.src, header.dst) = (src.octets(), dst.octets());
            }
        }
        (src, dst) => {
            // Of one family, so both are IPv6; an IPv4 address has its place in IPv6, too.
            let octets = |ip: IpAddr| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            if let Some(header) = view_mut::<Ipv6Header>(room, 0) {
                header.version_class_flow = Ipv6Header::first_word(0, 0);
                header.next_header = protocol::UDP;
                (header.src, header.dst) = (octets(src), octets(dst));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_wire::testing::{slow_pseudo_header, slow_sum};
    use proptest::prelude::*;

    fn ends(v6: bool, df: bool, checksum: bool) -> Ends {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let (local, remote) = match v6 {
            true => (ip("2001:db8::1"), ip("2001:db8::2")),
            false => (ip("192.0.2.1"), ip("192.0.2.7")),
        };
        let (src_mac, dst_mac) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        Ends { local, remote, src_mac, dst_mac, port: 4789, df, checksum }
    }

    proptest! {
        #[test]
        fn every_header_is_sound(
            (v6, df, checksum) in any::<(bool, bool, bool)>(), inside in 0u32..200_000,
            (tos, ttl, id, src_port) in any::<(u8, u8, u16, u16)>(),
        ) {
            let template = Template::new(&ends(v6, df, checksum), &[8, 0, 0, 0, 0, 0, 42, 0]);
            let mut room = vec![0xa5; template.len() as usize];
            template.write(&mut room, &Fields { inside, tos, ttl, id, src_port });
            let l4 = usize::from(template.level().l4);
            let udp_len = inside + 16;
            let short = |len: u32| (if len < 65_536 { len as u16 } else { 0 }).to_be_bytes();
            prop_assert_eq!(&room[l4 + 4..l4 + 6], &short(udp_len));
            prop_assert_eq!(&room[l4..l4 + 4], &[&src_port.to_be_bytes()[..], &[0x12, 0xb5]].concat());
            let (src, dst) = if v6 { (22..38, 38..54) } else { (26..30, 30..34) };
            if v6 {
                prop_assert_eq!(&room[18..20], &short(udp_len));
                prop_assert_eq!(&room[14..18], &[0x60 | tos >> 4, tos << 4, 0, 0]);
                prop_assert_eq!(room[21], ttl);
            } else {
                prop_assert_eq!(&room[16..18], &short(udp_len + 20));
                prop_assert_eq!(slow_sum(&[&room[14..34]]), 0xffff, "the header sum");
                prop_assert_eq!((room[15], room[22]), (tos, ttl));
                prop_assert_eq!(&room[18..20], &id.to_be_bytes());
            }
            let pseudo = slow_pseudo_header(&room[src], &room[dst], udp_len, 17);
            let seed = if checksum { slow_sum(&[&pseudo]) } else { 0 };
            prop_assert_eq!(u16::from_be_bytes([room[l4 + 6], room[l4 + 7]]), seed);
        }
    }
}
