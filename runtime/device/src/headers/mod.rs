//! The devices' own parser: where the IP header of a frame lies, what it carries, and how far it goes.
//!
//! It shares no code with the parser of the stages, on purpose: an error in one of them shows as a difference
//! between what hardware and software do. It knows Ethernet, VLAN tags, IPv4 with options and IPv6 with those
//! extension headers a NIC walks (RFC 8200 section 4), and one level inside a tunnel where the device knows that
//! (`inside`). It never panics, reads nothing behind the frame, and makes no claim about a header that is not whole.

mod hash;
mod inside;
#[cfg(test)]
mod tests;

pub(crate) use hash::flow_hash;
pub(crate) use inside::{Carrier, Inside, Parses, is_usual_tunnel};

/// Protocol number of TCP.
pub(crate) const TCP: u8 = 6;
/// Protocol number of UDP.
pub(crate) const UDP: u8 = 17;

/// Protocol number of GRE.
pub(crate) const GRE: u8 = 47;

const ETHERNET: usize = 14;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More extension headers than any sane packet has.
const MAX_EXTENSIONS: usize = 8;

/// The version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Where things are in a frame. Offsets count from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Version of the IP header.
    pub(crate) family: Family,
    /// First byte of the IP header.
    pub(crate) l3: usize,
    /// First byte behind the IP header, its options and extension headers.
    pub(crate) l4: usize,
    /// End of the datagram by its own length field; may lie behind the frame, or before `l4`.
    pub(crate) end: usize,
    /// What stands at `l4`.
    pub(crate) protocol: u8,
    /// A fragment, an atomic one included.
    pub(crate) fragment: bool,
    /// IPv4 options or IPv6 extension headers stand before `l4`.
    pub(crate) options: bool,
    /// The addresses of the pseudo header may not be those of the IP header.
    pub(crate) odd_pseudo: bool,
}

/// The 16 bits at `at`, in network order.
pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes([field[0], field[1]]))
}

impl Headers {
    /// Finds the IP header of a frame; `None` if there is none, or not all of it.
    pub(crate) fn parse(frame: &[u8]) -> Option<Headers> {
        Headers::behind_ethernet(frame, 0)
    }

    /// The same for a frame whose Ethernet header is at `start`.
    fn behind_ethernet(frame: &[u8], start: usize) -> Option<Headers> {
        let mut at = start + ETHERNET;
        let mut ethertype = be16(frame, at - 2)?;
        while VLAN_TAGS.contains(&ethertype) {
            at += 4;
            ethertype = be16(frame, at - 2)?;
        }
        Headers::of_ethertype(frame, at, ethertype)
    }

    /// The IP header at `at`, in front of which stands this type.
    fn of_ethertype(frame: &[u8], at: usize, ethertype: u16) -> Option<Headers> {
        match (ethertype, frame.get(at)? >> 4) {
            (IPV4, 4) => ipv4(frame, at),
            (IPV6, 6) => ipv6(frame, at),
            _ => None,
        }
    }

    /// Source and destination address, one behind the other in the frame.
    pub(crate) fn addresses<'f>(&self, frame: &'f [u8]) -> (&'f [u8], &'f [u8]) {
        let (at, len) = match self.family {
            Family::V4 => (self.l3 + 12, 4),
            Family::V6 => (self.l3 + 8, 16),
        };
        // `parse` saw the whole fixed header in this frame.
        frame.get(at..at + 2 * len).unwrap_or(&[]).split_at_checked(len).unwrap_or_default()
    }

    /// The ports of TCP or UDP, if this is no fragment and they are in the frame.
    pub(crate) fn ports(&self, frame: &[u8]) -> Option<(u16, u16)> {
        let has_ports = matches!(self.protocol, TCP | UDP) && !self.fragment;
        if !has_ports {
            return None;
        }
        Some((be16(frame, self.l4)?, be16(frame, self.l4 + 2)?))
    }

    /// Bytes of the datagram from `l4` on, if all of them are in a frame of `frame_len` bytes.
    pub(crate) fn l4_len(&self, frame_len: usize) -> Option<usize> {
        if self.end > frame_len { None } else { self.end.checked_sub(self.l4) }
    }
}

fn ipv4(frame: &[u8], l3: usize) -> Option<Headers> {
    let header_len = usize::from(frame.get(l3)? & 0x0f) * 4;
    if header_len < 20 || frame.len() < l3 + header_len {
        return None;
    }
    let flags_and_offset = be16(frame, l3 + 6)?;
    Some(Headers {
        family: Family::V4,
        l3,
        l4: l3 + header_len,
        end: l3 + usize::from(be16(frame, l3 + 2)?),
        protocol: *frame.get(l3 + 9)?,
        // More fragments, or an offset.
        fragment: flags_and_offset & 0x3fff != 0,
        options: header_len > 20,
        odd_pseudo: header_len > 20 && has_source_route(&frame[l3 + 20..l3 + header_len]),
    })
}

/// Whether a loose or strict source route changes the destination on the way (RFC 791 section 3.1).
fn has_source_route(options: &[u8]) -> bool {
    let mut rest = options;
    loop {
        match rest {
            [0, ..] | [] => return false,
            [1, more @ ..] => rest = more,
            [131 | 137, ..] => return true,
            [_, len, ..] if usize::from(*len) >= 2 && usize::from(*len) <= rest.len() => {
                rest = &rest[usize::from(*len)..];
            }
            // Cannot be walked: no claim about what it hides.
            _ => return true,
        }
    }
}

fn ipv6(frame: &[u8], l3: usize) -> Option<Headers> {
    if frame.len() < l3 + 40 {
        return None;
    }
    let mut found = Headers {
        family: Family::V6,
        l3,
        l4: l3 + 40,
        end: l3 + 40 + usize::from(be16(frame, l3 + 4)?),
        protocol: *frame.get(l3 + 6)?,
        fragment: false,
        options: false,
        odd_pseudo: false,
    };
    for _ in 0..MAX_EXTENSIONS {
        if !found.pass_extension(frame) {
            return Some(found);
        }
    }
    None
}

impl Headers {
    /// Steps over one IPv6 extension header; false if `l4` is none, or the end of it is not in the frame.
    fn pass_extension(&mut self, frame: &[u8]) -> bool {
        const HOP_BY_HOP: u8 = 0;
        const ROUTING: u8 = 43;
        const FRAGMENT: u8 = 44;
        const DESTINATION: u8 = 60;
        if ![HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION].contains(&self.protocol) {
            return false;
        }
        let Some(&[next, len]) = frame.get(self.l4..self.l4 + 2) else { return false };
        let is_fragment = self.protocol == FRAGMENT;
        let len = if is_fragment { 8 } else { (usize::from(len) + 1) * 8 };
        if frame.len() < self.l4 + len {
            return false;
        }
        let offset = if is_fragment { be16(frame, self.l4 + 2).unwrap_or(0) & 0xfff8 } else { 0 };
        self.fragment |= is_fragment;
        // A home address or a segment still to be visited takes the place of an address.
        self.odd_pseudo |= matches!(self.protocol, ROUTING | DESTINATION);
        self.options = true;
        self.protocol = next;
        self.l4 += len;
        // What follows in a later fragment is no header, whatever the next header field says.
        offset == 0
    }
}
