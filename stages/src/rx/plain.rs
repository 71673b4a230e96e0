//! The headers of the usual packet, read at fixed places: Ethernet, IPv4 without options or IPv6 without
//! extension headers, TCP or UDP, no tunnel, lengths that fit.
//!
//! It promises to find exactly what the general walk finds, or nothing. It exists because it takes a third of
//! the time.

use super::flow::Ends;
use super::software::Found;
use corelane_runtime::packet::{L3, L4, Layers, Level, MetaFlags};
use corelane_wire::ethernet::ethertype;
use corelane_wire::layers::is_tunnel_port;
use corelane_wire::protocol;

const ETHERNET: u32 = 14;
const IPV4: u32 = 20;
const IPV6: u32 = 40;
const TCP: u32 = 20;
const UDP: u32 = 8;

#[inline]
fn word(frame: &[u8], at: u32) -> Option<u32> {
    let bytes = frame.get(at as usize..at as usize + 2)?;
    Some(u32::from(u16::from_be_bytes([bytes[0], bytes[1]])))
}

/// What is found in a packet of `len` bytes that starts with `frame`, if it is a usual one.
#[inline]
pub(super) fn look(frame: &[u8], len: u32) -> Option<Found> {
    let ethertype = word(frame, ETHERNET - 2)? as u16;
    let version = *frame.get(ETHERNET as usize)?;
    let (kind, l4, end, next) = match (ethertype, version) {
        (ethertype::IPV4, 0x45) => {
            let fragment = word(frame, ETHERNET + 6)? & 0x3fff;
            let total = word(frame, ETHERNET + 2)?;
            let next = *frame.get(ETHERNET as usize + 9)?;
            (L3::V4, ETHERNET + IPV4, if fragment == 0 { ETHERNET + total } else { 0 }, next)
        }
        (ethertype::IPV6, 0x60..0x70) => {
            let length = word(frame, ETHERNET + 4)?;
            let end = if length > 0 { ETHERNET + IPV6 + length } else { 0 };
            (L3::V6, ETHERNET + IPV6, end, *frame.get(ETHERNET as usize + 6)?)
        }
        _ => return None,
    };
    if end > len {
        return None;
    }
    let (l4_kind, payload, payload_end) = match next {
        protocol::TCP => {
            let header = u32::from(*frame.get(l4 as usize + 12)? >> 4) * 4;
            (L4::Tcp, l4 + header.max(TCP), if header >= TCP { end } else { 0 })
        }
        protocol::UDP => {
            let (port, length) = (word(frame, l4 + 2)? as u16, word(frame, l4 + 4)?);
            let usual = length >= UDP && l4 + length <= end && !is_tunnel_port(port);
            (L4::Udp, l4 + UDP, if usual { l4 + length } else { 0 })
        }
        _ => return None,
    };
    if payload > payload_end || payload as usize > frame.len() {
        return None;
    }
    let (l3, l4) = (ETHERNET as u16, l4 as u16);
    let level = Level { l2: 0, l3, l4, payload: payload as u16, l3_kind: kind, l4_kind };
    let layers = Layers { levels: [level, Level::default()], count: 1, ..Layers::default() };
    let ends = Ends::of_ip(kind, l3, next, Some(l4));
    let facts = MetaFlags::empty();
    Some(Found { layers, facts, payload: payload_end - payload, end, ends })
}
