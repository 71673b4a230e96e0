//! What follows an IP header: the protocol behind its extension headers, and which piece of a datagram it is.
//!
//! Offsets alone do not say it of every packet: a later fragment has a protocol and no header of it, and of protocols
//! other than TCP and UDP only a look at the chain tells which it is. It reads no byte behind the datagram.

use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::protocol;

/// Extension headers that are passed, at most.
const HEADERS_MAX: usize = 128;

/// Which piece of a datagram a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fragment {
    /// All of it.
    #[default]
    Whole = 0,
    /// The first of several.
    First = 1,
    /// A later one.
    Later = 2,
}

/// What follows the IP header and its extensions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Upper {
    /// As the last header says, in a later fragment too.
    pub(super) protocol: Option<u8>,
    pub(super) fragment: Fragment,
}

/// Protocol and fragment of IPv4; authentication headers are passed.
pub(super) fn upper_v4(header: &Ipv4Header, data: &[u8], at: usize) -> Upper {
    let fragment = match (header.fragment_offset(), header.more_fragments()) {
        (0, false) => Fragment::Whole,
        (0, true) => Fragment::First,
        _ => Fragment::Later,
    };
    let start = Upper { protocol: Some(header.protocol), fragment };
    let at = at + header.header_len();
    if at > data.len() {
        return Upper { protocol: None, fragment };
    }
    chain(data, at, start, |next| next == protocol::AUTHENTICATION)
}

/// Protocol and fragment of IPv6; extension headers are passed.
pub(super) fn upper_v6(header: &Ipv6Header, data: &[u8], at: usize) -> Upper {
    let start = Upper { protocol: Some(header.next_header), fragment: Fragment::Whole };
    chain(data, at + Ipv6Header::LEN, start, is_extension)
}

/// Whether another header stands behind one of this protocol.
fn is_extension(protocol: u8) -> bool {
    matches!(
        protocol,
        protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::FRAGMENT
            | protocol::AUTHENTICATION
            | protocol::DESTINATION_OPTIONS
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6
    )
}

/// Passes headers while `passed` says so of their protocols; none behind a later fragment's, where there is
/// payload. Of a chain that breaks the protocol is not known.
fn chain(data: &[u8], mut at: usize, start: Upper, passed: impl Fn(u8) -> bool) -> Upper {
    let mut upper = start;
    for _ in 0..HEADERS_MAX {
        let Some(next) = upper.protocol.filter(|&next| passed(next)) else { return upper };
        if upper.fragment == Fragment::Later {
            return upper;
        }
        let Some(&[following, units, high, low]) = data.get(at..).and_then(<[u8]>::first_chunk)
        else {
            break;
        };
        let len = match next {
            protocol::FRAGMENT => 8,
            // It has 12 bytes at least.
            protocol::AUTHENTICATION if units == 0 => break,
            protocol::AUTHENTICATION => (usize::from(units) + 2) * 4,
            _ => (usize::from(units) + 1) * 8,
        };
        at += len;
        if at > data.len() {
            break;
        }
        upper.protocol = Some(following);
        if next == protocol::FRAGMENT {
            let offset_more = u16::from_be_bytes([high, low]);
            upper.fragment = match (offset_more & 0xfff8, offset_more & 1) {
                (0, 0) => upper.fragment,
                (0, _) => Fragment::First,
                _ => Fragment::Later,
            };
        }
    }
    Upper { protocol: None, ..upper }
}
