//! The headers of tunnels a test can ask for, as in `headers`.

use super::headers::{Checksum, Udp};

impl Udp {
    /// The outer header of a VXLAN tunnel: destination port 4789, checksum 0 (RFC 7348 section 5).
    pub fn vxlan() -> Udp {
        Udp { dst_port: 4789, checksum: Checksum::Value(0), ..Udp::default() }
    }

    /// The outer header of a Geneve tunnel: destination port 6081, checksum 0 (RFC 8926 section
    /// 3.3).
    pub fn geneve() -> Udp {
        Udp { dst_port: 6081, ..Udp::vxlan() }
    }
}

/// A VXLAN header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vxlan {
    /// Flags; 0x08 says that there is a network identifier, 0x04 that there is a next protocol.
    pub flags: u8,
    /// Next protocol, in VXLAN-GPE.
    pub next_protocol: u8,
    /// Network identifier, 24 bits.
    pub vni: u32,
}

impl Default for Vxlan {
    fn default() -> Vxlan {
        Vxlan { flags: 0x08, next_protocol: 0, vni: 42 }
    }
}

/// A Geneve header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geneve {
    /// Version; 0 is the only one there is.
    pub version: u8,
    /// Bit O: a control message.
    pub control: bool,
    /// Bit C: an option is critical.
    pub critical: bool,
    /// Network identifier, 24 bits.
    pub vni: u32,
    /// Options, padded with zeros to a multiple of 4; at most 252 bytes are written.
    pub options: Vec<u8>,
    /// EtherType of what follows; `None`: by what follows.
    pub protocol: Option<u16>,
}

impl Default for Geneve {
    fn default() -> Geneve {
        let (control, critical) = (false, false);
        Geneve { version: 0, control, critical, vni: 42, options: Vec::new(), protocol: None }
    }
}

/// A GRE header; the flags follow from the fields.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Gre {
    /// Checksum over header and payload; [`Checksum::Partial`] means 0.
    pub checksum: Option<Checksum>,
    /// Key.
    pub key: Option<u32>,
    /// Sequence number.
    pub sequence: Option<u32>,
    /// More bits of the first two bytes: routing, version.
    pub more_flags: u16,
    /// EtherType of what follows; `None`: by what follows.
    pub protocol: Option<u16>,
}
