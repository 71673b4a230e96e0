//! Random traffic: several flows interleaved, each with everything that may happen to it on the way.
//!
//! A flow mostly sends equal segments in order, so that there is much to merge; now and then something odd
//! happens. It promises frames that a capture could hold, and that shrinking leads to short streams.

use crate::inside::inside;
use crate::rig::Frame;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{Checksum, Extension, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, address_v6};
use proptest::collection::vec;
use proptest::prelude::*;

/// What stays the same in a flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlan {
    v6: bool,
    udp: bool,
    vlan: Option<u16>,
    /// IPv4 options or IPv6 extension headers.
    extended: bool,
    timestamps: bool,
    cwr: bool,
    /// Step of IPv4 IDs.
    id_step: u16,
    id: u16,
    seq: u32,
    /// Payload of a usual segment.
    size: usize,
    /// Payloads are all zero bytes, whose sum has two forms.
    zeros: bool,
}

/// What a flow does next.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Usual,
    Short(usize),
    Long,
    Empty,
    Flags(u16),
    Lost,
    Again,
    OutOfOrder,
    Ack,
    Window,
    Options,
    Ttl,
    Tos,
    Id(u16),
    Wrong,
    LooksPartial,
    /// A payload that makes the checksum zero, in either form.
    Zero(bool),
    /// The IPv4 header sum in the other form of zero, or wrong.
    Header(bool),
    NoChecksum,
    Length(u16),
    Trailer(Vec<u8>),
    Padded,
    Cut(usize),
    /// Padding is missing from the capture, nothing else.
    CutPadding(usize),
    Fragment(bool),
    UrgentPointer,
}

/// A stream: which flow does what, and when.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) flows: Vec<FlowPlan>,
    pub(crate) events: Vec<(prop::sample::Index, Event)>,
}

fn flow() -> impl Strategy<Value = FlowPlan> {
    let shape = (any::<bool>(), any::<bool>(), prop::option::weighted(0.3, 0..3_u16));
    let more = (prop::bool::weighted(0.2), any::<bool>(), prop::bool::weighted(0.2));
    let id = (prop_oneof![3 => Just(1_u16), 2 => Just(0), 1 => any::<u16>()], any::<u16>());
    let near_wrap = prop_oneof![2 => any::<u16>(), 1 => 65_530..=65_535_u16];
    let seq = prop_oneof![2 => any::<u32>(), 1 => u32::MAX - 5000..=u32::MAX];
    let size = prop_oneof![2 => 1..30_usize, 2 => 30..300_usize, 1 => 300..1460_usize];
    (shape, more, id, near_wrap, seq, size, prop::bool::weighted(0.2)).prop_map(
        |((v6, udp, vlan), (extended, timestamps, cwr), (id_step, _), id, seq, size, zeros)| {
            FlowPlan { v6, udp, vlan, extended, timestamps, cwr, id_step, id, seq, size, zeros }
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        40 => Just(Event::Usual),
        3 => (1..40_usize).prop_map(Event::Short),
        1 => Just(Event::Long),
        1 => Just(Event::Empty),
        3 => any::<u16>().prop_map(Event::Flags),
        1 => Just(Event::Flags(TcpFlags::PSH.bits())),
        1 => Just(Event::Flags(TcpFlags::FIN.bits())),
        1 => Just(Event::Lost),
        1 => Just(Event::Again),
        1 => Just(Event::OutOfOrder),
        1 => Just(Event::Ack),
        1 => Just(Event::Window),
        1 => Just(Event::Options),
        1 => Just(Event::Ttl),
        1 => Just(Event::Tos),
        1 => any::<u16>().prop_map(Event::Id),
        1 => Just(Event::Wrong),
        1 => Just(Event::LooksPartial),
        2 => any::<bool>().prop_map(Event::Zero),
        1 => any::<bool>().prop_map(Event::Header),
        1 => Just(Event::NoChecksum),
        1 => any::<u16>().prop_map(Event::Length),
        1 => vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 1..20).prop_map(Event::Trailer),
        3 => Just(Event::Padded),
        1 => (1..100_usize).prop_map(Event::Cut),
        1 => (1..10_usize).prop_map(Event::CutPadding),
        1 => any::<bool>().prop_map(Event::Fragment),
        1 => Just(Event::UrgentPointer),
    ]
}

/// Streams of up to `most` frames.
pub(crate) fn stream(most: usize) -> impl Strategy<Value = Stream> {
    (vec(flow(), 1..6), vec((any::<prop::sample::Index>(), event()), 1..most))
        .prop_map(|(flows, events)| Stream { flows, events })
}

/// A flow on its way.
struct Sender {
    plan: FlowPlan,
    number: u16,
    ip4: Ipv4,
    ip6: Ipv6,
    tcp: Tcp,
    udp: Udp,
    sent: usize,
}

impl Stream {
    /// The frames, received at different times.
    pub(crate) fn frames(&self) -> Vec<Frame> {
        self.frames_through(|_, frame| frame)
    }

