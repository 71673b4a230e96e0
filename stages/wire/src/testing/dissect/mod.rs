//! Takes a frame apart for people: one line a header, and a list of what is wrong with it.
//!
//! It promises to share nothing with the walk it is used beside: plain indices, a recursive
//! descent, every checksum added byte by byte. Later fragments and unknown protocols are shown as
//! bytes and not judged. `tunnel` takes apart what is around an inner frame or packet.

mod tunnel;

use super::{slow_pseudo_header, slow_sum};

/// One header, or a run of bytes.
pub(super) struct Piece {
    pub(super) at: usize,
    pub(super) text: String,
}

/// A frame taken apart.
#[derive(Default)]
pub(super) struct Dissection {
    pub(super) pieces: Vec<Piece>,
    pub(super) problems: Vec<String>,
}

impl Dissection {
    pub(super) fn of(frame: &[u8]) -> Dissection {
        let mut dissection = Dissection::default();
        dissection.ethernet(frame, 0, frame.len());
        dissection
    }

    fn piece(&mut self, at: usize, text: String) {
        self.pieces.push(Piece { at, text });
    }

    fn problem(&mut self, at: usize, text: &str) {
        self.problems.push(format!("byte {at}: {text}"));
    }

    fn rest(&mut self, what: &str, at: usize, end: usize) {
        if end > at {
            self.piece(at, format!("{what} {} bytes", end - at));
        }
    }

    fn ethernet(&mut self, frame: &[u8], at: usize, end: usize) {
        if end < at + 14 {
            self.problem(at, "shorter than an Ethernet header");
            return self.rest("bytes", at, end);
        }
        let mut ethertype = be16(frame, at + 12);
        let (dst, src) = (hex(&frame[at..at + 6]), hex(&frame[at + 6..at + 12]));
        self.piece(at, format!("ethernet {src} > {dst} type {ethertype:04x}"));
        let mut at = at + 14;
        loop {
            match ethertype {
                0x8100 | 0x88a8 | 0x9100 if end >= at + 4 => {
                    let tci = be16(frame, at);
                    ethertype = be16(frame, at + 2);
                    self.piece(at, format!("vlan {} tci {tci:04x}", tci & 0xfff));
                    at += 4;
                }
                0..=1500 if end >= at + 8 && frame[at..at + 3] == [0xaa, 0xaa, 3] => {
                    ethertype = be16(frame, at + 6);
                    self.piece(at, format!("llc/snap type {ethertype:04x}"));
                    at += 8;
                }
                0x0800 => return self.ipv4(frame, at, end),
                0x86dd => return self.ipv6(frame, at, end),
                0x0806 => return self.arp(frame, at, end),
                _ => return self.rest("bytes", at, end),
            }
        }
    }

    fn arp(&mut self, frame: &[u8], at: usize, end: usize) {
        if end < at + 28 {
            return self.rest("arp", at, end);
        }
        let about = hex(&frame[at..at + 6]);
        self.piece(
            at,
            format!(
                "arp {about} operation {} {} {} > {} {}",
                be16(frame, at + 6),
                hex(&frame[at + 8..at + 14]),
                dotted(&frame[at + 14..at + 18]),
                hex(&frame[at + 18..at + 24]),
                dotted(&frame[at + 24..at + 28]),
            ),
        );
        self.rest("trailer", at + 28, end);
    }

    fn ipv4(&mut self, frame: &[u8], at: usize, end: usize) {
        let header_len = if end > at { usize::from(frame[at] & 15) * 4 } else { 0 };
        if end < at + 20 || frame[at] >> 4 != 4 || header_len < 20 || end < at + header_len {
            self.problem(at, "not a whole IPv4 header");
            return self.rest("bytes", at, end);
        }
        let (total_length, flags) = (usize::from(be16(frame, at + 2)), be16(frame, at + 6));
        let (src, dst) = (&frame[at + 12..at + 16], &frame[at + 16..at + 20]);
        self.piece(
            at,
            format!(
                "ipv4 {} > {} tos {:02x} total_length {total_length} id {:04x} \
                 flags/offset {flags:04x} ttl {} protocol {} checksum {:04x} options {}",
                dotted(src),
                dotted(dst),
                frame[at + 1],
                be16(frame, at + 4),
                frame[at + 8],
                frame[at + 9],
                be16(frame, at + 10),
                hex(&frame[at + 20..at + header_len]),
            ),
        );
        if slow_sum(&[&frame[at..at + header_len]]) != 0xffff {
            self.problem(at, "wrong IPv4 header checksum");
        }
        let datagram_end = if total_length == 0 { end } else { at + total_length };
        if datagram_end > end || datagram_end < at + header_len {
            self.problem(at, "IPv4 total length does not fit");
            return self.rest("bytes", at + header_len, end);
        }
        let body = at + header_len;
        if flags & 0x3fff != 0 {
            self.rest("fragment", body, datagram_end);
        } else {
            self.l4(frame, body, datagram_end, frame[at + 9], &[src, dst]);
        }
        self.rest("trailer", datagram_end, end);
    }

