//! The L4 payload of a packet and its sum: where it lies, what is known of it, and reading it at most once.
//!
//! The payload is what follows the innermost TCP or UDP header, as far as that header's datagram goes. Every
//! checksum of a packet covers headers, the payload, and at most a few bytes behind it; so with the payload's
//! sum known all of them are computed at header cost. Nothing here decides which sums are wanted.

mod edit;
#[cfg(test)]
mod tests;

pub use edit::EditPayload;

use corelane_runtime::packet::{L4, Layers, Packet, Piece};
use corelane_sum::Sum;

/// Index of the level whose payload is *the* payload: the innermost with a TCP or UDP header.
pub(crate) fn summed_level(layers: &Layers) -> Option<usize> {
    let summed = |&index: &usize| matches!(layers.levels[index].l4_kind, L4::Tcp | L4::Udp);
    (0..usize::from(layers.count.min(2))).rev().find(summed)
}

/// The sum of packet bytes `from..to`, as if `from` were an even offset.
pub(crate) fn sum_of(packet: &Packet, from: u32, to: u32) -> Sum {
    if from >= to {
        return Sum::ZERO;
    }
    if let Some(bytes) = packet.data().get(from as usize..to as usize) {
        return Sum::of(bytes);
    }
    let mut len = 0;
    packet.slices(from, to).fold(Sum::ZERO, |sum, bytes| {
        let sum = sum.then(len, Sum::of(bytes));
        len += bytes.len();
        sum
    })
}

/// Sums over ranges of one packet that share the payload's.
pub(crate) struct Sums<'a> {
    packet: &'a Packet,
    /// Where the payload starts and ends.
    start: u32,
    end: u32,
    payload: Option<Sum>,
    /// Payload bytes read so far.
    read: u64,
}

impl<'a> Sums<'a> {
    /// Starts with what the packet's pieces say of its payload.
    pub(crate) fn of(packet: &'a Packet) -> Sums<'a> {
        let layers = &packet.meta().layers;
        let start = summed_level(layers).map_or(packet.len(), |index| {
            u32::from(layers.levels[index].payload).min(packet.len())
        });
        let end = start + packet.payload_len().min(packet.len() - start);
        let payload = joined(packet.pieces(), end - start);
        Sums { packet, start, end, payload, read: 0 }
    }

    /// As [`Sums::of`], where the payload's sum may have become known otherwise.
    pub(crate) fn resume(packet: &'a Packet, payload: Option<Sum>) -> Sums<'a> {
        let sums = Sums::of(packet);
        Sums { payload: sums.payload.or(payload), ..sums }
    }

    /// The payload's sum, if it is known.
    pub(crate) fn payload(&self) -> Option<Sum> {
        self.payload
    }

    /// Payload bytes that had to be read.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Forgets the payload's sum, so that it is read when it is needed.
    pub(crate) fn distrust(&mut self) {
        self.payload = None;
    }

    /// Derives the payload's sum from `sum` over `from..to`, at the cost of the other bytes in that range.
    /// A range that does not hold the whole payload says nothing about it.
    pub(crate) fn derive(&mut self, from: u32, to: u32, sum: Sum) {
        if self.payload.is_none() && from <= self.start && self.end <= to {
            let head = sum_of(self.packet, from, self.start);
            let tail = sum_of(self.packet, self.end, to).shifted((self.end - from) as usize);
            self.payload = Some((sum - head - tail).shifted((self.start - from) as usize));
        }
    }

    /// The sum of `from..to`; reads the payload where it is in that range and not known yet.
    pub(crate) fn range(&mut self, from: u32, to: u32) -> Sum {
        if from > self.start || self.end > to {
            let overlap = to.min(self.end).saturating_sub(from.max(self.start));
            self.read += u64::from(overlap);
            return sum_of(self.packet, from, to);
        }
        let payload = self.payload.unwrap_or_else(|| {
            self.read += u64::from(self.end - self.start);
            sum_of(self.packet, self.start, self.end)
        });
        self.payload = Some(payload);
        let head = sum_of(self.packet, from, self.start);
        let tail = sum_of(self.packet, self.end, to);
        let head = head.then((self.start - from) as usize, payload);
        head.then((self.end - from) as usize, tail)
    }
}

/// The sum of all pieces in order, if each is known and together they are `len` bytes.
fn joined(pieces: impl Iterator<Item = Piece>, len: u32) -> Option<Sum> {
    let (mut sum, mut at) = (Sum::ZERO, 0_u32);
    for piece in pieces {
        sum = sum.then(at as usize, Sum::from_u16(piece.sum?));
        at += piece.len;
    }
    (at == len && at > 0).then_some(sum)
}
