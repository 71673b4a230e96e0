//! ICMP (RFC 792) and ICMPv6 (RFC 4443): the messages corelane reads and writes, with the neighbour
//! discovery of RFC 4861.
//!
//! It promises layouts, types and codes. It does not say whether a message is to be believed (hop
//! limit 255, checksum): who reads it does. The checksum of ICMP covers the message alone; that of
//! ICMPv6 the pseudo header, too.

use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Types and codes of ICMP for IPv4.
pub mod v4 {
    /// Type: answer to an echo request.
    pub const ECHO_REPLY: u8 = 0;
    /// Type: destination unreachable.
    pub const UNREACHABLE: u8 = 3;
    /// Type: echo request.
    pub const ECHO_REQUEST: u8 = 8;
    /// Type: time exceeded.
    pub const TIME_EXCEEDED: u8 = 11;
    /// Code of [`UNREACHABLE`]: no such host.
    pub const HOST_UNREACHABLE: u8 = 1;
    /// Code of [`UNREACHABLE`]: too big and not to be fragmented; the MTU is in the low 16 bits of
    /// [`super::IcmpHeader::rest`] (RFC 1191 section 4).
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Code of [`TIME_EXCEEDED`]: on the way.
    pub const TTL_EXCEEDED: u8 = 0;
}

/// Types and codes of ICMPv6.
pub mod v6 {
    /// Type: destination unreachable.
    pub const UNREACHABLE: u8 = 1;
    /// Type: packet too big; the MTU is [`super::IcmpHeader::rest`].
    pub const TOO_BIG: u8 = 2;
    /// Type: time exceeded.
    pub const TIME_EXCEEDED: u8 = 3;
    /// Type: echo request.
    pub const ECHO_REQUEST: u8 = 128;
    /// Type: answer to an echo request.
    pub const ECHO_REPLY: u8 = 129;
    /// Type: router solicitation.
    pub const ROUTER_SOLICITATION: u8 = 133;
    /// Type: router advertisement.
    pub const ROUTER_ADVERTISEMENT: u8 = 134;
    /// Type: neighbour solicitation.
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    /// Type: neighbour advertisement.
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
    /// Code of [`UNREACHABLE`]: no such address.
    pub const ADDRESS_UNREACHABLE: u8 = 3;
}

/// Option of neighbour discovery: link address of the sender.
pub const SOURCE_LINK_ADDRESS: u8 = 1;
/// Option of neighbour discovery: link address of the target.
pub const TARGET_LINK_ADDRESS: u8 = 2;

/// The start of every message of both kinds that is answered or written here, 8 bytes; for an error
/// the packet it is about follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct IcmpHeader {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// Checksum.
    pub checksum: U16,
    /// By type: identifier and sequence number of an echo, an MTU, unused.
    pub rest: U32,
}

impl IcmpHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<IcmpHeader>();
    /// Offset of the checksum field.
    pub const CHECKSUM_AT: usize = 2;

    /// A header with checksum 0.
    pub const fn new(kind: u8, code: u8, rest: u32) -> IcmpHeader {
        IcmpHeader { kind, code, checksum: U16::ZERO, rest: U32::new(rest) }
    }

    /// The next hop's MTU in a message that a packet was too big: ICMP has 16 bits for it.
    #[inline]
    pub fn mtu_v4(&self) -> u16 {
        self.rest.get() as u16
    }
}

/// A neighbour solicitation or advertisement, 24 bytes; options follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NeighbourMessage {
    /// Type, code, checksum, and the flags of an advertisement.
    pub header: IcmpHeader,
    /// The address asked for, or answered for.
    pub target: [u8; 16],
}

impl NeighbourMessage {
    /// Bytes of the message.
    pub const LEN: usize = size_of::<NeighbourMessage>();
    /// Flag of an advertisement: the sender is a router.
    pub const ROUTER: u32 = 1 << 31;
    /// Flag of an advertisement: it answers a solicitation.
    pub const SOLICITED: u32 = 1 << 30;
    /// Flag of an advertisement: it replaces what is known.
    pub const OVERRIDE: u32 = 1 << 29;

    /// The question who has `target`, checksum 0.
    pub const fn solicitation(target: [u8; 16]) -> NeighbourMessage {
        let header = IcmpHeader::new(v6::NEIGHBOUR_SOLICITATION, 0, 0);
        NeighbourMessage { header, target }
    }