    fn ipv6(&mut self, frame: &[u8], at: usize, end: usize) {
        if end < at + 40 || frame[at] >> 4 != 6 {
            self.problem(at, "not a whole IPv6 header");
            return self.rest("bytes", at, end);
        }
        let payload_length = usize::from(be16(frame, at + 4));
        let (src, dst) = (&frame[at + 8..at + 24], &frame[at + 24..at + 40]);
        self.piece(
            at,
            format!(
                "ipv6 {} > {} class/flow {} payload_length {payload_length} next {} hop_limit {}",
                hex(src),
                hex(dst),
                hex(&frame[at..at + 4]),
                frame[at + 6],
                frame[at + 7],
            ),
        );
        let mut chain =
            Chain { at: at + 40, next: frame[at + 6], src, dst, jumbo: None, fragment: false };
        while self.extension(frame, &mut chain, end) {}
        let datagram_end = match (payload_length, chain.jumbo) {
            (0, Some(jumbo)) => at + 40 + jumbo,
            (0, None) => end,
            (length, _) => at + 40 + length,
        };
        if datagram_end > end || datagram_end < chain.at {
            self.problem(at, "IPv6 payload length does not fit");
            return self.rest("bytes", chain.at, end);
        }
        if chain.fragment {
            self.rest("fragment", chain.at, datagram_end);
        } else {
            self.l4(frame, chain.at, datagram_end, chain.next, &[chain.src, chain.dst]);
        }
        self.rest("trailer", datagram_end, end);
    }

