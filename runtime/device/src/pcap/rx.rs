//! Reading a capture into packets.
//!
//! Every record becomes one packet with its time and its length on the wire; a record for which there is no
//! buffer is read again later. A damaged place ends the queue with an error, behind the records before it. In a
//! file read again and again times go on growing, by the file's span each time. It keeps no pace.

use super::failure;
use crate::capture::{CaptureFile, Position, Record};
use crate::headers::flow_hash;
use crate::receive::{TOO_LARGE, can_ever_hold};
use crate::shares::Share;
use corelane_runtime::Time;
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::port::{Direction, QueueReport, RxQueue};
use corelane_runtime::stage::{Progress, StageContext};

/// Records one call may pass over, so that a queue with few of them does not keep its core.
const LOOK_AT: usize = 4096;

pub(super) struct PcapRx {
    file: CaptureFile,
    share: Share,
    repeat: bool,
    position: Position,
    lap: Lap,
    too_large: u64,
    report: QueueReport,
}

/// One reading of the whole file.
#[derive(Clone, Copy, Debug)]
struct Lap {
    /// Added to the times of its records.
    shift: Time,
    /// Earliest time in it so far, as the file has it.
    first: Time,
    /// Latest time in it so far, as the file has it.
    last: Time,
    /// Whether a record of it became a packet.
    gave: bool,
}

impl Lap {
    fn starting(shift: Time) -> Lap {
        Lap { shift, first: Time::MAX, last: 0, gave: false }
    }

    fn saw(&mut self, time: Time) {
        self.first = self.first.min(time);
        self.last = self.last.max(time);
    }

    fn next(&self) -> Lap {
        let span = self.last.saturating_sub(self.first).saturating_add(1);
        Lap::starting(self.shift.saturating_add(span))
    }
}

/// What a look at the file came to.
enum Found {
    Packet(Packet),
    /// Another queue's record, one that no packet can be made of, or the end of a lap.
    Other,
    NoBuffer,
    End,
}

impl PcapRx {
    pub(super) fn new(port: &str, file: CaptureFile, repeat: bool, share: Share) -> PcapRx {
        PcapRx {
            file,
            share,
            repeat,
            position: Position::default(),
            lap: Lap::starting(0),
            too_large: 0,
            report: QueueReport::new(port, Direction::Rx),
        }
    }

    /// Looks at the next record, and goes past it unless there is no buffer for it.
    fn step(&mut self, ctx: &mut StageContext<'_>) -> Found {
        let mut after = self.position;
        let record = match self.file.next_at(&mut after) {
            Some(Ok(record)) => record,
            Some(Err(error)) => {
                self.report.error = Some(failure(&self.report.port, &error));
                // The position stays in front of the damage: the queue has ended, repeated or not.
                return Found::End;
            }
            None => return self.end_of_lap(),
        };
        self.lap.saw(record.time_ns);
        let found = if !self.share.has_all() && !self.share.has(flow_hash(record.data)) {
            Found::Other
        } else if can_ever_hold(record.data.len(), ctx.buffers) {
            receive(&record, self.lap.shift, ctx)
        } else {
            self.too_large += 1;
            self.report.wire_packets += 1;
            Found::Other
        };
        if !matches!(found, Found::NoBuffer) {
            self.position = after;
        }
        found
    }

    fn end_of_lap(&mut self) -> Found {
        // A file, or a share of it, that gives nothing gives nothing the next time.
        if !self.repeat || !self.lap.gave {
            return Found::End;
        }
        self.lap = self.lap.next();
        self.position = Position::default();
        Found::Other
    }
}

fn receive(record: &Record<'_>, shift: Time, ctx: &mut StageContext<'_>) -> Found {
    let Some(mut packet) = ctx.buffers.receive(record.data) else { return Found::NoBuffer };
    packet.set_time(record.time_ns.saturating_add(shift));
    // Some writers leave the length on the wire out, or shorter than what they captured.
    packet.meta_mut().orig_len = record.orig_len.max(packet.len());
    Found::Packet(packet)
}

impl RxQueue for PcapRx {
    fn rx(&mut self, burst: &mut Burst, budget: usize, ctx: &mut StageContext<'_>) -> Progress {
        let budget = budget.min(burst.room());
        let mut handed = 0;
        for _ in 0..LOOK_AT {
            if handed == budget {
                break;
            }
            match self.step(ctx) {
                Found::Packet(packet) => {
                    handed += 1;
                    self.lap.gave = true;
                    self.report.packets += 1;
                    self.report.wire_packets += 1;
                    self.report.bytes += u64::from(packet.len());
                    let refused = burst.push(packet);
                    debug_assert!(refused.is_ok(), "the budget exceeds the room of the burst");
                }
                Found::Other => {}
                Found::NoBuffer if handed == 0 => return Progress::Starved,
                Found::End if handed == 0 => return Progress::Done,
                Found::NoBuffer | Found::End => break,
            }
        }
        // Nothing, in so many records: look on at once, but let others have the core in between.
        if handed == 0 { Progress::Idle(Some(ctx.now)) } else { Progress::Worked(handed) }
    }

    fn report(&self) -> QueueReport {
        let mut report = self.report.clone();
        if self.too_large > 0 {
            report.drops.push((TOO_LARGE, self.too_large));
        }
        report
    }
}
