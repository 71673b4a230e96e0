//! A receive queue of an emulated NIC: frames become packets, with what the hardware found out about them.
//!
//! A frame for which there is no buffer stays where it is. A frame that the pool could never hold is counted
//! as the device's loss. Where headers are is not told: a NIC does not, the stages look for themselves.

use super::faults::{Faults, Lies, ToFail};
use super::join::Table;
use super::traffic::{Feed, Next, Shared};
use crate::headers::Parses;
use crate::receive::{TOO_LARGE, can_ever_hold};
use crate::shares::Share;
use corelane_runtime::Time;
use corelane_runtime::offload::{Caps, PortCaps};
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::port::{Direction, QueueReport, RxQueue};
use corelane_runtime::stage::{Progress, StageContext};
use std::sync::Arc;

/// Frames that one call with hardware GRO may look at, so that a call ends.
const JOIN_WINDOW: usize = 64;

pub(super) struct EmulatedRx {
    caps: Arc<PortCaps>,
    lies: Lies,
    /// What it looks into, whatever it may no longer tell of it.
    parses: Parses,
    to_fail: ToFail,
    traffic: Shared,
    share: Share,
    /// Made when the queue is polled first, since only then all queues are open.
    feed: Option<Feed>,
    table: Table,
    too_large: u64,
    report: QueueReport,
}

/// Why taking frames or packets ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Budget,
    NotBefore(Time),
    NoMore,
    NoBuffer,
}

impl EmulatedRx {
    pub(super) fn new(
        caps: Arc<PortCaps>,
        faults: &Faults,
        traffic: Shared,
        share: Share,
    ) -> EmulatedRx {
        let report = QueueReport::new(&caps.port, Direction::Rx);
        let (lies, table) = (faults.lies, Table::default());
        let parses = Parses::of(caps.facts.granted, &caps.facts.limits);
        let to_fail = ToFail::new(faults, super::RX, "no longer reports");
        EmulatedRx {
            caps,
            lies,
            parses,
            to_fail,
            traffic,
            share,
            feed: None,
            table,
            too_large: 0,
            report,
        }
    }

    /// Frame by frame.
    fn receive_each(
        &mut self,
        burst: &mut Burst,
        budget: usize,
        ctx: &mut StageContext<'_>,
        caps: Caps,
    ) -> End {
        let feed =
            self.feed.get_or_insert_with(|| Feed::new(&self.traffic, &self.share, &self.parses));
        for _ in 0..budget {
            let arrival = match feed.peek(caps, ctx.now) {
                Next::Frame(arrival) => arrival,
                Next::NotBefore(time) => return End::NotBefore(time),
                Next::End => return End::NoMore,
            };
            if !can_ever_hold(arrival.bytes.len(), ctx.buffers) {
                self.too_large += 1;
                self.report.wire_packets += 1;
                feed.advance();
                continue;
            }
            let Some(mut packet) = ctx.buffers.receive(arrival.bytes) else {
                return End::NoBuffer;
            };
            packet.set_time(arrival.time);
            packet.meta_mut().orig_len = arrival.orig_len;
            arrival.findings.report(caps, self.lies, packet.meta_mut());
            feed.advance();
            hand_over(packet, 1, burst, &mut self.report);
        }
        End::Budget
    }

    /// Takes in frames and joins them, until a packet more would exceed `budget`.
    fn join(&mut self, budget: usize, ctx: &StageContext<'_>, caps: Caps) -> End {
        let feed =
            self.feed.get_or_insert_with(|| Feed::new(&self.traffic, &self.share, &self.parses));
        for _ in 0..JOIN_WINDOW {
            let arrival = match feed.peek(caps, ctx.now) {
                Next::Frame(arrival) => arrival,
                Next::NotBefore(time) => return End::NotBefore(time),
                Next::End => return End::NoMore,
            };
            if !self.table.try_join(&arrival) {
                if self.table.len() >= budget {
                    return End::Budget;
                }
                self.table.begin(&arrival);
            }
            feed.advance();
        }
        End::Budget
    }

    /// Delivers what was joined, oldest first.
    fn deliver(
        &mut self,
        burst: &mut Burst,
        budget: usize,
        ctx: &mut StageContext<'_>,
        caps: Caps,
    ) -> End {
        for _ in 0..budget {
            let Some(joined) = self.table.first() else { return End::NoMore };
            if !can_ever_hold(joined.bytes.len(), ctx.buffers) {
                self.too_large += u64::from(joined.segments());
                self.report.wire_packets += u64::from(joined.segments());
                self.table.pop();
                continue;
            }
            let Some(mut packet) = ctx.buffers.receive(&joined.bytes) else { return End::NoBuffer };
            joined.mark(&mut packet, |findings, meta| findings.report(caps, self.lies, meta));
            let segments = joined.segments();
            self.table.pop();
            hand_over(packet, segments, burst, &mut self.report);
        }
        End::Budget
    }
}

/// Puts a packet into the burst, which has room: the budget was cut to it.
fn hand_over(packet: Packet, frames: u16, burst: &mut Burst, report: &mut QueueReport) {
    report.packets += 1;
    report.bytes += u64::from(packet.len());
    report.wire_packets += u64::from(frames);
    let refused = burst.push(packet);
    debug_assert!(refused.is_ok(), "the budget exceeds the room of the burst");
}

impl RxQueue for EmulatedRx {
    fn rx(&mut self, burst: &mut Burst, budget: usize, ctx: &mut StageContext<'_>) -> Progress {
        while let Some((lost, why)) = self.to_fail.next(ctx.now, self.report.packets) {
            self.caps.demote_because(lost, &why);
        }
        let budget = budget.min(burst.room()).min(self.to_fail.left(self.report.packets));
        let caps = self.caps.effective();
        let joins = caps.contains(Caps::RX_HW_GRO);
        let before = self.report.packets;
        let mut source = if joins { self.join(budget, ctx, caps) } else { End::Budget };
        self.table.close();
        // Packets of an earlier call may wait, even if nothing is joined any more.
        let mut end = self.deliver(burst, budget, ctx, caps);
        let handed = (self.report.packets - before) as usize;
        if !joins && end == End::NoMore {
            source = self.receive_each(burst, budget - handed, ctx, caps);
            end = source;
        }
        match ((self.report.packets - before) as usize, end, source) {
            (0, End::NoBuffer, _) => Progress::Starved,
            (0, End::NoMore, End::NoMore) => Progress::Done,
            (0, _, End::NotBefore(time)) => Progress::Idle(Some(time)),
            // Nothing but frames that could not be held: look again at once.
            (0, _, _) => Progress::Idle(Some(ctx.now)),
            (handed, _, _) => Progress::Worked(handed),
        }
    }

    fn report(&self) -> QueueReport {
        let mut report = self.report.clone();
        if self.too_large > 0 {
            report.drops.push((TOO_LARGE, self.too_large));
        }
        report
    }
}
