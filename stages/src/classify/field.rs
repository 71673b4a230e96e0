//! The keys that a rule can match, and what their values look like.
//!
//! One table says it all: the reader of rules, the catalogue and the compiler go by it.

/// What of a packet a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Field {
    EthSrc,
    EthDst,
    Ethertype,
    Vlan,
    Src,
    Dst,
    Proto,
    Dscp,
    Ecn,
    Fragment,
    TcpSrc,
    TcpDst,
    TcpFlags,
    UdpSrc,
    UdpDst,
    Vni,
    GreKey,
    TunnelSrc,
    TunnelDst,
    Mark,
    Port,
    Length,
}

/// How many there are.
pub(super) const FIELDS: usize = 22;

/// How values of a key are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// A number up to this one, or one of these words.
    Number(u64, &'static [(&'static str, Word)]),
    /// A link-layer address, or the start of one.
    Mac,
    /// An address, a network, or `Own("port")`.
    Ip,
    /// Letters of TCP flags.
    Flags,
    /// The name of a port.
    Port,
}

/// What a word stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    /// These values.
    Range(u64, u64),
    /// That there is none.
    Absent,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// As written.
    pub(super) name: &'static str,
    pub(super) field: Field,
    pub(super) form: Form,
    /// What is expected of a value, after "expected".
    pub(super) expected: &'static str,
}

const fn one(value: u64) -> Word {
    Word::Range(value, value)
}

const ETHERTYPES: &[(&str, Word)] =
    &[("Ipv4", one(0x0800)), ("Arp", one(0x0806)), ("Ipv6", one(0x86dd))];
const PROTOCOLS: &[(&str, Word)] = &[
    ("Icmp", one(1)),
    ("Tcp", one(6)),
    ("Udp", one(17)),
    ("Gre", one(47)),
    ("Esp", one(50)),
    ("Icmp6", one(58)),
    ("Sctp", one(132)),
];
const ECN: &[(&str, Word)] =
    &[("NotEct", one(0)), ("Ect1", one(1)), ("Ect0", one(2)), ("Ce", one(3))];
const FRAGMENTS: &[(&str, Word)] =
    &[("No", one(0)), ("First", one(1)), ("Later", one(2)), ("Any", Word::Range(1, 2))];
const VLANS: &[(&str, Word)] = &[("Untagged", Word::Absent)];

const IP: &str = "an address or a network such as \"10.0.0.0/8\", or Own(\"port\")";
const MAC: &str = "a link-layer address such as \"02:00:00:00:00:01\", or the start of one such as \
                   \"02:00:00:00:00:00/24\"";
const PORT: &str = "a port number from 0 to 65535";

const fn key(name: &'static str, field: Field, form: Form, expected: &'static str) -> Key {
    Key { name, field, form, expected }
}

/// All keys that match.
pub(super) const KEYS: [Key; FIELDS] = [
    key("eth_src", Field::EthSrc, Form::Mac, MAC),
    key("eth_dst", Field::EthDst, Form::Mac, MAC),
    key(
        "ethertype",
        Field::Ethertype,
        Form::Number(0xffff, ETHERTYPES),
        "a number from 0 to 65535, or Ipv4, Arp or Ipv6",
    ),
    key("vlan", Field::Vlan, Form::Number(0xfff, VLANS), "a VLAN ID from 0 to 4095, or Untagged"),
    key("src", Field::Src, Form::Ip, IP),
    key("dst", Field::Dst, Form::Ip, IP),
    key(
        "proto",
        Field::Proto,
        Form::Number(0xff, PROTOCOLS),
        "a number from 0 to 255, or Icmp, Tcp, Udp, Gre, Esp, Icmp6 or Sctp",
    ),
    key("dscp", Field::Dscp, Form::Number(63, &[]), "a number from 0 to 63"),
    key(
        "ecn",
        Field::Ecn,
        Form::Number(3, ECN),
        "NotEct, Ect0, Ect1 or Ce, or a number from 0 to 3",
    ),
    key("fragment", Field::Fragment, Form::Number(2, FRAGMENTS), "No, First, Later or Any"),
    key("tcp_src", Field::TcpSrc, Form::Number(0xffff, &[]), PORT),
    key("tcp_dst", Field::TcpDst, Form::Number(0xffff, &[]), PORT),
    key(
        "tcp_flags",
        Field::TcpFlags,
        Form::Flags,
        "flags out of \"FSRPAUEC\": \"SA\" for these and no others, \"+S-A\" for S set and A not",
    ),
    key("udp_src", Field::UdpSrc, Form::Number(0xffff, &[]), PORT),
    key("udp_dst", Field::UdpDst, Form::Number(0xffff, &[]), PORT),
    key("vni", Field::Vni, Form::Number(0xff_ffff, &[]), "a number from 0 to 16777215"),
    key("gre_key", Field::GreKey, Form::Number(0xffff_ffff, &[]), "a number from 0 to 4294967295"),
    key("tunnel_src", Field::TunnelSrc, Form::Ip, IP),
    key("tunnel_dst", Field::TunnelDst, Form::Ip, IP),
    key("mark", Field::Mark, Form::Number(0xffff, &[]), "a number from 0 to 65535"),
    key("port", Field::Port, Form::Port, "the name of a port such as \"wan\""),
    key(
        "length",
        Field::Length,
        Form::Number(0xffff_ffff, &[]),
        "a number of bytes such as 1514, or a range such as 0..=127",
    ),
];

impl Field {
    /// The largest narrow value.
    pub(super) fn largest(self) -> u64 {
        match KEYS[self as usize].form {
            Form::Number(max, _) => max,
            Form::Mac => 0xffff_ffff_ffff,
            Form::Ip => 0xffff_ffff,
            Form::Flags => 0xff,
            Form::Port => 0xffff,
        }
    }

    /// Whether it holds addresses of two lengths.
    pub(super) fn has_wide(self) -> bool {
        matches!(KEYS[self as usize].form, Form::Ip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_in_the_order_of_the_fields() {
        for (place, key) in KEYS.iter().enumerate() {
            assert_eq!(key.field as usize, place, "{}", key.name);
        }
    }
}
