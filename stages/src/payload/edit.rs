//! Changing a payload in place, and every sum over it with it.
//!
//! It promises that each checksum over the payload is afterwards what it was: right, wrong by the same
//! difference, absent, or still to be finished; none is repaired. A superpacket is changed segment by segment,
//! as if it had been cut before. It reads payload only where a checksum must be updated, and at most once as it
//! was and once as it is. It moves no byte and changes no length. Of a packet with more than two levels, the
//! checksums of levels that are not tracked are right only where an inner one covers the payload.

use super::{Sums, sum_of, summed_level};
use crate::checksum_validate::scope::{Scope, Subject, subjects};
use corelane_runtime::packet::{Csum, EditSlice, L4, MetaFlags, Packet, SegFlags};
use corelane_runtime::stage::StageContext;
use corelane_sum::{Sum, update, update_udp};
use corelane_wire::tcp::TcpHeader;
use corelane_wire::udp::UdpHeader;

/// Changing a payload in place.
pub trait EditPayload {
    /// Gives the payload of each wire frame, but for its first `skip` bytes, to `change`: one contiguous piece
    /// after the other, with the offset of its first byte in that frame's payload. Checksums and known sums
    /// follow. Returns how many bytes that were, or `None` where no frame has payload after `skip`; the packet is
    /// then as it was.
    ///
    /// # Panics
    /// In a stage that does not declare `edits_payload`: others might see the bytes.
    fn edit_payload(
        &mut self,
        ctx: &mut StageContext<'_>,
        skip: u32,
        change: impl FnMut(usize, &mut [u8]),
    ) -> Option<u64>;
}

impl EditPayload for Packet {
    fn edit_payload(
        &mut self,
        ctx: &mut StageContext<'_>,
        skip: u32,
        mut change: impl FnMut(usize, &mut [u8]),
    ) -> Option<u64> {
        assert!(
            ctx.edits_payload(),
            "a stage that edits payload must say so: write `traits {{ edits_payload }}`"
        );
        let level = summed_level(&self.meta().layers)?;
        let from = u32::from(self.meta().layers.levels[level].payload);
        let to = from + self.payload_len().min(self.len().saturating_sub(from));
        let bytes = match self.segments() {
            1 if to - from <= skip => return None,
            1 => edit_frame(self, ctx, level, from..to, skip, change),
            // Whoever cuts it makes the checksums of its segments.
            _ => {
                let bytes = edit_segments(self, from..to, skip, &mut change);
                if bytes == 0 {
                    return None;
                }
                self.forget_payload_sums();
                self.meta_mut().flags.remove(MetaFlags::KNOWN);
                bytes
            }
        };
        ctx.payload_edited(bytes);
        Some(bytes)
    }
}

type Range = std::ops::Range<u32>;

/// One wire frame: the checksums over its payload, and what is known of its sum, follow.
fn edit_frame(
    packet: &mut Packet,
    ctx: &mut StageContext<'_>,
    level: usize,
    payload: Range,
    skip: u32,
    mut change: impl FnMut(usize, &mut [u8]),
) -> u64 {
    let mut sums = Sums::of(packet);
    let Fields { updated, compensated } = fields(packet, level, &mut sums);
    let (mut read, known) = (sums.read(), sums.payload());
    let follow = updated.iter().any(Option::is_some);
    let (mut old, mut new) = (Sum::ZERO, Sum::ZERO);
    packet.edit(payload.start + skip, payload.end, |EditSlice { at, bytes, .. }| {
        let at = (at - payload.start) as usize;
        if follow && known.is_none() {
            old += Sum::of(bytes).shifted(at);
        }
        change(at, bytes);
        if follow {
            new += Sum::of(bytes).shifted(at);
        }
    });
    let bytes = u64::from(payload.end - payload.start - skip);
    if follow {
        let kept = sum_of(packet, payload.start, payload.start + skip);
        let (before, after) = (known.unwrap_or(kept + old), kept + new);
        read += u64::from(skip) + bytes + if known.is_none() { bytes } else { 0 };
        for field in updated.into_iter().flatten() {
            field.write(packet, before, after);
        }
        packet.set_payload_sum(after.fold());
    } else {
        packet.forget_payload_sums();
    }
    if !compensated {
        packet.meta_mut().flags.remove(MetaFlags::KNOWN);
    }
    ctx.payload_summed(read);
    bytes
}

