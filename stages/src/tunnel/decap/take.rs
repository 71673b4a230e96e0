//! One packet comes out of the tunnel: its headers are checked, then taken off the front.
//!
//! It promises that a packet which must wait for a buffer is as it was, and meta that is what a look at the inner
//! frame gives. Of the inner frame only the ECN field may change, with its header sum.

use super::config::{
    BAD_HEADER, CONGESTION, LEARNED, TOO_SHORT, UNKNOWN_REMOTE, UNKNOWN_VNI, UNVERIFIED, WRONG_VNI,
};
use super::outer::{self, Outer};
use super::{Settings, Way};
use crate::rx::CONTIGUOUS;
use crate::tunnel::inner::{Network, look_again, network_of_frame, set_payload};
use crate::tunnel::{ecn, vxlan};
use corelane_runtime::packet::{
    Csum, L3, L4, Layers, Level, MetaFlags, NoBuffer, Packet, SMALL_ROOM, SegKind, Taken, Tunnel,
};
use corelane_runtime::stage::StageContext;
use corelane_sum::{Sum, update};
use corelane_wire::ethernet::EthernetHeader;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::udp::UdpHeader;
use corelane_wire::{view, view_mut};

/// Facts about one of the levels, nobody knows which.
const ODD: MetaFlags = MetaFlags::FRAGMENT.union(MetaFlags::ODD_PSEUDO).union(MetaFlags::OVERRUN);

/// Takes a packet out of the tunnel, or says what else is to be done with it.
#[inline]
pub(super) fn take(
    packet: &mut Packet,
    settings: &Settings,
    cursor: &mut usize,
    ctx: &mut StageContext<'_>,
) -> Way {
    match open(packet, settings, cursor, ctx) {
        Ok(()) => Way::Next,
        Err(way) => way,
    }
}

fn open(
    packet: &mut Packet,
    settings: &Settings,
    cursor: &mut usize,
    ctx: &mut StageContext<'_>,
) -> Result<(), Way> {
    packet.pull_up(CONTIGUOUS, ctx.buffers).map_err(wait)?;
    let outer = outer::find(packet, settings)?;
    if packet.is_super() && is_train(packet, &outer) {
        as_one_level(packet, ctx);
        return Err(Way::Train);
    }
    let header = outer.l4 + UdpHeader::LEN;
    let at = header + vxlan::LEN;
    if outer.end < at as u32 {
        return Err(Way::Drop(TOO_SHORT));
    }
    let vni = vxlan::identifier(packet.data(), header, settings.ignores_reserved);
    let vni = vni.ok_or(Way::Drop(BAD_HEADER))?;
    admit(&outer, vni, settings)?;
    let there = outer.end.min(packet.len());
    if there < (at + EthernetHeader::LEN) as u32 {
        return Err(Way::Drop(TOO_SHORT));
    }
    if !is_simple(packet, at) {
        // Whatever is inside is looked at anew; that must not fail half way.
        packet.pull_up(SMALL_ROOM, ctx.buffers).map_err(wait)?;
    }
    let unverified = outer::verify(packet, &outer, settings.takes_zero, ctx)?;
    congest(packet, &outer, at, settings, ctx)?;
    ctx.count(UNVERIFIED, u64::from(unverified));
    learn(packet, &outer, at, vni, settings, cursor, ctx);
    uncover(packet, &outer, at, vni, settings.key, ctx);
    Ok(())
}

fn wait(NoBuffer: NoBuffer) -> Way {
    Way::Wait
}

/// Whether this end takes the identifier, from that sender.
#[inline]
fn admit(outer: &Outer, vni: u32, settings: &Settings) -> Result<(), Way> {
    if settings.vni.is_some_and(|right| right != vni) {
        return Err(Way::Otherwise(WRONG_VNI));
    }
    match settings.rows.as_ref().map(|rows| rows.has(vni, outer.src)) {
        Some((false, _)) => Err(Way::Otherwise(UNKNOWN_VNI)),
        Some((true, false)) => Err(Way::Drop(UNKNOWN_REMOTE)),
        _ => Ok(()),
    }
}

/// Whether the request to be cut is about the outer datagrams: one joined from many, each with a tunnel header of its
/// own.
fn is_train(packet: &Packet, outer: &Outer) -> bool {
    let meta = packet.meta();
    let request = packet.segmentation();
    let v6 = match request.kind {
        SegKind::Udp4 => false,
        SegKind::Udp6 => true,
        _ => return false,
    };
    let level = &meta.layers.levels[1];
    let inner = meta.layers.count == 2 && level.l4_kind == L4::Udp;
    if !inner || (level.l3_kind == L3::V6) != v6 {
        return true;
    }
    // Both readings are possible. In a train the first inner packet fills the first datagram exactly.
    let l3 = usize::from(level.l3);
    let len = match level.l3_kind {
        L3::V4 => {
            view::<Ipv4Header>(packet.data(), l3).map(|ip| usize::from(ip.total_length.get()))
        }
        _ => view::<Ipv6Header>(packet.data(), l3)
            .map(|ip| usize::from(ip.payload_length.get()) + Ipv6Header::LEN),
    };
    let start = outer.l4 + UdpHeader::LEN;
    len.is_some_and(|len| l3 + len == start + usize::from(request.gso_size))
}

