//! Which superpackets in tunnels a port can cut: a class for how each is carried, and the list of what each class
//! asks for beside what is asked for the packet inside.
//!
//! It promises that a port is left only tunnels that it finds, and that an outer checksum which is wanted counts:
//! cutting inside a tunnel with and without it are two capabilities. Where a port lacks one of them but cuts behind
//! headers that it repeats, it is given headers made here for one segment.

use super::outer::{wanted, word};
use corelane_runtime::offload::{Caps, ClassNeed, Fit, Limits, Looks, Need};
use corelane_runtime::packet::{L3, L4, Packet, SegFlags, SegKind, Tunnel};

// Bits of a class. The lowest three are the kind of tunnel.
const KIND: u8 = 7;
const VXLAN: u8 = 1;
const GENEVE: u8 = 2;
const GRE: u8 = 3;
const IPIP: u8 = 4;
/// The checksum of the tunnel is wanted.
const SUM: u8 = 1 << 3;
/// All segments carry one outer IPv4 ID, and DF is clear.
const OUTER_ID: u8 = 1 << 4;
/// The port looks for such tunnels behind other UDP ports.
const UNFOUND: u8 = 1 << 5;
/// UDP is inside, else TCP.
const UDP: u8 = 1 << 6;

/// A superpacket that is in no tunnel.
pub(super) const PLAIN: u8 = 0;

/// Where a superpacket is cut, as far as its tunnel has a say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// The port cuts it.
    Port,
    /// The port cuts it behind headers made here.
    Behind,
    /// Here.
    Here,
}

/// What a plan asks about them.
pub(super) fn needs() -> impl Iterator<Item = Need> {
    CARRIED.iter().filter(|entry| entry.mask != UNFOUND).map(|entry| entry.need)
}

/// What is done with a class that a port takes over so much for.
pub(super) fn decide(class: u8, fit: Fit) -> Where {
    match (class, fit) {
        (PLAIN, _) | (_, Fit::Left) => Where::Port,
        (_, Fit::Spared) => Where::Behind,
        (_, Fit::Here) => Where::Here,
    }
}

/// How a superpacket is carried to a port with these limits.
pub(super) fn carried(packet: &Packet, limits: &Limits) -> u8 {
    let meta = packet.meta();
    if meta.layers.count < 2 {
        return PLAIN;
    }
    let (tunnel, level) = (meta.layers.tunnel, &meta.layers.levels[0]);
    let kind = match tunnel {
        Tunnel::Vxlan => VXLAN,
        Tunnel::Geneve => GENEVE,
        Tunnel::Gre => GRE,
        Tunnel::Ip => IPIP,
        Tunnel::None | Tunnel::Other => UNFOUND,
    };
    let request = packet.segmentation();
    let port = || word(packet, u32::from(level.l4) + 2).unwrap_or(0);
    let unfound = level.l4_kind == L4::Udp && !limits.finds(tunnel, port());
    let fixed = request.flags.contains(SegFlags::OUTER_FIXED_ID) && level.l3_kind == L3::V4;
    let bits = [
        (SUM, wanted(packet).is_some()),
        (OUTER_ID, fixed && may_be_fragmented(packet, level.l3)),
        (UNFOUND, unfound),
        (UDP, matches!(request.kind, SegKind::Udp4 | SegKind::Udp6)),
    ];
    bits.iter().filter(|(_, set)| *set).fold(kind, |class, (bit, _)| class | bit)
}

/// Whether DF is clear in the IPv4 header at `l3`. Where it is set the ID means nothing (RFC 6864), and a port may
/// count it up or not.
fn may_be_fragmented(packet: &Packet, l3: u16) -> bool {
    const DF: u16 = 0x4000;
    word(packet, u32::from(l3) + 6).is_none_or(|flags| flags & DF == 0)
}

/// Whether headers made for one segment can be repeated for all of a superpacket: nothing in its inner IP header
/// counts up, and at least two segments have the same length.
pub(super) fn can_repeat(packet: &Packet) -> bool {
    let request = packet.segmentation();
    let constant = match request.kind {
        SegKind::Tcp4 => request.flags.contains(SegFlags::FIXED_ID),
        SegKind::Tcp6 => true,
        SegKind::None | SegKind::Udp4 | SegKind::Udp6 => false,
    };
    constant && packet.payload_len() / u32::from(request.gso_size).max(1) >= 2
}

