//! The headers that frames of a test are written in: each field with its place, its width, how it is written,
//! and what it is where nobody says.
//!
//! One table serves the reader of descriptions, the builder, the dissector and the printer, so that a field that
//! can be written can be compared and is shown by the same name. Written from the RFCs, apart from the formats
//! that stages use: it is the other side of their tests. Multi-byte fields are in network order.

mod follow;

pub(crate) use follow::{follower, followers, selector};

use std::fmt;

/// A kind of header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Eth,
    Vlan,
    Arp,
    Ipv4,
    Ipv6,
    HopByHop,
    Routing,
    Destination,
    Fragment,
    Tcp,
    Udp,
    Icmp,
    Icmp6,
    Nd,
    Vxlan,
    Geneve,
    Gre,
    /// What no header of a known kind is in.
    Payload,
    /// What stands behind the end that the IP header tells: padding.
    Trailer,
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A whole number.
    Number,
    /// A whole number, shown in hex.
    Hex,
    /// A whole number in hex, or `Good` or `Bad`: what is right, or anything else.
    Checksum,
    /// True or false.
    Flag,
    /// A number of bytes, written into the header as a number of such units.
    Units(u128),
    /// `"02:00:00:00:00:01"`
    Mac,
    /// `"192.0.2.1"`
    V4,
    /// `"2001:db8::1"`
    V6,
    /// Letters, one a flag: `"SA"`.
    TcpFlags,
    /// One of these words, or a number.
    Words(&'static [(&'static str, u128)]),
}

/// A field of a header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// First bit, counted from the start of the header as RFCs draw it.
    pub(crate) at: usize,
    /// Bits, at most 128.
    pub(crate) bits: usize,
    pub(crate) form: Form,
    /// What is sent where nobody says, and nothing follows from the other layers.
    pub(crate) default: u128,
}

/// What a header has behind its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    /// Its key.
    pub(crate) name: &'static str,
    /// It is padded with zeros so that the whole header is a multiple of so many bytes.
    pub(crate) unit: usize,
    /// Most bytes.
    pub(crate) most: usize,
}

/// A kind of header in full.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    /// Bytes of the header without its tail.
    pub(crate) len: usize,
    pub(crate) fields: &'static [Field],
    pub(crate) tail: Option<Tail>,
}

const fn f(name: &'static str, at: usize, bits: usize, form: Form, default: u128) -> Field {
    Field { name, at, bits, form, default }
}

/// Letters of TCP's flags, lowest bit first (RFC 9293 section 3.1, RFC 3168, RFC 9768).
pub(crate) const TCP_FLAGS: &str = "FSRPAUECN";