/// A train is one level of UDP with nothing known inside.
fn as_one_level(packet: &mut Packet, ctx: &mut StageContext<'_>) {
    let meta = packet.meta_mut();
    let outer = meta.layers.levels[0];
    meta.layers = Layers { levels: [outer, Level::default()], count: 1, tunnel: Tunnel::None };
    meta.flags -= ODD | MetaFlags::KNOWN;
    (meta.l3[1], meta.l4[1]) = (Csum::Unknown, Csum::Unknown);
    let payload = packet.len().saturating_sub(u32::from(outer.payload));
    set_payload(packet, payload, ctx);
}

/// Whether what meta says of the inner level is all there is to know about the inner frame.
#[inline]
fn is_simple(packet: &Packet, at: usize) -> bool {
    let meta = packet.meta();
    let layers = &meta.layers;
    layers.count == 2
        && matches!(layers.tunnel, Tunnel::Vxlan | Tunnel::None)
        && usize::from(layers.levels[1].l2) == at
        && !meta.flags.intersects(ODD | MetaFlags::DEEPER)
}

/// What the outer header says of congestion goes inside (RFC 6040 section 4.2).
#[inline]
fn congest(
    packet: &mut Packet,
    outer: &Outer,
    at: usize,
    settings: &Settings,
    ctx: &mut StageContext<'_>,
) -> Result<(), Way> {
    if outer.ecn == ecn::NOT_ECT {
        return Ok(());
    }
    let Some(inner) = network_of_frame(packet.data(), at) else { return Ok(()) };
    let now = ecn::inside(settings.ecn, outer.ecn, inner.tos & 3);
    let now = now.ok_or(Way::Drop(CONGESTION))?;
    if now == inner.tos & 3 {
        return Ok(());
    }
    let end = inner.at + if inner.kind == L3::V4 { Ipv4Header::LEN } else { Ipv6Header::LEN };
    packet.make_header_unique(end as u32, ctx.buffers).map_err(wait)?;
    mark(packet, &inner, inner.tos & 0xfc | now);
    Ok(())
}

/// Writes class and ECN of an inner header.
fn mark(packet: &mut Packet, inner: &Network, tos: u8) {
    let Some(data) = packet.data_mut() else { return };
    if inner.kind == L3::V4 {
        if let Some(header) = view_mut::<Ipv4Header>(data, inner.at) {
            let word = |tos: u8| Sum::from_u16(u16::from(tos));
            header.checksum.set(update(header.checksum.get(), word(header.tos), word(tos)));
            header.tos = tos;
        }
        return;
    }
    if let Some(header) = view_mut::<Ipv6Header>(data, inner.at) {
        header.version_class_flow = Ipv6Header::first_word(tos, header.flow_label());
    }
    // No checksum covers that byte, but a sum of the device's may.
    let meta = packet.meta_mut();
    if meta.known().is_some_and(|known| usize::from(known.from) <= inner.at) {
        meta.forget_known();
    }
}

fn learn(
    packet: &Packet,
    outer: &Outer,
    at: usize,
    vni: u32,
    settings: &Settings,
    cursor: &mut usize,
    ctx: &mut StageContext<'_>,
) {
    let Some(rows) = &settings.rows else { return };
    let link = view::<EthernetHeader>(packet.data(), at);
    let news = link.is_some_and(|link| rows.note(vni, link.src, outer.src, ctx.now, cursor));
    ctx.count(LEARNED, u64::from(news));
}

/// Takes the headers off, and what follows the datagram.
fn uncover(
    packet: &mut Packet,
    outer: &Outer,
    at: usize,
    vni: u32,
    key: u64,
    ctx: &mut StageContext<'_>,
) {
    let n = at as u16;
    let taken = Taken::tunnel(vni);
    let simple = is_simple(packet, at);
    if outer.end != outer.ip_end {
        // A sum up to the end of the IP packet is none up to the end of the datagram.
        packet.meta_mut().forget_known();
    }
    let whole = packet.meta().orig_len.min(outer.end);
    packet.truncate(outer.end, ctx.buffers);
    packet.meta_mut().orig_len = whole.max(packet.len());
    packet.meta_mut().trailer = 0;
    let trailer = if simple { trailer(packet) } else { 0 };
    if simple && packet.pop_level(n, trailer, taken) {
        packet.pull(u32::from(n), ctx.buffers);
        if !matches!(packet.meta().layers.levels[0].l4_kind, L4::Tcp | L4::Udp) {
            // What was payload of the outer header is headers now.
            set_payload(packet, 0, ctx);
        }
        return;
    }
    look_again(packet, n, key, ctx);
    packet.meta_mut().taken = taken;
}

/// Bytes behind the inner IP packet.
#[inline]
fn trailer(packet: &Packet) -> u16 {
    let level = &packet.meta().layers.levels[1];
    let (data, l3) = (packet.data(), usize::from(level.l3));
    let len = match level.l3_kind {
        L3::V4 => view::<Ipv4Header>(data, l3).map(|ip| u32::from(ip.total_length.get())),
        _ => view::<Ipv6Header>(data, l3).map(|ip| match u32::from(ip.payload_length.get()) {
            0 => 0,
            length => length + Ipv6Header::LEN as u32,
        }),
    };
    let end = match len {
        _ if packet.is_super() => u32::from(level.payload) + packet.payload_len(),
        // As long as there is data.
        None | Some(0) => packet.len(),
        Some(len) => u32::from(level.l3) + len,
    };
    u16::try_from(packet.len().saturating_sub(end)).unwrap_or(u16::MAX)
}
