//! A generator of test traffic: flows of UDP datagrams or of one endless TCP transfer each.
//!
//! Frames are made before the run as one payload per size and a few numbers per flow. What changes from frame
//! to frame - sequence number and IPv4 ID - enters the checksums as a number, so a frame costs its header.
//! Every checksum is right. It keeps no pace: frames come as fast as they are taken.

use super::arithmetic::{add, checksum, sum, words};
use super::faults::mix;
use super::inspect::Findings;
use super::join::Arrival;
use crate::headers::flow_hash;
use crate::shares::Share;
use corelane_runtime::offload::Caps;
use corelane_runtime::{Error, Time};

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
    /// Decides addresses, ports, payload and the order of sizes.
    pub seed: u64,
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
            seed: 1,
        }
    }
}

/// Length of generated frames in bytes, with the frame check sequence of 4 bytes that corelane never sees
/// (RFC 2544 section 9). A frame is never shorter than its headers and one byte of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSize {
    /// All the same.
    Bytes(u32),
    /// 64, 594 and 1518 bytes in a ratio of 7 : 4 : 1.
    Imix,
}

/// What generated frames carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// UDP datagrams.
    Udp,
    /// The data of one transfer a flow: sequence numbers go on, nothing but ACK is set, no options.
    TcpBulk,
}

/// How flows take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A frame of each flow in turn.
    RoundRobin,
    /// This many frames of a flow, then as many of the next.
    Trains(u32),
}

const FCS: u32 = 4;
const IMIX: [(u32, usize); 3] = [(64, 7), (594, 4), (1518, 1)];
/// Longest IP packet generated.
const MAX_IP: u32 = 65_535;
const ETHERNET: usize = 14;

impl Generate {
    /// Most flows: each has headers in memory, about 200 bytes, from before the first frame on.
    pub const MAX_FLOWS: u32 = 1 << 20;

    /// Says what cannot be generated. Memory is needed for flows and one frame of each size only: `count`
    /// and the length of trains are numbers that are counted to, and may be any.
    pub(super) fn check(&self, port: &str) -> Result<(), Error> {
        let most_bytes = MAX_IP + ETHERNET as u32 + FCS;
        let wrong = match (self.flows, self.order, self.size) {
            (0, _, _) => "traffic of 0 flows is none; give `flows` at least 1".to_owned(),
            (flows, _, _) if flows > Self::MAX_FLOWS => {
                format!("`flows` is {flows}, but at most {} are kept; give fewer", Self::MAX_FLOWS)
            }
            (_, Order::Trains(0), _) => {
                "`order` has trains of 0 frames, which never end; give at least 1".to_owned()
            }
            (_, _, FrameSize::Bytes(size)) if size > most_bytes => format!(
                "`size` is {size}, but a frame holds at most {MAX_IP} bytes of IP; \
                 give {most_bytes} or less"
            ),
            _ => return Ok(()),
        };
        Err(Error::user(format!("port {port}"), wrong))
    }

    fn l3_len(&self) -> usize {
        if self.ipv6 { 40 } else { 20 }
    }

    fn header_len(&self) -> usize {
        let l4 = if self.protocol == Protocol::Udp { 8 } else { 20 };
        ETHERNET + self.l3_len() + l4
    }

    /// Frame lengths without check sequence, in the order in which they are sent.
    fn lengths(&self) -> Vec<usize> {
        let len = |size: u32| (size.saturating_sub(FCS) as usize).max(self.header_len() + 1);
        match self.size {
            FrameSize::Bytes(size) => vec![len(size)],
            FrameSize::Imix => {
                let mut lengths: Vec<usize> =
                    IMIX.iter().flat_map(|&(size, n)| vec![len(size); n]).collect();
                for at in (1..lengths.len()).rev() {
                    let random = mix(self.seed ^ at as u64);
                    lengths.swap(at, random as usize % (at + 1));
                }
                lengths
            }
        }
    }
}

/// Frames of one length: headers are written over the first bytes, payload stays.
#[derive(Debug)]
struct Template {
    frame: Vec<u8>,
    payload_sum: u16,
}

/// One flow.
#[derive(Debug)]
struct Flow {
    /// Headers, with fields that change left zero.
    header: Vec<u8>,
    /// Sum of the IPv4 header as far as it stays; 0 for IPv6.
    ip_sum: u16,
    /// Sum of pseudo header and transport header as far as they stay.
    l4_sum: u16,
    hash: u32,
    seq: u32,
    ip_id: u16,
}

/// One queue's generator.
#[derive(Debug)]
pub(super) struct Generator {
    plan: Generate,
    templates: Vec<Template>,
    /// Which template comes when.
    sizes: Vec<usize>,
    flows: Vec<Flow>,
    flow: usize,
    size: usize,
    in_train: u32,
    left: Option<u64>,
    /// Whether the frame to come is already written.
    ready: bool,
}

