//! The outer headers of a packet: where they are, and whether they are what they must be.
//!
//! It promises for any bytes a datagram that lies in the packet, or the reason why there is none. Lengths of
//! superpackets are those of meta. It changes nothing.

use super::config::{
    BAD_CHECKSUM, BAD_IPV4, BAD_LENGTH, FRAGMENT, NO_CHECKSUM, NOT_TUNNEL, OUTER_OPTIONS,
};
use super::{Settings, Way};
use crate::checksum_validate::scope::{Subject, subjects};
use crate::payload::Sums;
use crate::tunnel::inner::network_of_frame;
use corelane_runtime::packet::{Csum, L3, L4, Level, MetaFlags, Packet};
use corelane_runtime::stage::StageContext;
use corelane_sum::Sum;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::udp::UdpHeader;
use corelane_wire::{protocol, view};
use std::net::IpAddr;

/// An outer datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    pub(super) l3: usize,
    pub(super) v6: bool,
    pub(super) l4: usize,
    /// Where what its lengths count ends; beyond the packet where the capture cut it.
    pub(super) end: u32,
    /// Where the IP packet around it ends.
    pub(super) ip_end: u32,
    /// Who sent it.
    pub(super) src: IpAddr,
    /// What the UDP checksum field holds.
    field: u16,
    /// ECN field.
    pub(super) ecn: u8,
}

/// The outermost level of a packet, tracked or not.
fn outermost(packet: &Packet) -> Option<Level> {
    let meta = packet.meta();
    if !meta.flags.contains(MetaFlags::DEEPER) {
        return (meta.layers.count > 0).then_some(meta.layers.levels[0]);
    }
    // Of three levels the outermost is not tracked. Only the usual header is looked for.
    let data = packet.data();
    let ip = network_of_frame(data, 0)?;
    let (l4, next) = match ip.kind {
        L3::V4 => {
            let header = view::<Ipv4Header>(data, ip.at)?;
            (ip.at + header.header_len(), header.protocol)
        }
        _ => (ip.at + Ipv6Header::LEN, view::<Ipv6Header>(data, ip.at)?.next_header),
    };
    let (l3, l4) = (u16::try_from(ip.at).ok()?, u16::try_from(l4).ok()?);
    let payload = l4 + UdpHeader::LEN as u16;
    (next == protocol::UDP).then_some(Level {
        l2: 0,
        l3,
        l4,
        payload,
        l3_kind: ip.kind,
        l4_kind: L4::Udp,
    })
}

/// The outer datagram of a packet, if it is one of this tunnel and its lengths are right.
#[inline]
pub(super) fn find(packet: &Packet, settings: &Settings) -> Result<Outer, Way> {
    let not_ours = Way::Otherwise(NOT_TUNNEL);
    let level = outermost(packet).ok_or(not_ours)?;
    let meta = packet.meta();
    // With a level inside, the outer one is no fragment: fragments are not looked into.
    let fragment = meta.flags.contains(MetaFlags::FRAGMENT) && meta.layers.count == 1;
    if level.l4_kind != L4::Udp {
        let hidden = fragment && level.l4_kind == L4::None;
        return Err(if hidden { Way::Otherwise(FRAGMENT) } else { not_ours });
    }
    let (data, l4) = (packet.data(), usize::from(level.l4));
    let header = view::<UdpHeader>(data, l4).ok_or(not_ours)?;
    if !settings.ports.contains(&header.dst_port.get()) {
        return Err(not_ours);
    }
    let (src, dst, total, ecn) = network(data, &level).ok_or(not_ours)?;
    if !settings.locals.is_empty() && !settings.locals.contains(&dst) {
        return Err(not_ours);
    }
    if fragment {
        return Err(Way::Otherwise(FRAGMENT));
    }
    let v6 = level.l3_kind == L3::V6;
    let l3 = usize::from(level.l3);
    if !v6 && l4 != l3 + Ipv4Header::LEN {
        return Err(Way::Drop(OUTER_OPTIONS));
    }
    let (end, ip_end) = ends(packet, &level, total, header).ok_or(Way::Drop(BAD_LENGTH))?;
    Ok(Outer { l3, v6, l4, end, ip_end, src, field: header.checksum.get(), ecn })
}

/// Source, destination, bytes of the IP packet (0: its header does not say), ECN.
fn network(data: &[u8], level: &Level) -> Option<(IpAddr, IpAddr, u32, u8)> {
    let l3 = usize::from(level.l3);
    if level.l3_kind == L3::V4 {
        let ip = view::<Ipv4Header>(data, l3)?;
        let total = u32::from(ip.total_length.get());
        return Some((IpAddr::from(ip.src), IpAddr::from(ip.dst), total, ip.ecn()));
    }
    let ip = view::<Ipv6Header>(data, l3)?;
    let length = u32::from(ip.payload_length.get());
    let total = if length == 0 { 0 } else { length + Ipv6Header::LEN as u32 };
    Some((IpAddr::from(ip.src), IpAddr::from(ip.dst), total, ip.ecn()))
}

