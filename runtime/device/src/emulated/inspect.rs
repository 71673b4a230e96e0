//! What the receive side of the NIC finds out about a frame, and what of it goes into a packet's meta.
//!
//! It verifies the IPv4 header, TCP and UDP of the outermost level, and of the level inside where that is carried
//! in a tunnel the device knows, by summing every byte. What it found outside such a tunnel is told by a device that
//! has `RX_OUTER_IP` and `RX_OUTER_UDP`; `RX_IP`, `RX_TCP` and `RX_UDP` then speak of the level inside. Of a tunnel
//! that it does not know - another UDP port is enough - it sees plain IP with plain UDP. It says nothing -
//! `Unknown`, so that software looks - about what a NIC cannot or should not judge: a frame of which the
//! capture lacks bytes, fragments, a datagram that ends elsewhere than its UDP length says, addresses replaced
//! by a routing header, and a UDP checksum of zero, which is no checksum to be good or bad. So a verdict, where
//! there is one, is the verdict software would have come to. A checksum that merely looks partial is wrong on
//! the wire, and reported so.

use super::arithmetic::{add, pseudo, subtract, sum};
use super::faults::Lies;
use crate::headers::{Family, Headers, Parses, TCP, UDP, be16, flow_hash};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, Known, Meta, MetaFlags, Partial};

/// What is known about one frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Findings {
    /// Where its headers are, if it has those of IP.
    pub(super) headers: Option<Headers>,
    /// The IPv4 header checksum.
    pub(super) l3: Csum,
    /// The TCP or UDP checksum.
    pub(super) l4: Csum,
    /// No verified field holds 0xFFFF where arithmetic gives 0, or the other way round.
    pub(super) canonical: bool,
    /// Sum of the whole IP datagram.
    pub(super) known: Option<Known>,
    /// The TCP or UDP checksum, where it is still to be finished.
    pub(super) partial: Option<Partial>,
    /// Flow hash, if there is a flow.
    pub(super) hash: Option<u32>,
    /// The level inside, where the outermost carries one in a tunnel that the device knows.
    pub(super) inside: Option<Level>,
}

/// What is known about the level inside a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// What its transport header is.
    pub(super) protocol: u8,
    /// Its IPv4 header checksum.
    pub(super) l3: Csum,
    /// Its TCP or UDP checksum.
    pub(super) l4: Csum,
}

/// Looks at a frame, of which `complete` says whether all bytes are there, and into the tunnels named.
pub(super) fn inspect(frame: &[u8], complete: bool, parses: &Parses) -> Findings {
    let Some(headers) = Headers::parse(frame) else { return Findings::default() };
    let hash = Some(flow_hash(frame));
    if !complete {
        return Findings { headers: Some(headers), hash, ..Findings::default() };
    }
    let (l3, l3_canonical) = ip_header(frame, &headers);
    let (l4, l4_canonical) = transport(frame, &headers);
    let canonical = l3_canonical && l4_canonical;
    let known = known(frame, &headers);
    let inside = inside(frame, &headers, parses);
    Findings { headers: Some(headers), l3, l4, canonical, known, partial: None, hash, inside }
}

/// The level in a tunnel, of which all bytes are there that the headers outside speak of.
fn inside(frame: &[u8], outer: &Headers, parses: &Parses) -> Option<Level> {
    let len = outer.l4_len(frame.len())?;
    if outer.protocol == UDP && be16(frame, outer.l4 + 4).map(usize::from) != Some(len) {
        return None;
    }
    // What lies behind the datagram outside is no part of the one inside.
    let frame = &frame[..outer.end];
    let headers = outer.inside(frame, parses)?.headers;
    let (l3, l4) = (ip_header(frame, &headers).0, transport(frame, &headers).0);
    Some(Level { protocol: headers.protocol, l3, l4 })
}

/// The verdict on a sum that includes the field, and whether the field is the one arithmetic gives.
fn verdict(total: u16, field: u16, is_udp: bool) -> (Csum, bool) {
    // The sum without the field is what the field complements; 0 and 0xFFFF are the same number.
    let good = matches!(total, 0 | 0xffff);
    let canonical = if is_udp { field != 0 } else { field != 0xffff };
    (if good { Csum::Good } else { Csum::Bad }, canonical)
}

fn ip_header(frame: &[u8], headers: &Headers) -> (Csum, bool) {
    if headers.family == Family::V6 {
        return (Csum::Unknown, true);
    }
    let header_len = usize::from(frame[headers.l3] & 0x0f) * 4;
    let header = &frame[headers.l3..headers.l3 + header_len];
    verdict(sum(header), be16(header, 10).unwrap_or(0), false)
}

fn transport(frame: &[u8], headers: &Headers) -> (Csum, bool) {
    let unknown = (Csum::Unknown, true);
    let judged = !headers.fragment && !headers.odd_pseudo;
    let Some(len) = headers.l4_len(frame.len()).filter(|_| judged) else { return unknown };
    let segment = &frame[headers.l4..headers.l4 + len];
    let is_udp = headers.protocol == UDP;
    let field = match headers.protocol {
        TCP if len >= 20 => be16(segment, 16),
        UDP if len >= 8 && be16(segment, 4).map(usize::from) == Some(len) => be16(segment, 6),
        _ => None,
    };
    match field {
        None => unknown,
        Some(0) if is_udp => unknown,
        Some(field) => verdict(add(pseudo(frame, headers, len), sum(segment)), field, is_udp),
    }
}

