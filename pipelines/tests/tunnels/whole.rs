//! A port whose sender is on this host, as virtio and tap devices are: it hands over packets whose checksums are
//! still to be finished, and superpackets that are still to be cut, exactly as a test says.

use corelane_runtime::Error;
use corelane_runtime::offload::{Caps, Limits, PortCaps};
use corelane_runtime::packet::{Burst, Partial, SegFlags, SegKind, Segmentation};
use corelane_runtime::port::{Direction, Port, QueueReport, RxQueue, TxQueue};
use corelane_runtime::stage::{Progress, StageContext};
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet with what its sender left undone.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub(crate) bytes: Vec<u8>,
    /// What it is to be cut into; `SegKind::None`: it is a frame.
    pub(crate) kind: SegKind,
    pub(crate) gso_size: u16,
    pub(crate) count: u16,
    pub(crate) flags: SegFlags,
    /// The unfinished checksum of each level.
    pub(crate) partial: [Option<Partial>; 2],
}

impl Whole {
    /// A frame whose outermost checksum is to be finished.
    pub(crate) fn frame(bytes: Vec<u8>, partial: Partial) -> Whole {
        let partial = [Some(partial), None];
        let (kind, flags) = (SegKind::None, SegFlags::empty());
        Whole { bytes, kind, gso_size: 0, count: 1, flags, partial }
    }

    /// A superpacket of one level; `headers` bytes stand in front of the payload.
    pub(crate) fn cut(
        bytes: Vec<u8>,
        kind: SegKind,
        partial: Partial,
        headers: usize,
        size: usize,
    ) -> Whole {
        let count = (bytes.len() - headers).div_ceil(size) as u16;
        Whole { kind, gso_size: size as u16, count, ..Whole::frame(bytes, partial) }
    }
}

/// The port.
pub(crate) struct WholePort {
    caps: Arc<PortCaps>,
    packets: VecDeque<Whole>,
}

impl WholePort {
    pub(crate) fn new(name: &str, packets: Vec<Whole>) -> WholePort {
        let caps = Arc::new(PortCaps::new(name, Caps::RX_PARTIAL, Limits::default()));
        WholePort { caps, packets: packets.into() }
    }
}

impl Port for WholePort {
    fn caps(&self) -> Arc<PortCaps> {
        self.caps.clone()
    }

    fn open_rx(&mut self) -> Result<Box<dyn RxQueue>, Error> {
        let report = QueueReport::new(&self.caps.port, Direction::Rx);
        Ok(Box::new(WholeRx { packets: std::mem::take(&mut self.packets), report }))
    }

    fn open_tx(&mut self) -> Result<Box<dyn TxQueue>, Error> {
        Err(Error::user(format!("port {}", self.caps.port), "sends nothing"))
    }
}

struct WholeRx {
    packets: VecDeque<Whole>,
    report: QueueReport,
}

impl RxQueue for WholeRx {
    fn rx(&mut self, burst: &mut Burst, budget: usize, ctx: &mut StageContext<'_>) -> Progress {
        let budget = budget.min(burst.room());
        let mut handed = 0;
        while handed < budget {
            let Some(whole) = self.packets.front() else { break };
            let Some(mut packet) = ctx.buffers.receive(&whole.bytes) else { break };
            packet.set_time(1000);
            packet.meta_mut().orig_len = packet.len();
            if whole.kind != SegKind::None {
                let Whole { kind, gso_size, count, flags, .. } = *whole;
                packet.set_segmentation(Segmentation { kind, gso_size, count, flags });
            }
            for (level, partial) in whole.partial.iter().enumerate() {
                if let Some(partial) = partial {
                    packet.meta_mut().request(level, *partial);
                }
            }
            self.report.packets += 1;
            self.report.bytes += u64::from(packet.len());
            self.report.wire_packets += u64::from(whole.count);
            assert!(burst.push(packet).is_ok(), "the budget is within the room");
            self.packets.pop_front();
            handed += 1;
        }
        match (handed, self.packets.is_empty()) {
            (0, true) => Progress::Done,
            (0, false) => Progress::Starved,
            (handed, _) => Progress::Worked(handed),
        }
    }

    fn report(&self) -> QueueReport {
        self.report.clone()
    }
}
