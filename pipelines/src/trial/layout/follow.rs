//! Which header may stand behind which, and the number by which the one before announces it.
//!
//! Both ways from one table: the builder writes the number, the dissector reads it.

use super::Kind;

/// A field of the header before that says what follows, and the values for each.
struct Announced {
    kinds: &'static [Kind],
    /// The field; empty where the header has none, and what follows is found by its look.
    by: &'static str,
    followers: &'static [(Kind, u128)],
}

/// Numbers that are taken for what has none: experiments may use them (RFC 3692; IEEE 802 for 0x88b5).
const IP_EXPERIMENT: u128 = 253;
const ETHERTYPE_EXPERIMENT: u128 = 0x88b5;
/// Transparent Ethernet bridging.
const BRIDGED: u128 = 0x6558;

const TABLE: &[Announced] = &[
    Announced {
        kinds: &[Kind::Eth, Kind::Vlan],
        by: "ethertype",
        followers: &[
            (Kind::Ipv4, 0x0800),
            (Kind::Ipv6, 0x86dd),
            (Kind::Arp, 0x0806),
            (Kind::Vlan, 0x8100),
            (Kind::Vlan, 0x88a8),
            (Kind::Payload, ETHERTYPE_EXPERIMENT),
        ],
    },
    Announced {
        kinds: &[Kind::Ipv4],
        by: "protocol",
        followers: &[
            (Kind::Tcp, 6),
            (Kind::Udp, 17),
            (Kind::Icmp, 1),
            (Kind::Gre, 47),
            (Kind::Ipv4, 4),
            (Kind::Ipv6, 41),
            (Kind::Payload, IP_EXPERIMENT),
        ],
    },
    Announced {
        kinds: &[Kind::Ipv6, Kind::HopByHop, Kind::Routing, Kind::Destination, Kind::Fragment],
        by: "next",
        followers: &[
            (Kind::Tcp, 6),
            (Kind::Udp, 17),
            (Kind::Icmp6, 58),
            (Kind::Gre, 47),
            (Kind::Ipv4, 4),
            (Kind::Ipv6, 41),
            (Kind::HopByHop, 0),
            (Kind::Routing, 43),
            (Kind::Fragment, 44),
            (Kind::Destination, 60),
            (Kind::Payload, IP_EXPERIMENT),
        ],
    },
    Announced {
        kinds: &[Kind::Udp],
        by: "dst",
        followers: &[(Kind::Vxlan, 4789), (Kind::Vxlan, 8472), (Kind::Geneve, 6081)],
    },
    Announced {
        kinds: &[Kind::Geneve, Kind::Gre],
        by: "protocol",
        followers: &[
            (Kind::Eth, BRIDGED),
            (Kind::Ipv4, 0x0800),
            (Kind::Ipv6, 0x86dd),
            (Kind::Payload, ETHERTYPE_EXPERIMENT),
        ],
    },
    // Errors quote the packet they are about; neighbour discovery has a target.
    Announced { kinds: &[Kind::Icmp], by: "type", followers: &[(Kind::Ipv4, 3), (Kind::Ipv4, 11)] },
    Announced {
        kinds: &[Kind::Icmp6],
        by: "type",
        followers: &[
            (Kind::Nd, 135),
            (Kind::Nd, 136),
            (Kind::Ipv6, 1),
            (Kind::Ipv6, 2),
            (Kind::Ipv6, 3),
        ],
    },
    Announced { kinds: &[Kind::Vxlan], by: "", followers: &[(Kind::Eth, 0)] },
];

fn announced(before: Kind) -> Option<&'static Announced> {
    TABLE.iter().find(|row| row.kinds.contains(&before))
}

/// Kinds that may stand behind this one; anything may hold a payload, which ends a frame.
pub(crate) fn followers(before: Kind) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    if before != Kind::Payload {
        let table = announced(before).map_or(&[][..], |row| row.followers);
        kinds.extend(table.iter().map(|(kind, _)| *kind).chain([Kind::Payload]));
        kinds.dedup();
    }
    kinds
}

/// The field of a header that says what follows, and what it says of this kind, where one of its values is told
/// apart from the others.
pub(crate) fn selector(before: Kind, after: Kind) -> Option<(&'static str, u128)> {
    let row = announced(before).filter(|row| !row.by.is_empty())?;
    let (_, value) = row.followers.iter().find(|(kind, _)| *kind == after)?;
    Some((row.by, *value))
}

/// What follows a header whose field says this; `None` where no known header does.
pub(crate) fn follower(before: Kind, said: impl Fn(&str) -> Option<u128>) -> Option<Kind> {
    let row = announced(before)?;
    let value = if row.by.is_empty() { 0 } else { said(row.by)? };
    let found = row.followers.iter().find(|(_, known)| *known == value);
    found.map(|(kind, _)| *kind).filter(|kind| *kind != Kind::Payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_announced_is_found_again() {
        for row in TABLE {
            for &before in row.kinds {
                assert!(row.by.is_empty() || before.layout().field(row.by).is_some(), "{before}");
                for &(kind, value) in
                    row.followers.iter().filter(|(kind, _)| *kind != Kind::Payload)
                {
                    assert_eq!(follower(before, |_| Some(value)), Some(kind), "{before}: {value}");
                    assert!(followers(before).contains(&kind));
                }
            }
        }
    }

    #[test]
    fn nothing_stands_behind_a_payload() {
        assert_eq!(followers(Kind::Payload), []);
        assert_eq!(followers(Kind::Tcp), [Kind::Payload]);
        assert_eq!(selector(Kind::Eth, Kind::Vlan), Some(("ethertype", 0x8100)));
        assert_eq!(selector(Kind::Udp, Kind::Payload), None);
    }
}
