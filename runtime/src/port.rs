//! Ports: the ends of the world. A port opens receive and transmit queues; a queue fills or empties bursts.
//!
//! A port translates between a device and packets with meta. It never decides what work is done where; that
//! is settled by its [`PortCaps`] and the plan. No header is parsed here.

use crate::Error;
use crate::offload::PortCaps;
use crate::packet::Burst;
use crate::stage::{Progress, StageContext};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// One device endpoint.
pub trait Port: Send {
    /// What the device can do, shared with everyone who must know; demotion shows through it.
    fn caps(&self) -> Arc<PortCaps>;

    /// Opens the next receive queue.
    fn open_rx(&mut self) -> Result<Box<dyn RxQueue>, Error>;

    /// Opens the next transmit queue.
    fn open_tx(&mut self) -> Result<Box<dyn TxQueue>, Error>;
}

/// A receive queue, owned by one actor.
pub trait RxQueue: Send {
    /// Adds up to `budget` packets to `burst`. Where it fails for want of a buffer it returns
    /// `Progress::Starved` and nothing is lost.
    fn rx(&mut self, burst: &mut Burst, budget: usize, ctx: &mut StageContext<'_>) -> Progress;

    /// What becomes readable when there is something to receive, where the device has such a thing: a thread
    /// with nothing to do sleeps on it after an [`Progress::Idle`] without a time.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// What it counted.
    fn report(&self) -> QueueReport;
}

/// A transmit queue, owned by one actor.
pub trait TxQueue: Send {
    /// Takes packets off the front of `burst` as far as it can now, books each with
    /// [`StageContext::transmitted`] and ends it. What it leaves comes up again.
    fn tx(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>);

    /// When a queue that left packets wants to be asked again; `None`: any time.
    fn retry_at(&self) -> Option<crate::Time> {
        None
    }

    /// Writes out what is still buffered; called once, when no more packets come. Idempotent.
    fn finish(&mut self);

    /// What it counted.
    fn report(&self) -> QueueReport;
}

/// Which way packets cross a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the pipeline.
    Rx,
    /// Out of it.
    Tx,
}

/// What a queue counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// Name of the port in the description.
    pub port: String,
    /// Which way.
    pub direction: Direction,
    /// Packets handed over.
    pub packets: u64,
    /// Bytes of those packets.
    pub bytes: u64,
    /// Frames on the wire, where the device cuts or joins.
    pub wire_packets: u64,
    /// Losses inside the device, by name.
    pub drops: Vec<(&'static str, u64)>,
    /// A failure that ended the queue early.
    pub error: Option<Error>,
}

impl QueueReport {
    /// An empty report.
    pub fn new(port: &str, direction: Direction) -> QueueReport {
        QueueReport {
            port: port.to_owned(),
            direction,
            packets: 0,
            bytes: 0,
            wire_packets: 0,
            drops: Vec::new(),
            error: None,
        }
    }
}
