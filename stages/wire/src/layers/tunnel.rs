//! From a level to the one inside it: which headers carry a frame or an IP packet, and where that
//! starts.
//!
//! It promises to enter a tunnel only where the header that announces it is sound and whole, and
//! the first header inside fits into what carries it; everything else stays payload of the outer
//! level, without blame. It does not read Geneve options, whose total length suffices, and follows no
//! NSH, MPLS or GRE routing.

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::level::{L4, Level};
use super::walk::{Start, Walk};
use crate::ethernet::{EthernetHeader, ethertype};
use crate::geneve::{self, GeneveHeader};
use crate::gre::{Erspan3Header, ErspanHeader, GreHeader};
use crate::ipv4::Ipv4Header;
use crate::ipv6::Ipv6Header;
use crate::protocol;
use crate::vxlan::{self, VxlanHeader};

/// How a level is carried inside another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Tunnel {
    /// There is no level inside.
    #[default]
    None,
    /// VXLAN (RFC 7348).
    Vxlan,
    /// VXLAN with a next protocol (draft-ietf-nvo3-vxlan-gpe).
    VxlanGpe,
    /// Geneve (RFC 8926).
    Geneve,
    /// GRE (RFC 2784, RFC 2890), NVGRE (RFC 7637) included.
    Gre,
    /// ERSPAN of type I, II or III in GRE.
    Erspan,
    /// IP directly in IP (RFC 2003, RFC 4213, RFC 2473).
    Ip,
}

/// Whether UDP datagrams to this port are looked into for a tunnel.
#[inline]
pub const fn is_tunnel_port(port: u16) -> bool {
    matches!(port, vxlan::PORT | vxlan::PORT_LINUX | vxlan::PORT_GPE | geneve::PORT)
}

/// What a tunnel header says is inside, and where.
struct Inside {
    tunnel: Tunnel,
    at: u32,
    /// EtherType of the inner packet; transparent Ethernet bridging for a frame.
    ethertype: u16,
}

impl<'a> Walk<'a> {
    /// What the payload of a whole UDP datagram to `port` carries.
    pub(super) fn in_udp(&mut self, port: u16, at: u32, level: &mut Level) -> Option<Start> {
        let available = level.l4_end.min(level.limit);
        let inside = match port {
            vxlan::PORT | vxlan::PORT_LINUX => self.vxlan(at, available, level),
            vxlan::PORT_GPE => self.vxlan_gpe(at, available, level),
            geneve::PORT => self.geneve(at, available, level),
            _ => None,
        }?;
        self.enter(inside, available, level)
    }

    fn vxlan(&mut self, at: u32, available: u32, level: &mut Level) -> Option<Inside> {
        let header = self.whole::<VxlanHeader>(at, available, level)?;
        if header.has_next_protocol() {
            return gpe(header, at);
        }
        let at = at + VxlanHeader::LEN as u32;
        let ethertype = ethertype::TRANSPARENT_ETHERNET;
        header.has_vni().then_some(Inside { tunnel: Tunnel::Vxlan, at, ethertype })
    }

    fn vxlan_gpe(&mut self, at: u32, available: u32, level: &mut Level) -> Option<Inside> {
        gpe(self.whole(at, available, level)?, at)
    }

    fn geneve(&mut self, at: u32, available: u32, level: &mut Level) -> Option<Inside> {
        let header = self.whole::<GeneveHeader>(at, available, level)?;
        // A control message is for the tunnel's end alone (RFC 8926 section 3.4).
        let data = header.version() == 0 && !header.is_control();
        let (at, ethertype) = (at + header.header_len() as u32, header.protocol.get());
        data.then_some(Inside { tunnel: Tunnel::Geneve, at, ethertype })
    }

    /// The GRE header at `at`, and what it carries.
    pub(super) fn gre(&mut self, at: u32, level: &mut Level) -> Option<Start> {
        let header = self.header::<GreHeader>(at, level.limit, level)?;
        if header.version() != 0 || header.has_routing() {
            return None;
        }
        let payload = self.after(at, header.header_len(), GreHeader::LEN, level)?;
        level.payload = payload as u16;
        if level.fragment.is_partial() {
            return None;
        }
        let available = level.limit;
        let ethertype = header.protocol.get();
        let inside = match ethertype {
            ethertype::ERSPAN | ethertype::ERSPAN_3 => {
                self.erspan(header, payload, available, level)?
            }
            _ => Inside { tunnel: Tunnel::Gre, at: payload, ethertype },
        };
        self.enter(inside, available, level)
    }

    /// Passes the ERSPAN header behind a GRE header; type I has none, and no sequence number.
    fn erspan(
        &mut self,
        gre: &GreHeader,
        at: u32,
        available: u32,
        level: &mut Level,
    ) -> Option<Inside> {
        let len = match gre.protocol.get() {
            ethertype::ERSPAN if !gre.has_sequence() => 0,
            ethertype::ERSPAN => {
                self.whole::<ErspanHeader>(at, available, level)?;
                ErspanHeader::LEN
            }
            _ => self.whole::<Erspan3Header>(at, available, level)?.header_len(),
        };
        let ethertype = ethertype::TRANSPARENT_ETHERNET;
        Some(Inside { tunnel: Tunnel::Erspan, at: at + len as u32, ethertype })
    }

    /// The IP packet that is the payload of an IP packet.
    pub(super) fn ip_in_ip(&mut self, at: u32, level: &mut Level) -> Option<Start> {
        level.payload = at as u16;
        if level.fragment.is_partial() {
            return None;
        }
        let ethertype = match level.l4_kind {
            L4::Other(protocol::IPV4) => ethertype::IPV4,
            _ => ethertype::IPV6,
        };
        self.enter(Inside { tunnel: Tunnel::Ip, at, ethertype }, level.limit, level)
    }

    /// The level that starts inside, if its first header is whole in what carries it.
    fn enter(&mut self, inside: Inside, available: u32, level: &mut Level) -> Option<Start> {
        let Inside { tunnel, at, ethertype } = inside;
        let first = match ethertype {
            ethertype::TRANSPARENT_ETHERNET => EthernetHeader::LEN,
            ethertype::IPV4 => Ipv4Header::LEN,
            ethertype::IPV6 => Ipv6Header::LEN,
            _ => return None,
        };
        let end = at + first as u32;
        if end > available {
            return None;
        }
        if ethertype == ethertype::TRANSPARENT_ETHERNET {
            return self.ethernet(at, available, tunnel, level);
        }
        self.reach(end, available, level)?;
        Some(Start { at, ethertype, available, bare: true, tunnel })
    }

    /// The header at `at`; `None` without blame if it does not fit the bytes at hand.
    fn whole<T>(&mut self, at: u32, available: u32, level: &mut Level) -> Option<&'a T>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        if at + size_of::<T>() as u32 > available {
            return None;
        }
        self.header(at, available, level)
    }
}

/// What a VXLAN header with a next protocol carries.
fn gpe(header: &VxlanHeader, at: u32) -> Option<Inside> {
    let ethertype = match header.next_protocol()? {
        vxlan::NEXT_IPV4 => ethertype::IPV4,
        vxlan::NEXT_IPV6 => ethertype::IPV6,
        vxlan::NEXT_ETHERNET => ethertype::TRANSPARENT_ETHERNET,
        _ => return None,
    };
    let at = at + VxlanHeader::LEN as u32;
    header.has_vni().then_some(Inside { tunnel: Tunnel::VxlanGpe, at, ethertype })
}
