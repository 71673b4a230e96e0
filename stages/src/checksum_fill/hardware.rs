//! Which requests are left to the port: the class of a packet, and the list of what each class asks for.
//!
//! What a plan prints and what the data path does come from that list alike. A port is left the checksum inside a
//! tunnel only where it finds that tunnel, or finishes any checksum. No byte beyond the headers is read.

use crate::payload::summed_level;
use bitflags::bitflags;
use corelane_runtime::offload::{Caps, ClassNeed, Fit, Limits, Looks, Need};
use corelane_runtime::packet::{Csum, L3, L4, Level, MetaFlags, Packet, Tunnel};

// A class is made of: the kind of the innermost partial checksum (3 bits), what it is inside of (3 bits), and two
// facts.
const TCP4: u8 = 1;
const TCP6: u8 = 2;
const UDP4: u8 = 3;
const UDP6: u8 = 4;
const OTHER: u8 = 5;
const KIND: u8 = 7;
const VXLAN: u8 = 1 << 3;
const GENEVE: u8 = 2 << 3;
const GRE: u8 = 3 << 3;
const IPIP: u8 = 4 << 3;
/// Only a port that finishes any checksum can do it.
const HIDDEN: u8 = 5 << 3;
const INSIDE: u8 = 7 << 3;
/// The outer UDP checksum is partial as well.
const OUTER: u8 = 1 << 6;
/// Bytes follow in the datagram that a checksum does not cover.
const RAGGED: u8 = 1 << 7;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// An IPv4 header checksum is partial.
    pub(super) header: bool,
    /// The place in the table of transport checksums; 0: none is partial.
    pub(super) transport: u8,
}

impl Class {
    /// A packet that asks for nothing.
    pub(super) const NOTHING: Class = Class { header: false, transport: 0 };
}

/// What a packet asks for, for a port with these limits.
#[inline]
pub(super) fn class(packet: &Packet, limits: Option<&Limits>) -> Class {
    let meta = packet.meta();
    let l4 = meta.l4.contains(&Csum::Partial);
    let header = meta.l3.contains(&Csum::Partial);
    if !l4 && !header || packet.is_super() {
        return Class::NOTHING;
    }
    let transport = if l4 { transport(packet, limits) } else { 0 };
    Class { header, transport }
}

fn transport(packet: &Packet, limits: Option<&Limits>) -> u8 {
    let meta = packet.meta();
    let index = usize::from(meta.l4[1] == Csum::Partial);
    let level = &meta.layers.levels[index];
    let mut class = kind(level);
    let extended = level.l3_kind == L3::V6 && level.l4 != level.l3 + 40;
    class |= match index {
        _ if extended || meta.flags.contains(MetaFlags::FRAGMENT) => HIDDEN,
        0 => 0,
        _ => inside(packet, limits),
    };
    // A length that a device would read otherwise, and levels that are not tracked, are not for it to find its way by.
    let odd = meta.flags.intersects(MetaFlags::OVERRUN.union(MetaFlags::DEEPER));
    let mut ragged = odd || is_ragged(packet, index);
    if index > 0 && meta.l4[0] == Csum::Partial {
        class |= OUTER;
        // What is around GRE or TCP is asked of no port.
        let udp = meta.layers.levels[0].l4_kind == L4::Udp;
        ragged |= !udp || is_ragged(packet, 0);
    }
    if ragged { class | RAGGED } else { class }
}

/// What the inner of two levels is inside of: a tunnel that the port finds, or something hidden from it.
fn inside(packet: &Packet, limits: Option<&Limits>) -> u8 {
    let layers = &packet.meta().layers;
    let level = &layers.levels[0];
    let at = usize::from(level.l4) + 2;
    let port = packet.data().get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    let extended = level.l3_kind == L3::V6 && level.l4 != level.l3 + 40;
    match layers.tunnel {
        tunnel if extended || !limits.is_some_and(|limits| limits.finds(tunnel, port)) => HIDDEN,
        Tunnel::Vxlan => VXLAN,
        Tunnel::Geneve => GENEVE,
        Tunnel::Gre => GRE,
        Tunnel::Ip => IPIP,
        Tunnel::None | Tunnel::Other => HIDDEN,
    }
}

/// Whether what a checksum covers ends before the datagram.
fn is_ragged(packet: &Packet, index: usize) -> bool {
    let trailer = packet.meta().trailer;
    let datagram = packet.len().checked_sub(u32::from(trailer));
    trailer == u16::MAX || datagram != Some(covered_end(packet, index))
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
    entry(KIND, TCP4, "tcp over ipv4", Looks::PARTIAL_TCP4, Caps::TX_TCP4),
    entry(KIND, TCP6, "tcp over ipv6", Looks::PARTIAL_TCP6, Caps::TX_TCP6),
    entry(KIND, UDP4, "udp over ipv4", Looks::PARTIAL_UDP4, Caps::TX_UDP4),
    entry(KIND, UDP6, "udp over ipv6", Looks::PARTIAL_UDP6, Caps::TX_UDP6),
    entry(KIND, OTHER, OTHERS, Looks::PARTIAL_HIDDEN, Caps::TX_GENERIC),
    inside_of(VXLAN, "inside vxlan", Looks::PARTIAL_VXLAN, Caps::TSO_VXLAN, Tunnel::Vxlan),
    inside_of(GENEVE, "inside geneve", Looks::PARTIAL_GENEVE, Caps::TSO_GENEVE, Tunnel::Geneve),
    inside_of(GRE, "inside gre", Looks::PARTIAL_GRE, Caps::TSO_GRE, Tunnel::Gre),
    inside_of(IPIP, "inside ip in ip", Looks::PARTIAL_IPIP, Caps::TSO_IPIP, Tunnel::Ip),
    entry(INSIDE, HIDDEN, OTHERS, Looks::PARTIAL_HIDDEN, Caps::TX_GENERIC),
    ClassNeed { mask: OUTER, is: OUTER, need: AROUND },
    ClassNeed { mask: RAGGED, is: RAGGED, need: ODD },
];

