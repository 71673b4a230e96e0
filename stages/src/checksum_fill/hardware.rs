//! Which requests are left to the port: the class of a packet, and the list of what each class asks for.
//!
//! What a plan prints and what the data path does come from that list alike. No byte beyond the headers is
//! read.

use crate::payload::summed_level;
use bitflags::bitflags;
use corelane_runtime::offload::{Caps, ClassNeed, Looks, Need};
use corelane_runtime::packet::{Csum, L3, L4, Level, MetaFlags, Packet};

/// A packet that asks for nothing.
pub(super) const NOTHING: u8 = 0;

// A class is made of: the kind of the innermost partial checksum (3 bits), and these facts.
const TCP4: u8 = 1;
const TCP6: u8 = 2;
const UDP4: u8 = 3;
const UDP6: u8 = 4;
const OTHER: u8 = 5;
const KIND: u8 = 7;
/// Only a port that finishes any checksum can do it.
const GENERIC: u8 = 1 << 3;
/// The outer checksum is partial as well.
const OUTER: u8 = 1 << 4;
/// Bytes follow in the datagram that the checksum does not cover.
const RAGGED: u8 = 1 << 5;
/// An IPv4 header checksum is partial.
const HEADER: u8 = 1 << 6;

bitflags! {
    /// What is done here.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Action: u8 {
        /// The IPv4 headers.
        const IPV4 = 1;
        /// The innermost partial checksum.
        const L4 = 2;
        /// The outer one, the innermost being another.
        const OUTER = 4;
    }
}

/// What a packet asks for.
pub(super) fn class(packet: &Packet) -> u8 {
    let meta = packet.meta();
    let l4 = meta.l4.contains(&Csum::Partial);
    if !l4 && !meta.l3.contains(&Csum::Partial) {
        return NOTHING;
    }
    if packet.is_super() {
        return NOTHING;
    }
    let header = if meta.l3.contains(&Csum::Partial) { HEADER } else { 0 };
    if !l4 {
        return header;
    }
    let index = usize::from(meta.l4[1] == Csum::Partial);
    let level = &meta.layers.levels[index];
    let mut class = header | kind(level);
    let extended = level.l3_kind == L3::V6 && level.l4 != level.l3 + 40;
    if index > 0 || extended || meta.flags.contains(MetaFlags::FRAGMENT) {
        class |= GENERIC;
    }
    if index > 0 && meta.l4[0] == Csum::Partial {
        class |= OUTER;
    }
    let datagram = packet.len().checked_sub(u32::from(meta.trailer));
    if meta.trailer == u16::MAX || datagram != Some(covered_end(packet, index)) {
        class |= RAGGED;
    }
    class
}

fn kind(level: &Level) -> u8 {
    match (level.l4_kind, level.l3_kind) {
        (L4::Tcp, L3::V4) => TCP4,
        (L4::Tcp, L3::V6) => TCP6,
        (L4::Udp, L3::V4) => UDP4,
        (L4::Udp, L3::V6) => UDP6,
        _ => OTHER,
    }
}

/// Where the bytes that a level's checksum covers end.
pub(super) fn covered_end(packet: &Packet, index: usize) -> u32 {
    let meta = packet.meta();
    let level = &meta.layers.levels[index];
    let whole = packet.len().saturating_sub(u32::from(meta.trailer));
    if summed_level(&meta.layers) == Some(index) {
        return u32::from(level.payload) + packet.payload_len();
    }
    let l4 = usize::from(level.l4);
    let length = packet.data().get(l4 + 4..l4 + 6).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    let own = level.l4_kind == L4::Udp && length >= 8;
    if own { u32::from(level.l4) + u32::from(length) } else { whole }
}