    /// The answer for `target` with these flags, checksum 0.
    pub const fn advertisement(target: [u8; 16], flags: u32) -> NeighbourMessage {
        let header = IcmpHeader::new(v6::NEIGHBOUR_ADVERTISEMENT, 0, flags);
        NeighbourMessage { header, target }
    }
}

/// An option with an Ethernet address, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LinkAddressOption {
    /// [`SOURCE_LINK_ADDRESS`] or [`TARGET_LINK_ADDRESS`].
    pub kind: u8,
    /// Length in units of 8 bytes.
    pub length: u8,
    /// The address.
    pub address: [u8; 6],
}

impl LinkAddressOption {
    /// Bytes of the option.
    pub const LEN: usize = size_of::<LinkAddressOption>();

    /// The option of this kind.
    pub const fn new(kind: u8, address: [u8; 6]) -> LinkAddressOption {
        LinkAddressOption { kind, length: 1, address }
    }
}

/// The options of neighbour discovery in `bytes`: type, and data behind type and length. An option
/// of length 0 or that does not fit makes the whole message invalid (RFC 4861 section 6.1): `None`
/// is its item, and the last.
pub fn options(bytes: &[u8]) -> impl Iterator<Item = Option<(u8, &[u8])>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let option = option(rest);
        rest = option.map_or(&[], |(_, _, after)| after);
        Some(option.map(|(kind, data, _)| (kind, data)))
    })
}

fn option(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[kind, length], _) = bytes.split_first_chunk()?;
    let (option, after) = bytes.split_at_checked(usize::from(length) * 8)?;
    Some((kind, option.get(2..)?, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const TOO_BIG: [u8; 8] = [2, 0, 0xab, 0xcd, 0, 0, 5, 0xdc];

    #[test]
    fn deconstruct() {
        let header = view::<IcmpHeader>(&TOO_BIG, 0).unwrap();
        assert_eq!((header.kind, header.code, header.checksum.get()), (v6::TOO_BIG, 0, 0xabcd));
        assert_eq!((header.rest.get(), header.mtu_v4()), (1500, 1500));
        let needed = IcmpHeader::new(v4::UNREACHABLE, v4::FRAGMENTATION_NEEDED, 0xffff_05dc);
        assert_eq!(needed.mtu_v4(), 1500);
    }

    #[test]
    fn construct() {
        let header = IcmpHeader { checksum: U16::new(0xabcd), ..IcmpHeader::new(2, 0, 1500) };
        assert_eq!(header.as_bytes(), TOO_BIG);
        assert_eq!(header.as_bytes()[IcmpHeader::CHECKSUM_AT..4], [0xab, 0xcd]);
        let question = NeighbourMessage::solicitation([7; 16]);
        assert_eq!(question.as_bytes()[..8], [135, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(question.as_bytes()[8..], [7; 16]);
        let flags = NeighbourMessage::SOLICITED | NeighbourMessage::OVERRIDE;
        let answer = NeighbourMessage::advertisement([7; 16], flags);
        assert_eq!(answer.as_bytes()[..8], [136, 0, 0, 0, 0x60, 0, 0, 0]);
        let option = LinkAddressOption::new(TARGET_LINK_ADDRESS, [2, 0, 0, 0, 0, 1]);
        assert_eq!(option.as_bytes(), [2, 1, 2, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 26];
        *view_mut(&mut bytes, 1).unwrap() = NeighbourMessage::solicitation([7; 16]);
        assert_eq!((bytes[0], bytes[1], bytes[24], bytes[25]), (0xa5, 135, 7, 0xa5));
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<IcmpHeader>(&TOO_BIG, 1), None);
        assert_eq!(view::<NeighbourMessage>(&[0; 23], 0), None);
    }

    #[test]
    fn options_of_neighbour_discovery() {
        let bytes = [1, 1, 2, 0, 0, 0, 0, 9, 14, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let found: Vec<_> = options(&bytes).collect();
        assert_eq!(found, [Some((1, &[2, 0, 0, 0, 0, 9][..])), Some((14, &[0; 14][..]))]);
        assert_eq!(options(&[]).count(), 0);
        // Length 0, a cut option, a lone byte.
        for broken in [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[1, 1, 2], &[1]] {
            assert_eq!(options(broken).collect::<Vec<_>>(), [None], "{broken:?}");
        }
    }
}
