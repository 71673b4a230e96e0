//! ARP for Ethernet and IPv4 (RFC 826).
//!
//! It promises the layout and to tell such packets from ARP for anything else. It answers nothing
//! and remembers nothing.

use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ethernet::ethertype;

/// Operation: who has this address.
pub const REQUEST: u16 = 1;
/// Operation: an answer.
pub const REPLY: u16 = 2;

const ETHERNET: u16 = 1;

/// An ARP packet between Ethernet hosts about IPv4 addresses, 28 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ArpPacket {
    /// Kind of link; 1 for Ethernet.
    pub hardware: U16,
    /// Kind of network protocol, an EtherType.
    pub protocol: U16,
    /// Bytes of a link address.
    pub hardware_len: u8,
    /// Bytes of a network address.
    pub protocol_len: u8,
    /// [`REQUEST`] or [`REPLY`].
    pub operation: U16,
    /// Link address of the sender.
    pub sender_mac: [u8; 6],
    /// Network address of the sender; 0.0.0.0 in a probe (RFC 5227).
    pub sender_ip: [u8; 4],
    /// Link address of the target; nothing in a request.
    pub target_mac: [u8; 6],
    /// Network address asked for, or that of who asked.
    pub target_ip: [u8; 4],
}

impl ArpPacket {
    /// Bytes of the packet.
    pub const LEN: usize = size_of::<ArpPacket>();

    fn new(operation: u16, sender: ([u8; 6], [u8; 4]), target: ([u8; 6], [u8; 4])) -> ArpPacket {
        ArpPacket {
            hardware: U16::new(ETHERNET),
            protocol: U16::new(ethertype::IPV4),
            hardware_len: 6,
            protocol_len: 4,
            operation: U16::new(operation),
            sender_mac: sender.0,
            sender_ip: sender.1,
            target_mac: target.0,
            target_ip: target.1,
        }
    }

    /// The question who has `wanted`, from this host.
    pub fn request(mac: [u8; 6], ip: [u8; 4], wanted: [u8; 4]) -> ArpPacket {
        ArpPacket::new(REQUEST, (mac, ip), ([0; 6], wanted))
    }

    /// The answer to this request: `mac` has the address asked for.
    pub fn reply(&self, mac: [u8; 6]) -> ArpPacket {
        ArpPacket::new(REPLY, (mac, self.target_ip), (self.sender_mac, self.sender_ip))
    }

    /// Whether it is about Ethernet and IPv4, so that the addresses are where the fields say.
    #[inline]
    pub fn is_ethernet_ipv4(&self) -> bool {
        self.hardware.get() == ETHERNET
            && self.protocol.get() == ethertype::IPV4
            && (self.hardware_len, self.protocol_len) == (6, 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{view, view_mut};

    const REQUEST_BYTES: [u8; 28] =
        [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 0xa, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 7];

    fn request() -> ArpPacket {
        ArpPacket::request([2, 0, 0, 0, 0, 0xa], [192, 0, 2, 1], [192, 0, 2, 7])
    }

    #[test]
    fn deconstruct() {
        let packet = view::<ArpPacket>(&REQUEST_BYTES, 0).unwrap();
        assert_eq!(packet, &request());
        assert!(packet.is_ethernet_ipv4());
        assert_eq!(packet.operation.get(), REQUEST);
        for at in [1, 3, 4, 5] {
            let mut other = REQUEST_BYTES;
            other[at] ^= 1;
            assert!(!view::<ArpPacket>(&other, 0).unwrap().is_ethernet_ipv4(), "byte {at}");
        }
    }

    #[test]
    fn construct() {
        assert_eq!(request().as_bytes(), REQUEST_BYTES);
        let reply = request().reply([2, 0, 0, 0, 0, 0xb]);
        let mut expected = REQUEST_BYTES;
        expected[7] = 2;
        expected[8..18].copy_from_slice(&[2, 0, 0, 0, 0, 0xb, 192, 0, 2, 7]);
        expected[18..28].copy_from_slice(&[2, 0, 0, 0, 0, 0xa, 192, 0, 2, 1]);
        assert_eq!(reply.as_bytes(), expected);
    }

    #[test]
    fn write_over_dirty_bytes() {
        let mut bytes = [0xa5; 30];
        *view_mut(&mut bytes, 1).unwrap() = request();
        assert_eq!(bytes[1..29], REQUEST_BYTES);
        assert_eq!((bytes[0], bytes[29]), (0xa5, 0xa5));
    }

    #[test]
    fn too_short() {
        assert_eq!(view::<ArpPacket>(&REQUEST_BYTES, 1), None);
    }
}