const ETH: &[Field] = &[
    f("dst", 0, 48, Form::Mac, 0x0200_0000_000b),
    f("src", 48, 48, Form::Mac, 0x0200_0000_000a),
    f("ethertype", 96, 16, Form::Hex, 0),
];
const VLAN: &[Field] = &[
    f("pcp", 0, 3, Form::Number, 0),
    f("dei", 3, 1, Form::Flag, 0),
    f("id", 4, 12, Form::Number, 100),
    f("ethertype", 16, 16, Form::Hex, 0),
];
const ARP: &[Field] = &[
    f("hardware", 0, 16, Form::Number, 1),
    f("protocol", 16, 16, Form::Hex, 0x0800),
    f("hardware_length", 32, 8, Form::Number, 6),
    f("protocol_length", 40, 8, Form::Number, 4),
    f("operation", 48, 16, Form::Words(&[("Request", 1), ("Reply", 2)]), 1),
    f("sender_mac", 64, 48, Form::Mac, 0x0200_0000_000a),
    f("sender", 112, 32, Form::V4, 0xc000_0201),
    f("target_mac", 144, 48, Form::Mac, 0),
    f("target", 192, 32, Form::V4, 0xc633_6402),
];
const IPV4: &[Field] = &[
    f("version", 0, 4, Form::Number, 4),
    f("header_length", 4, 4, Form::Units(4), 5),
    f("dscp", 8, 6, Form::Number, 0),
    f("ecn", 14, 2, Form::Number, 0),
    f("length", 16, 16, Form::Number, 0),
    f("id", 32, 16, Form::Number, 0),
    f("reserved", 48, 1, Form::Flag, 0),
    f("df", 49, 1, Form::Flag, 1),
    f("mf", 50, 1, Form::Flag, 0),
    f("offset", 51, 13, Form::Units(8), 0),
    f("ttl", 64, 8, Form::Number, 64),
    f("protocol", 72, 8, Form::Number, 0),
    f("checksum", 80, 16, Form::Checksum, 0),
    f("src", 96, 32, Form::V4, 0xc000_0201),
    f("dst", 128, 32, Form::V4, 0xc633_6402),
];
const IPV6: &[Field] = &[
    f("version", 0, 4, Form::Number, 6),
    f("dscp", 4, 6, Form::Number, 0),
    f("ecn", 10, 2, Form::Number, 0),
    f("flow", 12, 20, Form::Hex, 0),
    f("length", 32, 16, Form::Number, 0),
    f("next", 48, 8, Form::Number, 0),
    f("hop_limit", 56, 8, Form::Number, 64),
    f("src", 64, 128, Form::V6, 0x2001_0db8_0000_0000_0000_0000_0000_0001),
    f("dst", 192, 128, Form::V6, 0x2001_0db8_0000_0000_0000_0000_0000_0002),
];
const EXTENSION: &[Field] = &[
    f("next", 0, 8, Form::Number, 0),
    // In units of 8 bytes beyond the first: as the header has it, not as bytes.
    f("length", 8, 8, Form::Number, 0),
];
const FRAGMENT: &[Field] = &[
    f("next", 0, 8, Form::Number, 0),
    f("offset", 16, 13, Form::Units(8), 0),
    f("more", 31, 1, Form::Flag, 0),
    f("id", 32, 32, Form::Number, 1),
];
const TCP: &[Field] = &[
    f("src", 0, 16, Form::Number, 40_000),
    f("dst", 16, 16, Form::Number, 80),
    f("seq", 32, 32, Form::Number, 1),
    f("ack", 64, 32, Form::Number, 1),
    f("header_length", 96, 4, Form::Units(4), 5),
    f("flags", 103, 9, Form::TcpFlags, 0x10),
    f("window", 112, 16, Form::Number, 502),
    f("checksum", 128, 16, Form::Checksum, 0),
    f("urgent", 144, 16, Form::Number, 0),
];
const UDP: &[Field] = &[
    f("src", 0, 16, Form::Number, 40_000),
    f("dst", 16, 16, Form::Number, 53),
    f("length", 32, 16, Form::Number, 0),
    f("checksum", 48, 16, Form::Checksum, 0),
];
const ICMP: &[Field] = &[
    f("type", 0, 8, Form::Number, 8),
    f("code", 8, 8, Form::Number, 0),
    f("checksum", 16, 16, Form::Checksum, 0),
    f("id", 32, 16, Form::Number, 0),
    f("seq", 48, 16, Form::Number, 0),
    // Where an echo has its number, "fragmentation needed" has the MTU (RFC 1191).
    f("mtu", 48, 16, Form::Number, 0),
];
const ICMP6: &[Field] = &[
    f("type", 0, 8, Form::Number, 128),
    f("code", 8, 8, Form::Number, 0),
    f("checksum", 16, 16, Form::Checksum, 0),
    f("id", 32, 16, Form::Number, 0),
    f("seq", 48, 16, Form::Number, 0),
    // What "packet too big" has there (RFC 4443 section 3.2).
    f("mtu", 32, 32, Form::Number, 0),
    // What a neighbour advertisement has there (RFC 4861 section 4.4).
    f("flags", 32, 32, Form::Hex, 0),
];
const ND: &[Field] = &[f("target", 0, 128, Form::V6, 0x2001_0db8_0000_0000_0000_0000_0000_0002)];
const VXLAN: &[Field] = &[
    f("flags", 0, 8, Form::Hex, 0x08),
    f("reserved", 8, 24, Form::Hex, 0),
    f("vni", 32, 24, Form::Number, 42),
    f("reserved2", 56, 8, Form::Hex, 0),
];
const GENEVE: &[Field] = &[
    f("version", 0, 2, Form::Number, 0),
    f("options_length", 2, 6, Form::Units(4), 0),
    f("control", 8, 1, Form::Flag, 0),
    f("critical", 9, 1, Form::Flag, 0),
    f("protocol", 16, 16, Form::Hex, 0),
    f("vni", 32, 24, Form::Number, 42),
    f("reserved", 56, 8, Form::Hex, 0),
];
/// The last three are there where `flags` say so: [`Field::place`] knows where.
const GRE: &[Field] = &[
    f("flags", 0, 13, Form::Hex, 0),
    f("version", 13, 3, Form::Number, 0),
    f("protocol", 16, 16, Form::Hex, 0),
    f("checksum", 32, 16, Form::Checksum, 0),
    f("key", 32, 32, Form::Number, 0),
    f("sequence", 32, 32, Form::Number, 0),
];
/// The optional fields of GRE in their order: the bit of `flags` for each, and the bytes it takes (RFC 2890).
pub(crate) const GRE_OPTIONAL: [(&str, u128); 3] =
    [("checksum", 0x1000), ("key", 0x0400), ("sequence", 0x0200)];

