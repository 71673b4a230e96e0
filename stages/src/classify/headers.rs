//! What the fields of a packet are: those of its outermost headers, as they stand there.
//!
//! It promises, for any bytes, an answer for every field: its value, or that the packet has none. It goes by what is
//! known of the packet's layers and reads header bytes only. A header that is not all there has no fields.

use super::field::Field;
use super::upper::{Fragment, Upper, upper_v4, upper_v6};
use corelane_runtime::packet::{L3, L4, Layers, Level, MetaFlags, Packet, Tunnel};
use corelane_wire::ethernet::{EthernetHeader, ethertype};
use corelane_wire::geneve::{self, GeneveHeader};
use corelane_wire::gre::GreHeader;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::llc::{LENGTH_MAX, SnapHeader};
use corelane_wire::udp::UdpHeader;
use corelane_wire::vlan::VlanTag;
use corelane_wire::vxlan::VxlanHeader;
use corelane_wire::{self as wire, protocol, view};

/// Tags that are passed, at most.
const TAGS_MAX: usize = 128;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// The packet has no such field.
    Absent,
    /// A number, an address of 32 or 48 bits.
    Narrow(u64),
    /// An address of 128 bits.
    Wide(u128),
}

impl From<Option<u64>> for Value {
    fn from(value: Option<u64>) -> Value {
        value.map_or(Value::Absent, Value::Narrow)
    }
}

/// A packet and where its outermost headers are.
pub(super) struct Headers<'a> {
    packet: &'a Packet,
    data: &'a [u8],
    /// The outermost IP header and what it carries, if there is one.
    level: Option<Level>,
}

impl<'a> Headers<'a> {
    pub(super) fn of(packet: &'a Packet) -> Headers<'a> {
        let (meta, data) = (packet.meta(), packet.data());
        let level = match meta.layers.count {
            0 => None,
            _ if meta.flags.contains(MetaFlags::DEEPER) => outermost(&meta.layers, data),
            _ => Some(meta.layers.levels[0]),
        };
        Headers { packet, data, level }
    }

    /// The value of a field.
    #[inline]
    pub(super) fn value(&self, field: Field) -> Value {
        match field {
            Field::EthSrc => self.mac(6).into(),
            Field::EthDst => self.mac(0).into(),
            Field::Ethertype => self.ethertype().into(),
            Field::Vlan => self.vlan().into(),
            Field::Src => self.address(12, Ipv6Header::SRC_AT),
            Field::Dst => self.address(16, Ipv6Header::DST_AT),
            Field::Proto => self.proto().into(),
            Field::Dscp => self.traffic_class().map(|class| u64::from(class >> 2)).into(),
            Field::Ecn => self.traffic_class().map(|class| u64::from(class & 3)).into(),
            Field::Fragment => self.level.map(|_| self.fragment() as u64).into(),
            Field::TcpSrc => self.port(L4::Tcp, 0).into(),
            Field::TcpDst => self.port(L4::Tcp, 2).into(),
            Field::TcpFlags => self.tcp_flags().into(),
            Field::UdpSrc => self.port(L4::Udp, 0).into(),
            Field::UdpDst => self.port(L4::Udp, 2).into(),
            Field::Vni => self.vni().into(),
            Field::GreKey => self.gre_key().map(u64::from).into(),
            Field::TunnelSrc if self.in_tunnel() => self.value(Field::Src),
            Field::TunnelDst if self.in_tunnel() => self.value(Field::Dst),
            Field::TunnelSrc | Field::TunnelDst => Value::Absent,
            Field::Mark => Value::Narrow(u64::from(self.packet.mark())),
            Field::Port => Value::Narrow(u64::from(self.packet.meta().port)),
            Field::Length => Value::Narrow(u64::from(self.packet.len())),
        }
    }

    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.data.get(at..)?.first_chunk().copied()
    }

    /// Whether there is a link header in front: there is none where a tunnel carried IP alone.
    fn has_link(&self) -> bool {
        self.level.is_none_or(|level| level.l2 != level.l3)
    }

