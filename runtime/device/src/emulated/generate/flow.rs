//! The bytes of generated frames: one payload per length, headers per flow.

use super::{ETHERNET, Generate, Protocol};
use crate::emulated::arithmetic::{add, checksum, subtract, sum, words};
use crate::emulated::faults::mix;
use crate::headers::flow_hash;

/// Where frames in a tunnel are sent to.
const INSIDE: [u8; 6] = [2, 0, 0, 0, 0, 3];

/// Frames of one length: headers are written over the first bytes, payload stays.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) frame: Vec<u8>,
    payload_sum: u16,
    /// Sum of the UDP datagram around it, if it comes in a tunnel.
    pub(super) datagram: Option<u16>,
}

/// One flow.
#[derive(Debug)]
pub(super) struct Flow {
    /// Headers, with fields that change left zero.
    pub(super) header: Vec<u8>,
    /// Sum of the IPv4 header as far as it stays; 0 for IPv6.
    ip_sum: u16,
    /// Sum of addresses and protocol, which the pseudo header is made of beside the length.
    pseudo: u16,
    /// Sum of the transport header as far as it stays.
    l4_sum: u16,
    pub(super) hash: u32,
    pub(super) seq: u32,
    pub(super) ip_id: u16,
    /// Which of the sizes comes next.
    pub(super) size: usize,
    /// Sum of the innermost Ethernet header and of an IPv6 header as far as it stays.
    link_sum: u16,
}

impl Template {
    pub(super) fn new(plan: &Generate, len: usize) -> Template {
        let header_len = plan.header_len();
        let bytes = (0..len).map(|at| mix(plan.seed ^ (at as u64) << 32) as u8);
        let frame: Vec<u8> = bytes.collect();
        let payload_sum = sum(&frame[header_len..]);
        Template { frame, payload_sum, datagram: None }
    }

    /// Makes this the next frame of `flow`.
    pub(super) fn write(&mut self, plan: &Generate, flow: &Flow) {
        let l3 = plan.l3();
        let l4 = l3 + plan.l3_len();
        let payload_sum = self.payload_sum;
        let frame = &mut self.frame;
        frame[..flow.header.len()].copy_from_slice(&flow.header);
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
        let is_udp = plan.protocol == Protocol::Udp;
        // What changes from frame to frame.
        let changing = match is_udp {
            true => l4_len as u16,
            false => words(flow.seq),
        };
        match is_udp {
            true => put(frame, l4 + 4, l4_len as u16),
            false => frame[l4 + 4..l4 + 8].copy_from_slice(&flow.seq.to_be_bytes()),
        }
        let pseudo = add(flow.pseudo, words(l4_len as u32));
        let segment = add(add(flow.l4_sum, payload_sum), changing);
        let field = if plan.partial { pseudo } else { checksum(add(pseudo, segment), is_udp) };
        put(frame, l4 + if is_udp { 6 } else { 16 }, field);
        self.datagram = plan.tunnel.as_ref().map(|tunnel| {
            let inside = flow.sum_of_frame(plan, pseudo, l4_len as u16);
            tunnel.complete(frame, flow.ip_id, inside)
        });
    }
}

fn put(frame: &mut [u8], at: usize, field: u16) {
    frame[at..at + 2].copy_from_slice(&field.to_be_bytes());
}

impl Flow {
    pub(super) fn new(plan: &Generate, number: u32) -> Flow {
        let random = mix(plan.seed ^ u64::from(number) << 32);
        let protocol = if plan.protocol == Protocol::Udp { 17 } else { 6 };
        let mut header = match &plan.tunnel {
            Some(tunnel) => [&tunnel.header(plan.destination, random)[..], &INSIDE].concat(),
            None => plan.destination.to_vec(),
        };
        header.extend([2, 0, 0, 0, 0, 1]);
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
        let l3 = plan.l3();
        let ip = &header[l3..l4];
        let addresses = if plan.ipv6 { &ip[8..40] } else { &ip[12..20] };
        Flow {
            ip_sum: if plan.ipv6 { 0 } else { sum(ip) },
            link_sum: sum(&header[l3 - ETHERNET..if plan.ipv6 { l4 } else { l3 }]),
            pseudo: add(sum(addresses), u16::from(protocol)),
            l4_sum: sum(&header[l4..]),
            hash: flow_hash(&header),
            seq: random as u32,
            ip_id: (random >> 16) as u16,
            size: 0,
            header,
        }
    }

    /// The sum of a frame of this flow whose checksums are right, with this pseudo header: no payload is read.
    fn sum_of_frame(&self, plan: &Generate, pseudo: u16, l4_len: u16) -> u16 {
        let segment = subtract(0xffff, pseudo);
        // A right IPv4 header makes 0xFFFF; of an IPv6 header the length is still missing.
        let ip = if plan.ipv6 { l4_len } else { 0xffff };
        add(add(self.link_sum, ip), segment)
    }
}