const fn layout(kind: Kind, name: &'static str, len: usize, fields: &'static [Field]) -> Layout {
    Layout { kind, name, len, fields, tail: None }
}

const fn with_tail(layout: Layout, name: &'static str, unit: usize, most: usize) -> Layout {
    Layout { tail: Some(Tail { name, unit, most }), ..layout }
}

/// Most bytes of a payload, or of a frame.
pub(crate) const BYTES_MAX: usize = 65_535;

/// Every kind of header that can be written.
pub(crate) static LAYOUTS: [Layout; 18] = [
    layout(Kind::Eth, "Eth", 14, ETH),
    layout(Kind::Vlan, "Vlan", 4, VLAN),
    layout(Kind::Arp, "Arp", 28, ARP),
    with_tail(layout(Kind::Ipv4, "Ipv4", 20, IPV4), "options", 4, 40),
    layout(Kind::Ipv6, "Ipv6", 40, IPV6),
    with_tail(layout(Kind::HopByHop, "HopByHop", 2, EXTENSION), "body", 8, 2046),
    with_tail(layout(Kind::Routing, "Routing", 2, EXTENSION), "body", 8, 2046),
    with_tail(layout(Kind::Destination, "Destination", 2, EXTENSION), "body", 8, 2046),
    layout(Kind::Fragment, "Fragment", 8, FRAGMENT),
    with_tail(layout(Kind::Tcp, "Tcp", 20, TCP), "options", 4, 40),
    layout(Kind::Udp, "Udp", 8, UDP),
    layout(Kind::Icmp, "Icmp", 8, ICMP),
    layout(Kind::Icmp6, "Icmp6", 8, ICMP6),
    with_tail(layout(Kind::Nd, "Nd", 16, ND), "options", 1, 1024),
    layout(Kind::Vxlan, "Vxlan", 8, VXLAN),
    with_tail(layout(Kind::Geneve, "Geneve", 8, GENEVE), "options", 4, 252),
    layout(Kind::Gre, "Gre", 4, GRE),
    with_tail(layout(Kind::Payload, "Payload", 0, &[]), "bytes", 1, BYTES_MAX),
];

static TRAILER: Layout = layout(Kind::Trailer, "Trailer", 0, &[]);

impl Kind {
    /// Its layout.
    pub(crate) fn layout(self) -> &'static Layout {
        LAYOUTS.iter().find(|layout| layout.kind == self).unwrap_or(&TRAILER)
    }

    /// Whether it is an IPv6 extension header.
    pub(crate) fn is_extension(self) -> bool {
        matches!(self, Kind::HopByHop | Kind::Routing | Kind::Destination | Kind::Fragment)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.layout().name)
    }
}

impl Layout {
    /// The field of that name.
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Every key there is.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.name).chain(self.tail.map(|tail| tail.name))
    }
}

impl Field {
    /// The largest value as it is written.
    pub(crate) fn most(&self) -> u128 {
        let raw = if self.bits == 128 { u128::MAX } else { (1 << self.bits) - 1 };
        match self.form {
            Form::Units(unit) => raw * unit,
            _ => raw,
        }
    }

    /// Where it is in a header that begins so, in bits; `None` where this header has none.
    pub(crate) fn place(&self, kind: Kind, header: &[u8]) -> Option<usize> {
        let optional = GRE_OPTIONAL.iter().position(|(name, _)| *name == self.name);
        let (Kind::Gre, Some(number)) = (kind, optional) else { return Some(self.at) };
        let flags = u128::from(header.first().copied().unwrap_or(0)) << 5;
        let is_there = |(_, bit): &&(&str, u128)| flags & *bit != 0;
        GRE_OPTIONAL.get(number).filter(is_there)?;
        Some(32 + 32 * GRE_OPTIONAL.iter().take(number).filter(is_there).count())
    }

