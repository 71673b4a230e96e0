//! `Capture`: every packet is written to a pcapng file, with what is known of its checksums, and goes on.
#![doc = include_str!("README.md")]

mod comment;
mod config;
#[cfg(test)]
mod tests;

pub use config::{CaptureConfig, CaptureSpec, INFO};

use config::{AUDIT_BYTES, NOT_WRITTEN, WRITTEN};
use corelane_runtime::Time;
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::stage::{CaptureSink, Outputs, Progress, Stage, StageContext};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was written is handed to the system at the latest after this time, ns.
const FLUSH_AFTER: Time = 1_000_000_000;
/// Bytes that comments are made in, without ever needing more.
const COMMENT: usize = 512;

/// A file, and the packets that came to it.
struct File {
    sink: Box<dyn CaptureSink>,
    packets: u64,
}

/// Writes packets to a file.
pub struct Capture {
    /// Shared with the stage that takes this one's place after a panic, and with nobody else.
    file: Arc<Mutex<File>>,
    snap: u32,
    comment: String,
    /// When what was written is to be handed over.
    flush_at: Option<Time>,
}

impl Capture {
    fn new(file: Arc<Mutex<File>>, snap: u32) -> Capture {
        Capture { file, snap, comment: String::with_capacity(COMMENT), flush_at: None }
    }

    fn record(&mut self, packet: &Packet, ctx: &mut StageContext<'_>) {
        let mut file = lock(&self.file);
        file.packets += 1;
        let read = comment::write(&mut self.comment, file.packets, packet);
        let captured_len = packet.len().min(self.snap);
        let written = file.sink.write(packet, captured_len, &self.comment);
        ctx.count(if written.is_ok() { WRITTEN } else { NOT_WRITTEN }, 1);
        ctx.count(AUDIT_BYTES, read);
    }

    fn flush(&mut self) {
        self.flush_at = None;
        // Whoever opened the file reports the first failure; every packet after it is counted.
        let _ = lock(&self.file).sink.flush();
    }
}

/// A panic while a packet is written leaves a file that says itself whether it can be written on.
fn lock(file: &Mutex<File>) -> MutexGuard<'_, File> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage for Capture {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.record(&packet, ctx);
            out.next(packet);
        }
        self.flush_at.get_or_insert(ctx.now.saturating_add(FLUSH_AFTER));
    }

    fn tick(&mut self, _: &mut Outputs<'_>, _: &mut StageContext<'_>) -> Progress {
        self.flush();
        Progress::Idle(None)
    }

    fn drain(&mut self, _: &mut Outputs<'_>, _: &mut StageContext<'_>) -> Progress {
        self.flush();
        Progress::Done
    }

    fn next_deadline(&self) -> Option<Time> {
        self.flush_at
    }
}