/// What a port must be able to do to be left superpackets in tunnels, beside what is inside.
pub const CARRIED: &[ClassNeed] = &[
    inside(KIND, VXLAN, "tcp in vxlan", Looks::VXLAN, Caps::TSO_VXLAN, Tunnel::Vxlan),
    inside(
        KIND | SUM,
        VXLAN | SUM,
        "tcp in vxlan with outer checksum",
        Looks::VXLAN_SUM,
        Caps::TSO_VXLAN_CSUM,
        Tunnel::Vxlan,
    ),
    inside(KIND, GENEVE, "tcp in geneve", Looks::GENEVE, Caps::TSO_GENEVE, Tunnel::Geneve),
    inside(
        KIND | SUM,
        GENEVE | SUM,
        "tcp in geneve with outer checksum",
        Looks::GENEVE_SUM,
        Caps::TSO_GENEVE_CSUM,
        Tunnel::Geneve,
    ),
    inside(KIND, GRE, "tcp in gre", Looks::GRE, Caps::TSO_GRE, Tunnel::Gre),
    entry(KIND | SUM, GRE | SUM, "tcp in gre with checksum", Looks::GRE_SUM, None),
    inside(KIND, IPIP, "tcp in ip in ip", Looks::IPIP, Caps::TSO_IPIP, Tunnel::Ip),
    entry(OUTER_ID, OUTER_ID, "one outer id", Looks::OUTER_ID, Some(Caps::TSO_FIXED_ID)),
    // The plan asks the port for the UDP ports it knows along with the kind of tunnel.
    entry(UNFOUND, UNFOUND, "tcp in a tunnel the port does not find", Looks::empty(), None),
    ClassNeed {
        mask: UDP,
        is: UDP,
        need: Need::exit(
            "udp in a tunnel",
            Looks::UDP_INSIDE,
            None,
            "cut here: devices are asked to cut TCP only inside tunnels",
        ),
    },
];

const CUT_HERE: &str =
    "cut here: headers are written for each segment, no payload is copied or read";

const REPEATED: &str = "it repeats headers made here for one segment; what is left over, and flows whose inner ids \
     count up, are cut here";

const fn entry(
    mask: u8,
    is: u8,
    work: &'static str,
    about: Looks,
    caps: Option<Caps>,
) -> ClassNeed {
    let need = Need::exit(work, about, caps, CUT_HERE).or(Caps::GSO_PARTIAL, REPEATED);
    ClassNeed { mask, is, need }
}

const fn inside(
    mask: u8,
    is: u8,
    work: &'static str,
    about: Looks,
    caps: Caps,
    tunnel: Tunnel,
) -> ClassNeed {
    let ClassNeed { need, .. } = entry(mask, is, work, about, Some(caps));
    ClassNeed { mask, is, need: need.inside(tunnel) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_runtime::offload::fit;

    /// What is done with a class, read off its bits one by one.
    fn expected(class: u8, caps: Caps) -> Where {
        if class == PLAIN {
            return Where::Port;
        }
        let sum = class & SUM != 0;
        let kinds = [
            (VXLAN, Some(Caps::TSO_VXLAN), Some(Caps::TSO_VXLAN_CSUM)),
            (GENEVE, Some(Caps::TSO_GENEVE), Some(Caps::TSO_GENEVE_CSUM)),
            (GRE, Some(Caps::TSO_GRE), None),
            (IPIP, Some(Caps::TSO_IPIP), Some(Caps::TSO_IPIP)),
        ];
        let kind = kinds.iter().find(|(kind, ..)| class & KIND == *kind);
        let mut needed = kind.map_or(Some(Caps::empty()), |&(_, plain, summed)| {
            if sum { summed.and_then(|summed| Some(summed | plain?)) } else { plain }
        });
        if class & OUTER_ID != 0 {
            needed = needed.map(|needed| needed | Caps::TSO_FIXED_ID);
        }
        if class & (UNFOUND | UDP) != 0 {
            needed = None;
        }
        let any = kind.is_some() || class & (OUTER_ID | UNFOUND | UDP) != 0;
        match needed {
            Some(needed) if any && caps.contains(needed) => Where::Port,
            _ if any && class & UDP == 0 && caps.contains(Caps::GSO_PARTIAL) => Where::Behind,
            _ => Where::Here,
        }
    }

    #[test]
    fn every_class_goes_where_its_bits_say() {
        let pairs = [Caps::TSO_VXLAN | Caps::GSO_PARTIAL, Caps::TSO_GRE | Caps::TSO_FIXED_ID];
        for caps in Caps::every_set().into_iter().chain(pairs) {
            for class in 0..=u8::MAX {
                let place = decide(class, fit(CARRIED, class, caps));
                assert_eq!(place, expected(class, caps), "class {class:#010b} with {caps:?}");
            }
        }
    }

    #[test]
    fn what_is_asked_is_what_a_port_takes() {
        for need in needs() {
            assert_eq!(need.about.needed(), need.caps, "{}", need.work);
        }
        let about = needs().fold(Looks::empty(), |sum, need| sum | need.about);
        assert_eq!(about, Looks::CARRIED - Looks::REPEATED, "something is not asked about");
    }
}
