//! What is known about a packet beside its bytes: where its layers start, what is known of its checksums,
//! and whether it is one wire frame or many.
//!
//! Plain data that stages set and read; nothing here looks at packet bytes. Offsets count from the first
//! byte of the packet. Meta, not the packet's own 16-bit fields, is the truth about lengths of superpackets.

use bitflags::bitflags;

/// Network layer of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum L3 {
    /// Not parsed, or not IP.
    #[default]
    None,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Transport layer of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum L4 {
    /// Not parsed, absent, or in a later fragment.
    #[default]
    None,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Some other protocol above IP.
    Other,
}

/// Where the headers of one level lie. A level is an IP header and what it carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Level {
    /// First byte of the link header of this level, or [`Level::l3`] where it has none.
    pub l2: u16,
    /// First byte of the IP header.
    pub l3: u16,
    /// First byte of the transport header.
    pub l4: u16,
    /// First byte after the transport header.
    pub payload: u16,
    /// Kind of network header.
    pub l3_kind: L3,
    /// Kind of transport header.
    pub l4_kind: L4,
}

/// The two innermost levels of a packet: `levels[0]` is the outer one, `levels[1]` the one inside a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Layers {
    /// Outer first; only the first [`Layers::count`] mean something.
    pub levels: [Level; 2],
    /// How many levels are known: 0 (not IP), 1, or 2.
    pub count: u8,
    /// What `levels[0]` carries `levels[1]` in.
    pub tunnel: Tunnel,
}

/// How a level is carried inside another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Tunnel {
    /// There is no level inside, or it is not said how it is carried.
    #[default]
    None,
    /// VXLAN (RFC 7348), on whatever UDP port.
    Vxlan,
    /// Geneve (RFC 8926).
    Geneve,
    /// GRE (RFC 2784, RFC 2890), with or without a link header inside.
    Gre,
    /// IP directly in IP (RFC 2003, RFC 4213, RFC 2473).
    Ip,
    /// Something else.
    Other,
}

/// What was last taken off the front of a packet and is of use to who puts something there again: a VLAN tag, or
/// the network identifier of a tunnel. Later stages choose rows and rules by it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken(u32);

impl Taken {
    /// Nothing was.
    pub const NOTHING: Taken = Taken(0);
    const VLAN: u32 = 1 << 24;
    const TUNNEL: u32 = 2 << 24;
    const VALUE: u32 = (1 << 24) - 1;

    /// A VLAN tag with these priority, DEI and VLAN ID bits.
    pub const fn vlan(tci: u16) -> Taken {
        Taken(Taken::VLAN | tci as u32)
    }

    /// A tunnel header with this identifier, of which the low 24 bits are kept: a VNI whole, a GRE key in part.
    pub const fn tunnel(id: u32) -> Taken {
        Taken(Taken::TUNNEL | id & Taken::VALUE)
    }

    /// Priority, DEI and VLAN ID, if it was a VLAN tag.
    pub const fn tci(self) -> Option<u16> {
        if self.0 & !Taken::VALUE == Taken::VLAN { Some(self.0 as u16) } else { None }
    }

    /// The identifier, if it was a tunnel header.
    pub const fn tunnel_id(self) -> Option<u32> {
        if self.0 & !Taken::VALUE == Taken::TUNNEL { Some(self.0 & Taken::VALUE) } else { None }
    }
}

impl std::fmt::Debug for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.tci(), self.tunnel_id()) {
            (Some(tci), _) => write!(f, "vlan {tci:#06x}"),
            (_, Some(id)) => write!(f, "tunnel {id}"),
            _ => f.write_str("nothing"),
        }
    }
}

impl Layers {
    /// The innermost level, the one whose payload is cut and joined.
    pub fn innermost(&self) -> Option<&Level> {
        self.count.checked_sub(1).and_then(|index| self.levels.get(usize::from(index)))
    }
}

/// What is known of one checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Csum {
    /// Nobody looked, or nobody can know.
    #[default]
    Unknown,
    /// Known to be right.
    Good,
    /// Known to be wrong. Never repaired.
    Bad,
    /// Partial by metadata: the field holds the uncomplemented, folded pseudo-header sum, length included.
    Partial,
}

/// A known sum: of the bytes from `from` to the end of the IP datagram, folded, not complemented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Known {
    /// Offset of the first byte summed.
    pub from: u16,
    /// The folded sum, as if `from` were an even offset.
    pub sum: u16,
}

/// A checksum still to be finished: sum from `start` to the end of the datagram, complement, store at `field`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Partial {
    /// Offset of the first byte to sum.
    pub start: u16,
    /// Offset of the 16-bit field.
    pub field: u16,
}