impl Generator {
    pub(super) fn new(plan: &Generate, share: &Share) -> Generator {
        let (index, queues) = share.of_all();
        let lengths = plan.lengths();
        let mut distinct = lengths.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let sizes = lengths.iter().map(|len| distinct.partition_point(|other| other < len));
        let own = (index as u32..plan.flows).step_by(queues.max(1));
        let sharing = queues.min(plan.flows as usize) as u64;
        let part = |count: u64| count / sharing + u64::from((index as u64) < count % sharing);
        Generator {
            sizes: sizes.collect(),
            templates: distinct.iter().map(|&len| Template::new(plan, len)).collect(),
            flows: own.map(|number| Flow::new(plan, number)).collect(),
            flow: 0,
            size: 0,
            in_train: 0,
            left: plan.count.map(part),
            ready: false,
            plan: plan.clone(),
        }
    }

    pub(super) fn peek(&mut self, caps: Caps, now: Time) -> Option<Arrival<'_>> {
        if self.left == Some(0) {
            return None;
        }
        let flow = self.flows.get(self.flow)?;
        let template = &mut self.templates[self.sizes[self.size]];
        if !self.ready {
            template.write(&self.plan, flow);
            self.ready = true;
        }
        let bytes = &template.frame[..];
        let findings = Findings::of_made(bytes, flow.hash, caps);
        Some(Arrival { bytes, time: now, orig_len: bytes.len() as u32, findings })
    }

    pub(super) fn advance(&mut self) {
        let Some(flow) = self.flows.get_mut(self.flow) else { return };
        let len = self.templates[self.sizes[self.size]].frame.len();
        flow.seq = flow.seq.wrapping_add((len - self.plan.header_len()) as u32);
        flow.ip_id = flow.ip_id.wrapping_add(1);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.ready = false;
        self.size = (self.size + 1) % self.sizes.len();
        self.in_train += 1;
        let train = match self.plan.order {
            Order::RoundRobin => 1,
            Order::Trains(frames) => frames,
        };
        if self.in_train >= train {
            self.in_train = 0;
            self.flow = (self.flow + 1) % self.flows.len();
        }
    }
}

impl Template {
    fn new(plan: &Generate, len: usize) -> Template {
        let header_len = plan.header_len();
        let bytes = (0..len).map(|at| mix(plan.seed ^ (at as u64) << 32) as u8);
        let frame: Vec<u8> = bytes.collect();
        let payload_sum = sum(&frame[header_len..]);
        Template { frame, payload_sum }
    }

    /// Makes this the next frame of `flow`.
    fn write(&mut self, plan: &Generate, flow: &Flow) {
        let (l3, l4) = (ETHERNET, ETHERNET + plan.l3_len());
        let frame = &mut self.frame;
        frame[..flow.header.len()].copy_from_slice(&flow.header);
        let put = |frame: &mut [u8], at: usize, field: u16| {
            frame[at..at + 2].copy_from_slice(&field.to_be_bytes());
        };
        let l4_len = frame.len() - l4;
        if plan.ipv6 {
            put(frame, l3 + 4, l4_len as u16);
        } else {
            let total = (frame.len() - l3) as u16;
            put(frame, l3 + 2, total);
            put(frame, l3 + 4, flow.ip_id);
            let ip_sum = add(flow.ip_sum, add(total, flow.ip_id));
            put(frame, l3 + 10, checksum(ip_sum, false));
        }
        // The length counts in the pseudo header, and once more in the UDP header.
        let l4_sum = add(add(flow.l4_sum, self.payload_sum), words(l4_len as u32));
        match plan.protocol {
            Protocol::Udp => {
                put(frame, l4 + 4, l4_len as u16);
                put(frame, l4 + 6, checksum(add(l4_sum, l4_len as u16), true));
            }
            Protocol::TcpBulk => {
                frame[l4 + 4..l4 + 8].copy_from_slice(&flow.seq.to_be_bytes());
                put(frame, l4 + 16, checksum(add(l4_sum, words(flow.seq)), false));
            }
        }
    }
}

impl Flow {
    fn new(plan: &Generate, number: u32) -> Flow {
        let random = mix(plan.seed ^ u64::from(number) << 32);
        let protocol = if plan.protocol == Protocol::Udp { 17 } else { 6 };
        let mut header = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        // Addresses set aside for benchmarks: 198.18.0.0/15 (RFC 2544), 2001:2::/48 (RFC 5180).
        let [a, b, c, d] = number.to_be_bytes();
        if plan.ipv6 {
            header.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, 64]);
            header.extend([0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]);
            header.extend([0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
        } else {
            // DF set: the ID is not needed, and counts up as most stacks have it.
            header.extend([8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
            header.extend([198, 18, c, d, 198, 19, b, 1]);
        }
        let l4 = header.len();
        let ports = [1024 + (random % 60_000) as u16, 5201];
        header.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        match plan.protocol {
            Protocol::Udp => header.extend([0; 4]),
            Protocol::TcpBulk => {
                header.extend([0; 4]);
                header.extend([0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
            }
        }
        let ip = &header[ETHERNET..l4];
        let addresses = if plan.ipv6 { &ip[8..40] } else { &ip[12..20] };
        let pseudo = add(sum(addresses), u16::from(protocol));
        Flow {
            ip_sum: if plan.ipv6 { 0 } else { sum(ip) },
            l4_sum: add(pseudo, sum(&header[l4..])),
            hash: flow_hash(&header),
            seq: random as u32,
            ip_id: (random >> 16) as u16,
            header,
        }
    }
}
