//! A generator of test traffic: flows of UDP datagrams or of one endless TCP transfer each.
//!
//! Frames are made before the run as one payload per size and a few numbers per flow. What changes from frame
//! to frame - sequence number and IPv4 ID - enters the checksums as a number, so a frame costs its header.
//! Every checksum is right, or not yet finished where that is asked for. Frames may come in a tunnel. All that looks random
//! depends on the seed only. A flow's frames are the same on however many queues; where flows take turns, and not by
//! chance, so are the frames of all queues together. A frame that is due and not taken waits, however long; none is lost.

mod flow;
mod maker;
mod overlay;
mod pace;
mod sizes;
mod turns;

pub(super) use maker::Generator;
pub use overlay::{Overlay, OverlayKind};
pub use pace::Rate;
pub use sizes::FrameSize;
pub use turns::Order;

use super::inspect::Level;
use crate::headers::{TCP, UDP};
use corelane_runtime::Error;
use corelane_runtime::packet::Csum;

const ETHERNET: usize = 14;
/// Longest IP packet generated.
const MAX_IP: u32 = 65_535;

/// What to generate.
#[derive(Clone, Debug)]
pub struct Generate {
    /// Number of flows, at least 1 and at most [`MAX_FLOWS`](Self::MAX_FLOWS); each has addresses and ports of its own. Flow n falls to queue n modulo
    /// the number of queues.
    pub flows: u32,
    /// How long frames are; in a tunnel, those inside.
    pub size: FrameSize,
    /// What they carry.
    pub protocol: Protocol,
    /// Over which version of IP.
    pub ipv6: bool,
    /// In which order flows take turns.
    pub order: Order,
    /// How many frames in all, over all queues; `None`: without end.
    pub count: Option<u64>,
    /// How fast they come, all queues together.
    pub rate: Rate,
    /// Decides addresses, ports, payload, the order of sizes and of flows where it is random.
    pub seed: u64,
    /// The link-layer address they are sent to; in a tunnel, the outer one.
    pub destination: [u8; 6],
    /// Whether checksums of TCP and UDP are left unfinished, with the sum of the pseudo header in the field, as
    /// virtio devices hand over what was sent on the same host.
    pub partial: bool,
    /// The tunnel they come in, if they do.
    pub tunnel: Option<Overlay>,
}

impl Default for Generate {
    fn default() -> Generate {
        Generate {
            flows: 1,
            size: FrameSize::Bytes(64),
            protocol: Protocol::Udp,
            ipv6: false,
            order: Order::RoundRobin,
            count: None,
            rate: Rate::Max,
            seed: 1,
            destination: [2, 0, 0, 0, 0, 2],
            partial: false,
            tunnel: None,
        }
    }
}

/// What generated frames carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// UDP datagrams.
    Udp,
    /// The data of one transfer a flow: sequence numbers go on, nothing but ACK is set, no options.
    TcpBulk,
}

impl Generate {
    /// Most flows: each has headers in memory, about 200 bytes, from before the first frame on.
    pub const MAX_FLOWS: u32 = 1 << 20;

    /// Says what cannot be generated, with the key that is wrong. Memory is needed for flows and one frame of
    /// each size only: `count` and the length of trains are numbers that are counted to, and may be any.
    ///
    /// # Errors
    /// The key and a sentence.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.flows == 0 {
            return Err(("flows", "0 flows are no traffic; give `flows` at least 1".to_owned()));
        }
        if self.flows > Self::MAX_FLOWS {
            let (flows, most) = (self.flows, Self::MAX_FLOWS);
            return Err((
                "flows",
                format!("`flows` is {flows}, but at most {most} are kept; give fewer"),
            ));
        }
        self.order.check().map_err(|wrong| ("order", wrong))?;
        self.size.check().map_err(|wrong| ("size", wrong))?;
        self.rate.check().map_err(|wrong| ("rate", wrong))?;
        if let Some(tunnel) = &self.tunnel {
            if self.partial {
                let wrong = "unfinished checksums are not made inside a tunnel; leave out `partial` or `tunnel`";
                return Err(("partial", wrong.to_owned()));
            }
            let largest = self.size.largest(self.header_len() + 1 - tunnel.len());
            tunnel.check(largest).map_err(|wrong| ("tunnel", wrong))?;
        }
        match self.destination[0] & 1 {
            1 => Err(("mac", "`mac` is a group address; give one of a single station".to_owned())),
            _ => Ok(()),
        }
    }

    /// [`Generate::check`] for the port of that name.
    pub(super) fn check_for(&self, port: &str) -> Result<(), Error> {
        self.check().map_err(|(_, wrong)| Error::user(format!("port {port}"), wrong))
    }

    fn l3_len(&self) -> usize {
        if self.ipv6 { 40 } else { 20 }
    }

    /// Bytes of the tunnel in front.
    fn outer_len(&self) -> usize {
        self.tunnel.as_ref().map_or(0, Overlay::len)
    }

    /// Where the innermost IP header is.
    fn l3(&self) -> usize {
        self.outer_len() + ETHERNET
    }

    fn l4(&self) -> usize {
        self.l3() + self.l3_len()
    }

    /// Lengths of the frames on the wire, in the order in which they are sent.
    fn lengths(&self) -> Vec<usize> {
        let outer = self.outer_len();
        let mut lengths = self.size.lengths(self.header_len() + 1 - outer, self.seed);
        lengths.iter_mut().for_each(|len| *len += outer);
        lengths
    }

    fn header_len(&self) -> usize {
        self.l4() + if self.protocol == Protocol::Udp { 8 } else { 20 }
    }

    /// What a device finds inside a tunnel.
    fn level(&self) -> Level {
        Level {
            protocol: if self.protocol == Protocol::Udp { UDP } else { TCP },
            l3: if self.ipv6 { Csum::Unknown } else { Csum::Good },
            l4: Csum::Good,
        }
    }

    /// Where the transport checksum is in the frame.
    fn field(&self) -> usize {
        self.l4() + if self.protocol == Protocol::Udp { 6 } else { 16 }
    }
}
