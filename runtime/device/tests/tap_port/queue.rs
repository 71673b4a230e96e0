//! Queues of a tap driven by hand: buffers, a clock and books, without an engine.

use corelane_device::{Tap, TapConfig};
use corelane_runtime::offload::PortCaps;
use corelane_runtime::packet::{
    Buffers, Burst, HomeConfig, Packet, SegFlags, SegKind, Segmentation,
};
use corelane_runtime::port::{Port, QueueReport, RxQueue, TxQueue};
use corelane_runtime::stage::{Progress, StageContext, Tally};
use corelane_runtime::testing::namespace::Namespace;
use std::time::{Duration, Instant};

/// Buffers for a test.
pub(crate) fn buffers() -> Buffers {
    let config = HomeConfig { name: "test".into(), shells: 512, small: 512, large: 64, node: None };
    Buffers::new(&config).expect("memory")
}

/// A tap of that name in a namespace, changed as wanted.
pub(crate) fn open(space: &Namespace, name: &str, change: impl FnOnce(&mut TapConfig)) -> Tap {
    let mut config = TapConfig::new("port", name);
    config.namespace = Some(space.name().to_owned());
    change(&mut config);
    Tap::open(config).expect("the tap opens")
}

/// One end, with both directions of one queue.
pub(crate) struct End {
    pub(crate) tap: Tap,
    pub(crate) rx: Box<dyn RxQueue>,
    pub(crate) tx: Box<dyn TxQueue>,
}

impl End {
    /// What the port can do now.
    pub(crate) fn tap_caps(&self) -> std::sync::Arc<PortCaps> {
        self.tap.caps()
    }

    pub(crate) fn of(mut tap: Tap) -> End {
        let rx = tap.open_rx().expect("a receive queue");
        let tx = tap.open_tx().expect("a transmit queue");
        End { tap, rx, tx }
    }
}

/// What drives queues.
pub(crate) struct Driver {
    pub(crate) buffers: Buffers,
    tally: Tally,
    start: Instant,
}

impl Driver {
    pub(crate) fn new() -> Driver {
        Driver { buffers: buffers(), tally: Tally::new(0, 0), start: Instant::now() }
    }

    pub(crate) fn context<R>(&mut self, work: impl FnOnce(&mut StageContext<'_>) -> R) -> R {
        let now = self.start.elapsed().as_nanos() as u64;
        work(&mut StageContext::new(now, &mut self.buffers, &mut self.tally))
    }

    /// Polls once, and finds the layers of what came.
    pub(crate) fn poll(&mut self, rx: &mut dyn RxQueue, burst: &mut Burst) -> Progress {
        let progress = self.context(|ctx| rx.rx(burst, 32, ctx));
        for packet in burst.iter_mut() {
            corelane_stages::rx::describe(packet, 7, &mut self.buffers).expect("buffers");
        }
        progress
    }

    /// Sends all of a burst, waiting where the kernel has no memory.
    pub(crate) fn send(&mut self, tx: &mut dyn TxQueue, burst: &mut Burst) {
        let until = Instant::now() + Duration::from_secs(10);
        while !burst.is_empty() {
            assert!(Instant::now() < until, "{} packets never left", burst.len());
            self.context(|ctx| tx.tx(burst, ctx));
        }
    }

    /// A packet of these bytes.
    pub(crate) fn packet(&mut self, bytes: &[u8]) -> Packet {
        self.buffers.receive(bytes).expect("a buffer")
    }

    /// A packet of these bytes in at least so many parts.
    pub(crate) fn chain(&mut self, bytes: &[u8], parts: usize) -> Packet {
        let mut chunks = bytes.chunks(bytes.len() / parts);
        let mut whole = self.packet(chunks.next().expect("bytes"));
        for chunk in chunks {
            let more = self.packet(chunk);
            self.context(|ctx| ctx.absorb(&mut whole, more, 0));
        }
        let flags = SegFlags::empty();
        whole.set_segmentation(Segmentation { kind: SegKind::None, gso_size: 0, count: 1, flags });
        whole
    }

    /// Lets go of what was received.
    pub(crate) fn release(&mut self, burst: &mut Burst) {
        for packet in burst.drain() {
            self.buffers.release(packet);
        }
    }

    /// Every buffer must be at home.
    pub(crate) fn end(mut self) {
        assert_eq!(self.buffers.outstanding(), [0; 3]);
        assert_eq!(self.buffers.report().implicit.packets, 0);
    }
}

/// How often something was dropped.
pub(crate) fn drops(report: &QueueReport, name: &str) -> u64 {
    report.drops.iter().filter(|(known, _)| *known == name).map(|(_, count)| count).sum()
}
