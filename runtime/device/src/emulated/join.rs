//! Hardware GRO: joins TCP segments in the order in which they came so that cutting gives them back exactly.
//!
//! Two segments join only where every header byte but lengths, IDs and checksums is equal; where the last has
//! PSH or FIN it may, and ends the packet; where IPv4 IDs stay or count up by one; and where all checksums are
//! right in the one form that arithmetic gives. The result has its lengths adjusted, a right IPv4 header
//! checksum, and in the TCP field the pseudo-header sum, as for a packet that was never finished. Frames of
//! one flow never pass each other. It does not join across calls of the queue, over VLANs that differ, behind
//! IPv4 options or IPv6 extension headers, or to more than 65,535 bytes of IP.

use super::arithmetic::{checksum, pseudo, sum};
use super::inspect::Findings;
use crate::headers::{Family, Headers, TCP, be16};
use corelane_runtime::Time;
use corelane_runtime::packet::{
    Csum, Meta, MetaFlags, Packet, Partial, SegFlags, SegKind, Segmentation,
};
use std::collections::VecDeque;

const MAX_IP: usize = 0xffff;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const URG: u8 = 32;
const CWR: u8 = 128;
/// The shortest frame without its check sequence.
const SHORTEST: usize = 60;

/// A TCP segment that may be joined with its neighbours.
#[derive(Clone, Copy, Debug)]
struct Segment {
    headers: Headers,
    payload: usize,
    seq: u32,
    ip_id: Option<u16>,
    flags: u8,
    padded: bool,
}

impl Segment {
    fn of(frame: &[u8], findings: &Findings) -> Option<Segment> {
        let headers = findings.headers?;
        let header_good = headers.family == Family::V6 || findings.l3 == Csum::Good;
        let good = header_good && findings.l4 == Csum::Good && findings.canonical;
        if headers.protocol != TCP || headers.options || !good {
            return None;
        }
        let tcp = frame.get(headers.l4..headers.end)?;
        let payload = headers.l4 + usize::from(tcp.get(12)? >> 4) * 4;
        let flags = *tcp.get(13)?;
        let plain = flags & (SYN | RST | URG) == 0 && flags & ACK != 0;
        let trailer = frame.get(headers.end..)?;
        let padded = !trailer.is_empty();
        let pad_ok = frame.len() == SHORTEST && trailer.iter().all(|&byte| byte == 0);
        if !plain || payload < headers.l4 + 20 || payload >= headers.end || (padded && !pad_ok) {
            return None;
        }
        let seq = u32::from(be16(tcp, 4)?) << 16 | u32::from(be16(tcp, 6)?);
        let is_v4 = headers.family == Family::V4;
        let ip_id = if is_v4 { be16(frame, headers.l3 + 4) } else { None };
        Some(Segment { headers, payload, seq, ip_id, flags, padded })
    }

    fn len(&self) -> usize {
        self.headers.end - self.payload
    }
}

/// A packet in the making: one frame, or several joined.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// The bytes of the first frame, and the payload of the others behind them.
    pub(super) bytes: Vec<u8>,
    /// Time of the first frame.
    pub(super) time: Time,
    /// Length on the wire of a frame that is alone.
    orig_len: u32,
    /// What is known of a frame that is alone.
    pub(super) findings: Findings,
    growing: Option<Growing>,
    segments: u16,
}

/// What must hold of the next segment.
#[derive(Clone, Copy, Debug)]
struct Growing {
    first: Segment,
    last: Segment,
    /// What IDs count up by; known from the second segment on.
    id_step: Option<u16>,
    open: bool,
}