/// What is done here whatever the port can do, beside the rest of a packet.
const IPV4: Need = Need::exit(
    "ipv4 header",
    Looks::PARTIAL_IPV4,
    None,
    "made here: 20 to 60 header bytes are summed, which is cheaper than asking",
);

const OTHERS: &str = "in other tunnels, fragments, behind ipv6 extensions";

/// The outer checksum never keeps the inner one from being left to the port.
const AROUND: Need = Need::exit(
    "outer udp around an unfinished one",
    Looks::PARTIAL_OUTER,
    Some(Caps::TX_OUTER_UDP),
    FROM_HEADERS,
)
.or(Caps::empty(), FROM_HEADERS);

const FROM_HEADERS: &str =
    "made here from headers: the seed of the inner checksum says what its bytes add up to";

const ODD: Need = Need::exit(
    "not to the end of the datagram",
    Looks::PARTIAL_ODD,
    None,
    "made here: a port finishes a checksum over all to the end of the datagram",
);

const MADE_HERE: &str =
    "made here: from headers where the payload's sum is known, else each payload byte is read once";

const fn entry(mask: u8, is: u8, work: &'static str, about: Looks, caps: Caps) -> ClassNeed {
    ClassNeed { mask, is, need: Need::exit(work, about, Some(caps), MADE_HERE) }
}

const fn inside_of(
    is: u8,
    work: &'static str,
    about: Looks,
    caps: Caps,
    tunnel: Tunnel,
) -> ClassNeed {
    let need = Need::exit(work, about, Some(caps), MADE_HERE);
    ClassNeed { mask: INSIDE, is, need: need.inside(tunnel).or_else(Caps::TX_GENERIC) }
}

/// The needs of the stage, each once.
pub(super) fn needs() -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for need in WORK.iter().map(|entry| entry.need).chain([IPV4]) {
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

/// What is done with a class of which the port takes over so much.
pub(super) fn action(class: u8, fit: Fit) -> Action {
    let mut action = Action::empty();
    action.set(Action::L4, class & KIND != 0 && fit == Fit::Here);
    // A port that does not find the tunnel knows of one checksum.
    let alone = fit != Fit::Left || class & INSIDE == HIDDEN;
    action.set(Action::OUTER, class & OUTER != 0 && alone);
    action
}

/// How many checksums are left to the port.
pub(super) fn left(class: Class, action: Action) -> u64 {
    let inner = class.transport & KIND != 0 && !action.contains(Action::L4);
    let outer = class.transport & OUTER != 0 && !action.contains(Action::OUTER);
    u64::from(inner) + u64::from(outer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_runtime::offload::Actions;

    fn table(caps: Caps) -> Actions<Action> {
        Actions::new(WORK, caps, action)
    }

    const KINDS: [(u8, Caps); 5] = [
        (TCP4, Caps::TX_TCP4),
        (TCP6, Caps::TX_TCP6),
        (UDP4, Caps::TX_UDP4),
        (UDP6, Caps::TX_UDP6),
        (OTHER, Caps::TX_GENERIC),
    ];

    const TUNNELS: [(u8, Caps); 4] = [
        (VXLAN, Caps::TSO_VXLAN),
        (GENEVE, Caps::TSO_GENEVE),
        (GRE, Caps::TSO_GRE),
        (IPIP, Caps::TSO_IPIP),
    ];

    #[test]
    fn each_bit_takes_over_exactly_its_kind() {
        for (kind, bit) in KINDS {
            for set in Caps::every_set() {
                let left = |class: u8| !table(set).of(class).contains(Action::L4);
                assert_eq!(left(kind), set.contains(bit), "kind {kind} with {set:?}");
                let generic = set.contains(Caps::TX_GENERIC);
                assert_eq!(left(kind | HIDDEN), generic);
                for (tunnel, named) in TUNNELS {
                    let finds = set.contains(bit | named);
                    assert_eq!(left(kind | tunnel), generic || finds, "{kind} {tunnel} {set:?}");
                }
            }
        }
    }

    #[test]
    fn the_outer_one_is_left_along_with_the_inner_one_or_made_here() {
        for set in Caps::every_set().into_iter().chain([Caps::TX_OUTER_UDP | Caps::TX_GENERIC]) {
            for (kind, _) in KINDS {
                for (tunnel, _) in TUNNELS.into_iter().chain([(HIDDEN, Caps::empty())]) {
                    let alone = table(set).of(kind | tunnel);
                    let both = table(set).of(kind | tunnel | OUTER);
                    assert_eq!(both.contains(Action::L4), alone.contains(Action::L4));
                    // Where it does not find the tunnel, a port finishes one checksum.
                    let two = tunnel != HIDDEN && set.contains(Caps::TX_OUTER_UDP);
                    let left = !alone.contains(Action::L4) && two;
                    assert_eq!(both.contains(Action::OUTER), !left, "{kind} {tunnel} {set:?}");
                }
            }
        }
    }

    #[test]
    fn what_no_port_can_do_is_done_here_under_every_set() {
        for set in Caps::every_set() {
            let table = table(set);
            assert_eq!(table.of(0), Action::empty());
            for class in (0..=u8::MAX).filter(|class| class & RAGGED != 0 && class & KIND != 0) {
                assert!(table.of(class).contains(Action::L4), "class {class}");
                assert_eq!(table.of(class).contains(Action::OUTER), class & OUTER != 0);
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
    }
}
