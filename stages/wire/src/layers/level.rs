//! What the walk says about one level, and what that means for its L4 checksum.
//!
//! It promises facts only: a level is data, and nothing in it needs the frame to be interpreted
//! except where said.

use crate::protocol;

/// Network protocol of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum L3 {
    /// Neither IPv4 nor IPv6, or no sound header of either.
    #[default]
    None,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Transport protocol of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum L4 {
    /// None reached: no IP, a later fragment, or a chain of headers that ends too early.
    #[default]
    None,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// UDP-Lite.
    UdpLite,
    /// ICMP for IPv4.
    Icmp4,
    /// ICMP for IPv6.
    Icmp6,
    /// SCTP.
    Sctp,
    /// GRE.
    Gre,
    /// Any other protocol, by its number.
    Other(u8),
}

impl L4 {
    /// The protocol with this IANA number.
    #[inline]
    pub const fn from_protocol(number: u8) -> L4 {
        match number {
            protocol::TCP => L4::Tcp,
            protocol::UDP => L4::Udp,
            protocol::UDP_LITE => L4::UdpLite,
            protocol::ICMP => L4::Icmp4,
            protocol::ICMP6 => L4::Icmp6,
            protocol::SCTP => L4::Sctp,
            protocol::GRE => L4::Gre,
            other => L4::Other(other),
        }
    }

    /// The IANA number, as it enters a pseudo header.
    #[inline]
    pub const fn protocol(self) -> Option<u8> {
        match self {
            L4::None => None,
            L4::Tcp => Some(protocol::TCP),
            L4::Udp => Some(protocol::UDP),
            L4::UdpLite => Some(protocol::UDP_LITE),
            L4::Icmp4 => Some(protocol::ICMP),
            L4::Icmp6 => Some(protocol::ICMP6),
            L4::Sctp => Some(protocol::SCTP),
            L4::Gre => Some(protocol::GRE),
            L4::Other(number) => Some(number),
        }
    }

    /// Bytes of the shortest header that holds the checksum, for the protocols whose checksum
    /// [`Level::coverage`] knows.
    #[inline]
    const fn header_min(self) -> Option<u32> {
        match self {
            L4::Tcp => Some(20),
            L4::Udp | L4::UdpLite => Some(8),
            L4::Icmp4 | L4::Icmp6 => Some(4),
            L4::Sctp => Some(12),
            L4::Gre => Some(4),
            L4::None | L4::Other(_) => None,
        }
    }
}

/// Whether a level is an IP fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Fragment {
    /// A whole datagram.
    #[default]
    No,
    /// A whole datagram behind an IPv6 fragment header (RFC 6946).
    Atomic,
    /// The first of several: has the L4 header, not all of the payload.
    First,
    /// A later one: no L4 header.
    Later,
}

impl Fragment {
    /// Whether part of the datagram is in other packets.
    #[inline]
    pub const fn is_partial(self) -> bool {
        matches!(self, Fragment::First | Fragment::Later)
    }
}