/// Where the datagram ends and where its IP packet does, if that can be.
fn ends(packet: &Packet, level: &Level, total: u32, header: &UdpHeader) -> Option<(u32, u32)> {
    if packet.is_super() {
        let end = packet.len() - u32::from(packet.meta().trailer).min(packet.len());
        return Some((end, end));
    }
    let length = u32::from(header.length.get());
    let ip_end = u32::from(level.l3) + total;
    let end = u32::from(level.l4) + length;
    let there = packet.len().max(packet.meta().orig_len);
    let right = total > 0 && length >= UdpHeader::LEN as u32 && end <= ip_end && ip_end <= there;
    right.then_some((end, ip_end))
}

/// The outer UDP checksum says nothing, and the packet is taken all the same.
const UNVERIFIABLE: bool = true;

/// Whether the outer checksums are right, as far as anybody can know. What is learned of the payload is kept. True if
/// the UDP checksum cannot be verified.
#[inline]
pub(super) fn verify(
    packet: &mut Packet,
    outer: &Outer,
    takes_zero: bool,
    ctx: &mut StageContext<'_>,
) -> Result<bool, Way> {
    // Where the outermost level is not tracked, nothing is known of it.
    let meta = packet.meta();
    let tracked = !meta.flags.contains(MetaFlags::DEEPER);
    let states = if tracked { (meta.l3[0], meta.l4[0]) } else { (Csum::Unknown, Csum::Unknown) };
    if !outer.v6 && !network_is_right(packet, outer, states.0) {
        return Err(Way::Drop(BAD_IPV4));
    }
    match states.1 {
        _ if outer.field == 0 && !(packet.is_super() && states.1 == Csum::Partial) => {
            let needed = outer.v6 && !takes_zero;
            if needed { Err(Way::Drop(NO_CHECKSUM)) } else { Ok(false) }
        }
        // By metadata: whoever made the packet vouches for it.
        Csum::Good | Csum::Partial => Ok(false),
        // A device calls one wrong that was never finished, too.
        Csum::Bad if looks_partial(packet.data(), outer) => Ok(UNVERIFIABLE),
        Csum::Bad => Err(Way::Drop(BAD_CHECKSUM)),
        Csum::Unknown => compute(packet, outer, ctx),
    }
}

fn network_is_right(packet: &Packet, outer: &Outer, state: Csum) -> bool {
    match state {
        Csum::Good | Csum::Partial => true,
        Csum::Bad => false,
        Csum::Unknown => {
            let header = packet.data().get(outer.l3..outer.l4);
            header.is_some_and(|header| Sum::of(header).is_valid())
        }
    }
}

/// Sums the datagram, its payload only if nothing is known of it.
fn compute(packet: &mut Packet, outer: &Outer, ctx: &mut StageContext<'_>) -> Result<bool, Way> {
    let meta = packet.meta();
    let unfinished = meta.l4.contains(&Csum::Partial) || packet.is_super();
    let there = outer.end <= packet.len();
    // A routing header has other addresses in the pseudo header than the IP header.
    let extended = outer.v6 && outer.l4 != outer.l3 + Ipv6Header::LEN;
    if unfinished || !there || (extended && meta.flags.contains(MetaFlags::ODD_PSEUDO)) {
        return Ok(UNVERIFIABLE);
    }
    let Some(pseudo) = pseudo(packet.data(), outer) else { return Ok(UNVERIFIABLE) };
    let mut sums = Sums::of(packet);
    derive(packet, &mut sums);
    let sum = pseudo + sums.range(outer.l4 as u32, outer.end);
    let (read, payload) = (sums.read(), sums.payload());
    ctx.payload_summed(read);
    if sum.is_valid() {
        if let Some(payload) = payload.filter(|_| packet.pieces().count() <= 1) {
            packet.set_payload_sum(payload.fold());
        }
        return Ok(false);
    }
    if looks_partial(packet.data(), outer) {
        return Ok(UNVERIFIABLE);
    }
    Err(Way::Drop(BAD_CHECKSUM))
}

/// Whether the field holds what a sender leaves for its device. What was never finished is no error of the way here,
/// and nobody can say more.
fn looks_partial(data: &[u8], outer: &Outer) -> bool {
    pseudo(data, outer).is_some_and(|pseudo| outer.field == pseudo.canonical())
}

fn pseudo(data: &[u8], outer: &Outer) -> Option<Sum> {
    let addresses = match outer.v6 {
        false => outer.l3 + Ipv4Header::LEN - 8..outer.l3 + Ipv4Header::LEN,
        true => outer.l3 + Ipv6Header::SRC_AT..outer.l3 + Ipv6Header::LEN,
    };
    let length = outer.end - outer.l4 as u32;
    let fixed = Sum::from_u16(u16::from(protocol::UDP)) + Sum::from_u32(length);
    Some(Sum::of(data.get(addresses)?) + fixed)
}

/// The payload's sum, where an inner checksum that is known to be right says it: what that covers and its pseudo
/// header add up to zero.
fn derive(packet: &Packet, sums: &mut Sums<'_>) {
    if packet.meta().l4[1] == Csum::Good
        && let Subject::Open(scope) = subjects(packet)[1]
        && scope.usual
    {
        sums.derive(scope.from, scope.to, Sum::ZERO - scope.pseudo());
    }
}
