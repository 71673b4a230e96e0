//! Changing bytes in place, slice by slice, where they lie in parts that nobody else can see.
//!
//! It promises that bytes which others can see are never written: [`Packet::make_unshared`] comes first. It knows
//! no protocol; the checksums over what is changed are the caller's business.

use super::handle::{bytes_of_mut, is_exclusive};
use super::part::{PIECE_START, PIECE_SUM};
use super::{Buffers, Class, NoBuffer, Packet, SMALL_ROOM};

impl Packet {
    /// Whether nobody else can see any of its bytes.
    pub fn is_unshared_throughout(&self) -> bool {
        self.each_part().all(is_exclusive)
    }

    /// Gives the bytes from packet offset `from` to `to` to `change`, one contiguous slice after the other.
    /// False, and nothing done, where others can see any of them.
    pub fn edit(&mut self, from: u32, to: u32, mut change: impl FnMut(EditSlice<'_>)) -> bool {
        let mut start = 0;
        let writable = self.each_part().all(|part| {
            let range = from.max(start)..to.min(start + part.len);
            start += part.len;
            range.is_empty() || is_exclusive(part)
        });
        if !writable {
            return false;
        }
        let mut start = 0;
        self.for_each_part(|part| {
            let first = start;
            start += part.len;
            let (lo, hi) = (from.max(first), to.min(start));
            if lo >= hi {
                return;
            }
            let starts_piece = part.flags & PIECE_START != 0 && lo == first;
            let range = (lo - first) as usize..(hi - first) as usize;
            if let Some(bytes) = bytes_of_mut(part).and_then(|bytes| bytes.get_mut(range)) {
                change(EditSlice { at: lo, starts_piece, bytes });
            }
        });
        true
    }

    /// Forgets what is known of the sums of the payload's pieces; the pieces stay.
    pub fn forget_payload_sums(&mut self) {
        self.for_each_part(|part| part.flags &= !PIECE_SUM);
    }
}

/// Bytes of a packet that may be changed.
#[derive(Debug)]
pub struct EditSlice<'a> {
    /// Their offset in the packet.
    pub at: u32,
    /// Whether the payload of a received segment starts with them. The first one's need not be marked.
    pub starts_piece: bool,
    /// The bytes.
    pub bytes: &'a mut [u8],
}

/// A packet of these bytes: in one part, where the home has buffers that large.
pub(super) fn copy_of(bytes: &[u8], buffers: &mut Buffers) -> Result<Packet, NoBuffer> {
    let has_large = buffers.capacity()[Class::Large as usize] > 0;
    if has_large || bytes.len() <= SMALL_ROOM as usize {
        return buffers.receive(bytes).ok_or(NoBuffer);
    }
    let mut copy: Option<Packet> = None;
    for chunk in bytes.chunks(SMALL_ROOM as usize) {
        match (buffers.receive(chunk), &mut copy) {
            (Some(more), Some(copy)) => copy.append(more),
            (Some(first), None) => copy = Some(first),
            (None, _) => {
                copy.into_iter().for_each(|copy| buffers.release(copy));
                return Err(NoBuffer);
            }
        }
    }
    copy.ok_or(NoBuffer)
}
