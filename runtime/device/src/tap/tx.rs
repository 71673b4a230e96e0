//! Transmitting: one system call a packet, whatever it asks for and however many parts it lies in.
//!
//! It promises that a packet leaves the burst when the kernel has it, or when it is counted as lost under a name. What
//! the kernel has no memory for stays and is tried again a little later. A kernel that refuses a kind of work it was not
//! seen to do loses that capability, and the packet stays, to be finished otherwise; one that was seen to do it refuses
//! this packet, which is lost: no packet that came from outside takes a capability away.

use super::{Files, facts};
use crate::vnet::{self, Outgoing};
use corelane_runtime::offload::{Caps, PortCaps};
use corelane_runtime::packet::{Burst, Csum, L3, L4, Packet, SegKind};
use corelane_runtime::port::{Direction, QueueReport, TxQueue};
use corelane_runtime::stage::StageContext;
use corelane_runtime::{Error, Time};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::{Arc, PoisonError};

/// Slices of one write, but for the header: what a system call takes at most, and the usual fewer.
const PARTS_MAX: usize = 1000;
const PARTS_SOME: usize = 64;
const PARTS_FEW: usize = 4;

/// How long a queue waits for the kernel to have memory, at first and at most, ns.
const WAIT_FIRST: Time = 20_000;
const WAIT_MOST: Time = 1_000_000;

/// Why a packet is lost, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum Loss {
    /// The interface is down.
    LinkDown,
    /// The interface is gone.
    InterfaceGone,
    /// The kernel finds something wrong with the packet.
    Refused,
    /// It asks for what the header has no words for.
    Unsupported,
    /// Anything else.
    WriteError,
}

const LOSSES: [(Loss, &str); 5] = [
    (Loss::LinkDown, "link_down"),
    (Loss::InterfaceGone, "interface_gone"),
    (Loss::Refused, "refused"),
    (Loss::Unsupported, "unsupported_request"),
    (Loss::WriteError, "write_error"),
];

/// What became of a packet.
enum Sent {
    Yes,
    Lost(Loss),
    /// It stays, and this queue has no room.
    Later,
    /// It stays, and the port can do less now.
    Demoted,
}

pub(super) struct TapTx {
    caps: Arc<PortCaps>,
    interface: String,
    files: Files,
    index: usize,
    /// Chosen when the first packet is sent: all queues are open by then.
    file: Option<Arc<File>>,
    /// Work that the kernel was seen to do.
    proven: Caps,
    down: bool,
    wait: Time,
    retry_at: Option<Time>,
    losses: [u64; LOSSES.len()],
    /// For a packet of more parts than one system call takes.
    linear: Vec<u8>,
    report: QueueReport,
}

impl TapTx {
    pub(super) fn new(
        caps: &Arc<PortCaps>,
        interface: &str,
        files: Files,
        index: usize,
        proven: Caps,
    ) -> TapTx {
        TapTx {
            caps: Arc::clone(caps),
            interface: interface.to_owned(),
            files,
            index,
            file: None,
            proven,
            down: false,
            wait: WAIT_FIRST,
            retry_at: None,
            losses: [0; LOSSES.len()],
            linear: Vec::new(),
            report: QueueReport::new(&caps.port, Direction::Tx),
        }
    }

    fn file(&mut self) -> Option<Arc<File>> {
        if self.file.is_none() {
            let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            self.file = files.get(self.index % files.len().max(1)).cloned();
        }
        self.file.clone()
    }

    fn send(&mut self, packet: &mut Packet, file: &File, ctx: &mut StageContext<'_>) -> Sent {
        let outgoing = match vnet::write(packet) {
            Ok(outgoing) => outgoing,
            Err(_) => return Sent::Lost(Loss::Unsupported),
        };
        if let Some(outer) = outgoing.outer
            && !put(packet, outer, ctx)
        {
            return self.later(ctx.now);
        }
        match self.write(packet, &outgoing, file) {
            Ok(_) => {
                self.went();
                Sent::Yes
            }
            Err(error) => self.failed(&error, packet, ctx.now),
        }
    }

