//! Frames of an emulated NIC from and to capture files: what it receives is read before the run, what it sends is kept
//! and written at the end of it.
//!
//! It promises that a file that cannot be read or created stops the run before it begins, and that what was sent is
//! written in the order of time where that leaves each queue its own. It holds all of it in memory: it is there to show and to
//! compare what hardware would make of a capture, not for long runs.

use corelane_device::Emulated;
use corelane_device::capture::{CaptureError, CaptureFile, CaptureWriter, Format};
use corelane_device::emulated::{Collector, Frame};
use corelane_runtime::offload::PortCaps;
use corelane_runtime::packet::Burst;
use corelane_runtime::port::{Port, QueueReport, RxQueue, TxQueue};
use corelane_runtime::stage::StageContext;
use corelane_runtime::{Error, Time};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Every frame of a capture, and the file: as long as it is held, nobody here writes over it.
///
/// # Errors
/// Where it cannot be read to its end.
pub(super) fn read(port: &str, path: &str) -> Result<(Vec<Frame>, CaptureFile), Error> {
    let wrong = |error: CaptureError| Error::user(format!("port {port}"), error.to_string());
    let mut file = CaptureFile::open(path).map_err(wrong)?;
    let mut records = file.records();
    let mut frames = Vec::new();
    while let Some(record) = records.next_record() {
        let record = record.map_err(wrong)?;
        frames.push(Frame::cut(record.time_ns, record.data.to_vec(), record.orig_len));
    }
    Ok((frames, file))
}

/// A NIC beside the capture that it receives.
pub(super) struct Reading {
    pub(super) nic: Box<dyn Port>,
    pub(super) _file: CaptureFile,
}

impl Port for Reading {
    fn caps(&self) -> Arc<PortCaps> {
        self.nic.caps()
    }

    fn open_rx(&mut self) -> Result<Box<dyn RxQueue>, Error> {
        self.nic.open_rx()
    }

    fn open_tx(&mut self) -> Result<Box<dyn TxQueue>, Error> {
        self.nic.open_tx()
    }
}

/// A NIC whose sent frames are written to a file.
pub(super) struct Recorded {
    nic: Emulated,
    shared: Arc<Shared>,
}

/// What the transmit queues have in common.
struct Shared {
    sent: Collector,
    /// Queues that have not finished.
    open: AtomicUsize,
    writer: Mutex<Option<CaptureWriter>>,
}

impl Recorded {
    /// `sent` is where `nic` keeps what it sends.
    ///
    /// # Errors
    /// Where the file cannot be created.
    pub(super) fn new(
        port: &str,
        nic: Emulated,
        sent: Collector,
        path: &str,
    ) -> Result<Recorded, Error> {
        let wrong = |error: CaptureError| Error::user(format!("port {port}"), error.to_string());
        let writer = CaptureWriter::create(path, Format::from_path(path).map_err(wrong)?);
        let writer = Mutex::new(Some(writer.map_err(wrong)?));
        Ok(Recorded { nic, shared: Arc::new(Shared { sent, open: AtomicUsize::new(0), writer }) })
    }
}

impl Port for Recorded {
    fn caps(&self) -> Arc<PortCaps> {
        self.nic.caps()
    }

    fn open_rx(&mut self) -> Result<Box<dyn RxQueue>, Error> {
        self.nic.open_rx()
    }

    fn open_tx(&mut self) -> Result<Box<dyn TxQueue>, Error> {
        let queue = self.nic.open_tx()?;
        self.shared.open.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Queue { queue, shared: Some(Arc::clone(&self.shared)), error: None }))
    }
}

/// A transmit queue; the last to finish writes the file.
struct Queue {
    queue: Box<dyn TxQueue>,
    /// `None` once it has finished.
    shared: Option<Arc<Shared>>,
    error: Option<Error>,
}

impl TxQueue for Queue {
    fn tx(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        self.queue.tx(burst, ctx);
    }

    fn retry_at(&self) -> Option<Time> {
        self.queue.retry_at()
    }

    fn finish(&mut self) {
        self.queue.finish();
        // The others' frames are seen by whoever comes last.
        let last = |shared: &Arc<Shared>| shared.open.fetch_sub(1, Ordering::AcqRel) == 1;
        if let Some(shared) = self.shared.take().filter(last)
            && let Err(error) = shared.write()
        {
            let port = self.queue.report().port;
            self.error = Some(Error::system(format!("port {port}"), error.to_string()));
        }
    }

    fn report(&self) -> QueueReport {
        let report = self.queue.report();
        QueueReport { error: report.error.clone().or_else(|| self.error.clone()), ..report }
    }
}

/// The frames of all queues: of those in front, the oldest comes next, so that no queue's order is changed.
fn in_turn(queues: Vec<Vec<Frame>>) -> Vec<Frame> {
    let mut queues: Vec<_> = queues.into_iter().map(|queue| queue.into_iter().peekable()).collect();
    let mut frames = Vec::new();
    loop {
        let fronts = queues.iter_mut().enumerate();
        let fronts = fronts.filter_map(|(at, queue)| queue.peek().map(|frame| (frame.time_ns, at)));
        let Some((_, at)) = fronts.min() else { return frames };
        frames.extend(queues[at].next());
    }
}

impl Shared {
    fn write(&self) -> Result<(), CaptureError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut writer) = writer else { return Ok(()) };
        for frame in &in_turn(self.sent.take_queues()) {
            let bytes = std::iter::once(frame.data.as_slice());
            writer.write(frame.time_ns, frame.orig_len, bytes, frame.data.len() as u32)?;
        }
        writer.finish()
    }
}
