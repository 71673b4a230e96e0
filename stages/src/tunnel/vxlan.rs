//! VXLAN (RFC 7348): its keys in a description, the header it puts behind UDP, and what it finds there.
//!
//! It promises headers with the I flag and nothing else set, and says of a header that came whether it is one.
//! Group policy and GPE, which give the reserved bits a meaning, are other kinds of tunnels.

use super::keys::{Ecn, Local, OrInherit, Ports, SourcePorts};
use crate::config::Mac;
use crate::config::Nanoseconds;
use corelane_wire::vxlan::VxlanHeader;
use corelane_wire::{IntoBytes, view};
use serde::Deserialize;
use std::net::IpAddr;

/// UDP port of VXLAN (RFC 7348 section 5).
pub(super) const PORT: u16 = 4789;
/// Bytes of its header.
pub(super) const LEN: usize = VxlanHeader::LEN;
/// Identifiers have 24 bits.
pub(super) const VNI_MAX: u32 = (1 << 24) - 1;
/// How long a learned address is used without being seen again.
const AGE: Nanoseconds = Nanoseconds(300_000_000_000);

/// The header for this identifier.
pub(super) fn header(vni: u32) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes.copy_from_slice(VxlanHeader::new(vni).as_bytes());
    bytes
}

/// The identifier in the header at `at`; `None` where that is no VXLAN header. A receiver may `ignore` reserved bits
/// (RFC 7348 section 5), but then takes for VXLAN what is an extension of it.
pub(super) fn identifier(data: &[u8], at: usize, ignore: bool) -> Option<u32> {
    let found = view::<VxlanHeader>(data, at)?;
    let sound = if ignore { found.has_vni() } else { *found == VxlanHeader::new(found.vni()) };
    sound.then(|| found.vni())
}

/// When the outer UDP checksum is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum UdpChecksum {
    /// Over IPv6, where it is the rule; not over IPv4 (RFC 7348 section 5).
    #[default]
    Auto,
    /// Always.
    On,
    /// Never; over IPv6 both ends must agree (RFC 6935).
    Off,
}

/// What is done with datagrams over IPv6 whose checksum is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum ZeroChecksum {
    /// They are taken (RFC 7348 section 5, RFC 6935).
    #[default]
    Accept,
    /// They end here.
    Drop,
}

/// What is done with bits that must be sent as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Reserved {
    /// A header in which one is set is none of VXLAN.
    #[default]
    Zero,
    /// They are not looked at.
    Ignore,
}

/// `Vxlan(..)` of `Encap`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VxlanOut {
    /// Identifier; of a table, each row has its own.
    pub vni: Option<u32>,
    /// Source address.
    pub local: Option<Local>,
    /// Destination address; of a table, each row has its own.
    pub remote: Option<IpAddr>,
    /// Rows of tenants.
    pub table: Option<String>,
    /// How long a learned address is used without being seen again.
    pub age: Nanoseconds,
    /// UDP destination port.
    pub port: u16,
    /// UDP source port.
    pub src_port: SourcePorts,
    /// When the outer UDP checksum is made.
    pub udp_checksum: UdpChecksum,
    /// Outer TTL or hop limit.
    pub ttl: OrInherit,
    /// Outer DSCP.
    pub dscp: OrInherit,
    /// Rules for ECN.
    pub ecn: Ecn,
    /// Outer DF.
    pub df: bool,
    /// Link-layer address of the next hop; without it `Neighbour` finds that out.
    pub next_hop: Option<Mac>,
    /// Link-layer source address; else that of the port.
    pub mac: Option<Mac>,
}

impl Default for VxlanOut {
    fn default() -> VxlanOut {
        VxlanOut {
            vni: None,
            local: None,
            remote: None,
            table: None,
            age: AGE,
            port: PORT,
            src_port: SourcePorts(49_152..=65_535),
            udp_checksum: UdpChecksum::Auto,
            ttl: OrInherit::Fixed(64),
            dscp: OrInherit::Fixed(0),
            ecn: Ecn::default(),
            df: true,
            next_hop: None,
            mac: None,
        }
    }
}

/// `Vxlan(..)` of `Decap`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VxlanIn {
    /// The one identifier taken; else any.
    pub vni: Option<u32>,
    /// The one destination address taken; else any.
    pub local: Option<Local>,
    /// Rows of tenants: other identifiers, and other sources, are not taken.
    pub table: Option<String>,
    /// How long a learned address is used without being seen again.
    pub age: Nanoseconds,
    /// UDP destination ports.
    pub port: Ports,
    /// Datagrams over IPv6 without a checksum.
    pub udp6_zero_checksum: ZeroChecksum,
    /// Bits that must be 0.
    pub reserved: Reserved,
    /// Rules for ECN.
    pub ecn: Ecn,
}

impl Default for VxlanIn {
    fn default() -> VxlanIn {
        VxlanIn {
            vni: None,
            local: None,
            table: None,
            age: AGE,
            port: Ports(vec![PORT]),
            udp6_zero_checksum: ZeroChecksum::default(),
            reserved: Reserved::default(),
            ecn: Ecn::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_header_of_the_standard_is_one() {
        let sound = header(0x12_3456);
        assert_eq!(sound, [8, 0, 0, 0, 0x12, 0x34, 0x56, 0]);
        assert_eq!(identifier(&sound, 0, false), Some(0x12_3456));
        assert_eq!(identifier(&sound, 1, false), None, "it is not all there");
        for bit in 0..64 {
            let mut bytes = sound;
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (identifies, strict) = ((4..7).contains(&(bit / 8)), identifier(&bytes, 0, false));
            assert_eq!(strict.is_some(), identifies, "bit {bit}");
            let flag = bit == 3;
            assert_eq!(identifier(&bytes, 0, true).is_none(), flag, "bit {bit}");
        }
    }
}
