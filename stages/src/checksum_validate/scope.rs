//! Which bytes a checksum covers, or why it cannot be verified.
//!
//! The usual packet needs no second look: what `Rx` left in its meta says it all. A fragment, or
//! a packet whose lengths are in doubt (a cut one among them), is walked once more with all the care of [`corelane_wire`].

use super::counters::Outcome;
use crate::payload::summed_level;
use corelane_runtime::packet::{L3, L4, MetaFlags, Packet, Partial};
use corelane_sum::Sum;
use corelane_wire::protocol::{TCP, UDP};
use corelane_wire::tcp::TcpHeader;
use corelane_wire::udp::UdpHeader;
use corelane_wire::{Coverage, Level, layers, pseudo};

/// A checksum that can be computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// First byte covered, that of the L4 header.
    pub(crate) from: u32,
    /// End of the bytes covered.
    pub(crate) to: u32,
    /// What the checksum field holds.
    pub(crate) field: u16,
    /// Sum of the pseudo header without its length.
    pub(crate) addresses: Sum,
    /// The length in the pseudo header.
    pub(crate) length: u32,
    /// UDP, else TCP.
    pub(crate) udp: bool,
    /// Whether a device can be expected to have known the pseudo header.
    pub(crate) usual: bool,
}

impl Scope {
    /// Sum of the pseudo header.
    pub(crate) fn pseudo(&self) -> Sum {
        self.addresses + Sum::from_u32(self.length)
    }

    /// What asks for the checksum to be finished, if its field holds what it must hold for that: the sum of the
    /// pseudo header, its length included.
    pub(crate) fn request(&self) -> Option<Partial> {
        let start = u16::try_from(self.from).ok()?;
        let field = start.checked_add(field_at(self.udp) as u16)?;
        (self.field == self.pseudo().canonical()).then_some(Partial { start, field })
    }

    /// Whether the field holds just the pseudo-header sum, as a sender leaves it for its device; TCP
    /// senders that will have the packet cut leave it without the length.
    pub(crate) fn looks_partial(&self) -> bool {
        let without_length = !self.udp && self.field == self.addresses.canonical();
        without_length || self.field == self.pseudo().canonical()
    }
}

/// What there is to verify above IP at one level.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    /// Neither TCP nor UDP.
    Nothing,
    /// Decided without looking at the covered bytes.
    Settled {
        /// UDP, else TCP.
        udp: bool,
        /// What came out.
        outcome: Outcome,
    },
    /// To be verified.
    Open(Scope),
}

/// Facts that call for the careful way.
const ODD: MetaFlags = MetaFlags::FRAGMENT.union(MetaFlags::ODD_PSEUDO).union(MetaFlags::OVERRUN);

/// What there is to verify, level by level.
#[inline] // it is large, but what it returns is too
pub(crate) fn subjects(packet: &Packet) -> [Subject; 2] {
    let odd = packet.meta().flags.intersects(ODD);
    let usual = if odd { None } else { usual(packet) };
    usual.unwrap_or_else(|| careful(packet))
}

/// By meta alone; `None` where that does not suffice.
#[inline]
fn usual(packet: &Packet) -> Option<[Subject; 2]> {
    let layers = &packet.meta().layers;
    let mut subjects = [Subject::Nothing; 2];
    let Some(last) = summed_level(layers) else { return Some(subjects) };
    let data = packet.data();
    for (index, level) in layers.levels.iter().enumerate().take(last + 1) {
        let udp = match level.l4_kind {
            L4::Tcp => false,
            L4::Udp => true,
            L4::Other | L4::None => continue,
        };
        let l4 = usize::from(level.l4);
        let field = word(data, l4 + field_at(udp))?;
        if udp && field == 0 {
            subjects[index] = Subject::Settled { udp, outcome: Outcome::Zero };
            continue;
        }
        let from = u32::from(level.l4);
        let to = if index == last {
            u32::from(level.payload) + packet.payload_len()
        } else {
            // Only UDP has a level inside. Length 0 means "as long as IP says", which meta does not.
            from + u32::from(word(data, l4 + 4).filter(|&length| udp && length >= 8)?)
        };
        let (src, len) = match level.l3_kind {
            L3::V4 => (usize::from(level.l3) + 12, 8),
            L3::V6 => (usize::from(level.l3) + 8, 32),
            L3::None => return None,
        };
        let addresses = Sum::of(data.get(src..src + len)?) + Sum::from_u16(protocol(udp));
        let length = to - from;
        let scope = Scope { from, to, field, addresses, length, udp, usual: true };
        subjects[index] = Subject::Open(scope);
    }
    Some(subjects)
}

/// By walking the headers again.
#[cold]
fn careful(packet: &Packet) -> [Subject; 2] {
    let found = layers(packet.data(), packet.len());
    let mut subjects = [Subject::Nothing; 2];
    let levels = found.levels().iter().filter(|level| level.l3_kind != corelane_wire::L3::None);
    for (subject, level) in subjects.iter_mut().zip(levels) {
        *subject = careful_level(packet, level);
    }
    subjects
}

/// What there is to verify at one level that was walked.
pub(crate) fn careful_level(packet: &Packet, level: &Level) -> Subject {
    let udp = match level.l4_kind {
        corelane_wire::L4::Tcp => false,
        corelane_wire::L4::Udp => true,
        _ => return Subject::Nothing,
    };
    let coverage = level.coverage();
    let field = word(packet.data(), usize::from(level.l4) + field_at(udp));
    let outcome = match (coverage, field) {
        (Coverage::None, _) => return Subject::Nothing,
        (Coverage::Incomplete | Coverage::Short, _) | (_, None) => Outcome::Unverifiable,
        (_, Some(0)) if udp => Outcome::Zero,
        (Coverage::Overrun, _) if !packet.is_cut() => Outcome::Overrun,
        (Coverage::Fragment | Coverage::Overrun | Coverage::BadLength, _) => Outcome::Unverifiable,
        (Coverage::Bytes { from, to, length }, Some(field)) => {
            let addresses = pseudo::addresses(packet.data(), level);
            match addresses.filter(|_| to <= packet.len()) {
                Some(addresses) => {
                    let addresses = addresses + Sum::from_u16(protocol(udp));
                    let usual = !level.unusual_pseudo;
                    let scope = Scope { from, to, field, addresses, length, udp, usual };
                    return Subject::Open(scope);
                }
                None => Outcome::Unverifiable,
            }
        }
    };
    Subject::Settled { udp, outcome }
}

fn field_at(udp: bool) -> usize {
    if udp { UdpHeader::CHECKSUM_AT } else { TcpHeader::CHECKSUM_AT }
}

fn protocol(udp: bool) -> u16 {
    u16::from(if udp { UDP } else { TCP })
}

fn word(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}
