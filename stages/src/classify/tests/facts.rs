//! What the fields of a frame are, read off its bytes by code that shares nothing with what is tested: one header
//! after the other, slowly.

use std::collections::BTreeMap;

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Number(u64),
    V6(u128),
}

/// By key; a key that is not there the packet does not have.
pub(super) type Facts = BTreeMap<&'static str, Fact>;

fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + len)?;
    Some(bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}

struct Reader<'a> {
    frame: &'a [u8],
    facts: Facts,
}

/// An IP header: its place, its version, where what follows it starts and where the datagram ends.
struct Ip {
    at: usize,
    v4: bool,
    body: usize,
    end: usize,
    protocol: Option<u64>,
    fragment: u64,
}

/// The facts of a frame that begins with an Ethernet header.
pub(super) fn of(frame: &[u8], mark: u16, port: u16) -> Facts {
    let mut reader = Reader { frame, facts: Facts::new() };
    reader.note("mark", Some(mark.into()));
    reader.note("port", Some(port.into()));
    reader.note("length", Some(frame.len() as u64));
    reader.link();
    reader.facts
}

impl Reader<'_> {
    fn note(&mut self, key: &'static str, value: Option<u64>) {
        if let Some(value) = value {
            self.facts.insert(key, Fact::Number(value));
        }
    }

    fn at(&self, at: usize, len: usize) -> Option<u64> {
        number(self.frame, at, len)
    }

    fn link(&mut self) {
        if self.frame.len() < 14 {
            return;
        }
        self.note("eth_dst", self.at(0, 6));
        self.note("eth_src", self.at(6, 6));
        let is_tag = |kind| matches!(kind, 0x8100 | 0x88a8 | 0x9100);
        let (mut kind, mut at) = (self.at(12, 2).unwrap_or(0), 14);
        if is_tag(kind) && self.frame.len() >= 18 {
            self.note("vlan", self.at(14, 2).map(|tci| tci & 0xfff));
        }
        loop {
            if is_tag(kind) {
                let Some(next) = self.at(at + 2, 2) else { return };
                (kind, at) = (next, at + 4);
            } else if kind <= 1500 {
                // LLC with the SAPs of SNAP, unnumbered information, and an organization that means EtherTypes.
                let snap = self.at(at, 6).filter(|head| head >> 24 == 0xaa_aa03);
                let organization = snap.map(|head| head & 0xff_ffff);
                let known = matches!(organization, Some(0 | 0xf8));
                let Some(next) = self.at(at + 6, 2).filter(|_| known) else { return };
                (kind, at) = (next, at + 8);
            } else {
                break;
            }
        }
        self.note("ethertype", Some(kind));
        let ip = match kind {
            0x0800 => self.ipv4(at),
            0x86dd => self.ipv6(at),
            _ => None,
        };
        if let Some(ip) = ip {
            self.ip(&ip);
        }
    }

    fn ipv4(&mut self, at: usize) -> Option<Ip> {
        let first = self.at(at, 1)?;
        let body = at + (first & 15) as usize * 4;
        if first >> 4 != 4 || body < at + 20 || body > self.frame.len() {
            return None;
        }
        let (tos, total) = (self.at(at + 1, 1)?, self.at(at + 2, 2)? as usize);
        let (flags, protocol) = (self.at(at + 6, 2)?, self.at(at + 9, 1)?);
        self.note("src", self.at(at + 12, 4));
        self.note("dst", self.at(at + 16, 4));
        self.note("dscp", Some(tos >> 2));
        self.note("ecn", Some(tos & 3));
        let end = if total == 0 { self.frame.len() } else { at + total }.min(self.frame.len());
        let fragment = match (flags & 0x1fff, flags & 0x2000) {
            (0, 0) => 0,
            (0, _) => 1,
            _ => 2,
        };
        let mut ip = Ip { at, v4: true, body, end, protocol: Some(protocol), fragment };
        if body > end {
            ip.protocol = None;
        }
        self.chain(&mut ip, &[51]);
        Some(ip)
    }

    fn ipv6(&mut self, at: usize) -> Option<Ip> {
        if self.frame.len() < at + 40 || self.at(at, 1)? >> 4 != 6 {
            return None;
        }
        let class = self.at(at, 2)? >> 4 & 0xff;
        for (key, from) in [("src", at + 8), ("dst", at + 24)] {
            let halves = (self.at(from, 8)?, self.at(from + 8, 8)?);
            self.facts.insert(key, Fact::V6(u128::from(halves.0) << 64 | u128::from(halves.1)));
        }
        self.note("dscp", Some(class >> 2));
        self.note("ecn", Some(class & 3));
        let (len, body) = (self.at(at + 4, 2)? as usize, at + 40);
        let end = if len == 0 { self.frame.len() } else { body + len }.min(self.frame.len());
        let mut ip = Ip { at, v4: false, body, end, protocol: self.at(at + 6, 1), fragment: 0 };
        self.chain(&mut ip, &[0, 43, 44, 51, 60, 135, 139, 140]);
        Some(ip)
    }

    /// Passes headers of these protocols.
    fn chain(&self, ip: &mut Ip, passed: &[u64]) {
        while let Some(protocol) = ip.protocol.filter(|next| passed.contains(next)) {
            if ip.fragment == 2 {
                return;
            }
            let datagram = &self.frame[..ip.end];
            let (next, units) = (number(datagram, ip.body, 1), number(datagram, ip.body + 1, 1));
            let units = units.unwrap_or(0) as usize;
            let len = match protocol {
                44 => 8,
                51 => (units + 2) * 4,
                _ => (units + 1) * 8,
            };
            if ip.body + len > ip.end || (protocol == 51 && len < 12) {
                ip.protocol = None;
                return;
            }
            if protocol == 44 {
                let offset = number(datagram, ip.body + 2, 2).unwrap_or(0);
                ip.fragment = match (offset >> 3, offset & 1) {
                    (0, 0) => ip.fragment,
                    (0, _) => 1,
                    _ => 2,
                };
            }
            (ip.protocol, ip.body) = (next, ip.body + len);
        }
    }

    fn ip(&mut self, ip: &Ip) {
        self.note("fragment", Some(ip.fragment));
        self.note("proto", ip.protocol);
        let fits = |len: usize| ip.body + len <= ip.end;
        let mut tunnel = matches!(ip.protocol, Some(4 | 41 | 47)) && ip.fragment == 0;
        match ip.protocol.filter(|_| ip.fragment != 2) {
            Some(6) if fits(20) => {
                let len = (self.at(ip.body + 12, 1).unwrap_or(0) >> 4) as usize * 4;
                if len >= 20 && fits(len) {
                    self.note("tcp_src", self.at(ip.body, 2));
                    self.note("tcp_dst", self.at(ip.body + 2, 2));
                    self.note("tcp_flags", self.at(ip.body + 13, 1));
                }
            }
            Some(17) if fits(8) => {
                self.note("udp_src", self.at(ip.body, 2));
                self.note("udp_dst", self.at(ip.body + 2, 2));
                let vni = self.vni(ip).filter(|_| ip.fragment == 0);
                self.note("vni", vni);
                tunnel |= vni.is_some();
            }
            Some(47) if fits(4) => self.gre(ip),
            _ => {}
        }
        if tunnel {
            for (key, of) in [("tunnel_src", "src"), ("tunnel_dst", "dst")] {
                let fact = self.facts[of];
                self.facts.insert(key, fact);
            }
        }
        let _ = (ip.at, ip.v4);
    }

    fn vni(&self, ip: &Ip) -> Option<u64> {
        let (port, len) = (self.at(ip.body + 2, 2)?, self.at(ip.body + 4, 2)?);
        if ip.body + 16 > ip.end || (len > 0 && len < 16) {
            return None;
        }
        let first = self.at(ip.body + 8, 1)?;
        let sound = match port {
            4789 | 8472 | 4790 => first & 8 != 0,
            6081 => first >> 6 == 0,
            _ => false,
        };
        self.at(ip.body + 12, 3).filter(|_| sound)
    }

    fn gre(&mut self, ip: &Ip) {
        let Some(flags) = self.at(ip.body, 2) else { return };
        let len = 4 + 4 * (flags & 0xb000).count_ones() as usize;
        if flags & 0x4007 != 0 || ip.body + len > ip.end || flags & 0x2000 == 0 {
            return;
        }
        let key = ip.body + if flags & 0x8000 != 0 { 8 } else { 4 };
        self.note("gre_key", self.at(key, 4));
    }
}
