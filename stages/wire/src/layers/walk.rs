//! The walk: Ethernet, tags, SNAP, IPv4, the L4 header.
//!
//! It promises that every offset it stores lies inside the contiguous prefix, and that every header
//! it passes takes one from a budget shared by the whole frame, so that hostile nesting ends.

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::level::{Fragment, L3, L4, Level};
use super::tunnel::Tunnel;
use super::{Layers, ipv6};
use crate::ethernet::{EthernetHeader, ethertype};
use crate::ipv4::Ipv4Header;
use crate::ipv6::AuthenticationHeader;
use crate::llc::{LENGTH_MAX, SnapHeader};
use crate::tcp::TcpHeader;
use crate::udp::UdpHeader;
use crate::vlan::VlanTag;
use crate::{protocol, view};

/// Headers one walk looks at, over all levels. Real frames have up to about 20 (two levels, each
/// with two tags and a few extension headers); the longest chains of test captures have about 100.
/// More than this is an attack on the walker.
pub const HEADERS_MAX: u8 = 128;

/// A level about to be walked: its first header is known to lie at `at`.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub(super) at: u32,
    /// The type field of an Ethernet header there; of a bare one what it is.
    pub(super) ethertype: u16,
    /// Where the bytes that carry the level end.
    pub(super) available: u32,
    /// There is no Ethernet header: an IP header comes first.
    pub(super) bare: bool,
    /// What carries it.
    pub(super) tunnel: Tunnel,
}

/// Where an L4 header starts, and of which protocol.
pub(super) struct Upper {
    pub(super) at: u32,
    pub(super) protocol: u8,
}

pub(super) struct Walk<'a> {
    /// The contiguous prefix, at most 65,535 bytes so that offsets fit 16 bits, at most the packet.
    frame: &'a [u8],
    frame_len: u32,
    headers_left: u8,
    vlans: u8,
}

