//! May this UDP datagram join that merge?
//!
//! All datagrams but the last have the length of the first: that is what a device can cut again (USO). There
//! are no sequence numbers, so order is that of arrival.

use super::counters::Ended;
use super::held::{Answer, Bounds, Held};
use super::network::same_headers;
use super::segment::Segment;

/// Whether a datagram can be followed by others.
pub(super) fn can_lead(segment: &Segment) -> bool {
    !segment.padded
}

/// Asks for a datagram of the same flow, whose frame starts with `data`.
pub(super) fn question(held: &Held, segment: &Segment, data: &[u8], bounds: &Bounds) -> Answer {
    let ids = if same_headers(held, segment, data) { held.ids_with(segment, data) } else { None };
    let Some(ids) = ids else { return Answer::Split(Ended::Header) };
    if segment.payload > held.first.payload || held.is_full_for(segment, bounds) {
        return Answer::Split(Ended::Size);
    }
    if segment.payload < held.first.payload || segment.padded {
        Answer::JoinLast(ids, Ended::Short)
    } else if held.train.head().segments() + 1 >= bounds.datagrams {
        Answer::JoinLast(ids, Ended::Size)
    } else {
        Answer::Join(ids)
    }
}