    fn write(&mut self, packet: &Packet, outgoing: &Outgoing, file: &File) -> io::Result<usize> {
        let header = outgoing.header.to_bytes();
        loop {
            let parts = usize::from(packet.part_count());
            let result = if parts <= PARTS_FEW {
                write_parts::<{ PARTS_FEW + 1 }>(file, &header, packet)
            } else if parts <= PARTS_SOME {
                write_parts::<{ PARTS_SOME + 1 }>(file, &header, packet)
            } else if parts <= PARTS_MAX {
                write_parts::<{ PARTS_MAX + 1 }>(file, &header, packet)
            } else {
                self.linear.clear();
                packet.parts().for_each(|part| self.linear.extend_from_slice(part));
                let slices = [IoSlice::new(&header), IoSlice::new(&self.linear)];
                (&*file).write_vectored(&slices)
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn went(&mut self) {
        self.wait = WAIT_FIRST;
        if self.down {
            self.down = false;
            tracing::warn!(port = self.caps.port, interface = self.interface, "is up again");
        }
    }

    fn later(&mut self, now: Time) -> Sent {
        self.retry_at = Some(now.saturating_add(self.wait));
        self.wait = (self.wait * 2).min(WAIT_MOST);
        Sent::Later
    }

    #[cold]
    fn failed(&mut self, error: &io::Error, packet: &Packet, now: Time) -> Sent {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => self.later(now),
            Some(libc::EIO) => {
                if !self.down {
                    self.down = true;
                    let (port, interface) = (&self.caps.port, &self.interface);
                    tracing::warn!(port, interface, "is down: packets are dropped until it is up");
                }
                Sent::Lost(Loss::LinkDown)
            }
            Some(libc::EBADFD) => {
                let text = format!(
                    "interface `{}` is gone: it was deleted during the run",
                    self.interface
                );
                self.fail(text);
                Sent::Lost(Loss::InterfaceGone)
            }
            Some(libc::EINVAL) => self.refused(packet),
            _ => {
                self.fail(format!("interface `{}` cannot be written: {error}", self.interface));
                Sent::Lost(Loss::WriteError)
            }
        }
    }

    fn fail(&mut self, text: String) {
        let what = format!("port {}", self.report.port);
        self.report.error.get_or_insert_with(|| Error::system(what, text));
    }

    fn refused(&mut self, packet: &Packet) -> Sent {
        let asked = asked(packet) - self.proven;
        if asked.is_empty() {
            return Sent::Lost(Loss::Refused);
        }
        let why = Arc::from(format!("the kernel refused {}", asked.names()));
        let lost = self.caps.demote_because(asked, &why);
        if !lost.is_empty() {
            let (port, interface, lost) = (&self.caps.port, &self.interface, lost.names());
            tracing::warn!(port, interface, lost, "is done here from now on: {why}");
        }
        Sent::Demoted
    }
}

/// Writes the header and the parts, of which there are fewer than `N`.
fn write_parts<const N: usize>(
    mut file: &File,
    header: &[u8],
    packet: &Packet,
) -> io::Result<usize> {
    let mut slices = [IoSlice::new(&[]); N];
    slices[0] = IoSlice::new(header);
    let mut count = 1;
    for (slice, part) in slices[1..].iter_mut().zip(packet.parts()) {
        *slice = IoSlice::new(part);
        count += 1;
    }
    file.write_vectored(&slices[..count])
}

/// Writes a checksum into the headers; false where there is no buffer to make them writable.
fn put(packet: &mut Packet, (field, value): (u16, u16), ctx: &mut StageContext<'_>) -> bool {
    let end = u32::from(field) + 2;
    if packet.make_header_unique(end, ctx.buffers).is_err() {
        return false;
    }
    let at = usize::from(field);
    if let Some(bytes) = packet.data_mut().and_then(|data| data.get_mut(at..at + 2)) {
        bytes.copy_from_slice(&value.to_be_bytes());
    }
    packet.meta_mut().l4[0] = Csum::Good;
    true
}

/// The capabilities that a packet makes use of, the finest alone: what stands on them stays.
fn asked(packet: &Packet) -> Caps {
    let meta = packet.meta();
    let inside = meta.l4[1] == Csum::Partial;
    if !packet.is_super() {
        let level = &meta.layers.levels[usize::from(inside)];
        return match (level.l4_kind, level.l3_kind) {
            _ if !meta.l4.contains(&Csum::Partial) => Caps::empty(),
            _ if inside => Caps::TX_GENERIC,
            (L4::Tcp, L3::V4) => Caps::TX_TCP4,
            (L4::Tcp, L3::V6) => Caps::TX_TCP6,
            (L4::Udp, L3::V4) => Caps::TX_UDP4,
            (L4::Udp, L3::V6) => Caps::TX_UDP6,
            _ => Caps::TX_GENERIC,
        };
    }
    if inside {
        let with_checksum = meta.l4[0] == Csum::Partial;
        return if with_checksum { facts::TUNNEL_CSUM } else { facts::TUNNEL };
    }
    match packet.segmentation().kind {
        SegKind::None => Caps::empty(),
        SegKind::Tcp4 => Caps::TSO4,
        SegKind::Tcp6 => Caps::TSO6,
        SegKind::Udp4 => Caps::USO4,
        SegKind::Udp6 => Caps::USO6,
    }
}

impl TxQueue for TapTx {
    fn tx(&mut self, burst: &mut Burst, ctx: &mut StageContext<'_>) {
        self.retry_at = None;
        let Some(file) = self.file() else { return };
        while let Some(packet) = burst.first_mut() {
            let (bytes, segments) = (u64::from(packet.len()), u64::from(packet.segments()));
            match self.send(packet, &file, ctx) {
                Sent::Yes => self.report.wire_packets += segments,
                Sent::Lost(loss) => self.losses[loss as usize] += 1,
                Sent::Later | Sent::Demoted => return,
            }
            self.report.packets += 1;
            self.report.bytes += bytes;
            let Some(packet) = burst.pop() else { return };
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    }

    fn retry_at(&self) -> Option<Time> {
        self.retry_at
    }

    fn finish(&mut self) {}

    fn report(&self) -> QueueReport {
        let named = LOSSES.iter().map(|&(loss, name)| (name, self.losses[loss as usize]));
        let drops = named.filter(|&(_, count)| count > 0).collect();
        QueueReport { drops, ..self.report.clone() }
    }
}
