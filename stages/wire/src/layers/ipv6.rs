//! The IPv6 header and its chain of extension headers, to the upper layer or to where the chain
//! breaks.
//!
//! It promises the datagram's end (jumbo option included), the addresses that enter the pseudo
//! header, and the fragment state. As elsewhere in the walk, a chain that runs past the bytes at
//! hand is malformed, not cut to fit.

use super::level::{Fragment, L3, Level};
use super::walk::{Upper, Walk};
use crate::ipv6::{
    AuthenticationHeader, ExtensionHeader, FragmentHeader, HOME_ADDRESS_OPTION, Ipv6Header,
    JUMBO_OPTION, ROUTING_MOBILE, ROUTING_SEGMENT, ROUTING_SOURCE, options,
};
use crate::protocol;

/// Bytes of an IPv6 address.
const ADDRESS: usize = 16;

/// Passes the chain and gives the upper-layer header.
pub(super) fn chain(
    walk: &mut Walk<'_>,
    at: u32,
    available: u32,
    level: &mut Level,
) -> Option<Upper> {
    let header = walk.header::<Ipv6Header>(at, available, level)?;
    if header.version() != 6 {
        level.malformed = true;
        return None;
    }
    level.l3_kind = L3::V6;
    level.pseudo_src = at as u16 + Ipv6Header::SRC_AT as u16;
    level.pseudo_dst = at as u16 + Ipv6Header::DST_AT as u16;
    let body = at + Ipv6Header::LEN as u32;
    let payload_length = u32::from(header.payload_length.get());
    // Set before the chain is walked, so that it stands even if the chain breaks.
    level.set_end(if payload_length == 0 { available } else { body + payload_length }, available);
    let first = Upper { at: body, protocol: header.next_header };
    let mut jumbo = 0;
    let upper = extensions(walk, first, available, level, &mut jumbo)?;
    if payload_length == 0 {
        zero_length(body, available, upper.protocol, jumbo, level);
    }
    if upper.at > level.end {
        level.malformed = true;
        return None;
    }
    Some(upper)
}

/// The end of a datagram whose payload length field is 0.
fn zero_length(body: u32, available: u32, protocol: u8, jumbo: u32, level: &mut Level) {
    if jumbo != 0 {
        level.jumbo = true;
        level.set_end(body.saturating_add(jumbo), available);
    } else if protocol == protocol::NO_NEXT {
        level.set_end(body, available);
    } else {
        level.zero_length = true;
    }
}

/// Passes extension headers until an upper layer, or the payload of a later fragment, whose next
/// header field speaks of the first fragment.
fn extensions(
    walk: &mut Walk<'_>,
    mut upper: Upper,
    available: u32,
    level: &mut Level,
    jumbo: &mut u32,
) -> Option<Upper> {
    while level.fragment != Fragment::Later {
        upper = match upper.protocol {
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION_OPTIONS
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6 => extension(walk, upper, available, level, jumbo)?,
            protocol::FRAGMENT => fragment(walk, upper.at, available, level)?,
            protocol::AUTHENTICATION => authentication(walk, upper.at, available, level)?,
            _ => break,
        };
        level.options = true;
    }
    Some(upper)
}

fn extension(
    walk: &mut Walk<'_>,
    upper: Upper,
    available: u32,
    level: &mut Level,
    jumbo: &mut u32,
) -> Option<Upper> {
    let at = upper.at;
    let header = walk.header::<ExtensionHeader>(at, available, level)?;
    let end = at + header.header_len() as u32;
    let bytes = walk.bytes(at, end, available, level)?;
    match upper.protocol {
        protocol::HOP_BY_HOP => *jumbo = jumbo_length(bytes).unwrap_or(*jumbo),
        protocol::DESTINATION_OPTIONS => level.replace_src(at, home_address(bytes)),
        protocol::ROUTING => level.replace_dst(at, last_address(header)),
        _ => {}
    }
    Some(Upper { at: end, protocol: header.next_header })
}

impl Level {
    /// `address`, counted from the extension header at `at`, stands for the source.
    fn replace_src(&mut self, at: u32, address: Option<usize>) {
        if let Some(address) = address {
            self.pseudo_src = at as u16 + address as u16;
            self.unusual_pseudo = true;
        }
    }

    /// `address`, counted from the extension header at `at`, stands for the destination.
    fn replace_dst(&mut self, at: u32, address: Option<usize>) {
        if let Some(address) = address {
            self.pseudo_dst = at as u16 + address as u16;
            self.unusual_pseudo = true;
        }
    }
}

/// The jumbo payload length in a hop-by-hop header.
fn jumbo_length(header: &[u8]) -> Option<u32> {
    let mut jumbo = options(header).filter(|&(_, kind, _)| kind == JUMBO_OPTION);
    jumbo.find_map(|(_, _, data)| Some(u32::from_be_bytes(data.try_into().ok()?)))
}

/// Where in a destination header the home address stands.
fn home_address(header: &[u8]) -> Option<usize> {
    let is_home = |kind, data: &[u8]| kind == HOME_ADDRESS_OPTION && data.len() == ADDRESS;
    options(header).find(|&(_, kind, data)| is_home(kind, data)).map(|(at, _, _)| at)
}

/// Where in a routing header the final destination stands while it is not yet in the IPv6 header:
/// last in the older types, first in a segment routing header, whose list is reversed.
fn last_address(header: &ExtensionHeader) -> Option<usize> {
    let len = header.header_len();
    if header.segments_left == 0 || len < ExtensionHeader::LEN + ADDRESS {
        return None;
    }
    match header.routing_type {
        ROUTING_SOURCE | ROUTING_MOBILE => Some(len - ADDRESS),
        ROUTING_SEGMENT => Some(ExtensionHeader::LEN),
        _ => None,
    }
}

fn fragment(walk: &mut Walk<'_>, at: u32, available: u32, level: &mut Level) -> Option<Upper> {
    let header = walk.header::<FragmentHeader>(at, available, level)?;
    level.fragment = match (header.fragment_offset(), header.more_fragments()) {
        (0, false) if level.fragment == Fragment::First => Fragment::First,
        (0, false) => Fragment::Atomic,
        (0, true) => Fragment::First,
        _ => Fragment::Later,
    };
    Some(Upper { at: at + FragmentHeader::LEN as u32, protocol: header.next_header })
}

fn authentication(
    walk: &mut Walk<'_>,
    at: u32,
    available: u32,
    level: &mut Level,
) -> Option<Upper> {
    let header = walk.header::<AuthenticationHeader>(at, available, level)?;
    let end = at + header.header_len() as u32;
    if header.header_len() < AuthenticationHeader::LEN {
        level.malformed = true;
        return None;
    }
    walk.bytes(at, end, available, level)?;
    Some(Upper { at: end, protocol: header.next_header })
}
