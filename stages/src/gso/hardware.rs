//! Which superpackets a port can cut: a class for each packet, and the list of what each class asks for.
//!
//! It promises that the data path and whoever explains it read one list: [`WORK`] says what a port must be able
//! to do for a class; the stage holds it against what is in force. Sizes are not in the class;
//! [`segments_at_once`] holds them against the port's limits.

use corelane_runtime::offload::{Caps, ClassNeed, Limits, Looks, Need};
use corelane_runtime::packet::{L4, Packet, SegFlags, SegKind};

// Bits of a class. The lowest two are the kind.
const KIND: u8 = 3;
/// Of a kind: UDP, else TCP.
const UDP: u8 = 1 << 1;
const FIXED_ID: u8 = 1 << 2;
/// CWR on the first segment only.
const ECN: u8 = 1 << 3;
const CWR_ALL: u8 = 1 << 4;
const PAD_LAST: u8 = 1 << 5;
const PARTS: u8 = 1 << 6;
const FOREIGN: u8 = 1 << 7;

/// CWR among the eight flags at offset 13 of a TCP header.
const CWR: u8 = 0x80;

/// The class of a superpacket. `foreign`: its segments differ in length, its headers are hidden behind
/// others, or its checksums are not known to be right; no port is asked to cut that.
pub(super) fn class(packet: &Packet, foreign: bool) -> u8 {
    let request = packet.segmentation();
    let v4 = matches!(request.kind, SegKind::Tcp4 | SegKind::Udp4);
    let all = request.flags.contains(SegFlags::CWR_ALL);
    let bits = [
        (FIXED_ID, v4 && request.flags.contains(SegFlags::FIXED_ID)),
        (ECN, !all && has_cwr(packet)),
        (CWR_ALL, all),
        (PAD_LAST, request.flags.contains(SegFlags::PAD_LAST)),
        (PARTS, packet.part_count() > 1),
        (FOREIGN, foreign),
    ];
    let kind = (request.kind as u8).wrapping_sub(SegKind::Tcp4 as u8) & KIND;
    bits.iter().filter(|(_, set)| *set).fold(kind, |class, (bit, _)| class | bit)
}

/// The class of the same superpacket behind headers that the port repeats: that its IPv4 ID stays the same then
/// needs no capability.
pub(super) fn without_id(class: u8) -> u8 {
    class & !FIXED_ID
}

fn has_cwr(packet: &Packet) -> bool {
    let Some(level) = packet.meta().layers.innermost() else { return false };
    let at = u32::from(level.l4) + 13;
    let flags = packet.slices(at, at + 1).next().and_then(|bytes| bytes.first());
    level.l4_kind == L4::Tcp && flags.is_some_and(|&flags| flags & CWR != 0)
}

/// What a port may be asked to cut, and what it must be able to do for it.
pub const WORK: &[ClassNeed] = &[
    entry(KIND, 0, "tcp over ipv4", Looks::SUPER_TCP4.union(Looks::BARE_TCP4), Caps::TSO4),
    entry(KIND, 1, "tcp over ipv6", Looks::SUPER_TCP6.union(Looks::BARE_TCP6), Caps::TSO6),
    entry(KIND, 2, "udp over ipv4", Looks::SUPER_UDP4.union(Looks::BARE_UDP4), Caps::USO4),
    entry(KIND, 3, "udp over ipv6", Looks::SUPER_UDP6.union(Looks::BARE_UDP6), Caps::USO6),
    entry(FIXED_ID | UDP, FIXED_ID, "tcp with one id", Looks::FIXED_TCP, Caps::TSO_FIXED_ID),
    never(
        FIXED_ID | UDP,
        FIXED_ID | UDP,
        "udp with one id",
        Looks::FIXED_UDP,
        "cut here: devices are asked for one ID on all segments of TCP only",
    ),
    entry(ECN, ECN, "cwr on the first segment", Looks::ECN, Caps::TSO_ECN),
    entry(CWR_ALL, CWR_ALL, "cwr on every segment", Looks::CWR_ALL, Caps::TSO_CWR_ALL),
    entry(PAD_LAST, PAD_LAST, "padded last segment", Looks::PAD_LAST, Caps::TSO_PAD),
    entry(PARTS, PARTS, "several parts", Looks::PARTS, Caps::MULTI_PART),
    never(
        FOREIGN,
        FOREIGN,
        "uneven or hidden",
        Looks::FOREIGN,
        "cut here: no device cuts segments of uneven length, or behind ipv6 extension headers",
    ),
];

/// What cutting costs here.
const CUT_HERE: &str =
    "cut here: a header is written for each segment, no payload is copied or read";

const fn entry(mask: u8, is: u8, work: &'static str, about: Looks, caps: Caps) -> ClassNeed {
    ClassNeed { mask, is, need: Need::exit(work, about, Some(caps), CUT_HERE) }
}

const fn never(mask: u8, is: u8, work: &'static str, about: Looks, why: &'static str) -> ClassNeed {
    ClassNeed { mask, is, need: Need::exit(work, about, None, why) }
}

/// How many segments of `packet`, whose payload starts at `header_len`, a port takes at once: all of them, or
/// fewer, or 1 if none.
pub(super) fn segments_at_once(packet: &Packet, header_len: u32, limits: &Limits) -> u16 {
    if header_len > u32::from(limits.header_len) {
        return 1;
    }
    let request = packet.segmentation();
    if packet.len() <= limits.tso_bytes && request.count <= limits.tso_segments {
        return request.count;
    }
    let room = limits.tso_bytes.saturating_sub(header_len) / u32::from(request.gso_size).max(1);
    let most = u16::try_from(room).unwrap_or(u16::MAX).min(limits.tso_segments);
    most.clamp(1, request.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_runtime::offload::needed;

    /// What a class asks for, read off its bits one by one.
    fn expected(class: u8) -> Option<Caps> {
        let kind = [Caps::TSO4, Caps::TSO6, Caps::USO4, Caps::USO6][usize::from(class & 3)];
        let mut caps = kind;
        if class & 4 != 0 {
            if class & 3 > 1 {
                return None;
            }
            caps |= Caps::TSO_FIXED_ID;
        }
        if class & 8 != 0 {
            caps |= Caps::TSO_ECN;
        }
        if class & 16 != 0 {
            caps |= Caps::TSO_CWR_ALL;
        }
        if class & 32 != 0 {
            caps |= Caps::TSO_PAD;
        }
        if class & 64 != 0 {
            caps |= Caps::MULTI_PART;
        }
        (class & 128 == 0).then_some(caps)
    }

    #[test]
    fn every_class_needs_what_its_bits_say() {
        for class in 0..=u8::MAX {
            assert_eq!(needed(WORK, class), expected(class), "class {class:#010b}");
        }
    }

    #[test]
    fn what_is_asked_is_what_a_port_takes() {
        for entry in WORK {
            assert_eq!(entry.need.about.needed(), entry.need.caps, "{}", entry.need.work);
        }
        let about = WORK.iter().fold(Looks::empty(), |sum, entry| sum | entry.need.about);
        let inside = (Looks::SUPER | Looks::BARE | Looks::REFINED) - Looks::CARRIED;
        assert_eq!(about, inside, "something is not asked about");
    }
}
