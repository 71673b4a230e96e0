//! One copy: short packets are copied whole, of long ones the headers, and the rest is shared.
//!
//! It promises that the original is not changed and that its headers can still be written, where it is short at
//! the cost of nothing. What is known of a copy that is cut is what would be known if it had been captured so.

use crate::rx::describe;
use corelane_runtime::packet::{Buffers, MetaFlags, NoBuffer, Packet, Partial, SMALL_ROOM};

/// Up to this length copying costs less than sharing: a buffer and a few lines against a buffer, a shell, and a
/// copy of its headers for whoever of both writes into them.
const SHORT: u32 = 512;

/// Makes a copy of the first `snap` bytes, or of all where that is 0.
pub(super) fn copy(
    packet: &Packet,
    snap: u32,
    key: u64,
    buffers: &mut Buffers,
) -> Result<Packet, NoBuffer> {
    let whole = snap == 0 || snap >= packet.len();
    let len = if whole { packet.len() } else { snap };
    let headers = packet.meta().layers.innermost().map_or(0, |level| u32::from(level.payload));
    // Boundaries of received segments lie between parts, and must not be copied away.
    let copied = if len <= SHORT && !packet.is_super() { len } else { headers };
    let mut copy = packet.share(copied.min(SMALL_ROOM), len, buffers)?;
    if !whole && let Err(error) = look_again(&mut copy, packet, key, buffers) {
        buffers.release(copy);
        return Err(error);
    }
    Ok(copy)
}

/// Finds out what is to be known of a copy that was cut, as if it had come in so.
fn look_again(
    copy: &mut Packet,
    packet: &Packet,
    key: u64,
    buffers: &mut Buffers,
) -> Result<(), NoBuffer> {
    let meta = copy.meta_mut();
    meta.flags &= MetaFlags::HASHED;
    meta.partial = [Partial::default(); 2];
    describe(copy, key, buffers)?;
    let (layers, states) = (copy.meta().layers, packet.meta().l3);
    for (index, level) in layers.levels.iter().enumerate().take(usize::from(layers.count)) {
        // What an IPv4 header sum covers is all there.
        let same = packet.meta().layers.levels[index].l3 == level.l3;
        if same && layers.tunnel == packet.meta().layers.tunnel {
            copy.meta_mut().l3[index] = states[index];
        }
    }
    Ok(())
}