impl<'a> Walk<'a> {
    pub(super) fn new(frame: &'a [u8], frame_len: u32) -> Walk<'a> {
        let prefix = frame.len().min(usize::from(u16::MAX)).min(frame_len as usize);
        Walk { frame: &frame[..prefix], frame_len, headers_left: HEADERS_MAX, vlans: 0 }
    }

    /// Fills `found`, which is empty. Levels are written where they stay: copying one that was just
    /// written field by field would stall on every narrow store.
    pub(super) fn run(mut self, found: &mut Layers) {
        let mut next = self.ethernet(0, self.frame_len, Tunnel::None, &mut Level::default());
        while let Some(start) = next {
            found.tunnel = start.tunnel;
            next = self.level(start, slot(found));
            if start.at == 0 {
                found.vlans = self.vlans;
            }
        }
    }

    /// Shows every level.
    pub(super) fn visit(mut self, mut visit: impl FnMut(&Level)) {
        let mut next = self.ethernet(0, self.frame_len, Tunnel::None, &mut Level::default());
        while let Some(start) = next {
            let mut level = Level::default();
            next = self.level(start, &mut level);
            visit(&level);
        }
    }

    /// The frame that starts at `at`, if its Ethernet header is there; if not, `outer` says why.
    pub(super) fn ethernet(
        &mut self,
        at: u32,
        available: u32,
        tunnel: Tunnel,
        outer: &mut Level,
    ) -> Option<Start> {
        let header = self.header::<EthernetHeader>(at, available, outer)?;
        Some(Start { at, ethertype: header.ethertype.get(), available, bare: false, tunnel })
    }

    /// Fills one level and says where the next starts.
    fn level(&mut self, start: Start, level: &mut Level) -> Option<Start> {
        level.l2 = start.at as u16;
        level.end = start.available;
        level.limit = start.available;
        level.l4_end = start.available;
        let (l3, ethertype) = match start.bare {
            true => (start.at, start.ethertype),
            false => self.tags(start, level)?,
        };
        level.l3 = l3 as u16;
        let upper = match ethertype {
            ethertype::IPV4 => self.ipv4(l3, start.available, level),
            ethertype::IPV6 => ipv6::chain(self, l3, start.available, level),
            _ => None,
        }?;
        if level.fragment == Fragment::Later {
            return None;
        }
        self.upper(upper, level)
    }

    /// Passes VLAN tags and SNAP, in any order, to the type of what they carry.
    fn tags(&mut self, start: Start, level: &mut Level) -> Option<(u32, u16)> {
        let mut at = start.at + EthernetHeader::LEN as u32;
        let mut ethertype = start.ethertype;
        loop {
            if ethertype::is_vlan(ethertype) {
                let tag = self.header::<VlanTag>(at, start.available, level)?;
                ethertype = tag.ethertype.get();
                at += VlanTag::LEN as u32;
                self.vlans += 1;
            } else if ethertype <= LENGTH_MAX {
                if at + SnapHeader::LEN as u32 > start.available {
                    return Some((at, ethertype));
                }
                let snap = self.header::<SnapHeader>(at, start.available, level)?;
                if !snap.carries_ethertype() {
                    return Some((at, ethertype));
                }
                ethertype = snap.ethertype.get();
                at += SnapHeader::LEN as u32;
            } else {
                return Some((at, ethertype));
            }
        }
    }

    fn ipv4(&mut self, at: u32, available: u32, level: &mut Level) -> Option<Upper> {
        let header = self.header::<Ipv4Header>(at, available, level)?;
        let header_len = header.header_len() as u32;
        if header.version() != 4 || header_len < Ipv4Header::LEN as u32 {
            level.malformed = true;
            return None;
        }
        self.reach(at + header_len, available, level)?;
        level.l3_kind = L3::V4;
        level.pseudo_src = at as u16 + 12;
        level.pseudo_dst = at as u16 + 16;
        level.options = header_len > Ipv4Header::LEN as u32;
        level.fragment = match (header.fragment_offset(), header.more_fragments()) {
            (0, false) => Fragment::No,
            (0, true) => Fragment::First,
            _ => Fragment::Later,
        };
        let total_length = u32::from(header.total_length.get());
        level.zero_length = total_length == 0;
        level.set_end(if level.zero_length { available } else { at + total_length }, available);
        if level.end < at + header_len {
            level.malformed = true;
            return None;
        }
        self.authentication(Upper { at: at + header_len, protocol: header.protocol }, level)
    }

    /// Passes authentication headers, which stand in IPv4 where an upper layer would.
    fn authentication(&mut self, mut upper: Upper, level: &mut Level) -> Option<Upper> {
        while upper.protocol == protocol::AUTHENTICATION && level.fragment != Fragment::Later {
            level.options = true;
            let header = self.header::<AuthenticationHeader>(upper.at, level.limit, level)?;
            upper.protocol = header.next_header;
            upper.at =
                self.after(upper.at, header.header_len(), AuthenticationHeader::LEN, level)?;
        }
        Some(upper)
    }

    /// Where a header of `len` bytes ends, in an IP payload; `None` (and malformed) if it is
    /// shorter than its fixed part or does not fit.
    pub(super) fn after(
        &self,
        at: u32,
        len: usize,
        len_min: usize,
        level: &mut Level,
    ) -> Option<u32> {
        if len < len_min {
            level.malformed = true;
            return None;
        }
        let end = at + len as u32;
        self.reach(end, level.limit, level)?;
        Some(end)
    }

    fn upper(&mut self, upper: Upper, level: &mut Level) -> Option<Start> {
        level.l4 = upper.at as u16;
        level.l4_kind = L4::from_protocol(upper.protocol);
        match level.l4_kind {
            L4::Tcp => self.tcp(upper.at, level),
            L4::Udp | L4::UdpLite => return self.udp(upper.at, level),
            L4::Icmp4 | L4::Icmp6 => self.fixed(upper.at, 4, level),
            L4::Sctp => self.fixed(upper.at, 12, level),
            L4::Gre => return self.gre(upper.at, level),
            L4::Other(protocol::IPV4 | protocol::IPV6) => return self.ip_in_ip(upper.at, level),
            L4::None | L4::Other(_) => {}
        }
        None
    }

    fn tcp(&mut self, at: u32, level: &mut Level) {
        let Some(header) = self.header::<TcpHeader>(at, level.limit, level) else { return };
        if let Some(payload) = self.after(at, header.header_len(), TcpHeader::LEN, level) {
            level.payload = payload as u16;
        }
    }

    /// A header of fixed length that is not looked into.
    fn fixed(&mut self, at: u32, len: usize, level: &mut Level) {
        if let Some(payload) = self.after(at, len, len, level) {
            level.payload = payload as u16;
        }
    }

    fn udp(&mut self, at: u32, level: &mut Level) -> Option<Start> {
        let header = self.header::<UdpHeader>(at, level.limit, level)?;
        let payload = at + UdpHeader::LEN as u32;
        level.payload = payload as u16;
        level.l4_end = match u32::from(header.length.get()) {
            0 if level.fragment.is_partial() => level.end,
            0 => level.limit,
            length => at + length,
        };
        if level.fragment.is_partial() {
            return None;
        }
        let too_long = level.l4_end > level.limit && !level.overrun;
        level.malformed |= level.l4_end < payload || too_long;
        if level.l4_kind == L4::Udp {
            self.in_udp(header.dst_port.get(), payload, level)
        } else {
            None
        }
    }

    /// The header at `at`; `None` if it does not fit the `available` bytes (malformed) or goes on
    /// beyond the prefix, or if the budget is used up (incomplete).
    #[inline]
    pub(super) fn header<T>(&mut self, at: u32, available: u32, level: &mut Level) -> Option<&'a T>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        self.reach(at + size_of::<T>() as u32, available, level)?;
        self.spend(level)?;
        view(self.frame, at as usize)
    }

    /// Bytes `from..to` of the prefix, whole or not at all, as [`Walk::header`].
    pub(super) fn bytes(
        &self,
        from: u32,
        to: u32,
        available: u32,
        level: &mut Level,
    ) -> Option<&'a [u8]> {
        self.reach(to, available, level)?;
        self.frame.get(from as usize..to as usize)
    }

    /// Whether headers up to `end` are at hand and contiguous.
    #[inline]
    pub(super) fn reach(&self, end: u32, available: u32, level: &mut Level) -> Option<()> {
        if end > available {
            level.malformed = true;
            return None;
        }
        if end as usize > self.frame.len() {
            level.incomplete = true;
            return None;
        }
        Some(())
    }

    #[inline]
    fn spend(&mut self, level: &mut Level) -> Option<()> {
        let left = self.headers_left.checked_sub(1);
        level.incomplete |= left.is_none();
        self.headers_left = left?;
        Some(())
    }
}

impl Level {
    /// Sets the datagram's end and what follows from it.
    pub(super) fn set_end(&mut self, end: u32, available: u32) {
        self.end = end;
        self.limit = end.min(available);
        self.l4_end = end;
        self.overrun = end > available;
    }
}

/// Room for one more level; of two, the outer gives way.
fn slot(found: &mut Layers) -> &mut Level {
    if found.count == 2 {
        found.levels = [found.levels[1], Level::default()];
        found.deeper = true;
    } else {
        found.count += 1;
    }
    &mut found.levels[usize::from(found.count == 2)]
}