    /// The frames, each changed on its way by `path`, which is told of which flow it is.
    pub(crate) fn frames_through(&self, mut path: impl FnMut(usize, Frame) -> Frame) -> Vec<Frame> {
        let mut senders: Vec<Sender> = self.flows.iter().zip(0..).map(Sender::new).collect();
        let mut frames = Vec::new();
        for (at, (flow, event)) in self.events.iter().enumerate() {
            let flow = flow.index(self.flows.len());
            for frame in senders[flow].send(event) {
                let mut frame = path(flow, frame);
                frame.time = 1000 + at as u64;
                frames.push(frame);
            }
        }
        frames
    }
}

impl Sender {
    fn new((plan, number): (&FlowPlan, u16)) -> Sender {
        let extensions = if plan.extended {
            vec![
                Extension::HopByHop(vec![5, 2, 0, 0]),
                Extension::Destination(vec![1, 4, 0, 0, 0, 0]),
            ]
        } else {
            Vec::new()
        };
        let options = if plan.extended { vec![7, 4, 4, 0] } else { Vec::new() };
        // Some flows share addresses, some share ports.
        let (host, port) = (number / 2, 40_000 + number % 2);
        let timestamps = if plan.timestamps { Tcp::timestamps(1, 2) } else { Vec::new() };
        let flags = if plan.cwr { TcpFlags::ACK | TcpFlags::CWR } else { TcpFlags::ACK };
        Sender {
            plan: plan.clone(),
            number,
            ip4: Ipv4 { id: plan.id, src: [10, 0, 0, host as u8], options, ..Ipv4::default() },
            ip6: Ipv6 { src: address_v6(100 + host), extensions, ..Ipv6::default() },
            tcp: Tcp {
                src_port: port,
                seq: plan.seq,
                flags,
                options: timestamps,
                ..Tcp::default()
            },
            udp: Udp { src_port: port, ..Udp::default() },
            sent: 0,
        }
    }

    fn payload(&self, len: usize) -> Vec<u8> {
        let mark = usize::from(self.number) * 37 + self.sent;
        if self.plan.zeros {
            vec![0; len]
        } else {
            (0..len).map(|at| (at * 31 + mark) as u8).collect()
        }
    }

    fn builder(&self) -> FrameBuilder {
        let mut builder = FrameBuilder::new();
        if let Some(vlan) = self.plan.vlan {
            builder = builder.vlan(vlan);
        }
        let builder = if self.plan.v6 {
            builder.ipv6(self.ip6.clone())
        } else {
            builder.ipv4(self.ip4.clone())
        };
        if self.plan.udp { builder.udp(self.udp.clone()) } else { builder.tcp(self.tcp.clone()) }
    }

    /// After a segment of `len` bytes.
    fn advance(&mut self, len: usize) {
        self.tcp.seq = self.tcp.seq.wrapping_add(len as u32);
        self.ip4.id = self.ip4.id.wrapping_add(self.plan.id_step);
        self.sent += 1;
    }

    fn usual(&mut self, len: usize) -> Frame {
        let frame = self.builder().payload(&self.payload(len)).build();
        self.advance(len);
        Frame::new(frame)
    }

    /// A segment made under changed headers, which then are as before but for what counts on.
    fn with(&mut self, change: impl FnOnce(&mut Sender)) -> Frame {
        let (ip4, ip6, tcp, udp) =
            (self.ip4.clone(), self.ip6.clone(), self.tcp.clone(), self.udp.clone());
        change(self);
        let frame = self.usual(self.plan.size);
        let (seq, id) = (self.tcp.seq, ip4.id.wrapping_add(self.plan.id_step));
        self.ip4 = Ipv4 { id, ..ip4 };
        self.ip6 = ip6;
        self.tcp = Tcp { seq, ..tcp };
        self.udp = udp;
        frame
    }

    fn send(&mut self, event: &Event) -> Vec<Frame> {
        let size = self.plan.size;
        let frame = match event {
            Event::Usual => self.usual(size),
            Event::Short(len) => self.usual((*len).min(size)),
            Event::Long => self.usual(size + 1),
            Event::Empty => self.usual(0),
            Event::Flags(bits) => {
                self.with(|flow| flow.tcp.flags = flow.tcp.flags | TcpFlags::from_bits(*bits))
            }
            Event::Lost => {
                self.advance(size);
                return Vec::new();
            }
            Event::Again => {
                let first = self.builder().payload(&self.payload(size)).build();
                return vec![Frame::new(first), self.usual(size)];
            }
            Event::OutOfOrder => {
                let (first, second) = (self.usual(size), self.usual(size));
                return vec![second, first];
            }
            // These stay changed.
            Event::Ack => {
                self.tcp.ack += 1;
                self.usual(size)
            }
            Event::Window => {
                self.tcp.window ^= 1;
                self.usual(size)
            }
            Event::Options => {
                self.tcp.options = Tcp::timestamps(self.sent as u32, 7);
                self.usual(size)
            }
            Event::Ttl => self.with(|flow| (flow.ip4.ttl, flow.ip6.hop_limit) = (9, 9)),
            Event::Tos => self.with(|flow| (flow.ip4.tos, flow.ip6.traffic_class) = (3, 3)),
            Event::Id(id) => {
                self.ip4.id = *id;
                self.usual(size)
            }
            Event::UrgentPointer => self.with(|flow| flow.tcp.urgent = 5),
            _ => self.send_broken(event),
        };
        vec![frame]
    }

