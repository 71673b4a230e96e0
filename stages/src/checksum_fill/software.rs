//! Computing a checksum that was put off: at header cost where the payload's sum is known.
//!
//! It promises that a packet it cannot finish now is as it was, and that the payload is read at most once.

use super::hardware::{Action, covered_end};
use super::{IPV4, REUSED, SUMMED};
use crate::checksum_validate::scope::{Subject, subjects};
use crate::payload::{Sums, sum_of};
use corelane_runtime::packet::{Buffers, Csum, L3, L4, Packet, Partial, SMALL_ROOM};
use corelane_runtime::stage::StageContext;
use corelane_sum::Sum;

/// Why a packet was not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// There is no buffer for a header of its own: again later.
    Wait,
    /// Nobody can: bytes are missing, or offsets lie outside the headers.
    Impossible,
}

/// Does what `action` says.
pub(super) fn fill(
    packet: &mut Packet,
    action: Action,
    ctx: &mut StageContext<'_>,
) -> Result<(), Unfinished> {
    let inner = usize::from(packet.meta().l4[1] == Csum::Partial);
    let l4 = action.intersects(Action::L4 | Action::OUTER);
    let possible = (0..=inner).all(|index| is_possible(packet, index));
    if l4 && !(possible && is_nested(packet)) {
        return Err(Unfinished::Impossible);
    }
    own_headers(packet, ctx.buffers)?;
    if action.contains(Action::IPV4) {
        fill_ipv4(packet, ctx)?;
    }
    let mut payload = None;
    if action.contains(Action::L4) {
        payload = fill_l4(packet, inner, None, ctx)?;
    }
    if action.contains(Action::OUTER) {
        fill_l4(packet, 0, payload, ctx)?;
    }
    Ok(())
}

/// Whether a level's request, if it has one, lies within headers that are there.
fn is_possible(packet: &Packet, index: usize) -> bool {
    let meta = packet.meta();
    if meta.l4[index] != Csum::Partial {
        return true;
    }
    let Partial { start, field } = meta.partial[index];
    let end = covered_end(packet, index);
    let ordered = start <= field && u32::from(field) + 2 <= end;
    ordered && end <= packet.len() && u32::from(field) + 2 <= SMALL_ROOM && !packet.is_cut()
}

/// Whether, of two requests, what the inner one covers lies within what the outer one covers.
fn is_nested(packet: &Packet) -> bool {
    let meta = packet.meta();
    let [outer, inner] = meta.partial;
    let within = outer.start <= inner.start && covered_end(packet, 1) <= covered_end(packet, 0);
    within || meta.l4 != [Csum::Partial; 2]
}

/// Makes all headers contiguous and writable.
fn own_headers(packet: &mut Packet, buffers: &mut Buffers) -> Result<(), Unfinished> {
    let meta = packet.meta();
    let payload = meta.layers.innermost().map_or(0, |level| u32::from(level.payload));
    let fields = meta.l4.iter().zip(&meta.partial).filter(|(state, _)| **state == Csum::Partial);
    let last = fields.map(|(_, partial)| u32::from(partial.field) + 2).max().unwrap_or(0);
    let headers = payload.max(last).min(packet.len()).min(SMALL_ROOM);
    packet.make_header_unique(headers, buffers).map_err(|_| Unfinished::Wait)
}

fn fill_ipv4(packet: &mut Packet, ctx: &mut StageContext<'_>) -> Result<(), Unfinished> {
    let layers = packet.meta().layers;
    for (index, level) in layers.levels.iter().enumerate().take(usize::from(layers.count)) {
        if level.l3_kind != L3::V4 || packet.meta().l3[index] != Csum::Partial {
            continue;
        }
        let l3 = usize::from(level.l3);
        let data = packet.data_mut().ok_or(Unfinished::Impossible)?;
        let len = usize::from(data.get(l3).ok_or(Unfinished::Impossible)? & 0x0f) * 4;
        let header = data.get_mut(l3..l3 + len.max(20)).ok_or(Unfinished::Impossible)?;
        header[10..12].fill(0);
        let checksum = Sum::of(header).checksum();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.meta_mut().l3[index] = Csum::Good;
        ctx.count(IPV4, 1);
    }
    Ok(())
}

/// Finishes the checksum of a level; `payload` is the payload's sum where it was just computed. Returns it.
fn fill_l4(
    packet: &mut Packet,
    index: usize,
    payload: Option<Sum>,
    ctx: &mut StageContext<'_>,
) -> Result<Option<Sum>, Unfinished> {
    let Partial { start, field } = packet.meta().partial[index];
    let end = covered_end(packet, index);
    let mut sums = Sums::resume(packet, payload);
    if index == 0 && sums.payload().is_none() {
        from_inner(packet, &mut sums);
    }
    let sum = match unfinished_inside(packet, index) {
        Some(inner) => around(packet, u32::from(start), inner),
        None => sums.range(u32::from(start), end),
    };
    let (read, payload) = (sums.read(), sums.payload());
    ctx.payload_summed(read);
    ctx.count(if read > 0 { SUMMED } else { REUSED }, 1);
    let udp = packet.meta().layers.levels[index].l4_kind == L4::Udp;
    let checksum = if udp { sum.udp_checksum() } else { sum.checksum() };
    let field = usize::from(field);
    let bytes = packet.data_mut().and_then(|data| data.get_mut(field..field + 2));
    bytes.ok_or(Unfinished::Impossible)?.copy_from_slice(&checksum.to_be_bytes());
    packet.meta_mut().l4[index] = Csum::Good;
    if let Some(sum) = payload
        && read > 0
        && packet.pieces().count() <= 1
    {
        packet.set_payload_sum(sum.fold());
    }
    Ok(payload)
}

/// Derives the payload's sum from an inner checksum that is known to be right: what it covers and its pseudo header
/// add up to zero.
fn from_inner(packet: &Packet, sums: &mut Sums<'_>) {
    if packet.meta().l4[1] == Csum::Good
        && let Subject::Open(scope) = subjects(packet)[1]
        && scope.usual
    {
        sums.derive(scope.from, scope.to, Sum::ZERO - scope.pseudo());
    }
}

/// The inner level, where it stays partial inside of `index`.
fn unfinished_inside(packet: &Packet, index: usize) -> Option<usize> {
    (index == 0 && packet.meta().l4[1] == Csum::Partial).then_some(1)
}

/// The sum from `start` on as it will be when the port has finished the checksum of level `inner`: the bytes
/// that one covers then add up to the complement of the pseudo-header sum, which its field holds now. They
/// are the last of the datagram, else the checksum would not have been left to the port.
fn around(packet: &Packet, start: u32, inner: usize) -> Sum {
    let Partial { start: inner_start, field } = packet.meta().partial[inner];
    let (inner_start, field) = (u32::from(inner_start), usize::from(field));
    let seed = packet.data().get(field..field + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    let before = sum_of(packet, start, inner_start);
    before.then((inner_start - start) as usize, Sum::from_u16(!seed))
}