    /// Its value in a header, as the header has it; `None` where the header ends before.
    pub(crate) fn get(&self, kind: Kind, header: &[u8]) -> Option<u128> {
        let at = self.place(kind, header)?;
        let bytes = header.get(at / 8..(at + self.bits).div_ceil(8))?;
        // A field that begins within a byte is short: with its neighbours it still fits.
        let all = bytes.iter().fold(0_u128, |all, byte| all << 8 | u128::from(*byte));
        let behind = bytes.len() * 8 - at % 8 - self.bits;
        let mask = if self.bits == 128 { u128::MAX } else { (1 << self.bits) - 1 };
        Some(all >> behind & mask)
    }

    /// Writes its value, as the header is to have it.
    pub(crate) fn put(&self, kind: Kind, header: &mut [u8], value: u128) {
        let Some(at) = self.place(kind, header) else { return };
        for bit in 0..self.bits {
            let is_set = value >> (self.bits - 1 - bit) & 1 == 1;
            let (byte, mask) = ((at + bit) / 8, 0x80 >> ((at + bit) % 8));
            if let Some(byte) = header.get_mut(byte) {
                *byte = if is_set { *byte | mask } else { *byte & !mask };
            }
        }
    }

    /// A value of a header as people write it.
    pub(crate) fn shown(&self, raw: u128) -> String {
        let [.., a, b, c, d, e, g] = raw.to_be_bytes();
        match self.form {
            Form::Number => raw.to_string(),
            Form::Hex | Form::Checksum => format!("{raw:#0width$x}", width = 2 + self.bits / 4),
            Form::Flag => (raw == 1).to_string(),
            Form::Units(unit) => (raw * unit).to_string(),
            Form::Mac => format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"),
            Form::V4 => std::net::Ipv4Addr::new(c, d, e, g).to_string(),
            Form::V6 => std::net::Ipv6Addr::from(raw).to_string(),
            Form::TcpFlags => letters(raw),
            Form::Words(words) => match words.iter().find(|(_, value)| *value == raw) {
                Some((word, _)) => (*word).to_owned(),
                None => raw.to_string(),
            },
        }
    }
}

/// Flags as letters, SYN first, as they are read.
fn letters(raw: u128) -> String {
    let set: String = TCP_FLAGS
        .chars()
        .enumerate()
        .filter(|(bit, _)| raw >> bit & 1 == 1)
        .map(|(_, letter)| letter)
        .collect();
    format!("\"{set}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_inside_its_header_and_has_a_name_of_its_own() {
        for layout in &LAYOUTS {
            let mut keys: Vec<&str> = layout.keys().collect();
            for field in layout.fields {
                let optional = layout.kind == Kind::Gre && field.at == 32;
                assert!(optional || field.at + field.bits <= layout.len * 8, "{}", field.name);
                assert!(field.at % 8 + field.bits <= 128, "{}: does not fit", field.name);
                assert!(field.default <= field.most(), "{}", field.name);
            }
            let all = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), all, "{}", layout.name);
        }
    }

    #[test]
    fn what_is_put_is_what_is_got_and_neighbours_are_left_alone() {
        for layout in &LAYOUTS {
            for field in layout.fields {
                for background in [0x00, 0xff] {
                    let mut header = vec![background; layout.len + 12];
                    if layout.kind == Kind::Gre && field.at == 32 {
                        header[0] = 0xff;
                    }
                    let before = header.clone();
                    let old = field.get(layout.kind, &header).unwrap();
                    let value = 0x5a5a_5a5a_5a5a_5a5a_5a5a_5a5a_5a5a_5a5a >> (128 - field.bits);
                    field.put(layout.kind, &mut header, value);
                    assert_eq!(field.get(layout.kind, &header), Some(value), "{}", field.name);
                    field.put(layout.kind, &mut header, old);
                    assert_eq!(header, before, "{}", field.name);
                }
            }
        }
    }

    #[test]
    fn optional_fields_of_gre_stand_where_its_flags_put_them() {
        let [key, sequence] =
            ["key", "sequence"].map(|name| Kind::Gre.layout().field(name).unwrap());
        let header = |first: u8| [first, 0, 0x65, 0x58, 0, 1, 2, 3, 0, 0, 0, 9];
        assert_eq!(key.get(Kind::Gre, &header(0x20)), Some(0x0001_0203));
        assert_eq!(sequence.get(Kind::Gre, &header(0x30)), Some(9));
        assert_eq!(
            (key.get(Kind::Gre, &header(0)), key.get(Kind::Gre, &header(0xa0))),
            (None, Some(9))
        );
    }
}