impl Joined {
    /// Appends a segment if the result can be cut into exactly what came.
    fn join(&mut self, frame: &[u8], next: &Segment) -> bool {
        let Some(growing) = self.growing else { return false };
        let Growing { first, last, .. } = growing;
        let fits = self.bytes.len() - first.headers.l3 + next.len() <= MAX_IP;
        let follows = next.seq == last.seq.wrapping_add(last.len() as u32);
        let shaped = next.len() <= first.len();
        let Some(id_step) = id_step(&growing, next) else { return false };
        if !growing.open || !fits || !follows || !shaped || !same_headers(self, frame, next) {
            return false;
        }
        self.bytes.extend_from_slice(&frame[next.payload..next.headers.end]);
        self.segments += 1;
        let open = next.len() == first.len() && next.flags & (PSH | FIN) == 0 && !next.padded;
        self.growing = Some(Growing { first, last: *next, id_step: Some(id_step), open });
        true
    }

    fn close(&mut self) {
        if let Some(growing) = &mut self.growing {
            growing.open = false;
        }
    }

    fn is_open(&self) -> bool {
        self.growing.is_some_and(|growing| growing.open)
    }

    /// Mends the headers of a packet of several segments.
    fn complete(&mut self) {
        let Some(Growing { first, last, .. }) = self.growing.filter(|_| self.segments > 1) else {
            return;
        };
        let headers = Headers { end: self.bytes.len(), ..first.headers };
        let (l3, l4) = (headers.l3, headers.l4);
        match headers.family {
            Family::V4 => {
                put(&mut self.bytes, l3 + 2, (headers.end - l3) as u16);
                put(&mut self.bytes, l3 + 10, 0);
                let field = checksum(sum(&self.bytes[l3..l4]), false);
                put(&mut self.bytes, l3 + 10, field);
            }
            Family::V6 => put(&mut self.bytes, l3 + 4, (headers.end - l4) as u16),
        }
        self.bytes[l4 + 13] |= last.flags & (PSH | FIN);
        let seed = pseudo(&self.bytes, &headers, headers.end - l4);
        put(&mut self.bytes, l4 + 16, seed);
    }

    /// Wire frames in it.
    pub(super) fn segments(&self) -> u16 {
        self.segments
    }

    /// Marks a packet made of [`Joined::bytes`] as what it is; `report` is for a frame that is alone.
    pub(super) fn mark(&self, packet: &mut Packet, report: impl FnOnce(&Findings, &mut Meta)) {
        packet.set_time(self.time);
        let Some(growing) = self.growing.filter(|_| self.segments > 1) else {
            packet.meta_mut().orig_len = self.orig_len;
            report(&self.findings, packet.meta_mut());
            return;
        };
        let Headers { family, l4, .. } = growing.first.headers;
        packet.set_segmentation(self.segmentation(&growing));
        let meta = packet.meta_mut();
        meta.orig_len = self.bytes.len() as u32;
        if family == Family::V4 {
            meta.l3[0] = Csum::Good;
        }
        meta.l4[0] = Csum::Partial;
        meta.partial[0] = Partial { start: l4 as u16, field: l4 as u16 + 16 };
        if let Some(hash) = self.findings.hash {
            meta.hash = hash;
            meta.flags |= MetaFlags::HASHED;
        }
    }

    fn segmentation(&self, growing: &Growing) -> Segmentation {
        let Growing { first, last, id_step, .. } = growing;
        let mut flags = SegFlags::empty();
        flags.set(SegFlags::FIXED_ID, *id_step == Some(0) && first.ip_id.is_some());
        flags.set(SegFlags::CWR_ALL, first.flags & CWR != 0);
        flags.set(SegFlags::PAD_LAST, last.padded);
        let kind = match first.headers.family {
            Family::V4 => SegKind::Tcp4,
            Family::V6 => SegKind::Tcp6,
        };
        Segmentation { kind, gso_size: first.len() as u16, count: self.segments, flags }
    }
}

/// The step of IDs with `next` behind; `None` if they follow no rule. Without IDs there is no step to keep.
fn id_step(growing: &Growing, next: &Segment) -> Option<u16> {
    let (Some(last), Some(id)) = (growing.last.ip_id, next.ip_id) else { return Some(0) };
    let step = id.wrapping_sub(last);
    (step <= 1 && growing.id_step.is_none_or(|known| known == step)).then_some(step)
}