    fn mac(&self, at: usize) -> Option<u64> {
        if !self.has_link() || self.data.len() < EthernetHeader::LEN {
            return None;
        }
        let [a, b, c, d, e, f] = self.bytes(at)?;
        Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// The type of what stands behind all tags; a length is none.
    fn ethertype(&self) -> Option<u64> {
        if !self.has_link() {
            return None;
        }
        match self.level.map(|level| level.l3_kind) {
            Some(L3::V4) => Some(u64::from(ethertype::IPV4)),
            Some(L3::V6) => Some(u64::from(ethertype::IPV6)),
            _ => self.walked_ethertype().map(u64::from),
        }
    }

    fn walked_ethertype(&self) -> Option<u16> {
        let mut at = EthernetHeader::LEN;
        let mut kind = view::<EthernetHeader>(self.data, 0)?.ethertype.get();
        for _ in 0..TAGS_MAX {
            if ethertype::is_vlan(kind) {
                kind = view::<VlanTag>(self.data, at)?.ethertype.get();
                at += VlanTag::LEN;
            } else if kind <= LENGTH_MAX {
                let snap =
                    view::<SnapHeader>(self.data, at).filter(|snap| snap.carries_ethertype());
                kind = snap?.ethertype.get();
                at += SnapHeader::LEN;
            } else {
                return Some(kind);
            }
        }
        None
    }

    /// The VLAN of the outermost tag, or of the tag that was taken off last.
    fn vlan(&self) -> Option<u64> {
        let link = view::<EthernetHeader>(self.data, 0).filter(|_| self.has_link());
        let tagged = link.filter(|link| ethertype::is_vlan(link.ethertype.get()));
        let tag = tagged.and_then(|_| view::<VlanTag>(self.data, EthernetHeader::LEN));
        let taken = || self.packet.meta().taken.tci().map(|tci| tci & 0xfff);
        tag.map(VlanTag::vid).or_else(taken).map(u64::from)
    }

    fn address(&self, v4: usize, v6: usize) -> Value {
        let Some(level) = self.level else { return Value::Absent };
        let at = usize::from(level.l3);
        let found = match level.l3_kind {
            L3::V4 => self.bytes(at + v4).map(|it| Value::Narrow(u32::from_be_bytes(it).into())),
            L3::V6 => self.bytes(at + v6).map(|it| Value::Wide(u128::from_be_bytes(it))),
            L3::None => None,
        };
        found.unwrap_or(Value::Absent)
    }

    fn traffic_class(&self) -> Option<u8> {
        let level = self.level?;
        let at = usize::from(level.l3);
        match level.l3_kind {
            L3::V4 => view::<Ipv4Header>(self.data, at).map(|header| header.tos),
            L3::V6 => view::<Ipv6Header>(self.data, at).map(Ipv6Header::traffic_class),
            L3::None => None,
        }
    }

    fn proto(&self) -> Option<u64> {
        match self.level?.l4_kind {
            L4::Tcp => Some(u64::from(protocol::TCP)),
            L4::Udp => Some(u64::from(protocol::UDP)),
            L4::Other | L4::None => self.upper().protocol.map(u64::from),
        }
    }

    fn fragment(&self) -> Fragment {
        // The flag speaks of all levels: without it there is nothing to look for.
        match self.packet.meta().flags.contains(MetaFlags::FRAGMENT) {
            true => self.upper().fragment,
            false => Fragment::Whole,
        }
    }

    fn upper(&self) -> Upper {
        let Some(level) = self.level else { return Upper::default() };
        let at = usize::from(level.l3);
        let upper = match level.l3_kind {
            L3::V4 => view(self.data, at).map(|header| upper_v4(header, self.datagram(), at)),
            L3::V6 => view(self.data, at).map(|header| upper_v6(header, self.datagram(), at)),
            L3::None => None,
        };
        upper.unwrap_or_default()
    }

    /// The bytes up to the end of the outermost datagram, as far as its own length can say: what is behind it are
    /// no headers of it.
    fn datagram(&self) -> &'a [u8] {
        let Some(level) = self.level else { return self.data };
        let at = usize::from(level.l3);
        let after = match level.l3_kind {
            L3::V4 => {
                view::<Ipv4Header>(self.data, at).map(|header| (at, header.total_length.get()))
            }
            L3::V6 => view::<Ipv6Header>(self.data, at)
                .map(|header| (at + Ipv6Header::LEN, header.payload_length.get())),
            L3::None => None,
        };
        let end = match after {
            // Lengths of superpackets do not fit into their fields.
            Some((from, len)) if len > 0 && !self.packet.is_super() => from + usize::from(len),
            _ => self.data.len(),
        };
        self.data.get(..end).unwrap_or(self.data)
    }

