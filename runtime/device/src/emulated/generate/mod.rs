//! A generator of test traffic: flows of UDP datagrams or of one endless TCP transfer each.
//!
//! Frames are made before the run as one payload per size and a few numbers per flow. What changes from frame
//! to frame - sequence number and IPv4 ID - enters the checksums as a number, so a frame costs its header.
//! Every checksum is right, or not yet finished where that is asked for. All that looks random depends on the
//! seed only. A frame that is due and not taken waits, however long; none is lost.

mod flow;
mod maker;
mod pace;
mod sizes;
mod turns;

pub(super) use maker::Generator;
pub use pace::Rate;
pub use sizes::FrameSize;
pub use turns::Order;

use corelane_runtime::Error;

const ETHERNET: usize = 14;
/// Longest IP packet generated.
const MAX_IP: u32 = 65_535;

/// What to generate.
#[derive(Clone, Debug)]
pub struct Generate {
    /// Number of flows, at least 1 and at most [`MAX_FLOWS`](Self::MAX_FLOWS); each has addresses and ports of its own. Flow n falls to queue n modulo
    /// the number of queues.
    pub flows: u32,
    /// How long frames are.
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
    /// The link-layer address they are sent to.
    pub destination: [u8; 6],
    /// Whether checksums of TCP and UDP are left unfinished, with the sum of the pseudo header in the field, as
    /// virtio devices hand over what was sent on the same host.
    pub partial: bool,
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

    fn l4(&self) -> usize {
        ETHERNET + self.l3_len()
    }

    fn header_len(&self) -> usize {
        self.l4() + if self.protocol == Protocol::Udp { 8 } else { 20 }
    }

    /// Where the transport checksum is in the frame.
    fn field(&self) -> usize {
        self.l4() + if self.protocol == Protocol::Udp { 6 } else { 16 }
    }
}
