//! `oversize: PmtuReply`: who sent a packet that does not fit is told what would (RFC 1191, RFC 8201).
//!
//! It promises messages that the rules allow: none about a fragment but the first, about an error, or to anybody but
//! one sender (RFC 1122 section 3.2.2, RFC 4443 section 2.4), and no more than a bounded number a second. A tunnel has
//! no address on the network it carries, so the message comes from where the packet went.

use super::super::inner::Network;
use corelane_runtime::Time;
use corelane_runtime::packet::{Buffers, L3, Packet};
use corelane_sum::Sum;
use corelane_wire::ethernet::EthernetHeader;
use corelane_wire::icmp::{IcmpHeader, v4, v6};
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::{IntoBytes, U16, protocol, view};

/// Most bytes of a message with its IP header (RFC 1812 section 4.3.2.3, RFC 4443 section 3.2).
const MOST_V4: usize = 576;
const MOST_V6: usize = 1280;
/// Messages a second that may go out, and as many at once.
const A_SECOND: u64 = 1000;
const AT_ONCE: u64 = 50;
const BETWEEN: u64 = 1_000_000_000 / A_SECOND;
/// TTL of a message.
const TTL: u8 = 64;

/// How many messages may still go out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowance {
    /// From when on there is room for all that may go out at once.
    full_at: Time,
}

impl Allowance {
    /// Takes one message's worth, if there is one.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let next = self.full_at.max(now) + BETWEEN;
        let allowed = next <= now + AT_ONCE * BETWEEN;
        if allowed {
            self.full_at = next;
        }
        allowed
    }
}

/// Whether a message about the packet, whose IP header is `network`, may be sent.
pub(super) fn may_be_told(packet: &Packet, network: &Network) -> bool {
    let data = packet.data();
    let link = view::<EthernetHeader>(data, 0);
    let to_one = link.is_some_and(|link| link.dst[0] & 1 == 0 && link.src[0] & 1 == 0);
    to_one
        && match network.kind {
            L3::V4 => {
                view::<Ipv4Header>(data, network.at).is_some_and(|ip| may_v4(data, ip, network))
            }
            L3::V6 => {
                view::<Ipv6Header>(data, network.at).is_some_and(|ip| may_v6(data, ip, network))
            }
            L3::None => false,
        }
}

fn may_v4(data: &[u8], ip: &Ipv4Header, network: &Network) -> bool {
    let to_one = |address: [u8; 4]| address[0] != 0 && address[0] < 224;
    let first = ip.fragment_offset() == 0;
    let error = ip.protocol == protocol::ICMP && {
        let kind = data.get(network.at + ip.header_len()).copied();
        !matches!(kind, Some(v4::ECHO_REQUEST | v4::ECHO_REPLY | 13..=18))
    };
    ip.dont_fragment() && first && !error && to_one(ip.src) && to_one(ip.dst)
}

fn may_v6(data: &[u8], ip: &Ipv6Header, network: &Network) -> bool {
    let from_one = ip.src[0] != 0xff && ip.src != [0; 16];
    // To many is allowed for this message alone, but here nobody would answer for all of them.
    let to_one = ip.dst[0] != 0xff;
    // Errors are the types below 128. What is hidden behind extension headers is not looked for.
    let kind = data.get(network.at + Ipv6Header::LEN).copied();
    let error = ip.next_header == protocol::ICMP6 && kind.is_none_or(|kind| kind < 128);
    from_one && to_one && !error && ip.next_header != protocol::FRAGMENT
}

/// The message about the packet: `most` bytes of its frame would fit. `None` where buffers are out.
pub(super) fn message(
    packet: &Packet,
    network: &Network,
    most: u32,
    buffers: &mut Buffers,
) -> Option<Packet> {
    let mtu = most.saturating_sub(network.at as u32);
    let mut bytes = [0; MOST_V6 + 64];
    let link = packet.data().get(..network.at).filter(|link| link.len() <= 64)?;
    bytes[..link.len()].copy_from_slice(link);
    bytes[..6].copy_from_slice(&link[6..12]);
    bytes[6..12].copy_from_slice(&link[..6]);
    let room = &mut bytes[network.at..];
    let len = match network.kind {
        L3::V4 => write_v4(room, packet, network, mtu)?,
        _ => write_v6(room, packet, network, mtu)?,
    };
    let mut reply = buffers.receive(&bytes[..network.at + len])?;
    reply.meta_mut().orig_len = reply.len();
    reply.meta_mut().port = packet.meta().port;
    reply.set_time(packet.time());
    Some(reply)
}

