//! May this TCP segment join that merge?
//!
//! It promises `gso(gro(x)) == x`: a field may differ only if cutting puts it back from the rule recorded.
//! Segments are never joined out of order.

use super::counters::Ended;
use super::held::{Answer, Bounds, Held};
use super::network::{same, same_headers};
use super::segment::{Segment, WINDOW};
use corelane_wire::tcp::{TcpFlags, TcpHeader};

/// Flags that only the last segment of a merge may have, and that end it.
pub(super) const LAST: TcpFlags = TcpFlags::PSH.with(TcpFlags::FIN);

/// Whether a segment can be followed by others: if not, it need not be held.
pub(super) fn can_lead(segment: &Segment) -> bool {
    !segment.padded && !segment.flags.intersects(LAST)
}

/// Asks for a segment of the same flow, whose frame starts with `data`.
pub(super) fn question(held: &Held, segment: &Segment, data: &[u8], bounds: &Bounds) -> Answer {
    if segment.flags.without(LAST) != held.first.flags {
        return Answer::Split(Ended::Flags);
    }
    if segment.seq != held.next_seq {
        return Answer::Split(Ended::Gap);
    }
    let head = held.train.head().data();
    let same = same_headers(held, segment, data)
        && same_transport(held, segment, head, data, bounds.compare_window);
    let ids = if same { held.ids_with(segment, data) } else { None };
    let Some(ids) = ids else { return Answer::Split(Ended::Header) };
    let count = held.train.head().segments();
    if segment.payload > held.first.payload || held.is_full_for(segment, bounds) {
        return Answer::Split(Ended::Size);
    }
    if segment.flags.intersects(LAST) {
        Answer::JoinLast(ids, Ended::Push)
    } else if segment.payload < held.first.payload || segment.padded {
        Answer::JoinLast(ids, Ended::Short)
    } else if count + 1 >= bounds.segments {
        Answer::JoinLast(ids, Ended::Size)
    } else {
        Answer::Join(ids)
    }
}

/// Ports, sequence number and flags are compared already; the checksum is computed again.
fn same_transport(
    held: &Held,
    segment: &Segment,
    head: &[u8],
    data: &[u8],
    compare_window: bool,
) -> bool {
    let differing = held.first.transport ^ segment.transport;
    let counting = if compare_window { differing } else { differing & !WINDOW };
    let options = segment.places.l4 + TcpHeader::LEN as u16;
    counting == 0 && same(head, data, options, segment.places.payload)
}
