//! The frames that are sent: ARP questions and answers (RFC 826), neighbour solicitations and advertisements
//! (RFC 4861, sections 4.3 and 4.4), with their checksums.
//!
//! It promises bytes. Whether one is to be sent, and to whom, is for the others.

use super::me::{Mac, multicast_v6, solicited_node};
use crate::rx::describe;
use corelane_runtime::stage::{OutputId, Outputs, StageContext};
use corelane_sum::Sum;
use corelane_wire::arp::ArpPacket;
use corelane_wire::ethernet::{EthernetHeader, ethertype};
use corelane_wire::icmp::{IcmpHeader, LinkAddressOption, NeighbourMessage};
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::{IntoBytes, U16, protocol, pseudo};
use std::net::Ipv6Addr;

/// The hop limit that says that nobody on the way forwarded it.
pub(super) const HOP_LIMIT: u8 = 255;
/// Bytes of an ARP frame.
const ARP_LEN: usize = EthernetHeader::LEN + ArpPacket::LEN;
/// Bytes of an ND frame with one option.
const ND_LEN: usize =
    EthernetHeader::LEN + Ipv6Header::LEN + NeighbourMessage::LEN + LinkAddressOption::LEN;

/// An ARP packet in a frame.
pub(super) fn arp(to: Mac, from: Mac, packet: &ArpPacket) -> [u8; ARP_LEN] {
    let mut frame = [0; ARP_LEN];
    ethernet(&mut frame, to, from, ethertype::ARP);
    frame[EthernetHeader::LEN..].copy_from_slice(packet.as_bytes());
    frame
}

/// The question who has `wanted`, to everybody who could be meant or, to hear whether it is still there, to
/// `known`.
pub(super) fn solicitation(
    from: Mac,
    src: Ipv6Addr,
    wanted: Ipv6Addr,
    known: Option<Mac>,
) -> [u8; ND_LEN] {
    let group = solicited_node(wanted);
    let dst = if known.is_some() { wanted } else { group };
    let to = known.unwrap_or_else(|| multicast_v6(group));
    let message = NeighbourMessage::solicitation(wanted.octets());
    let option = LinkAddressOption::new(corelane_wire::icmp::SOURCE_LINK_ADDRESS, from);
    nd((to, from), (src, dst), message, &option)
}

/// That `target` is at `from`.
pub(super) fn advertisement(
    to: Mac,
    from: Mac,
    dst: Ipv6Addr,
    target: Ipv6Addr,
    flags: u32,
) -> [u8; ND_LEN] {
    let message = NeighbourMessage::advertisement(target.octets(), flags);
    let option = LinkAddressOption::new(corelane_wire::icmp::TARGET_LINK_ADDRESS, from);
    nd((to, from), (target, dst), message, &option)
}

fn ethernet(frame: &mut [u8], dst: Mac, src: Mac, ethertype: u16) {
    let header = EthernetHeader { dst, src, ethertype: U16::new(ethertype) };
    frame[..EthernetHeader::LEN].copy_from_slice(header.as_bytes());
}

fn nd(
    (to, from): (Mac, Mac),
    (src, dst): (Ipv6Addr, Ipv6Addr),
    mut message: NeighbourMessage,
    option: &LinkAddressOption,
) -> [u8; ND_LEN] {
    const LEN: usize = NeighbourMessage::LEN + LinkAddressOption::LEN;
    let ip = Ipv6Header {
        version_class_flow: Ipv6Header::first_word(0, 0),
        payload_length: U16::new(LEN as u16),
        next_header: protocol::ICMP6,
        hop_limit: HOP_LIMIT,
        src: src.octets(),
        dst: dst.octets(),
    };
    // All pieces are of even length, so their sums add up.
    let sum =
        pseudo_sum(&ip, LEN as u32) + Sum::of(message.as_bytes()) + Sum::of(option.as_bytes());
    message.header.checksum = U16::new(sum.checksum());
    let mut frame = [0; ND_LEN];
    ethernet(&mut frame, to, from, ethertype::IPV6);
    let mut at = EthernetHeader::LEN;
    for piece in [ip.as_bytes(), message.as_bytes(), option.as_bytes()] {
        frame[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    }
    frame
}

/// Sum of the pseudo header of an ICMPv6 message.
pub(super) fn pseudo_sum(ip: &Ipv6Header, len: u32) -> Sum {
    Sum::of(&ip.src) + Sum::of(&ip.dst) + pseudo::length_and_protocol(len, protocol::ICMP6)
}

/// Offset of the ICMPv6 message in a frame.
pub(super) const ND_AT: usize = EthernetHeader::LEN + Ipv6Header::LEN;

const _: () = assert!(IcmpHeader::CHECKSUM_AT == 2 && ND_LEN == 86 && ARP_LEN == 42);

/// Sends a frame of one's own. False where there is no room or no buffer: nothing was done then.
pub(super) fn send(
    frame: &[u8],
    to: OutputId,
    key: u64,
    out: &mut Outputs<'_>,
    ctx: &mut StageContext<'_>,
) -> bool {
    if out.room_of(to) == 0 {
        return false;
    }
    let Some(mut packet) = ctx.buffers.receive(frame) else { return false };
    packet.meta_mut().orig_len = packet.len();
    packet.set_time(ctx.now);
    if describe(&mut packet, key, ctx.buffers).is_err() {
        ctx.buffers.release(packet);
        return false;
    }
    ctx.create(&packet);
    out.send(to, packet);
    true
}
