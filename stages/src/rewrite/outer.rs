//! The outermost IP header of a packet, and the checksum above it that depends on it.
//!
//! It promises where that checksum lies, what its field holds by what is known of it, and which addresses it
//! covers. By meta alone for the usual packet; one walk over the headers where meta does not say it: behind more
//! levels than are tracked, where the pseudo header is unusual, and above other protocols than TCP and UDP. Payload is read only
//! for a checksum that nobody vouches for and that looks unfinished.

use crate::checksum_validate::scope::{Scope, Subject, subjects};
use crate::payload::Sums;
use corelane_runtime::packet::{Csum, L3, L4, Level, MetaFlags, Packet};
use corelane_runtime::stage::StageContext;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::tcp::TcpHeader;
use corelane_wire::udp::UdpHeader;
use corelane_wire::{layers, protocol};

/// DCCP (RFC 4340), whose checksum covers the pseudo header too.
const DCCP: u8 = 33;

/// What a checksum field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// A checksum, right or wrong.
    Checksum,
    /// The sum of the pseudo header, not complemented: what follows is added when it is finished.
    Seed,
}

/// The checksum above an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Above {
    /// Where its field lies.
    pub(crate) at: usize,
    /// Where what it covers begins.
    pub(crate) from: usize,
    /// 0 says that there is none.
    pub(crate) optional: bool,
    /// What the field holds.
    pub(crate) holds: Holds,
    /// Whether the source and destination of the IP header are those of the pseudo header.
    pub(crate) covers: [bool; 2],
}

/// The outermost IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outer {
    /// Where it begins.
    pub(crate) l3: usize,
    /// IPv6, else IPv4.
    pub(crate) v6: bool,
    /// The header checksum is still to be made, so it need not follow.
    pub(crate) unfinished: bool,
    /// Where source and destination port lie, one behind the other, if this is TCP or UDP.
    pub(crate) ports: Option<usize>,
    /// The checksum above it, if there is one in this packet.
    pub(crate) above: Option<Above>,
}

impl Outer {
    /// Where the source address lies; the destination follows it.
    pub(crate) fn addresses(&self) -> usize {
        self.l3 + if self.v6 { Ipv6Header::SRC_AT } else { Ipv4Header::LEN - 8 }
    }

    /// Bytes of an address.
    pub(crate) fn address_len(&self) -> usize {
        if self.v6 { 16 } else { 4 }
    }

    /// End of the last byte that may be written for it.
    pub(crate) fn end(&self) -> usize {
        let fixed = if self.v6 { Ipv6Header::LEN } else { Ipv4Header::LEN };
        let above = self.above.map_or(0, |above| above.at + 2);
        (self.l3 + fixed).max(above).max(self.ports.map_or(0, |ports| ports + 4))
    }
}

/// Finds the outermost IP header; `None` where there is none. `deep` says whether what stands above IP matters.
pub(crate) fn outer(packet: &Packet, deep: bool, ctx: &mut StageContext<'_>) -> Option<Outer> {
    let meta = packet.meta();
    if meta.layers.count == 0 {
        return None;
    }
    if meta.flags.contains(MetaFlags::DEEPER) {
        return walked(packet, outermost(packet)?, Csum::Unknown, Csum::Unknown, deep);
    }
    let level = meta.layers.levels[0];
    let usual = !meta.flags.contains(MetaFlags::ODD_PSEUDO) && level.l4_kind != L4::Other;
    if deep && !usual {
        let found = layers(packet.data(), packet.len());
        let mut levels = found.levels().iter();
        let walked_level = *levels.find(|found| found.l3_kind != corelane_wire::L3::None)?;
        let outer = walked(packet, walked_level, meta.l3[0], meta.l4[0], deep)?;
        return Some(settle(packet, outer, ctx));
    }
    let mut outer = Outer {
        l3: level.l3.into(),
        v6: level.l3_kind == L3::V6,
        unfinished: meta.l3[0] == Csum::Partial,
        ports: None,
        above: None,
    };
    if deep {
        let whole = level.payload > level.l4;
        outer.ports = is_tcp_or_udp(&level).then_some(usize::from(level.l4));
        let udp = level.l4_kind == L4::Udp;
        let at = usize::from(level.l4) + field_at(udp);
        let above = Above {
            at,
            from: level.l4.into(),
            optional: udp,
            holds: holds(meta.l4[0]),
            covers: [true; 2],
        };
        outer.above = (outer.ports.is_some() && whole).then_some(above);
        outer.ports = outer.ports.filter(|ports| ports + 4 <= packet.data().len());
        return Some(settle(packet, outer, ctx));
    }
    Some(outer)
}

