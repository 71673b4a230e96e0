//! Writing packets to a capture: each its bytes, its receive time, and its length on the wire.
//!
//! A packet that is not a finished frame - a superpacket, a checksum still partial - is not written, since the
//! file could not tell; it is counted as a loss. So are packets from the first failed write on, which ends in
//! the queue's error, and those in front of it that were still in the buffer: a packet is a frame on the wire
//! for sure once the system has taken it whole. What the system took of a buffer in part is not known, and is
//! counted as lost: a file on a full disk may hold some frames more than the report says, never fewer. Whether
//! the disk keeps what the system took is not asked. Packets are booked as transmitted: for the pipeline they have left.

use super::failure;
use crate::capture::{CaptureError, CaptureWriter, TOOL_LIMIT};
use corelane_runtime::packet::{Burst, Csum, Packet};
use corelane_runtime::port::{Direction, QueueReport, TxQueue};
use corelane_runtime::stage::StageContext;

pub(super) struct PcapTx {
    /// `None` once it is finished or has failed.
    writer: Option<CaptureWriter>,
    unfinished: u64,
    write_errors: u64,
    report: QueueReport,
}

impl PcapTx {
    pub(super) fn new(port: &str, writer: CaptureWriter) -> PcapTx {
        let report = QueueReport::new(port, Direction::Tx);
        PcapTx { writer: Some(writer), unfinished: 0, write_errors: 0, report }
    }

    fn send(&mut self, packet: &Packet) {
        self.report.packets += 1;
        self.report.bytes += u64::from(packet.len());
        if packet.is_super() || packet.meta().l4.contains(&Csum::Partial) {
            self.unfinished += 1;
            return;
        }
        let Some(writer) = &mut self.writer else {
            self.write_errors += 1;
            return;
        };
        let orig_len = if packet.is_cut() { packet.meta().orig_len } else { packet.len() };
        match writer.write(packet.time(), orig_len, packet.parts(), packet.len()) {
            Ok(()) => self.report.wire_packets += 1,
            Err(error) => {
                self.write_errors += 1;
                self.close(Some(&error));
            }
        }
    }

    /// Writes out the buffer, books what did not leave it as lost, and remembers the first failure.
    fn close(&mut self, failed: Option<&CaptureError>) {
        let Some(mut writer) = self.writer.take() else { return };
        let flushed = writer.flush().err();
        if let Some(error) = failed.or(flushed.as_ref()) {
            self.report.error.get_or_insert_with(|| failure(&self.report.port, error));
        }
        let lost = self.report.wire_packets.saturating_sub(writer.handed_over());
        self.report.wire_packets -= lost;
        self.write_errors += lost;
    }
}

impl TxQueue for PcapTx {
    fn tx(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.send(&packet);
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    }

    fn finish(&mut self) {
        let Some(writer) = &self.writer else { return };
        let (port, path) = (&self.report.port, writer.path().display());
        let (long, late) = (writer.over_tool_limit(), writer.clamped_times());
        if long > 0 {
            tracing::warn!(
                port, %path, long,
                "records above {TOOL_LIMIT} bytes, which tcpdump and tshark do not read; \
                 record shorter frames, or cut with `Gso` before `Tx`"
            );
        }
        if late > 0 {
            tracing::warn!(port, %path, late, "times behind 2106 do not fit pcap; write .pcapng");
        }
        self.close(None);
    }

    fn report(&self) -> QueueReport {
        let drops = [("unsupported_request", self.unfinished), ("write_error", self.write_errors)];
        let drops = drops.into_iter().filter(|&(_, count)| count > 0).collect();
        QueueReport { drops, ..self.report.clone() }
    }
}
