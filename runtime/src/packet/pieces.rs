//! Pieces: the payloads of received segments within a packet, each with its sum where that is known.
//!
//! A piece starts with a part's data and may run on into following parts. A payload that is one piece is
//! marked once, wherever headers put in front have left the mark. Nothing here reads a payload.

use super::Packet;
use super::part::{PIECE_START, PIECE_SUM, Part};

/// The payload of one received segment, as it stands at the front of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Payload bytes.
    pub len: u32,
    /// Folded sum of those bytes, if known, as if they started at an even offset.
    pub sum: Option<u16>,
}

impl Packet {
    /// Remembers the sum of the packet's payload, which is one piece.
    pub fn set_payload_sum(&mut self, sum: u16) {
        self.forget_pieces();
        let part = self.part_mut();
        part.piece_len = part.payload;
        part.piece_sum = sum;
        part.flags |= PIECE_START | PIECE_SUM;
    }

    /// The known sum of the payload of a packet that is one piece.
    pub fn payload_sum(&self) -> Option<u16> {
        let piece = self.pieces().next()?;
        if piece.len == self.payload_len() { piece.sum } else { None }
    }

    /// Marks the payload of this packet as one piece, sum known or not, so that it can be restored after
    /// having been joined with others.
    pub fn mark_piece(&mut self) {
        if self.is_one_piece() {
            return;
        }
        self.forget_pieces();
        let part = self.part_mut();
        part.flags |= PIECE_START;
        part.piece_len = part.payload;
    }

    fn is_one_piece(&self) -> bool {
        let mut pieces = self.pieces();
        pieces.next().is_some_and(|piece| piece.len == self.payload_len())
            && pieces.next().is_none()
    }

    /// A payload that is one piece has one mark, wherever a header put in front has left it.
    fn forget_pieces(&mut self) {
        self.for_each_part(|part| part.flags &= !(PIECE_START | PIECE_SUM));
    }

    /// Every piece of the payload in order; empty for a packet that was never marked.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.each_part().filter_map(piece_of)
    }
}

fn piece_of(part: &Part) -> Option<Piece> {
    let sum = (part.flags & PIECE_SUM != 0).then_some(part.piece_sum);
    (part.flags & PIECE_START != 0).then_some(Piece { len: part.piece_len, sum })
}
