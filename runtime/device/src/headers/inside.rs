//! One level inside a tunnel, as a device finds it that knows the tunnel.
//!
//! VXLAN (RFC 7348) and Geneve (RFC 8926) are known by their UDP destination port, and by nothing else; GRE
//! (RFC 2784, RFC 2890) and IP in IP (RFC 2003, RFC 4213, RFC 2473) by the protocol number. A header of another
//! version, with bits that must be zero, or with extensions that change what follows, is no tunnel to the device:
//! it then is what it is outside. Nothing is looked at inside what is inside.

use corelane_runtime::offload::{Caps, Limits, UdpPorts};

use super::{GRE, Headers, IPV4, IPV6, UDP, be16};

/// UDP ports of VXLAN: the registered one, and that of Linux before there was one.
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
/// The registered UDP port of Geneve.
const GENEVE_PORTS: [u16; 1] = [6081];

/// Whether everybody who looks for tunnels looks behind this UDP port.
pub(crate) fn is_usual_tunnel(port: u16) -> bool {
    VXLAN_PORTS.contains(&port) || GENEVE_PORTS.contains(&port)
}

/// An Ethernet frame in Geneve or GRE.
const TRANSPARENT_ETHERNET: u16 = 0x6558;
const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const UDP_LEN: usize = 8;
const VXLAN_LEN: usize = 8;

/// Which tunnels a device looks into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parses {
    /// UDP ports that it takes for VXLAN.
    pub(crate) vxlan: UdpPorts,
    /// UDP ports that it takes for Geneve.
    pub(crate) geneve: UdpPorts,
    /// GRE.
    pub(crate) gre: bool,
    /// IP right behind IP.
    pub(crate) ip: bool,
}

impl Parses {
    /// What a device of these capabilities looks into. GRE and IP in IP have no ports to be told: whoever cuts
    /// inside them finds them, on receipt too.
    pub(crate) fn of(granted: Caps, limits: &Limits) -> Parses {
        Parses {
            vxlan: usual(limits.vxlan_ports, &VXLAN_PORTS),
            geneve: usual(limits.geneve_ports, &GENEVE_PORTS),
            gre: granted.intersects(Caps::TSO_GRE | Caps::TSO_GRE_CSUM),
            ip: granted.contains(Caps::TSO_IPIP),
        }
    }
}

/// Who takes a tunnel behind any port is told where it is. One that looks for itself looks behind the usual ports.
fn usual(ports: UdpPorts, known: &[u16]) -> UdpPorts {
    if ports.is_any() { UdpPorts::of(known).unwrap_or_default() } else { ports }
}

/// What carries the level inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// VXLAN.
    Vxlan,
    /// Geneve.
    Geneve,
    /// GRE.
    Gre {
        /// With a checksum of its own, which is the two bytes behind the first four.
        checksum: bool,
        /// With a sequence number, which no two packets share.
        sequence: bool,
    },
    /// Nothing: the header inside is right behind the one outside.
    Ip,
}

/// A level inside another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inside {
    /// What carries it.
    pub(crate) carrier: Carrier,
    /// Its headers; offsets count from the first byte of the frame.
    pub(crate) headers: Headers,
}

impl Headers {
    /// The level inside, if these headers carry one in a tunnel that is among those parsed, and it is IP. Lengths
    /// of the headers outside are not looked at; `frame` ends where they end, or is a superpacket.
    pub(crate) fn inside(&self, frame: &[u8], parses: &Parses) -> Option<Inside> {
        if self.fragment {
            return None;
        }
        match self.protocol {
            UDP => self.inside_udp(frame, parses),
            GRE if parses.gre => self.inside_gre(frame),
            IPV4_IN_IP if parses.ip => self.inside_ip(frame, IPV4),
            IPV6_IN_IP if parses.ip => self.inside_ip(frame, IPV6),
            _ => None,
        }
    }

    fn inside_ip(&self, frame: &[u8], ethertype: u16) -> Option<Inside> {
        let headers = Headers::of_ethertype(frame, self.l4, ethertype)?;
        Some(Inside { carrier: Carrier::Ip, headers })
    }

    fn inside_udp(&self, frame: &[u8], parses: &Parses) -> Option<Inside> {
        let (_, port) = self.ports(frame)?;
        let at = self.l4 + UDP_LEN;
        if parses.vxlan.contains(port) {
            // The flag that there is a VNI; with that of the generic extension something else may follow.
            let flags = frame.get(at)?;
            if flags & 0x0c != 0x08 {
                return None;
            }
            let headers = Headers::behind_ethernet(frame, at + VXLAN_LEN)?;
            return Some(Inside { carrier: Carrier::Vxlan, headers });
        }
        if parses.geneve.contains(port) {
            let &[version_and_len, flags] = frame.get(at..at + 2)? else { return None };
            // Another version, or a control packet, which no NIC takes apart.
            if version_and_len & 0xc0 != 0 || flags & 0x80 != 0 {
                return None;
            }
            let next = at + 8 + usize::from(version_and_len & 0x3f) * 4;
            let headers = behind(frame, next, be16(frame, at + 2)?)?;
            return Some(Inside { carrier: Carrier::Geneve, headers });
        }
        None
    }

    fn inside_gre(&self, frame: &[u8]) -> Option<Inside> {
        const CHECKSUM: u16 = 0x8000;
        const KEY: u16 = 0x2000;
        const SEQUENCE: u16 = 0x1000;
        let flags = be16(frame, self.l4)?;
        // Routing, reserved bits, or another version.
        if flags & !(CHECKSUM | KEY | SEQUENCE) != 0 {
            return None;
        }
        let fields = [CHECKSUM, KEY, SEQUENCE].iter().filter(|&&bit| flags & bit != 0).count();
        let headers = behind(frame, self.l4 + 4 + 4 * fields, be16(frame, self.l4 + 2)?)?;
        let (checksum, sequence) = (flags & CHECKSUM != 0, flags & SEQUENCE != 0);
        Some(Inside { carrier: Carrier::Gre { checksum, sequence }, headers })
    }
}

/// What follows at `at` where the type in front says what that is.
fn behind(frame: &[u8], at: usize, ethertype: u16) -> Option<Headers> {
    match ethertype {
        TRANSPARENT_ETHERNET => Headers::behind_ethernet(frame, at),
        _ => Headers::of_ethertype(frame, at, ethertype),
    }
}
