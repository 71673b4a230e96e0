//! Receiving: one system call a packet, which lies in one piece afterwards.
//!
//! Where there is no buffer nothing is read. What the header in front of a frame says goes into meta; one that cannot
//! be believed ends its frame, counted by name. An interface that is gone ends the queue, with the reason in its report.

use super::link::Unread;
use super::spill::Spill;
use super::sys;
use crate::headers::is_usual_tunnel;
use crate::receive::TOO_LARGE;
use crate::vnet::{self, Agreed, Header, Request, VnetError};
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::port::{Direction, QueueReport, RxQueue};
use corelane_runtime::stage::{Progress, StageContext};
use corelane_runtime::{Error, Time};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Reads that one call may make for each packet it may hand over, so that bad frames end it too.
const READS: usize = 4;
/// Superpackets in tunnels that no stage would find, or that the kernel could not hand over.
const UNKNOWN_TUNNEL: &str = "unknown_tunnel";
/// Packets that the kernel dropped since nobody read them in time; of all queues of the interface.
const UNREAD: &str = "not_read_in_time";

pub(super) struct TapRx {
    file: Arc<File>,
    interface: String,
    agreed: Agreed,
    /// Of one queue of the interface, since the kernel counts for all together.
    unread: Option<Unread>,
    spill: Spill,
    ended: bool,
    bad: [u64; VnetError::ALL.len()],
    too_large: u64,
    unknown_tunnels: u64,
    /// Whether the host was told to cut inside tunnels.
    declined: bool,
    report: QueueReport,
}

/// What one read came to.
enum Found {
    Packet(Packet),
    /// A frame that was counted as lost, and what it lies in.
    Lost(Option<Packet>),
    Nothing,
    Gone,
}

impl TapRx {
    pub(super) fn new(
        port: &str,
        interface: &str,
        file: Arc<File>,
        agreed: Agreed,
        unread: Option<Unread>,
    ) -> TapRx {
        TapRx {
            file,
            interface: interface.to_owned(),
            agreed,
            unread,
            spill: Spill::default(),
            ended: false,
            bad: [0; VnetError::ALL.len()],
            too_large: 0,
            unknown_tunnels: 0,
            declined: false,
            report: QueueReport::new(port, Direction::Rx),
        }
    }

    /// Reads one frame into the buffers, which are there.
    fn read(&mut self, now: Time) -> Found {
        let mut header = [0; vnet::SIZE];
        let len = loop {
            match self.spill.read(&self.file, &mut header) {
                Ok(len) => break len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Found::Nothing,
                // The frame is gone: a superpacket in a tunnel that waited while the host was told to cut those,
                // by us or with ethtool, is one that the header has no words for any more.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    self.unknown_tunnels += 1;
                    self.report.wire_packets += 1;
                    return Found::Lost(None);
                }
                Err(error) => {
                    self.end(&error);
                    return Found::Gone;
                }
            }
        };
        let Some(len) = len.checked_sub(vnet::SIZE) else {
            self.lose(VnetError::Runt);
            return Found::Lost(None);
        };
        let Some(mut packet) = self.spill.packet(len) else {
            self.too_large += 1;
            self.report.wire_packets += 1;
            return Found::Lost(None);
        };
        let header = Header::from_bytes(&header);
        match vnet::read(&header, packet.data(), packet.len(), self.agreed) {
            Ok(Request { tunnel_port: Some(port), .. }) if !is_usual_tunnel(port) => {
                self.decline_tunnels(port);
                return Found::Lost(Some(packet));
            }
            Ok(request) => request.apply(&mut packet),
            Err(error) => {
                self.lose(error);
                return Found::Lost(Some(packet));
            }
        }
        packet.set_time(now);
        packet.meta_mut().orig_len = packet.len();
        Found::Packet(packet)
    }

    /// Nobody here can cut inside a tunnel that is behind another UDP port than the usual ones, so that is left to the
    /// host from now on, for all tunnels: it does not tell them apart. Those that are on their way still come.
    #[cold]
    fn decline_tunnels(&mut self, udp_port: u16) {
        self.report.wire_packets += 1;
        self.unknown_tunnels += 1;
        if std::mem::replace(&mut self.declined, true) {
            return;
        }
        let (port, interface) = (&self.report.port, &self.interface);
        let fewer = self.agreed - (Agreed::TUNNEL | Agreed::TUNNEL_CSUM);
        match sys::set_offload(&self.file, fewer.bits()) {
            Ok(()) => tracing::warn!(
                port,
                interface,
                udp_port,
                "a superpacket in a tunnel behind an unknown UDP port: the host cuts inside tunnels from now on"
            ),
            Err(error) => tracing::warn!(
                port, interface, udp_port, %error,
                "superpackets in tunnels behind an unknown UDP port are dropped"
            ),
        }
    }

    fn lose(&mut self, error: VnetError) {
        self.bad[error as usize] += 1;
        self.report.wire_packets += 1;
    }

    fn end(&mut self, error: &io::Error) {
        self.ended = true;
        let name = &self.interface;
        let text = match error.raw_os_error() {
            Some(libc::EBADFD) => {
                format!("interface `{name}` is gone: it was deleted during the run")
            }
            _ => format!("interface `{name}` cannot be read: {error}"),
        };
        let what = format!("port {}", self.report.port);
        self.report.error = Some(Error::system(what, text));
    }
}

impl RxQueue for TapRx {
    fn rx(&mut self, burst: &mut Burst, budget: usize, ctx: &mut StageContext<'_>) -> Progress {
        let budget = budget.min(burst.room());
        let (mut handed, mut last) = (0, Progress::Idle(Some(ctx.now)));
        for _ in 0..budget * READS {
            if self.ended {
                last = Progress::Done;
                break;
            }
            if !self.spill.refill(ctx.buffers) {
                last = Progress::Starved;
                break;
            }
            match self.read(ctx.now) {
                Found::Packet(packet) => {
                    handed += 1;
                    self.report.packets += 1;
                    self.report.wire_packets += u64::from(packet.segments());
                    self.report.bytes += u64::from(packet.len());
                    let refused = burst.push(packet);
                    debug_assert!(refused.is_ok(), "the budget exceeds the room of the burst");
                }
                Found::Lost(packet) => {
                    packet.into_iter().for_each(|lost| ctx.buffers.release(lost))
                }
                Found::Nothing => {
                    last = Progress::Idle(None);
                    break;
                }
                Found::Gone => last = Progress::Done,
            }
            if handed == budget {
                break;
            }
        }
        self.spill.give_back(ctx.buffers);
        if handed > 0 { Progress::Worked(handed) } else { last }
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.ended).then(|| self.file.as_fd())
    }

    fn report(&self) -> QueueReport {
        let mut report = self.report.clone();
        let unread = self.unread.as_ref().map_or(0, Unread::count);
        let bad =
            VnetError::ALL.iter().zip(&self.bad).map(|(error, &count)| (error.drop_name(), count));
        let others =
            [(TOO_LARGE, self.too_large), (UNKNOWN_TUNNEL, self.unknown_tunnels), (UNREAD, unread)];
        for (name, count) in bad.chain(others) {
            match report.drops.iter_mut().find(|(known, _)| *known == name) {
                _ if count == 0 => {}
                Some((_, total)) => *total += count,
                None => report.drops.push((name, count)),
            }
        }
        report
    }
}
