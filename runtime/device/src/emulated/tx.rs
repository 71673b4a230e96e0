//! A transmit queue of an emulated NIC: packets become frames on the wire.
//!
//! The hardware's work is done only where frames are kept. A stalled queue takes nothing and says until when.
//! A packet it cannot send is counted as the device's loss, by name, and booked as transmitted: for the
//! pipeline it has left. What needs a unit that has failed is no such packet: it stays in the burst, with all
//! behind it, for whoever finds another way.

use super::faults::{Faults, Lies, Stall, ToFail};
use super::frame::{Collector, Frame, Sink};
use super::request::{Granted, Refusal, Refusals, Work, asks};
use super::{finish, segment};
use crate::headers::Parses;
use corelane_runtime::Time;
use corelane_runtime::offload::{Caps, PortCaps};
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::port::{Direction, QueueReport, TxQueue};
use corelane_runtime::stage::StageContext;
use std::sync::Arc;

/// Bytes in which all headers lie that a device reads.
const FRONT: u32 = 1024;

pub(super) struct EmulatedTx {
    /// What the device can do, whatever others have taken away since: a packet finished for it before a
    /// demotion still leaves.
    granted: Granted,
    caps: Arc<PortCaps>,
    to_fail: ToFail,
    /// Units that have failed, and the words that is told in.
    failed: Vec<(Caps, Arc<str>)>,
    never_fails: bool,
    queue: usize,
    wire: Option<Wire>,
    stall: Stall,
    per_call: usize,
    refusals: Arc<Refusals>,
    refused: [u64; Refusal::ALL.len()],
    stalled_until: Option<Time>,
    /// First bytes of the packet looked at, or all of them.
    front: Vec<u8>,
    report: QueueReport,
}

/// The way to a sink that keeps frames.
struct Wire {
    collector: Collector,
    lies: Lies,
    /// Frames of the current call.
    frames: Vec<Frame>,
    /// End of each part of the current packet, and its time.
    parts: Vec<(usize, Time)>,
}

impl EmulatedTx {
    pub(super) fn new(
        caps: &Arc<PortCaps>,
        queue: usize,
        sink: &Sink,
        faults: &Faults,
        refusals: Arc<Refusals>,
    ) -> EmulatedTx {
        let wire = match sink {
            Sink::Discard => None,
            Sink::Collect(collector) => Some(Wire {
                collector: collector.clone(),
                lies: faults.lies,
                frames: Vec::new(),
                parts: Vec::new(),
            }),
        };
        let (granted, limits) = (caps.facts.granted, caps.facts.limits);
        let parses = Parses::of(granted, &limits);
        EmulatedTx {
            granted: Granted { caps: granted, limits, parses },
            caps: Arc::clone(caps),
            to_fail: ToFail::new(faults, !super::RX, "refuses"),
            failed: Vec::with_capacity(faults.fail.len()),
            never_fails: faults.fail.is_empty(),
            queue,
            wire,
            stall: faults.stall.clone(),
            per_call: faults.packets_per_call.unwrap_or(usize::MAX).max(1),
            refusals,
            refused: [0; Refusal::ALL.len()],
            stalled_until: None,
            front: Vec::with_capacity(FRONT as usize),
            report: QueueReport::new(&caps.port, Direction::Tx),
        }
    }

    /// Sends or loses a packet. False: it needs a unit that has failed, and nothing was done.
    fn send(&mut self, packet: &Packet, now: Time) -> bool {
        let request = self.read(packet);
        if !self.never_fails && request.is_ok() && !self.still_does(packet, now) {
            return false;
        }
        self.report.packets += 1;
        self.report.bytes += u64::from(packet.len());
        match request {
            Err(refusal) => {
                self.refusals.count(refusal);
                self.refused[refusal as usize] += 1;
            }
            Ok(work) => {
                self.report.wire_packets += match work {
                    Work::Cut(cut) => cut.segments as u64,
                    Work::Nothing | Work::Finish(_) => 1,
                };
                if let Some(wire) = &mut self.wire {
                    wire.send(packet, work, &mut self.front);
                }
            }
        }
        true
    }