/// Each segment of a superpacket on its own. Returns how many bytes were given to `change`.
fn edit_segments(
    packet: &mut Packet,
    payload: Range,
    skip: u32,
    change: &mut impl FnMut(usize, &mut [u8]),
) -> u64 {
    let request = packet.segmentation();
    let by_parts = request.flags.contains(SegFlags::BY_PARTS);
    let size = if by_parts { u32::MAX } else { u32::from(request.gso_size.max(1)) };
    let (mut start, mut edited) = (payload.start, 0);
    packet.edit(payload.start, payload.end, |EditSlice { at, starts_piece, mut bytes }| {
        if by_parts && starts_piece {
            start = at;
        }
        let mut at = at;
        while !bytes.is_empty() {
            if at - start == size {
                start = at;
            }
            let in_segment = ((size - (at - start)) as usize).min(bytes.len());
            let (now, rest) = std::mem::take(&mut bytes).split_at_mut(in_segment);
            let kept = skip.saturating_sub(at - start) as usize;
            if let Some(now) = now.get_mut(kept..).filter(|now| !now.is_empty()) {
                change((at - start) as usize + kept, now);
                edited += now.len() as u64;
            }
            at += in_segment as u32;
            bytes = rest;
        }
    });
    edited
}

/// What follows from a changed payload for the checksums over it.
struct Fields {
    /// Those to be updated, by level.
    updated: [Option<Field>; 2],
    /// Whether the sum over the whole stays what it was, because a checksum inside takes up the change.
    compensated: bool,
}

/// A checksum field that covers the payload.
#[derive(Clone, Copy)]
struct Field {
    at: usize,
    udp: bool,
    /// Bytes between the start of what it covers and the payload.
    before: usize,
}

impl Field {
    fn write(self, packet: &mut Packet, old: Sum, new: Sum) {
        let (old, new) = (old.shifted(self.before), new.shifted(self.before));
        let bytes = packet.data_mut().and_then(|data| data.get_mut(self.at..self.at + 2));
        let Some(bytes) = bytes else { return };
        let field = u16::from_be_bytes([bytes[0], bytes[1]]);
        let field = if self.udp { update_udp(field, old, new) } else { update(field, old, new) };
        bytes.copy_from_slice(&field.to_be_bytes());
    }
}

/// From the innermost checksum outwards until one takes up the change: those around it cover the sum of both,
/// which stays the same.
fn fields(packet: &Packet, innermost: usize, sums: &mut Sums<'_>) -> Fields {
    let layers = packet.meta().layers;
    let payload = layers.levels[innermost].payload;
    let mut fields = Fields { updated: [None; 2], compensated: false };
    let mut unfinished_inside = false;
    for index in (0..=innermost).rev() {
        let level = layers.levels[index];
        let (udp, field_at) = match level.l4_kind {
            L4::Tcp => (false, TcpHeader::CHECKSUM_AT),
            L4::Udp => (true, UdpHeader::CHECKSUM_AT),
            L4::Other | L4::None => continue,
        };
        let at = usize::from(level.l4) + field_at;
        let absent = packet.data().get(at..at + 2).is_none_or(|field| udp && field == [0, 0]);
        let state = packet.meta().l4[index];
        if absent {
            continue;
        }
        if state == Csum::Partial {
            // It holds the sum of the pseudo header; those around it were made as if it were finished.
            return fields;
        }
        if state == Csum::Unknown && is_unfinished(packet, index, unfinished_inside, sums) {
            unfinished_inside = true;
            continue;
        }
        let before = usize::from(payload.saturating_sub(level.l4));
        fields.updated[index] = Some(Field { at, udp, before });
        fields.compensated = true;
        return fields;
    }
    fields
}

/// Whether a checksum nobody vouches for was left to be finished by somebody else, so that it says nothing of
/// the payload: it looks so, or one inside of it does, and it is not right as it stands.
fn is_unfinished(packet: &Packet, level: usize, inside: bool, sums: &mut Sums<'_>) -> bool {
    let Subject::Open(scope) = subjects(packet)[level] else { return false };
    (inside || scope.looks_partial()) && !is_right(&scope, sums)
}

fn is_right(scope: &Scope, sums: &mut Sums<'_>) -> bool {
    (scope.pseudo() + sums.range(scope.from, scope.to)).is_valid()
}