    /// Passes one extension header, if there is one.
    fn extension<'a>(&mut self, frame: &'a [u8], chain: &mut Chain<'a>, end: usize) -> bool {
        let at = chain.at;
        if !matches!(chain.next, 0 | 43 | 44 | 51 | 60 | 135 | 139 | 140) || chain.fragment {
            return false;
        }
        if end < at + 8 {
            self.problem(at, "extension header does not fit");
            return false;
        }
        let len = match chain.next {
            44 => 8,
            51 => (usize::from(frame[at + 1]) + 2) * 4,
            _ => (usize::from(frame[at + 1]) + 1) * 8,
        };
        if end < at + len {
            self.problem(at, "extension header does not fit");
            return false;
        }
        let header = &frame[at..at + len];
        self.piece(at, format!("ipv6 extension {} {}", chain.next, hex(header)));
        chain.pass(header);
        true
    }

    fn l4(&mut self, frame: &[u8], at: usize, end: usize, protocol: u8, addresses: &[&[u8]; 2]) {
        match protocol {
            6 => self.tcp(frame, at, end, addresses),
            17 => self.udp(frame, at, end, addresses),
            1 | 58 => self.icmp(frame, at, end, protocol, addresses),
            4 => self.ipv4(frame, at, end),
            41 => self.ipv6(frame, at, end),
            47 => self.gre(frame, at, end),
            51 if end >= at + 12 => {
                let after = (at + (usize::from(frame[at + 1]) + 2) * 4).min(end);
                self.piece(at, format!("authentication header {}", hex(&frame[at..after])));
                self.l4(frame, after, end, frame[at], addresses);
            }
            _ => self.rest(&format!("protocol {protocol}"), at, end),
        }
    }

    fn tcp(&mut self, frame: &[u8], at: usize, end: usize, addresses: &[&[u8]; 2]) {
        let header_len = if end >= at + 20 { usize::from(frame[at + 12] >> 4) * 4 } else { 0 };
        if header_len < 20 || end < at + header_len {
            self.problem(at, "not a whole TCP header");
            return self.rest("bytes", at, end);
        }
        self.piece(
            at,
            format!(
                "tcp {} > {} seq {} ack {} flags {:03x} window {} checksum {:04x} urgent {} \
                 options {}",
                be16(frame, at),
                be16(frame, at + 2),
                be32(frame, at + 4),
                be32(frame, at + 8),
                be16(frame, at + 12) & 0xfff,
                be16(frame, at + 14),
                be16(frame, at + 16),
                be16(frame, at + 18),
                hex(&frame[at + 20..at + header_len]),
            ),
        );
        self.checksum(frame, at, end, 6, addresses);
        self.rest("payload", at + header_len, end);
    }

    fn icmp(&mut self, frame: &[u8], at: usize, end: usize, protocol: u8, addresses: &[&[u8]; 2]) {
        if end < at + 4 {
            self.problem(at, "not a whole ICMP header");
            return self.rest("bytes", at, end);
        }
        let (kind, code, checksum) = (frame[at], frame[at + 1], be16(frame, at + 2));
        let name = if protocol == 1 { "icmp" } else { "icmp6" };
        self.piece(at, format!("{name} type {kind} code {code} checksum {checksum:04x}"));
        if protocol == 58 {
            self.checksum(frame, at, end, 58, addresses);
        } else if slow_sum(&[&frame[at..end]]) != 0xffff {
            self.problem(at, "wrong ICMP checksum");
        }
        self.rest("message", at + 4, end);
    }

    fn udp(&mut self, frame: &[u8], at: usize, end: usize, addresses: &[&[u8]; 2]) {
        if end < at + 8 {
            self.problem(at, "not a whole UDP header");
            return self.rest("bytes", at, end);
        }
        let (port, length) = (be16(frame, at + 2), usize::from(be16(frame, at + 4)));
        let checksum = be16(frame, at + 6);
        let src_port = be16(frame, at);
        self.piece(at, format!("udp {src_port} > {port} length {length} checksum {checksum:04x}"));
        let udp_end = if length == 0 { end } else { at + length };
        if udp_end < at + 8 || udp_end > end {
            self.problem(at, "UDP length does not fit");
            return self.rest("bytes", at + 8, end);
        }
        let inside = tunnel::in_udp(frame, port, at + 8, udp_end);
        if checksum != 0 {
            self.checksum(frame, at, udp_end, 17, addresses);
        } else if addresses[0].len() == 16 && inside.is_none() {
            self.problem(at, "UDP without a checksum over IPv6 (RFC 8200 section 8.1)");
        }
        match inside {
            Some(inside) => self.tunnel(frame, at + 8, inside, udp_end),
            None => self.rest("payload", at + 8, udp_end),
        }
        self.rest("bytes after UDP", udp_end, end);
    }

    fn checksum(
        &mut self,
        frame: &[u8],
        at: usize,
        end: usize,
        protocol: u8,
        addresses: &[&[u8]; 2],
    ) {
        let [src, dst] = addresses;
        let pseudo = slow_pseudo_header(src, dst, (end - at) as u32, protocol);
        if slow_sum(&[&pseudo, &frame[at..end]]) != 0xffff {
            let name = match protocol {
                6 => "TCP",
                17 => "UDP",
                _ => "ICMPv6",
            };
            self.problem(at, &format!("wrong {name} checksum"));
        }
    }
}

/// The state of a walk along extension headers.
struct Chain<'a> {
    at: usize,
    next: u8,
    src: &'a [u8],
    dst: &'a [u8],
    jumbo: Option<usize>,
    fragment: bool,
}

impl<'a> Chain<'a> {
    fn pass(&mut self, header: &'a [u8]) {
        match self.next {
            0 => {
                let jumbo = option(header, 0xc2, 4).map(|data| be32(data, 0) as usize);
                self.jumbo = jumbo.or(self.jumbo);
            }
            60 => self.src = option(header, 0xc9, 16).unwrap_or(self.src),
            43 if header[3] > 0 && header.len() >= 24 => match header[2] {
                0 | 2 => self.dst = &header[header.len() - 16..],
                4 => self.dst = &header[8..24],
                _ => {}
            },
            44 => self.fragment = be16(header, 2) & 0xfff9 != 0,
            _ => {}
        }
        self.next = header[0];
        self.at += header.len();
    }
}

/// The data of an option of this type and length.
fn option(header: &[u8], kind: u8, len: usize) -> Option<&[u8]> {
    let mut rest = &header[2..];
    loop {
        match rest {
            [0, after @ ..] => rest = after,
            [this, this_len, after @ ..] => {
                let (data, after) = after.split_at_checked(usize::from(*this_len))?;
                if *this == kind && data.len() == len {
                    return Some(data);
                }
                rest = after;
            }
            _ => return None,
        }
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

fn dotted(address: &[u8]) -> String {
    address.iter().map(u8::to_string).collect::<Vec<_>>().join(".")
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
