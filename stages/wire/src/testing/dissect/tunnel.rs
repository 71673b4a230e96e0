//! Tunnel headers taken apart: what is in them, what they carry, where that starts.
//!
//! As all of `dissect` it is written from the specifications with plain indices, apart from the
//! walk it judges.

use super::super::slow_sum;
use super::{Dissection, be16, be32, hex};

/// What a tunnel header says is inside.
pub(super) struct Inside {
    at: usize,
    ethertype: u16,
    /// The header's line.
    text: String,
}

/// The tunnel header at `at` of a UDP datagram to `port`, if that port and the header mean one.
pub(super) fn in_udp(frame: &[u8], port: u16, at: usize, end: usize) -> Option<Inside> {
    if end < at + 8 {
        return None;
    }
    match port {
        4789 | 4790 | 8472 => vxlan(frame, port, at),
        6081 => geneve(frame, at, end),
        _ => None,
    }
}

fn vxlan(frame: &[u8], port: u16, at: usize) -> Option<Inside> {
    let (flags, next) = (frame[at], frame[at + 3]);
    let ethertype = match (flags & 4 != 0, next) {
        _ if flags & 8 == 0 => return None,
        (false, _) if port != 4790 => 0x6558,
        (true, 1) => 0x0800,
        (true, 2) => 0x86dd,
        (true, 3) => 0x6558,
        _ => return None,
    };
    let vni = be32(frame, at + 4) >> 8;
    let text = format!("vxlan {vni} header {}", hex(&frame[at..at + 8]));
    Some(Inside { at: at + 8, ethertype, text })
}

fn geneve(frame: &[u8], at: usize, end: usize) -> Option<Inside> {
    let len = 8 + 4 * usize::from(frame[at] & 0x3f);
    if frame[at] >> 6 != 0 || frame[at + 1] >= 0x80 || end < at + len {
        return None;
    }
    let vni = be32(frame, at + 4) >> 8;
    let options = hex(&frame[at + 8..at + len]);
    let text = format!("geneve {vni} header {} options {options}", hex(&frame[at..at + 8]));
    Some(Inside { at: at + len, ethertype: be16(frame, at + 2), text })
}

impl Dissection {
    /// Shows a tunnel header at `at` and what is in it.
    pub(super) fn tunnel(&mut self, frame: &[u8], at: usize, inside: Inside, end: usize) {
        self.piece(at, inside.text);
        match inside.ethertype {
            0x6558 => self.ethernet(frame, inside.at, end),
            0x0800 => self.ipv4(frame, inside.at, end),
            0x86dd => self.ipv6(frame, inside.at, end),
            _ => self.rest("payload", inside.at, end),
        }
    }

    pub(super) fn gre(&mut self, frame: &[u8], at: usize, end: usize) {
        let flags = if end >= at + 4 { be16(frame, at) } else { 0xffff };
        let mut len = 4;
        for bit in [15, 13, 12] {
            len += 4 * usize::from(flags >> bit & 1);
        }
        if flags & 0x4007 != 0 || end < at + len {
            return self.rest("gre", at, end);
        }
        let ethertype = be16(frame, at + 2);
        let text = format!("gre type {ethertype:04x} header {}", hex(&frame[at..at + len]));
        if flags & 0x8000 != 0 && slow_sum(&[&frame[at..end]]) != 0xffff {
            self.problem(at, "wrong GRE checksum");
        }
        let erspan = match (ethertype, flags & 0x1000 != 0) {
            (0x88be, false) => Some(0),
            (0x88be, true) => Some(8),
            (0x22eb, _) if end >= at + len + 12 && frame[at + len + 11] & 1 != 0 => Some(20),
            (0x22eb, _) => Some(12),
            _ => None,
        };
        let inside = match erspan {
            None => Inside { at: at + len, ethertype, text },
            Some(more) if end >= at + len + more => {
                Inside { at: at + len + more, ethertype: 0x6558, text: text + " erspan" }
            }
            Some(_) => return self.rest("gre", at, end),
        };
        self.tunnel(frame, at, inside, end);
    }
}