fn known(frame: &[u8], headers: &Headers) -> Option<Known> {
    // Shorter than its header or longer than the frame: no datagram to sum.
    headers.l4_len(frame.len())?;
    // A length of 0 may be that of a jumbogram, or of a packet too long for the field.
    if headers.end == headers.l3 + 40 && headers.family == Family::V6 {
        return None;
    }
    Some(Known { from: u16::try_from(headers.l3).ok()?, sum: sum(&frame[headers.l3..headers.end]) })
}

/// A right checksum makes pseudo header and segment together 0xFFFF.
fn known_of_made(frame: &[u8], headers: &Headers) -> Known {
    let segment = subtract(0xffff, pseudo(frame, headers, headers.end - headers.l4));
    let sum = add(sum(&frame[headers.l3..headers.l4]), segment);
    Known { from: headers.l3 as u16, sum }
}

impl Findings {
    /// What a port of these capabilities finds out about a frame made with right checksums, TCP or UDP
    /// right behind an IP header: no payload is summed, since the generator knows what it made.
    pub(super) fn of_made(frame: &[u8], hash: u32, caps: Caps) -> Findings {
        Findings::made(frame, hash, caps, |headers| known_of_made(frame, headers))
    }

    /// The same of a frame in a UDP tunnel whose datagram has the sum `datagram.0`, and a right checksum if
    /// `datagram.1` says so. `inside` is what it carries, where the port looks into the tunnel.
    pub(super) fn of_wrapped(
        frame: &[u8],
        hash: u32,
        caps: Caps,
        datagram: (u16, bool),
        inside: Option<Level>,
    ) -> Findings {
        let made = Findings::made(frame, hash, caps, |headers| {
            let sum = add(sum(&frame[headers.l3..headers.l4]), datagram.0);
            Known { from: headers.l3 as u16, sum }
        });
        let l4 = if datagram.1 { made.l4 } else { Csum::Unknown };
        Findings { l4, inside: inside.filter(|_| made.headers.is_some()), ..made }
    }

    fn made(
        frame: &[u8],
        hash: u32,
        caps: Caps,
        known: impl FnOnce(&Headers) -> Known,
    ) -> Findings {
        let outer = Caps::RX_OUTER_IP | Caps::RX_OUTER_UDP;
        let finds = Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP | Caps::RX_COMPLETE | Caps::RX_HASH;
        let headers = if caps.intersects(finds | outer) { Headers::parse(frame) } else { None };
        let Some(headers) = headers else { return Findings::default() };
        let l3 = if headers.family == Family::V4 { Csum::Good } else { Csum::Unknown };
        let known = caps.contains(Caps::RX_COMPLETE).then(|| known(&headers));
        let headers = Some(headers);
        let (l4, hash) = (Csum::Good, Some(hash));
        Findings { headers, l3, l4, canonical: true, known, partial: None, hash, inside: None }
    }

    /// What a virtio device says of a frame that was sent on the same host: its IPv4 header is right, its TCP or
    /// UDP checksum is still to be finished.
    pub(super) fn of_unfinished(frame: &[u8], hash: u32, partial: Partial) -> Findings {
        let headers = Headers::parse(frame);
        let v4 = headers.is_some_and(|headers| headers.family == Family::V4);
        let l3 = if v4 { Csum::Good } else { Csum::Unknown };
        let (l4, partial, hash) = (Csum::Partial, Some(partial), Some(hash));
        Findings { headers, l3, l4, partial, hash, ..Findings::default() }
    }

    /// Writes into `meta` what a NIC with these capabilities reports.
    pub(super) fn report(&self, caps: Caps, lies: Lies, meta: &mut Meta) {
        let told = |found: Csum| match found {
            Csum::Bad if lies.contains(Lies::REPORT_BAD_AS_GOOD) => Csum::Good,
            found => found,
        };
        let protocol = self.headers.map_or(0, |headers| headers.protocol);
        let plain = match self.inside {
            Some(inner) => {
                if caps.contains(Caps::RX_OUTER_IP) {
                    meta.l3[0] = told(self.l3);
                }
                if caps.contains(Caps::RX_OUTER_UDP) && protocol == UDP {
                    meta.l4[0] = told(self.l4);
                }
                Level { l3: told(inner.l3), l4: told(inner.l4), ..inner }
            }
            None => Level { protocol, l3: told(self.l3), l4: told(self.l4) },
        };
        let index = usize::from(self.inside.is_some());
        if caps.contains(Caps::RX_IP) {
            meta.l3[index] = plain.l3;
        }
        if judges(caps, plain.protocol) {
            meta.l4[index] = plain.l4;
        }
        if let Some(partial) = self.partial {
            meta.request(0, partial);
        }
        if let Some(known) = self.known.filter(|_| caps.contains(Caps::RX_COMPLETE)) {
            meta.set_known(known);
        }
        if let Some(hash) = self.hash.filter(|_| caps.contains(Caps::RX_HASH)) {
            meta.hash = hash;
            meta.flags |= MetaFlags::HASHED;
        }
    }
}

/// Whether a device of these capabilities says anything about this transport protocol.
fn judges(caps: Caps, protocol: u8) -> bool {
    match protocol {
        TCP => caps.contains(Caps::RX_TCP),
        UDP => caps.contains(Caps::RX_UDP),
        _ => false,
    }
}
