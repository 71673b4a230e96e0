//! Which superpackets a port can cut: a class for each packet, and for each class what it takes.
//!
//! It promises that the data path and whoever explains it read one table: [`needs`] says what a port must be
//! able to do for a class, `Actions` is that table held against what is in force. Sizes are not in the
//! class; [`segments_at_once`] holds them against the port's limits.

use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::{Packet, SegFlags, SegKind};

/// Bits of a class beside the kind, which takes the lowest two.
const FIXED_ID: u8 = 1 << 2;
const CWR_ALL: u8 = 1 << 3;
const PAD_LAST: u8 = 1 << 4;
const PARTS: u8 = 1 << 5;
const FOREIGN: u8 = 1 << 6;

/// Number of classes.
pub const CLASSES: u8 = 1 << 7;

/// The class of a superpacket. `foreign`: its segments differ in length, its headers are hidden behind
/// others, or its checksums are not known to be right; no port is asked to cut that.
pub(super) fn class(packet: &Packet, foreign: bool) -> u8 {
    let request = packet.segmentation();
    let v4 = matches!(request.kind, SegKind::Tcp4 | SegKind::Udp4);
    let bits = [
        (FIXED_ID, v4 && request.flags.contains(SegFlags::FIXED_ID)),
        (CWR_ALL, request.flags.contains(SegFlags::CWR_ALL)),
        (PAD_LAST, request.flags.contains(SegFlags::PAD_LAST)),
        (PARTS, packet.part_count() > 1),
        (FOREIGN, foreign),
    ];
    let kind = (request.kind as u8).wrapping_sub(SegKind::Tcp4 as u8) & 3;
    bits.iter().filter(|(_, set)| *set).fold(kind, |class, (bit, _)| class | bit)
}

/// What a port must be able to do to be given a class to cut; `None`: no port is.
pub fn needs(class: u8) -> Option<Caps> {
    if class & FOREIGN != 0 || class >= CLASSES {
        return None;
    }
    let (mut caps, udp) = match class & 3 {
        0 => (Caps::TSO4, false),
        1 => (Caps::TSO6, false),
        2 => (Caps::USO4, true),
        _ => (Caps::USO6, true),
    };
    // Devices are asked for one ID on all segments of TCP only.
    if class & FIXED_ID != 0 && udp {
        return None;
    }
    let more = [
        (FIXED_ID, Caps::TSO_FIXED_ID),
        (CWR_ALL, Caps::TSO_CWR_ALL),
        (PAD_LAST, Caps::TSO_PAD),
        (PARTS, Caps::MULTI_PART),
    ];
    for (bit, cap) in more {
        if class & bit != 0 {
            caps |= cap;
        }
    }
    Some(caps)
}

/// A class in words.
pub fn describe(class: u8) -> String {
    let kind = ["TCP over IPv4", "TCP over IPv6", "UDP over IPv4", "UDP over IPv6"];
    let more = [
        (FIXED_ID, "one ID"),
        (CWR_ALL, "CWR on all"),
        (PAD_LAST, "last one padded"),
        (PARTS, "several parts"),
        (FOREIGN, "not for devices"),
    ];
    let more = more.iter().filter(|(bit, _)| class & bit != 0).map(|(_, text)| *text);
    std::iter::once(kind[usize::from(class & 3)]).chain(more).collect::<Vec<_>>().join(", ")
}

/// What is done with each class while `caps` are in force.
pub(super) struct Actions {
    caps: Caps,
    leave: [bool; CLASSES as usize],
}

impl Actions {
    pub(super) fn new(caps: Caps) -> Actions {
        let mut leave = [false; CLASSES as usize];
        for (class, leave) in (0..).zip(&mut leave) {
            *leave = needs(class).is_some_and(|needs| caps.contains(needs));
        }
        Actions { caps, leave }
    }

    /// Follows a change of what is in force.
    pub(super) fn follow(&mut self, caps: Caps) {
        if self.caps != caps {
            *self = Actions::new(caps);
        }
    }

    /// Whether the port cuts packets of this class.
    pub(super) fn leaves(&self, class: u8) -> bool {
        self.leave.get(usize::from(class)).is_some_and(|&leave| leave)
    }
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

    #[test]
    fn plain_kinds_need_their_bit_and_everything_needs_more() {
        assert_eq!(needs(0), Some(Caps::TSO4));
        assert_eq!(needs(1 | PARTS), Some(Caps::TSO6 | Caps::MULTI_PART));
        assert_eq!(needs(2 | PAD_LAST), Some(Caps::USO4 | Caps::TSO_PAD));
        assert_eq!(
            needs(FIXED_ID | CWR_ALL),
            Some(Caps::TSO4 | Caps::TSO_FIXED_ID | Caps::TSO_CWR_ALL)
        );
        assert_eq!(needs(2 | FIXED_ID), None);
        assert!((0..CLASSES).all(|class| class & FOREIGN == 0 || needs(class).is_none()));
        assert_eq!(needs(CLASSES), None);
    }

    #[test]
    fn the_table_is_needs_held_against_caps() {
        for caps in Caps::every_set() {
            let mut actions = Actions::new(Caps::empty());
            assert!((0..=u8::MAX).all(|class| !actions.leaves(class)));
            actions.follow(caps);
            for class in 0..=u8::MAX {
                let expected = needs(class).is_some_and(|needs| caps.contains(needs));
                assert_eq!(actions.leaves(class), expected, "{} with {caps:?}", describe(class));
            }
        }
    }
}