/// Whether the headers differ only in lengths, IDs, checksums, sequence numbers, and PSH and FIN.
fn same_headers(joined: &Joined, frame: &[u8], next: &Segment) -> bool {
    let Some(Growing { first, .. }) = joined.growing else { return false };
    let headers = first.headers;
    if next.headers.l4 != headers.l4 || next.payload != first.payload {
        return false;
    }
    let (l3, l4) = (headers.l3, headers.l4);
    let ignored = match headers.family {
        Family::V4 => [l3 + 2..l3 + 6, l3 + 10..l3 + 12],
        Family::V6 => [l3 + 4..l3 + 6, 0..0],
    };
    (0..first.payload).all(|at| {
        let [mine, theirs] = [joined.bytes[at], frame[at]];
        let free = at == l4 + 13 && (mine ^ theirs) & !(PSH | FIN) == 0;
        let skipped = ignored.iter().any(|range| range.contains(&at));
        let counted = (l4 + 4..l4 + 8).contains(&at) || (l4 + 16..l4 + 18).contains(&at);
        mine == theirs || free || skipped || counted
    })
}

fn put(bytes: &mut [u8], at: usize, field: u16) {
    bytes[at..at + 2].copy_from_slice(&field.to_be_bytes());
}

/// The packets being made during one call of the queue, oldest first.
#[derive(Debug, Default)]
pub(super) struct Table {
    packets: VecDeque<Joined>,
    spare: Vec<Joined>,
}

/// A frame to be joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) time: Time,
    pub(super) orig_len: u32,
    pub(super) findings: Findings,
}

impl Table {
    /// Packets being made.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Joins the frame to a packet of its flow if that is right. What it must not overtake grows no more.
    pub(super) fn try_join(&mut self, arrival: &Arrival<'_>) -> bool {
        let Some(headers) = arrival.findings.headers else {
            // Whose flow this is cannot be told.
            self.close();
            return false;
        };
        let segment = Segment::of(arrival.bytes, &arrival.findings);
        for packet in self.packets.iter_mut().filter(|packet| packet.is_open()) {
            if !same_flow(packet, arrival.bytes, &headers) {
                continue;
            }
            if segment.is_some_and(|segment| packet.join(arrival.bytes, &segment)) {
                return true;
            }
            packet.close();
        }
        false
    }

    /// Begins a packet.
    pub(super) fn begin(&mut self, arrival: &Arrival<'_>) {
        let mut packet = self.spare.pop().unwrap_or_default();
        let segment = Segment::of(arrival.bytes, &arrival.findings);
        packet.growing = segment.map(|first| {
            let open = first.flags & (PSH | FIN) == 0 && !first.padded;
            Growing { first, last: first, id_step: None, open }
        });
        packet.bytes.clear();
        packet.bytes.extend_from_slice(arrival.bytes);
        packet.time = arrival.time;
        packet.orig_len = arrival.orig_len;
        packet.findings = arrival.findings;
        packet.segments = 1;
        self.packets.push_back(packet);
    }

    /// Lets nothing grow any more.
    pub(super) fn close(&mut self) {
        self.packets.iter_mut().for_each(Joined::close);
    }

    /// The oldest packet, its headers mended. It grows no more.
    pub(super) fn first(&mut self) -> Option<&Joined> {
        let packet = self.packets.front_mut()?;
        packet.close();
        packet.complete();
        Some(packet)
    }

    /// Forgets the oldest packet, which was delivered.
    pub(super) fn pop(&mut self) {
        self.spare.extend(self.packets.pop_front());
    }
}

/// Whether a frame could belong to the flow of a packet: same addresses, and same ports if it has any.
fn same_flow(packet: &Joined, frame: &[u8], headers: &Headers) -> bool {
    let Some(own) = packet.findings.headers else { return false };
    let same_addresses = own.addresses(&packet.bytes) == headers.addresses(frame);
    let ports = headers.ports(frame);
    same_addresses && (ports.is_none() || ports == own.ports(&packet.bytes))
}