    /// Where the transport header of that kind is, if all of it is there.
    #[inline]
    fn transport(&self, kind: L4) -> Option<usize> {
        let level = self.level.as_ref()?;
        let whole = level.l4_kind == kind && level.payload > level.l4;
        whole.then_some(usize::from(level.l4))
    }

    #[inline]
    fn port(&self, kind: L4, into: usize) -> Option<u64> {
        let at = self.transport(kind)?;
        self.bytes(at + into).map(|port| u64::from(u16::from_be_bytes(port)))
    }

    fn tcp_flags(&self) -> Option<u64> {
        let at = self.transport(L4::Tcp)?;
        self.data.get(at + 13).map(|&flags| u64::from(flags))
    }

    /// The network of the VXLAN or Geneve header that is there, or of the tunnel that was taken off last.
    fn vni(&self) -> Option<u64> {
        let taken = || self.packet.meta().taken.tunnel_id();
        self.udp_tunnel().or_else(taken).map(u64::from)
    }

    /// The network of the VXLAN or Geneve header behind the outermost IP header.
    fn udp_tunnel(&self) -> Option<u32> {
        let at = self.transport(L4::Udp)?;
        let header = view::<UdpHeader>(self.data, at)?;
        let port = header.dst_port.get();
        let is_geneve = match self.tunnel() {
            Tunnel::Vxlan => false,
            Tunnel::Geneve => true,
            _ if wire::layers::is_tunnel_port(port) => port == geneve::PORT,
            _ => return None,
        };
        // Both headers are 8 bytes long, which the datagram must have by its own length.
        let whole = !matches!(header.length.get(), 1..16) && self.fragment() == Fragment::Whole;
        let (data, inside) = (self.datagram(), whole.then_some(at + UdpHeader::LEN)?);
        match is_geneve {
            true => view::<GeneveHeader>(data, inside)
                .filter(|header| header.version() == 0)
                .map(GeneveHeader::vni),
            false => view::<VxlanHeader>(data, inside)
                .filter(|header| header.has_vni())
                .map(VxlanHeader::vni),
        }
    }

    /// How the outermost level carries the next one, where that is known.
    fn tunnel(&self) -> Tunnel {
        let meta = self.packet.meta();
        let known = meta.layers.count == 2 && !meta.flags.contains(MetaFlags::DEEPER);
        if known { meta.layers.tunnel } else { Tunnel::None }
    }

    fn gre_key(&self) -> Option<u32> {
        let at = self.transport(L4::Other)?;
        if self.upper().protocol != Some(protocol::GRE) {
            return None;
        }
        let header = view::<GreHeader>(self.data, at)?;
        self.bytes(at + header.key_at()?).map(u32::from_be_bytes)
    }

    /// Whether the outermost IP header carries a tunnel that is known here.
    fn in_tunnel(&self) -> bool {
        if self.packet.meta().layers.count == 2 || self.udp_tunnel().is_some() {
            return true;
        }
        let Upper { protocol, fragment } = self.upper();
        let carries = matches!(protocol, Some(protocol::GRE | protocol::IPV4 | protocol::IPV6));
        carries && fragment == Fragment::Whole
    }
}

/// The outermost level of a packet with more than two, which are not tracked: what stands in front of the tracked
/// ones is walked again.
fn outermost(tracked: &Layers, data: &[u8]) -> Option<Level> {
    let mut end = usize::from(tracked.levels[0].l2);
    loop {
        let before = data.get(..end)?;
        let found = wire::layers(before, u32::try_from(end).ok()?);
        let first = found.levels().first()?;
        if !found.deeper {
            return (first.l3_kind != wire::L3::None).then(|| level(first));
        }
        // Each time at least one level fewer is left.
        end = usize::from(first.l2).min(end - 1);
    }
}

/// A level as the walk has it, in the terms of the runtime.
fn level(walked: &wire::Level) -> Level {
    Level {
        l2: walked.l2,
        l3: walked.l3,
        l4: walked.l4,
        payload: if walked.payload == 0 { walked.l4 } else { walked.payload },
        l3_kind: match walked.l3_kind {
            wire::L3::None => L3::None,
            wire::L3::V4 => L3::V4,
            wire::L3::V6 => L3::V6,
        },
        l4_kind: match walked.l4_kind {
            wire::L4::None => L4::None,
            wire::L4::Tcp => L4::Tcp,
            wire::L4::Udp => L4::Udp,
            _ => L4::Other,
        },
    }
}
