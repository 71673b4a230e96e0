//! What a sender on this host left undone, brought into the form that everything behind relies on.
//!
//! It promises that a checksum to be finished is that of the level it begins at, that a superpacket whose outermost
//! one it is is one of that level, whatever it carries, and that the seed of a superpacket's checksum has the length in it. It reads headers only, and changes
//! nothing that came off a wire.

use super::software::Found;
use corelane_runtime::packet::{self, Csum, Meta, Packet, Partial, SegKind};
use corelane_sum::Sum;
use corelane_wire::{Layers, Level, protocol, pseudo};

/// Where the datagrams are that a packet of UDP is to be cut into: those of the outermost level, each of which may
/// carry a tunnel of its own, where its checksum is the one to be finished.
pub(super) fn outermost<'a>(packet: &Packet, walked: &'a Layers) -> Option<&'a Level> {
    let udp = matches!(packet.segmentation().kind, SegKind::Udp4 | SegKind::Udp6);
    let states = packet.meta().l4;
    let train = udp && states[0] == Csum::Partial && states[1] != Csum::Partial;
    if train && !walked.deeper && walked.count > 1 { walked.levels().first() } else { None }
}

/// Who asks for one checksum says where it begins and not of which level it is. Where it is that of the inner of two
/// levels, it becomes that; nothing is known of the outer one then.
pub(super) fn settle_level(meta: &mut Meta, layers: &packet::Layers) {
    let [outer, inner] = &layers.levels;
    let partial = meta.partial[0];
    let alone = meta.l4[0] == Csum::Partial && meta.l4[1] != Csum::Partial;
    if alone && layers.count == 2 && partial.start == inner.l4 && partial.start != outer.l4 {
        meta.l4[0] = Csum::Unknown;
        meta.request(1, partial);
    }
}

/// Puts the length into the seed of a superpacket where its sender left it out. Both forms are in use: one says what
/// the checksum of the whole would begin with, the other what those of all segments have in common.
pub(super) fn settle_seed(packet: &mut Packet, walked: &Layers, found: &Found) {
    let Some(index) = usize::from(found.layers.count).checked_sub(1) else { return };
    if packet.meta().l4[index] != Csum::Partial {
        return;
    }
    let Partial { start, field } = packet.meta().partial[index];
    let Some(level) = walked.levels().iter().find(|level| level.l4 == start) else { return };
    let number = match packet.segmentation().kind {
        SegKind::Tcp4 | SegKind::Tcp6 => protocol::TCP,
        SegKind::Udp4 | SegKind::Udp6 => protocol::UDP,
        SegKind::None => return,
    };
    let seed = |length| pseudo::sum(packet.data(), level, length, number).map(Sum::canonical);
    let length = level.limit.saturating_sub(u32::from(start));
    let (Some(without), Some(with)) = (seed(0), seed(length)) else { return };
    // Shared bytes have been through here before.
    let at = usize::from(field);
    let seed = packet.data_mut().and_then(|data| data.get_mut(at..at + 2));
    if let Some(seed) = seed.filter(|seed| **seed == without.to_be_bytes()) {
        seed.copy_from_slice(&with.to_be_bytes());
    }
}
