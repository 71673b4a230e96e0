//! Checksums that a packet of one wire frame asks for: one, or those of both levels of a tunnel.

use super::{Granted, Refusal, is_at, partials, simple_checksum, tunnel_bits};
use crate::headers::{Family, Headers, Inside};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, Packet, Partial};

/// A checksum to be finished: the sum of `start..end`, complemented, goes to `field`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emulated) struct Finish {
    pub(in crate::emulated) start: usize,
    pub(in crate::emulated) field: usize,
    pub(in crate::emulated) end: usize,
}

/// What is to be filled in, in this order: an outer checksum covers the inner one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::emulated) struct Sums {
    /// IPv4 headers, by their first byte.
    pub(in crate::emulated) ip: [Option<usize>; 2],
    /// The checksum of the inner level, or the only one.
    pub(in crate::emulated) inner: Option<Finish>,
    /// That of the outer level, beside an inner one.
    pub(in crate::emulated) outer: Option<Finish>,
}

/// Where the levels of a frame are.
struct Levels {
    len: usize,
    outer: Option<Headers>,
    inside: Option<Inside>,
}

impl Levels {
    fn of(granted: &Granted, packet: &Packet, front: &[u8]) -> Levels {
        let outer = Headers::parse(front);
        let inside = outer.and_then(|outer| {
            // Whoever is asked for the frame as it is finds nothing behind the end of the datagram.
            let front = front.get(..outer.end).unwrap_or(front);
            outer.inside(front, &granted.parses)
        });
        Levels { len: packet.len() as usize, outer, inside }
    }

    /// Sums from `partial.start` to the end of the datagram with these headers. Padding and trailers behind it are
    /// no part of it.
    fn finish(&self, partial: Partial, headers: Option<Headers>) -> Result<Finish, Refusal> {
        let end = headers.map(|headers| headers.end).filter(|&end| end <= self.len);
        let (start, field) = (usize::from(partial.start), usize::from(partial.field));
        let end = end.unwrap_or(self.len);
        if field < start || field + 2 > end {
            return Err(Refusal::ChecksumPlace);
        }
        Ok(Finish { start, field, end })
    }
}

impl Granted {
    pub(super) fn sums(&self, packet: &Packet, front: &[u8]) -> Result<Sums, Refusal> {
        let levels = Levels::of(self, packet, front);
        let ip = self.header_sums(packet, &levels)?;
        let (inner, outer) = match partials(packet) {
            [None, None] => (None, None),
            [Some(one), None] | [None, Some(one)] => (Some(self.one(one, &levels)?), None),
            [Some(outer), Some(inner)] => {
                let (inner, outer) = self.both(inner, outer, &levels)?;
                (Some(inner), Some(outer))
            }
        };
        Ok(Sums { ip, inner, outer })
    }

    /// A checksum that is the only one.
    fn one(&self, partial: Partial, levels: &Levels) -> Result<Finish, Refusal> {
        let inside = levels.inside.filter(|inside| usize::from(partial.start) >= inside.headers.l3);
        let headers = inside.map(|inside| inside.headers).or(levels.outer);
        let finish = levels.finish(partial, headers)?;
        if self.caps.contains(Caps::TX_GENERIC) {
            return Ok(finish);
        }
        let outer = levels.outer.ok_or(Refusal::Checksum)?;
        if let Some(inside) = inside {
            return self.check_inner(partial, &inside).map(|()| finish);
        }
        if finish.start > outer.l4 && !outer.fragment {
            return Err(Refusal::Tunnel);
        }
        let (bit, offset) = simple_checksum(&outer).ok_or(Refusal::Checksum)?;
        if !self.caps.contains(bit) {
            return Err(Refusal::Checksum);
        }
        if is_at(partial, outer.l4, offset) { Ok(finish) } else { Err(Refusal::ChecksumPlace) }
    }

    /// Whether a checksum inside a tunnel that was found is one that the port finishes.
    fn check_inner(&self, partial: Partial, inside: &Inside) -> Result<(), Refusal> {
        let (bit, offset) = simple_checksum(&inside.headers).ok_or(Refusal::Checksum)?;
        let (tunnel, _) = tunnel_bits(inside.carrier);
        if !self.caps.contains(bit | tunnel) {
            return Err(Refusal::Checksum);
        }
        let placed = is_at(partial, inside.headers.l4, offset);
        if placed { Ok(()) } else { Err(Refusal::ChecksumPlace) }
    }

    /// The UDP checksum of a tunnel over one inside it that is unfinished too.
    fn both(
        &self,
        inner: Partial,
        outer: Partial,
        levels: &Levels,
    ) -> Result<(Finish, Finish), Refusal> {
        let (Some(headers), Some(inside)) = (levels.outer, levels.inside) else {
            return Err(Refusal::TwoChecksums);
        };
        let udp = simple_checksum(&headers).filter(|_| headers.protocol == super::UDP);
        let (Some((_, offset)), true) = (udp, self.caps.contains(Caps::TX_OUTER_UDP)) else {
            return Err(Refusal::TwoChecksums);
        };
        if !is_at(outer, headers.l4, offset) {
            return Err(Refusal::ChecksumPlace);
        }
        if !self.caps.contains(Caps::TX_GENERIC) {
            self.check_inner(inner, &inside)?;
        }
        let inner = levels.finish(inner, Some(inside.headers))?;
        Ok((inner, levels.finish(outer, Some(headers))?))
    }

    /// IPv4 headers whose checksums are to be made: that of a packet outside any tunnel, or those of two levels.
    fn header_sums(&self, packet: &Packet, levels: &Levels) -> Result<[Option<usize>; 2], Refusal> {
        let mut headers = [None; 2];
        for (level, &state) in packet.meta().l3.iter().enumerate() {
            if state != Csum::Partial {
                continue;
            }
            let (found, bit) = match (level, levels.inside) {
                (0, None) => (levels.outer, Caps::TX_IP),
                (0, Some(_)) => (levels.outer, Caps::TX_OUTER_IP),
                (_, inside) => (inside.map(|inside| inside.headers), Caps::TX_IP),
            };
            let v4 = found.filter(|found| found.family == Family::V4);
            let (Some(found), true) = (v4, self.caps.contains(bit)) else {
                return Err(Refusal::HeaderChecksum);
            };
            headers[level] = Some(found.l3);
        }
        Ok(headers)
    }
}