    /// Events that leave a frame odd, not the flow.
    fn send_broken(&mut self, event: &Event) -> Frame {
        let size = self.plan.size;
        let checksum = |what: Checksum| {
            move |flow: &mut Sender| (flow.tcp.checksum, flow.udp.checksum) = (what, what)
        };
        match event {
            Event::Wrong => self.with(checksum(Checksum::Wrong)),
            Event::LooksPartial => self.with(checksum(Checksum::Partial)),
            Event::NoChecksum => self.with(|flow| flow.udp.checksum = Checksum::Value(0)),
            Event::Header(true) => self.with(|flow| flow.ip4.checksum = Checksum::OtherZero),
            Event::Header(false) => self.with(|flow| flow.ip4.checksum = Checksum::Wrong),
            Event::Zero(other) => self.zero(*other),
            Event::Length(length) => self.with(|flow| flow.udp.length = Some(*length)),
            Event::Trailer(bytes) => {
                let frame = self.builder().payload(&self.payload(size)).trailer(bytes).build();
                self.advance(size);
                Frame::new(frame)
            }
            Event::Padded => {
                let len = size.min(6);
                let frame = self.builder().payload(&self.payload(len)).pad_to(60).build();
                self.advance(len);
                Frame::new(frame)
            }
            Event::Cut(missing) => {
                let mut frame = self.usual(size);
                let left = frame.bytes.len().saturating_sub(*missing).max(14);
                frame.bytes.truncate(left);
                frame
            }
            Event::CutPadding(missing) => {
                let mut frame = self.usual(size);
                frame.orig_len += *missing as u32;
                frame
            }
            Event::Fragment(first) => self.with(|flow| {
                let (offset, more) = if *first { (0, true) } else { (64, false) };
                (flow.ip4.fragment_offset, flow.ip4.more_fragments) = (offset, more);
                flow.ip6.extensions.push(Extension::Fragment { offset, more, id: 1 });
            }),
            _ => self.usual(size),
        }
    }

    /// A segment whose checksum is zero, if it has room for the word that makes it so.
    fn zero(&mut self, other: bool) -> Frame {
        let len = self.plan.size.max(2);
        let mut payload = self.payload(len);
        payload[..2].copy_from_slice(&[0, 0]);
        let plain = self.builder().payload(&payload).build();
        let end = plain.len() - len;
        let field = if self.plan.udp { end - 2 } else { end - self.tcp_len() + 16 };
        payload[..2].copy_from_slice(&plain[field..field + 2]);
        let what = if other { Checksum::OtherZero } else { Checksum::Right };
        let (tcp, udp) = (self.tcp.checksum, self.udp.checksum);
        (self.tcp.checksum, self.udp.checksum) = (what, what);
        let frame = self.builder().payload(&payload).build();
        (self.tcp.checksum, self.udp.checksum) = (tcp, udp);
        self.advance(len);
        Frame::new(frame)
    }

    fn tcp_len(&self) -> usize {
        20 + self.tcp.options.len()
    }
}

/// The 5-tuple of a frame, or its addresses where ports cannot be read; what must stay in order. In a tunnel, that
/// of the frame inside, between those outer addresses.
pub(crate) fn flow_of(frame: &[u8]) -> Vec<u8> {
    let mut at = 12;
    while frame.get(at..at + 2) == Some(&[0x81, 0x00]) {
        at += 4;
    }
    let Some(ip) = frame.get(at + 2..).filter(|ip| !ip.is_empty()) else { return Vec::new() };
    let v6 = ip[0] >> 4 == 6;
    let addresses = if v6 { ip.get(8..40) } else { ip.get(12..20) };
    let Some(addresses) = addresses else { return Vec::new() };
    let (mut next, mut l4) = if v6 { (ip[6], 40) } else { (ip[9], usize::from(ip[0] & 15) * 4) };
    let mut fragment = !v6 && (ip[6] & 0x3f, ip[7]) != (0, 0);
    while v6 && matches!(next, 0 | 44 | 60) {
        let Some(header) = ip.get(l4..l4 + 8) else { break };
        fragment |= next == 44;
        next = header[0];
        l4 += 8 + usize::from(header[1]) * 8;
    }
    if let (false, Some((id, inner))) = (fragment, inside(ip, next, l4)) {
        return [addresses, &id, &flow_of(&inner)].concat();
    }
    match ip.get(l4..l4 + 4) {
        Some(ports) if !fragment => [addresses, &[next], ports].concat(),
        _ => [addresses, &[0xff]].concat(),
    }
}
