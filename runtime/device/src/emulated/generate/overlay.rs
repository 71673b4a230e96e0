//! A tunnel around generated frames: an outer level whose checksum costs its headers only.
//!
//! What is inside is finished, so its sum is known without a look at the payload: a right checksum makes pseudo
//! header and segment together 0xFFFF, and an IPv4 header 0xFFFF by itself. Each flow has a UDP source port of its
//! own, as senders of RFC 7348 section 5 and RFC 8926 section 3.3 have.

use super::{ETHERNET, MAX_IP};
use crate::emulated::arithmetic::{add, checksum, sum, words};
use crate::headers::{Parses, UDP};
use std::net::IpAddr;

const UDP_LEN: usize = 8;
/// Of VXLAN, and of Geneve without options.
const TUNNEL_LEN: usize = 8;
const MAX_VNI: u32 = (1 << 24) - 1;

/// The tunnel that generated frames come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// What carries the frames.
    pub kind: OverlayKind,
    /// Network identifier, 24 bits.
    pub vni: u32,
    /// UDP destination port.
    pub port: u16,
    /// Outer source address.
    pub from: IpAddr,
    /// Outer destination address, of the same version of IP.
    pub to: IpAddr,
    /// Whether the outer UDP checksum is there; else it is 0.
    pub checksum: bool,
}

/// What carries generated frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayKind {
    /// VXLAN (RFC 7348).
    Vxlan,
    /// Geneve without options (RFC 8926).
    Geneve,
}

impl Overlay {
    /// One between addresses set aside for benchmarks (RFC 2544), on the UDP port registered for it, without outer
    /// checksum.
    pub fn new(kind: OverlayKind, vni: u32) -> Overlay {
        let port = match kind {
            OverlayKind::Vxlan => 4789,
            OverlayKind::Geneve => 6081,
        };
        let (from, to) = (IpAddr::from([198, 18, 255, 1]), IpAddr::from([198, 18, 255, 2]));
        Overlay { kind, vni, port, from, to, checksum: false }
    }

    /// Says what is wrong with it; frames in it have at most `largest` bytes.
    pub(super) fn check(&self, largest: usize) -> Result<(), String> {
        if self.vni > MAX_VNI {
            return Err(format!(
                "`vni` is {}, but it has 24 bits; give {MAX_VNI} or less",
                self.vni
            ));
        }
        if self.port == 0 {
            return Err("`port` is 0, which is no UDP port; give one from 1 on".to_owned());
        }
        if self.from.is_ipv4() != self.to.is_ipv4() {
            return Err(
                "`from` and `to` are of two versions of IP; give addresses of the same".to_owned()
            );
        }
        let room = MAX_IP as usize - (self.len() - ETHERNET);
        if largest > room {
            return Err(format!(
                "its frames have {largest} bytes, but the tunnel holds {room}; give a smaller `size`"
            ));
        }
        Ok(())
    }

    /// Bytes in front of the frame that is carried.
    pub(super) fn len(&self) -> usize {
        self.l4() + UDP_LEN + TUNNEL_LEN
    }

    /// Whether a device that looks into these tunnels finds it.
    pub(super) fn is_found(&self, parses: &Parses) -> bool {
        match self.kind {
            OverlayKind::Vxlan => parses.vxlan.contains(self.port),
            OverlayKind::Geneve => parses.geneve.contains(self.port),
        }
    }

    fn l4(&self) -> usize {
        ETHERNET + if self.from.is_ipv4() { 20 } else { 40 }
    }

    /// The headers for a flow, with length, IPv4 ID and checksums of 0.
    pub(super) fn header(&self, destination: [u8; 6], random: u64) -> Vec<u8> {
        let mut header = destination.to_vec();
        header.extend([2, 0, 0, 0, 0, 1]);
        match (self.from, self.to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                header.extend([8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, UDP, 0, 0]);
                header.extend(from.octets().into_iter().chain(to.octets()));
            }
            (from, to) => {
                header.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, UDP, 64]);
                header.extend([from, to].into_iter().flat_map(octets));
            }
        }
        // The dynamic ports of RFC 6335.
        let source = 49_152 + (random >> 40) as u16 % 16_384;
        header.extend([source, self.port, 0, 0].iter().flat_map(|field| field.to_be_bytes()));
        match self.kind {
            OverlayKind::Vxlan => header.extend([8, 0, 0, 0]),
            OverlayKind::Geneve => header.extend([0, 0, 0x65, 0x58]),
        }
        header.extend((self.vni << 8).to_be_bytes());
        header
    }

    /// Completes the headers at the start of `frame`, of which `inside` is the sum of the frame carried. Returns the
    /// sum of the UDP datagram.
    pub(super) fn complete(&self, frame: &mut [u8], ip_id: u16, inside: u16) -> u16 {
        let l4 = self.l4();
        let len = (frame.len() - l4) as u16;
        if self.from.is_ipv4() {
            put(frame, ETHERNET + 2, (frame.len() - ETHERNET) as u16);
            put(frame, ETHERNET + 4, ip_id);
            let field = checksum(sum(&frame[ETHERNET..l4]), false);
            put(frame, ETHERNET + 10, field);
        } else {
            put(frame, ETHERNET + 4, len);
        }
        put(frame, l4 + 4, len);
        let datagram = add(sum(&frame[l4..self.len()]), inside);
        if !self.checksum {
            return datagram;
        }
        let addresses = if self.from.is_ipv4() { &frame[l4 - 8..l4] } else { &frame[l4 - 32..l4] };
        let pseudo = add(add(sum(addresses), u16::from(UDP)), words(u32::from(len)));
        let field = checksum(add(pseudo, datagram), true);
        put(frame, l4 + 6, field);
        add(datagram, field)
    }
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn put(frame: &mut [u8], at: usize, field: u16) {
    frame[at..at + 2].copy_from_slice(&field.to_be_bytes());
}