    /// Whether what was granted when the port was opened, and is asked for here, still works. If not, the port
    /// loses it.
    fn still_does(&mut self, packet: &Packet, now: Time) -> bool {
        self.failed.extend(self.to_fail.next(now, self.report.packets));
        let mut left = self.granted;
        for (number, (lost, _)) in self.failed.iter().enumerate() {
            left.caps = (left.caps - *lost).without_orphans();
            if left.read(packet, &self.front).is_err() {
                for (lost, why) in &self.failed[..=number] {
                    self.caps.demote_because(*lost, why);
                }
                return false;
            }
        }
        true
    }

    /// Reads the request; with a wire behind it, the whole packet is in `front` then.
    fn read(&mut self, packet: &Packet) -> Result<Work, Refusal> {
        self.front.clear();
        let asks = packet.is_super() || asks(packet);
        if let Some(wire) = &mut self.wire {
            wire.parts.clear();
            for (bytes, time) in packet.timed_parts() {
                self.front.extend_from_slice(bytes);
                wire.parts.push((self.front.len(), time));
            }
        } else if asks || self.granted.limits.mtu.is_some() {
            packet.slices(0, FRONT).for_each(|bytes| self.front.extend_from_slice(bytes));
        }
        self.granted.read(packet, &self.front)
    }
}

impl EmulatedTx {
    fn send_all(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        for packet in burst.drain().take(self.per_call) {
            self.send(&packet, ctx.now);
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    }

    /// Up to the first packet that asks for what has failed; it stays, untouched.
    fn send_while_it_works(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        for _ in 0..self.per_call {
            if !burst.first().is_some_and(|packet| self.send(packet, ctx.now)) {
                return;
            }
            let Some(packet) = burst.pop() else { return };
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    }
}

impl Wire {
    /// Does the work and puts the frames on the wire; `frame` holds all bytes of the packet.
    fn send(&mut self, packet: &Packet, work: Work, frame: &mut [u8]) {
        match work {
            Work::Nothing => self.send_whole(packet, frame),
            Work::Finish(request) => {
                finish::finish(frame, &request, self.lies);
                self.send_whole(packet, frame);
            }
            Work::Cut(request) => {
                let Wire { lies, frames, parts, .. } = self;
                segment::cut(frame, &request, *lies, |bytes, from| {
                    // The first keeps the time of the packet, each other that of the part it begins in.
                    let part = parts.iter().find(|&&(end, _)| from < end);
                    let first = from == request.payload;
                    let time = part.filter(|_| !first).map_or(packet.time(), |&(_, time)| time);
                    frames.push(Frame::new(time, bytes));
                });
            }
        }
    }

    fn send_whole(&mut self, packet: &Packet, frame: &[u8]) {
        let orig_len = if packet.is_cut() { packet.meta().orig_len } else { packet.len() };
        self.frames.push(Frame::cut(packet.time(), frame.to_vec(), orig_len));
    }
}

impl TxQueue for EmulatedTx {
    fn tx(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        self.stalled_until = self.stall.until(ctx.now);
        if self.stalled_until.is_some() {
            return;
        }
        match self.never_fails {
            true => self.send_all(burst, ctx),
            false => self.send_while_it_works(burst, ctx),
        }
        if let Some(wire) = &mut self.wire {
            wire.collector.add(self.queue, &mut wire.frames);
        }
    }

    fn retry_at(&self) -> Option<Time> {
        self.stalled_until
    }

    fn finish(&mut self) {}

    fn report(&self) -> QueueReport {
        let mut report = self.report.clone();
        for (refusal, &count) in Refusal::ALL.iter().zip(&self.refused) {
            let name = refusal.drop_name();
            match report.drops.iter_mut().find(|(known, _)| *known == name) {
                _ if count == 0 => {}
                Some((_, total)) => *total += count,
                None => report.drops.push((name, count)),
            }
        }
        report
    }
}