fn is_tcp_or_udp(level: &Level) -> bool {
    matches!(level.l4_kind, L4::Tcp | L4::Udp)
}

fn field_at(udp: bool) -> usize {
    if udp { UdpHeader::CHECKSUM_AT } else { TcpHeader::CHECKSUM_AT }
}

fn holds(state: Csum) -> Holds {
    if state == Csum::Partial { Holds::Seed } else { Holds::Checksum }
}

/// The outermost of more than two levels: those that are tracked begin behind it, so a walk that goes no further
/// finds it.
#[cold]
fn outermost(packet: &Packet) -> Option<corelane_wire::Level> {
    let mut end = usize::from(packet.meta().layers.levels[0].l2);
    loop {
        let found = layers(packet.data().get(..end)?, packet.len());
        if !found.deeper {
            return found.levels().iter().find(|l| l.l3_kind != corelane_wire::L3::None).copied();
        }
        let before = usize::from(found.levels[0].l2);
        end = if before < end { before } else { return None };
    }
}

/// What a walk says of a level.
fn walked(
    packet: &Packet,
    level: corelane_wire::Level,
    l3_state: Csum,
    l4_state: Csum,
    deep: bool,
) -> Option<Outer> {
    let v6 = match level.l3_kind {
        corelane_wire::L3::None => return None,
        corelane_wire::L3::V4 => false,
        corelane_wire::L3::V6 => true,
    };
    let unfinished = l3_state == Csum::Partial;
    let mut outer = Outer { l3: level.l3.into(), v6, unfinished, ports: None, above: None };
    if !deep {
        return Some(outer);
    }
    let present = |end: usize| end as u64 <= u64::from(level.limit) && end <= packet.data().len();
    let l4 = usize::from(level.l4);
    let ports = matches!(level.l4_kind, corelane_wire::L4::Tcp | corelane_wire::L4::Udp);
    outer.ports = (ports && present(l4 + 4)).then_some(l4);
    let number = level.l4_kind.protocol();
    let field = number.and_then(|number| checksum_at(number, v6));
    let addresses = [outer.addresses(), outer.addresses() + outer.address_len()];
    outer.above = field.filter(|(at, _)| present(l4 + at + 2)).map(|(at, optional)| Above {
        at: l4 + at,
        from: l4,
        optional,
        holds: holds(l4_state),
        covers: [
            usize::from(level.pseudo_src) == addresses[0],
            usize::from(level.pseudo_dst) == addresses[1],
        ],
    });
    Some(outer)
}

/// Where a protocol keeps a checksum that covers the addresses, and whether it may do without.
fn checksum_at(number: u8, v6: bool) -> Option<(usize, bool)> {
    match number {
        protocol::TCP => Some((TcpHeader::CHECKSUM_AT, false)),
        protocol::UDP => Some((UdpHeader::CHECKSUM_AT, true)),
        protocol::UDP_LITE | DCCP => Some((6, false)),
        protocol::ICMP6 if v6 => Some((2, false)),
        _ => None,
    }
}

/// Says of a checksum nobody vouches for whether it was left to be finished by somebody else: it then looks so,
/// and is not right as it stands.
fn settle(packet: &Packet, mut outer: Outer, ctx: &mut StageContext<'_>) -> Outer {
    let meta = packet.meta();
    // While a checksum inside is unfinished the bytes under this one are not what it was made for.
    let in_doubt = meta.l4[0] == Csum::Unknown && meta.l4[1] != Csum::Partial;
    if let Some(above) = outer.above.as_mut().filter(|_| in_doubt && !packet.is_super())
        && let [Subject::Open(scope), _] = subjects(packet)
        && scope.looks_partial()
    {
        let mut sums = Sums::of(packet);
        if !is_right(&scope, &mut sums) {
            above.holds = Holds::Seed;
        }
        ctx.payload_summed(sums.read());
    }
    outer
}

fn is_right(scope: &Scope, sums: &mut Sums<'_>) -> bool {
    (scope.pseudo() + sums.range(scope.from, scope.to)).is_valid()
}