/// One level: an Ethernet header and what it carries, or an IP header where there is none. Offsets count from the start of the frame (of
/// the outermost one, for an inner level too), in bytes. 0 in an offset other than `l2` says: not
/// reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Level {
    /// The Ethernet header; the same as `l3` where there is none.
    pub l2: u16,
    /// What follows Ethernet, VLAN tags and SNAP: an IP header if `l3_kind` says so.
    pub l3: u16,
    /// The L4 header, behind IPv4 options or IPv6 extension headers. Set together with `l4_kind`.
    pub l4: u16,
    /// The first byte after the L4 header, options included: after 8 bytes of UDP, 12 of SCTP, 4 of
    /// ICMP, 4 to 16 of GRE; for IP in IP the inner header. Set only if that whole header lies in the contiguous prefix and in the datagram, and
    /// its length is possible.
    pub payload: u16,
    /// Where the address lies that enters the pseudo header as source: in the IP header, or in a
    /// home address option (RFC 6275 section 11.3.2).
    pub pseudo_src: u16,
    /// Where the address lies that enters the pseudo header as destination: in the IP header, or
    /// the last one to visit of a routing header (RFC 8200 section 8.1, RFC 8754 section 2).
    pub pseudo_dst: u16,
    /// Where the IP datagram ends by its own length field (a jumbo payload option counts), be that
    /// beyond the frame or not; for anything but IP, where the bytes at hand end.
    pub end: u32,
    /// Where the datagram's bytes at hand end: `end`, or the end of what carries it (the frame, an
    /// outer level's UDP payload) if that comes first.
    pub limit: u32,
    /// Where the L4 data ends: for UDP and UDP-Lite by their own length field (if that is not 0),
    /// be it plausible or not; otherwise `end`.
    pub l4_end: u32,
    /// IPv4 or IPv6, if the whole fixed header (IPv4: and its options) is there and has the right
    /// version.
    pub l3_kind: L3,
    /// The transport protocol, once the IP header and its extensions were passed.
    pub l4_kind: L4,
    /// Whether this is a fragment.
    pub fragment: Fragment,
    /// The IP length field is 0 without a jumbo option: too long for the field (BIG TCP), or cut
    /// later by a device. The datagram then ends where the bytes at hand do.
    pub zero_length: bool,
    /// The IPv6 payload length comes from a jumbo payload option (RFC 2675).
    pub jumbo: bool,
    /// IPv4 options, IPv6 extension headers or an authentication header stand before L4.
    pub options: bool,
    /// An address of the pseudo header is not the one in the IP header; no device can be expected
    /// to know.
    pub unusual_pseudo: bool,
    /// The datagram ends beyond the bytes at hand (`end > limit`).
    pub overrun: bool,
    /// A header has an impossible version or length, or does not fit into the bytes at hand, which
    /// may also be because the capture was cut.
    pub malformed: bool,
    /// The walk stopped at a header that goes on beyond the contiguous prefix, or after
    /// [`super::HEADERS_MAX`] headers.
    pub incomplete: bool,
}

/// What the L4 checksum of a level covers, or why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// No L4 header here, or of a protocol without a checksum known to this crate.
    None,
    /// The L4 header was not reached in the contiguous prefix.
    Incomplete,
    /// The datagram, or what is at hand of it, ends inside the L4 header.
    Short,
    /// A first fragment: the rest of the covered bytes is in other packets.
    Fragment,
    /// The datagram ends beyond the bytes at hand: nothing to sum.
    Overrun,
    /// The UDP length field is impossible: less than the header, or more than the datagram.
    BadLength,
    /// These bytes can be summed.
    Bytes {
        /// First byte, the start of the L4 header.
        from: u32,
        /// End, exclusive.
        to: u32,
        /// The length that enters the pseudo header, in bytes.
        length: u32,
    },
}

impl Level {
    /// What the checksum of TCP, UDP, UDP-Lite, ICMP, ICMPv6, SCTP or GRE covers.
    ///
    /// Reasons are looked at in the order of [`Coverage`]'s variants. Whether a UDP checksum is
    /// zero ("none"), and whether a GRE header has one at all, is in the bytes, not here, and takes
    /// precedence over all but `None`, `Incomplete` and `Short`. GRE has no pseudo header.
    pub fn coverage(&self) -> Coverage {
        let Some(header_min) = self.l4_kind.header_min() else {
            return if self.stopped_before_l4() { Coverage::Incomplete } else { Coverage::None };
        };
        let from = u32::from(self.l4);
        if from + header_min > self.limit {
            return Coverage::Short;
        }
        // Of a header in part beyond the prefix, UDP's own length is not known.
        if self.incomplete && self.payload == 0 {
            return Coverage::Incomplete;
        }
        if self.l4_kind == L4::Gre && self.payload == 0 {
            // Of another version, or with a source route: what it covers is not known.
            return if self.malformed { Coverage::Short } else { Coverage::None };
        }
        if self.fragment.is_partial() {
            return Coverage::Fragment;
        }
        self.whole_coverage(from)
    }

    /// The coverage of a whole datagram whose L4 header is there.
    fn whole_coverage(&self, from: u32) -> Coverage {
        let to = self.l4_end;
        let bad_length = to < from + 8 || to > self.limit;
        match self.l4_kind {
            L4::Udp if bad_length && !self.overrun => Coverage::BadLength,
            L4::Udp if to < from + 8 => Coverage::BadLength,
            L4::Udp if to > self.limit => Coverage::Overrun,
            L4::Udp => Coverage::Bytes { from, to, length: to - from },
            L4::UdpLite if bad_length => Coverage::BadLength,
            _ if self.overrun => Coverage::Overrun,
            _ => Coverage::Bytes { from, to, length: self.end - from },
        }
    }

    /// Whether the datagram has an L4 header that the prefix ends before.
    fn stopped_before_l4(&self) -> bool {
        self.incomplete && self.l4_kind == L4::None
    }
}