/// What a port may be asked to finish, and what it must be able to do for it.
pub const WORK: &[ClassNeed] = &[
    entry(KIND | GENERIC, TCP4, "tcp over ipv4", Looks::PARTIAL_TCP4, Caps::TX_TCP4),
    entry(KIND | GENERIC, TCP6, "tcp over ipv6", Looks::PARTIAL_TCP6, Caps::TX_TCP6),
    entry(KIND | GENERIC, UDP4, "udp over ipv4", Looks::PARTIAL_UDP4, Caps::TX_UDP4),
    entry(KIND | GENERIC, UDP6, "udp over ipv6", Looks::PARTIAL_UDP6, Caps::TX_UDP6),
    entry(GENERIC, GENERIC, HIDDEN, Looks::PARTIAL_HIDDEN, Caps::TX_GENERIC),
    entry(KIND, OTHER, HIDDEN, Looks::PARTIAL_HIDDEN, Caps::TX_GENERIC),
    ClassNeed { mask: RAGGED, is: RAGGED, need: ODD },
];

/// What is done here whatever the port can do, beside the rest of a packet.
const HERE: [Need; 2] = [
    ODD,
    Need::exit(
        "ipv4 header",
        Looks::PARTIAL_IPV4,
        None,
        "made here: 20 to 60 header bytes are summed, which is cheaper than asking",
    ),
];

const HIDDEN: &str = "in tunnels, fragments, behind ipv6 extensions";

const ODD: Need = Need::exit(
    "outer of two, or not to the end",
    Looks::PARTIAL_ODD,
    None,
    "made here: a port finishes one checksum a packet, over all to the end of the datagram",
);

const fn entry(mask: u8, is: u8, work: &'static str, about: Looks, caps: Caps) -> ClassNeed {
    const HERE: &str = "made here: from headers where the payload's sum is known, else each payload byte is read once";
    ClassNeed { mask, is, need: Need::exit(work, about, Some(caps), HERE) }
}

/// The needs of the stage, each once.
pub(super) fn needs() -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for need in WORK.iter().map(|entry| entry.need).chain(HERE) {
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

/// What is done with a class of which the port is left the innermost checksum, or is not.
pub(super) fn action(class: u8, left: bool) -> Action {
    let mut action = Action::empty();
    action.set(Action::L4, class & KIND != 0 && !left);
    action.set(Action::OUTER, class & OUTER != 0);
    action.set(Action::IPV4, class & HEADER != 0);
    action
}

/// Whether a checksum is left to the port.
pub(super) fn leaves(class: u8, action: Action) -> bool {
    class & KIND != 0 && !action.contains(Action::L4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_runtime::offload::{Actions, needed};

    fn table(caps: Caps) -> Actions<Action> {
        Actions::new(WORK, caps, action)
    }

    #[test]
    fn each_bit_takes_over_exactly_its_kind() {
        for (kind, bit) in [
            (TCP4, Caps::TX_TCP4),
            (TCP6, Caps::TX_TCP6),
            (UDP4, Caps::TX_UDP4),
            (UDP6, Caps::TX_UDP6),
            (OTHER, Caps::TX_GENERIC),
        ] {
            for set in Caps::every_set() {
                let left = !table(set).of(kind).contains(Action::L4);
                assert_eq!(left, set.contains(bit), "kind {kind} with {set:?}");
                let tunnelled = !table(set).of(kind | GENERIC).contains(Action::L4);
                assert_eq!(tunnelled, set.contains(Caps::TX_GENERIC));
            }
        }
    }

    #[test]
    fn what_no_port_can_do_is_done_here_under_every_set() {
        for set in Caps::every_set() {
            let table = table(set);
            assert_eq!(table.of(NOTHING), Action::empty());
            for class in 0..=u8::MAX {
                let action = table.of(class);
                assert_eq!(action.contains(Action::OUTER), class & OUTER != 0);
                assert_eq!(action.contains(Action::IPV4), class & HEADER != 0);
                if class & RAGGED != 0 && class & KIND != 0 {
                    assert!(action.contains(Action::L4), "class {class}");
                }
            }
        }
    }

    #[test]
    fn what_is_asked_is_what_a_port_takes() {
        for need in needs() {
            assert_eq!(need.about.needed(), need.caps, "{}", need.work);
        }
        let about = needs().iter().fold(Looks::empty(), |sum, need| sum | need.about);
        assert_eq!(about, Looks::PARTIAL, "something is not asked about");
        assert_eq!(needed(WORK, TCP4 | GENERIC), Some(Caps::TX_GENERIC));
        assert_eq!(needed(WORK, TCP4 | OUTER | HEADER), Some(Caps::TX_TCP4));
    }
}