/// What kind of superpacket a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum SegKind {
    /// One wire frame.
    #[default]
    None,
    /// TCP over IPv4 segments.
    Tcp4,
    /// TCP over IPv6 segments.
    Tcp6,
    /// UDP over IPv4 datagrams of equal size (USO).
    Udp4,
    /// UDP over IPv6 datagrams of equal size (USO).
    Udp6,
}

bitflags! {
    /// How the segments of a superpacket differ from each other.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SegFlags: u8 {
        /// Every segment carries the same IPv4 ID (innermost level); without it IDs count up by one.
        const FIXED_ID = 1;
        /// CWR is set, and belongs on every segment, not on the first alone.
        const CWR_ALL = 2;
        /// The last segment is a frame of 60 bytes whose end is padding; the padding was zero.
        const PAD_LAST = 4;
        /// Segment boundaries are those of the parts (received so); they restore what was received.
        const BY_PARTS = 8;
        /// Every segment carries the same IPv4 ID in the outer header of its tunnel; without it those count up
        /// by one. Means nothing for packets of one level.
        const OUTER_FIXED_ID = 16;
        /// Every header is already that of one segment, checksums of the outer level included; whoever cuts
        /// repeats them as they are, the inner IPv4 header and its ID among them, but for the TCP header and the
        /// outer IPv4 ID with its header checksum. Only for TCP in a tunnel whose segments are all of one
        /// length. The seed of the inner checksum is that of any superpacket: it holds the length of all.
        const PARTIAL = 32;
    }
}

/// The request to be cut, or the record of having been joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segmentation {
    /// What the segments are.
    pub kind: SegKind,
    /// Payload bytes of each segment but the last.
    pub gso_size: u16,
    /// Wire segments; 1 for an ordinary packet.
    pub count: u16,
    /// How they differ.
    pub flags: SegFlags,
}

bitflags! {
    /// Facts about a packet.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct MetaFlags: u8 {
        /// [`Meta::layers`] is filled in and true.
        const PARSED = 1;
        /// There is a [`Meta::known`] sum.
        const KNOWN = 2;
        /// A fragment of an IP datagram, at any level, atomic fragments included.
        const FRAGMENT = 4;
        /// The pseudo header does not use the addresses of the IP header (routing header, home address).
        const ODD_PSEUDO = 8;
        /// The datagram's own length points past the end of the frame, or cannot be believed.
        const OVERRUN = 16;
        /// [`Meta::hash`] is filled in.
        const HASHED = 32;
        /// More than two levels: the innermost two are tracked.
        const DEEPER = 64;
    }
}

/// The meta line of a packet's first part.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Meta {
    /// Where the layers start.
    pub layers: Layers,
    /// IPv4 header checksum of each level.
    pub l3: [Csum; 2],
    /// Transport checksum of each level.
    pub l4: [Csum; 2],
    /// Facts.
    pub flags: MetaFlags,
    pub(super) seg_kind: SegKind,
    pub(super) seg_flags: SegFlags,
    pub(super) gso_size: u16,
    /// Bytes after the end of the (outermost) IP datagram; saturates.
    pub trailer: u16,
    /// Port the packet came in by.
    pub port: u16,
    /// Unfinished checksums; true where [`Meta::l4`] says [`Csum::Partial`]. The second is also where a known
    /// sum is kept: whoever writes it for an unfinished checksum uses [`Meta::request`].
    pub partial: [Partial; 2],
    /// What was last taken off the front.
    pub taken: Taken,
    /// Flow hash, the same for both directions.
    pub hash: u32,
    /// Length of the frame on the wire; more than the packet's length if the capture was cut.
    pub orig_len: u32,
}

impl Meta {
    /// A known sum, if there is one. A packet with an unfinished checksum inside a tunnel has none.
    pub fn known(&self) -> Option<Known> {
        let Partial { start, field } = self.partial[1];
        self.flags.contains(MetaFlags::KNOWN).then_some(Known { from: start, sum: field })
    }

    /// Remembers a sum; not for a packet whose inner checksum is unfinished.
    pub fn set_known(&mut self, known: Known) {
        debug_assert_ne!(self.l4[1], Csum::Partial, "the place of the known sum is taken");
        self.partial[1] = Partial { start: known.from, field: known.sum };
        self.flags.insert(MetaFlags::KNOWN);
    }

    /// Forgets the known sum.
    pub fn forget_known(&mut self) {
        self.flags.remove(MetaFlags::KNOWN);
    }

    /// Asks for the checksum of a level to be finished.
    pub fn request(&mut self, level: usize, partial: Partial) {
        if level == 1 {
            self.forget_known();
        }
        self.l4[level] = Csum::Partial;
        self.partial[level] = partial;
    }

    /// Index of the innermost level, if there is one.
    pub fn innermost(&self) -> Option<usize> {
        usize::from(self.layers.count).checked_sub(1)
    }
}
