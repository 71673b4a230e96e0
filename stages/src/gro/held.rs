//! A merge in progress: the packet that grows, and what the next segment must be like.
//!
//! It promises that the first packet's bytes stay as they came until the merge leaves: one that stays alone
//! leaves bit-identical. It decides nothing; `tcp` and `udp` do.

use super::counters::Ended;
use super::flow::FlowKey;
use super::segment::{PARTS_MAX, Segment};
use super::{tcp, tunnel};
use corelane_runtime::Time;
use corelane_runtime::packet::{SegFlags, Train};
use corelane_wire::tcp::TcpFlags;

/// How IPv4 identifications go on in a merge. The second packet decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// There is one packet, or there are no identifications.
    Open,
    /// All the same.
    Fixed,
    /// One more each time, modulo 2^16.
    Counting,
}

impl Ids {
    /// How identifications go on with one that is `step` from the first, behind `count` packets; `None` if they
    /// do not.
    pub(super) fn with(self, step: u16, count: u16) -> Option<Ids> {
        match self {
            Ids::Open if step == 0 => Some(Ids::Fixed),
            Ids::Open if step == 1 => Some(Ids::Counting),
            Ids::Fixed if step == 0 => Some(Ids::Fixed),
            Ids::Counting if step == count => Some(Ids::Counting),
            Ids::Open | Ids::Fixed | Ids::Counting => None,
        }
    }
}

/// Identifications of both levels; the outer ones are of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BothIds {
    pub(super) inner: Ids,
    pub(super) outer: Ids,
}

/// What a merge may come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Most bytes of an IP packet.
    pub(super) bytes: u32,
    /// Most TCP segments.
    pub(super) segments: u16,
    /// Most UDP datagrams.
    pub(super) datagrams: u16,
    /// Whether the TCP window must be equal.
    pub(super) compare_window: bool,
}

/// What becomes of a segment offered to a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It joins, and the merge goes on.
    Join(BothIds),
    /// It joins, and the merge ends.
    JoinLast(BothIds, Ended),
    /// It does not join, and the merge ends.
    Split(Ended),
}

/// A merge in progress.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) key: FlowKey,
    pub(super) train: Train,
    /// When its first packet was taken, ns.
    pub(super) since: Time,
    /// The first segment.
    pub(super) first: Segment,
    /// TCP sequence number that comes next.
    pub(super) next_seq: u32,
    pub(super) ids: BothIds,
    /// PSH and FIN of the last segment, which are among the low 8 flags.
    last_flags: u8,
    /// The last segment was padded.
    pub(super) padded: bool,
}

impl Held {
    #[inline]
    pub(super) fn new(key: FlowKey, first: Segment, train: Train, since: Time) -> Held {
        Held {
            key,
            train,
            since,
            first,
            next_seq: first.seq.wrapping_add(u32::from(first.payload)),
            ids: BothIds { inner: Ids::Open, outer: Ids::Open },
            last_flags: 0,
            padded: false,
        }
    }

    /// How identifications would go on with `segment`, whose frame starts with `data`, or `None` if they would not.
    pub(super) fn ids_with(&self, segment: &Segment, data: &[u8]) -> Option<BothIds> {
        let head = self.train.head();
        let step = segment.id.wrapping_sub(self.first.id);
        let inner = self.ids.inner.with(step, head.segments())?;
        let outer = match self.key.is_tunnelled() {
            true => tunnel::ids_with(self.ids.outer, head, data)?,
            false => Ids::Open,
        };
        Some(BothIds { inner, outer })
    }

    /// Whether `segment` would make the merge too large.
    pub(super) fn is_full_for(&self, segment: &Segment, bounds: &Bounds) -> bool {
        let head = self.train.head();
        let most = if self.key.is_udp() { bounds.datagrams } else { bounds.segments };
        let start = tunnel::outermost(head, &self.first);
        let datagram = head.len() - u32::from(start) + u32::from(segment.payload);
        head.segments() >= most
            || datagram > bounds.bytes
            || head.part_count() > u16::MAX - PARTS_MAX
    }

    /// Notes that `segment` was absorbed.
    pub(super) fn joined(&mut self, segment: &Segment, ids: BothIds) {
        self.ids = ids;
        self.next_seq = self.next_seq.wrapping_add(u32::from(segment.payload));
        self.last_flags = (segment.flags.bits() & tcp::LAST.bits()) as u8;
        self.padded = segment.padded;
    }

    /// TCP flags of the finished merge.
    pub(super) fn flags(&self) -> TcpFlags {
        self.first.flags | TcpFlags::from_bits(u16::from(self.last_flags))
    }

    /// How the segments of the finished merge differ from each other.
    pub(super) fn seg_flags(&self) -> SegFlags {
        let mut flags = SegFlags::BY_PARTS;
        flags.set(SegFlags::FIXED_ID, self.ids.inner == Ids::Fixed && !self.key.is_v6());
        flags.set(SegFlags::OUTER_FIXED_ID, self.ids.outer == Ids::Fixed);
        flags.set(SegFlags::CWR_ALL, self.first.flags.contains(TcpFlags::CWR));
        flags.set(SegFlags::PAD_LAST, self.padded);
        flags
    }
}