/// Copies the packet, from its IP header on, as far as there is room. Returns how many bytes.
fn quote(room: &mut [u8], packet: &Packet, network: &Network) -> usize {
    let from = network.at as u32;
    let mut at = 0;
    for bytes in packet.slices(from, from + room.len() as u32) {
        room[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    }
    at
}

fn write_v4(room: &mut [u8], packet: &Packet, network: &Network, mtu: u32) -> Option<usize> {
    const HEADERS: usize = Ipv4Header::LEN + IcmpHeader::LEN;
    let ip = view::<Ipv4Header>(packet.data(), network.at)?;
    let quoted = quote(&mut room[HEADERS..MOST_V4], packet, network);
    let mtu = mtu.min(u32::from(u16::MAX));
    let icmp = IcmpHeader::new(v4::UNREACHABLE, v4::FRAGMENTATION_NEEDED, mtu);
    room[Ipv4Header::LEN..HEADERS].copy_from_slice(icmp.as_bytes());
    let checksum = Sum::of(&room[Ipv4Header::LEN..HEADERS + quoted]).checksum();
    put_word(&mut room[Ipv4Header::LEN + IcmpHeader::CHECKSUM_AT..], checksum);
    let mut header = Ipv4Header {
        version_ihl: 0x45,
        tos: 0xc0, // internetwork control (RFC 1812 section 4.3.2.5)
        total_length: U16::new((HEADERS + quoted) as u16),
        id: U16::ZERO,
        flags_offset: U16::new(0x4000),
        ttl: TTL,
        protocol: protocol::ICMP,
        checksum: U16::ZERO,
        src: ip.dst,
        dst: ip.src,
    };
    header.checksum = U16::new(Sum::of(header.as_bytes()).checksum());
    room[..Ipv4Header::LEN].copy_from_slice(header.as_bytes());
    Some(HEADERS + quoted)
}

fn write_v6(room: &mut [u8], packet: &Packet, network: &Network, mtu: u32) -> Option<usize> {
    const HEADERS: usize = Ipv6Header::LEN + IcmpHeader::LEN;
    let ip = view::<Ipv6Header>(packet.data(), network.at)?;
    let quoted = quote(&mut room[HEADERS..MOST_V6], packet, network);
    let icmp = IcmpHeader::new(v6::TOO_BIG, 0, mtu);
    let length = (IcmpHeader::LEN + quoted) as u32;
    let header = Ipv6Header {
        version_class_flow: Ipv6Header::first_word(0, 0),
        payload_length: U16::new(length as u16),
        next_header: protocol::ICMP6,
        hop_limit: TTL,
        src: ip.dst,
        dst: ip.src,
    };
    room[..Ipv6Header::LEN].copy_from_slice(header.as_bytes());
    room[Ipv6Header::LEN..HEADERS].copy_from_slice(icmp.as_bytes());
    let pseudo = Sum::of(&room[Ipv6Header::SRC_AT..Ipv6Header::LEN])
        + Sum::from_u32(length)
        + Sum::from_u16(u16::from(protocol::ICMP6));
    let sum = pseudo + Sum::of(&room[Ipv6Header::LEN..HEADERS + quoted]);
    put_word(&mut room[Ipv6Header::LEN + IcmpHeader::CHECKSUM_AT..], sum.checksum());
    Some(HEADERS + quoted)
}

fn put_word(room: &mut [u8], word: u16) {
    room[..2].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_bounded_at_once_and_in_the_long_run() {
        let mut allowance = Allowance::default();
        let taken = (0..1000).filter(|_| allowance.take(7)).count() as u64;
        assert_eq!(taken, AT_ONCE);
        let mut taken = 0;
        for now in (0..10_000_000_000_u64).step_by(100_000) {
            taken += u64::from(allowance.take(now));
        }
        assert!((9_900..=10_050).contains(&taken), "{taken} in ten seconds");
    }
}
