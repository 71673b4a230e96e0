//! Copies that share: a packet of its own over bytes that lie where they lay.
//!
//! It promises that the headers of the copy can be changed at once, that nothing of the original is changed, and
//! that neither ever sees what is written into the other. Bytes that both see are nobody's to write: whoever
//! changes them copies them first ([`Packet::make_header_unique`], [`Packet::make_unshared`]). The books are the
//! caller's business.

use super::cut::look_into;
use super::handle::move_packet_fields;
use super::part::{PIECE_START, Part};
use super::{Buffers, Class, MetaFlags, NoBuffer, Packet, SMALL_ROOM, Segmentation, Train};

/// What a part knows of the piece that starts with it.
type Mark = (u8, u32, u16);

impl Packet {
    /// A packet of the first `len` bytes of this one, or of all of them. The first `copied` bytes are copied, at
    /// most as many as a small buffer holds; the others are shared, which costs a shell for each part.
    ///
    /// A copy of all bytes is in everything what this packet is; of a superpacket whose boundaries are those of its parts no more
    /// than the headers may be copied. One that is shorter is a single wire frame, of which
    /// nothing is known but where its layers start: whoever shortens it says the rest. Its
    /// [`orig_len`](super::Meta::orig_len) still is the whole length.
    ///
    /// # Errors
    /// [`NoBuffer`] where buffers are out; nothing is changed then.
    pub fn share(&self, copied: u32, len: u32, buffers: &mut Buffers) -> Result<Packet, NoBuffer> {
        let len = len.min(self.len());
        let copied = copied.min(len).min(SMALL_ROOM);
        let mut front = buffers.alloc(Class::Small).ok_or(NoBuffer)?;
        for bytes in self.slices(0, copied) {
            front.append_bytes(bytes);
        }
        let mut train = Train::plain(front);
        let mark = match self.share_behind(copied, len, &mut train, buffers) {
            Ok(mark) => mark,
            Err(error) => {
                buffers.release(train.into_packet());
                return Err(error);
            }
        };
        let mut copy = train.into_packet();
        let (parts, whole) = (copy.part_count(), len == self.len());
        let first = copy.part_mut();
        move_packet_fields(self.part(), first);
        (first.parts, first.total) = (parts, len);
        set_mark(first, mark);
        if !whole {
            copy.shortened(self.len());
        }
        Ok(copy)
    }

    /// Shares the bytes from `from` to `to`. Returns the mark of a piece that starts before them and that none of
    /// the parts made carries.
    fn share_behind(
        &self,
        from: u32,
        to: u32,
        train: &mut Train,
        buffers: &mut Buffers,
    ) -> Result<Option<Mark>, NoBuffer> {
        let (mut mark, mut start) = (None, 0);
        for part in self.each_part() {
            let within = |at: u32| at.clamp(start, start + part.len) - start;
            let (lo, hi) = (within(from), within(to));
            start += part.len;
            mark = mark_of(part).or(mark);
            if lo < hi {
                let shell = buffers.alloc(Class::Shell).ok_or(NoBuffer)?;
                let mut shell = look_into(part, lo, hi, shell);
                set_mark(shell.part_mut(), mark.take());
                train.append(shell);
            } else if start > to {
                break;
            }
        }
        Ok(mark)
    }

    /// After bytes were left out at the end of what was `whole` bytes long.
    fn shortened(&mut self, whole: u32) {
        let (len, payload) = (self.len(), self.payload_len());
        let start = self.meta().layers.innermost().map_or(0, |level| u32::from(level.payload));
        let layers = self.meta().layers;
        self.set_segmentation(Segmentation { count: 1, ..Segmentation::default() });
        self.for_each_part(|part| set_mark(part, None));
        let parsed = self.meta().flags.contains(MetaFlags::PARSED);
        self.set_layers(layers, payload.min(len.saturating_sub(start)));
        let meta = self.meta_mut();
        meta.flags.set(MetaFlags::PARSED, parsed);
        meta.forget_known();
        (meta.l3, meta.l4) = Default::default();
        meta.trailer = 0;
        meta.orig_len = meta.orig_len.max(whole);
    }
}

fn mark_of(part: &Part) -> Option<Mark> {
    (part.flags & PIECE_START != 0).then_some((part.flags, part.piece_len, part.piece_sum))
}

fn set_mark(part: &mut Part, mark: Option<Mark>) {
    (part.flags, part.piece_len, part.piece_sum) = mark.unwrap_or_default();
}

#[cfg(test)]
mod tests;
