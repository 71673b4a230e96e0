//! Whether a port takes a packet as it is, and what can be done if not.
//!
//! It promises that a packet put into one piece is the same packet: bytes, meta, segmentation, time, known
//! payload sum. It never cuts.

use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{
    Buffers, Burst, Class, LARGE_ROOM, MetaFlags, NoBuffer, Packet, SMALL_ROOM, SegKind,
};
use corelane_runtime::stage::{Reason, StageContext};

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;

/// Whether a frame, or a segment of a superpacket, has more than `mtu` bytes behind its link header. Bytes
/// behind the IP packet count: a device looks at the frame.
pub(super) fn exceeds(packet: &Packet, mtu: u32) -> bool {
    // Most packets are small enough with their link header.
    if packet.len() <= mtu {
        return false;
    }
    let meta = packet.meta();
    let outermost = meta.layers.count > 0 && !meta.flags.contains(MetaFlags::DEEPER);
    let link = if outermost { u32::from(meta.layers.levels[0].l3) } else { ETHERNET };
    let request = packet.segmentation();
    let end = match (request.kind, meta.layers.innermost()) {
        (SegKind::None, _) | (_, None) => packet.len(),
        (_, Some(level)) => u32::from(level.payload) + u32::from(request.gso_size),
    };
    end.saturating_sub(link) > mtu
}

/// Puts packets of several parts into one piece where the port takes no others. Returns how many packets
/// at the front of the burst the port can be given.
pub(super) fn make_fit(
    burst: &mut Burst,
    caps: Caps,
    ctx: &mut StageContext<'_>,
    too_big: Reason,
) -> usize {
    if caps.contains(Caps::MULTI_PART) || burst.iter().all(|packet| packet.part_count() == 1) {
        return burst.len();
    }
    // What a home has none of never comes back to it.
    let [_, small, large] = ctx.buffers.capacity();
    let longest = if large > 0 { LARGE_ROOM } else { SMALL_ROOM * small.min(1) };
    let least = if small > 0 { 0 } else { SMALL_ROOM + 1 };
    let hopeless =
        |packet: &Packet| packet.part_count() > 1 && !(least..=longest).contains(&packet.len());
    burst.extract(hopeless, |packet| ctx.drop(packet, too_big));
    for (index, packet) in burst.iter_mut().enumerate() {
        if packet.part_count() > 1 {
            if linearize(packet, ctx.buffers).is_err() {
                return index;
            }
            ctx.copied();
        }
    }
    burst.len()
}

/// Replaces a packet by a copy of one part.
fn linearize(packet: &mut Packet, buffers: &mut Buffers) -> Result<(), NoBuffer> {
    let class = if packet.len() <= SMALL_ROOM { Class::Small } else { Class::Large };
    let mut copy = buffers.alloc(class).ok_or(NoBuffer)?;
    for bytes in packet.parts() {
        if !copy.append_bytes(bytes) {
            buffers.release(copy);
            return Err(NoBuffer);
        }
    }
    *copy.meta_mut() = *packet.meta();
    copy.set_layers(packet.meta().layers, packet.payload_len());
    copy.meta_mut().flags = packet.meta().flags;
    copy.set_segmentation(packet.segmentation());
    copy.set_time(packet.time());
    if let Some(sum) = packet.payload_sum() {
        copy.set_payload_sum(sum);
    }
    buffers.release(std::mem::replace(packet, copy));
    Ok(())
}
