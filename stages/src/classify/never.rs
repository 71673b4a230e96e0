//! Rules that no packet can match, though each of their keys makes sense.
//!
//! It promises that a rule which it refuses matches nothing, whatever comes: it looks at the protocol, the family
//! and the fragment that keys imply, and at values of which none are left. It does not find every such rule.

use super::field::{Field, KEYS};
use super::rule::Rule;
use super::set::Set;
use super::value::Wanted;

const IPV4: u64 = 0x0800;
const IPV6: u64 = 0x86dd;
const TCP: u64 = 6;
const UDP: u64 = 17;
/// A later fragment: only the first one has the header above IP.
const LATER: u64 = 2;

/// A rule for nothing: the key that shows it, and the sentence.
pub(super) type Never = (&'static str, String);

/// Why no packet matches a rule, if that can be seen.
pub(super) fn matches_nothing(rule: &Rule) -> Option<Never> {
    if rule.wanted.is_empty() && rule.to.is_none() && rule.mark.is_none() && rule.name.is_none() {
        let message = "a rule without keys says nothing; write what it matches, such as `udp_dst: 53`, or where all go that came so far: `to: \"chain\"`";
        return Some(("", message.to_owned()));
    }
    let empty = rule.wanted.iter().find(|(_, wanted)| is_empty(wanted));
    let nothing = |(field, _): &(Field, Wanted)| {
        let key = KEYS[*field as usize].name;
        (key, format!("`{key}` leaves no value over, so that nothing would match; leave it out"))
    };
    empty
        .map(nothing)
        .or_else(|| protocol(rule))
        .or_else(|| family(rule))
        .or_else(|| fragment(rule))
}

fn of(rule: &Rule, field: Field) -> Option<&Wanted> {
    rule.wanted.iter().find(|(known, _)| *known == field).map(|(_, wanted)| wanted)
}

fn name(field: Field) -> &'static str {
    KEYS[field as usize].name
}

/// The first of these fields that a rule looks at.
fn first(rule: &Rule, fields: &[Field]) -> Option<Field> {
    fields.iter().copied().find(|field| of(rule, *field).is_some())
}

/// Whether all values that are there are taken out.
fn is_empty(wanted: &Wanted) -> bool {
    // Whole ranges of numbers only: for addresses both families would have to be gone.
    let all =
        |set: &Set| set.narrow.first().is_some_and(|range| *range == (0, u64::from(u16::MAX)));
    wanted.not && wanted.own.is_empty() && wanted.ports.is_empty() && all(&wanted.set)
}

/// Whether a value is among those that a rule asks for.
fn holds(wanted: &Wanted, value: u64) -> bool {
    let within = |(low, high): &(u64, u64)| (*low..=*high).contains(&value);
    wanted.set.narrow.iter().any(within) != wanted.not
}

/// Keys that imply TCP or UDP, beside a `proto` that is another.
fn protocol(rule: &Rule) -> Option<Never> {
    let proto = of(rule, Field::Proto)?;
    let tcp =
        first(rule, &[Field::TcpSrc, Field::TcpDst, Field::TcpFlags]).map(|it| (it, TCP, "Tcp"));
    let udp = first(rule, &[Field::UdpSrc, Field::UdpDst]).map(|it| (it, UDP, "Udp"));
    let (field, _, word) = tcp.or(udp).filter(|(_, number, _)| !holds(proto, *number))?;
    let key = name(field);
    let message = format!(
        "no packet matches: `{key}` is there in {word} only, and `proto` is another; leave `proto` out"
    );
    Some(("proto", message))
}

/// Keys that imply IP, of one family or of either, beside others that are of none of those.
fn family(rule: &Rule) -> Option<Never> {
    const IP: [Field; 11] = [
        Field::Src,
        Field::Dst,
        Field::Proto,
        Field::Dscp,
        Field::Ecn,
        Field::Fragment,
        Field::TcpSrc,
        Field::TcpDst,
        Field::TcpFlags,
        Field::UdpSrc,
        Field::UdpDst,
    ];
    let field = first(rule, &IP)?;
    let families = |field: Field| match of(rule, field) {
        // What is not one of them may be of either family, and so may be a port's addresses.
        Some(wanted) if !wanted.not && wanted.own.is_empty() => {
            (!wanted.set.narrow.is_empty(), !wanted.set.wide.is_empty())
        }
        _ => (true, true),
    };
    let (src, dst) = (families(Field::Src), families(Field::Dst));
    let both = (src.0 && dst.0, src.1 && dst.1);
    if both == (false, false) {
        let message =
            "no packet matches: `src` and `dst` are of different families; make two rules of it";
        return Some(("dst", message.to_owned()));
    }
    let ethertype = of(rule, Field::Ethertype)?;
    let left = both.0 && holds(ethertype, IPV4) || both.1 && holds(ethertype, IPV6);
    let message = || {
        let key = name(field);
        format!(
            "no packet matches: `{key}` is there in IP only, and `ethertype` is none of its family; leave `ethertype` out"
        )
    };
    (!left).then(|| ("ethertype", message()))
}

/// Ports, of which later fragments have none.
fn fragment(rule: &Rule) -> Option<Never> {
    let fragment = of(rule, Field::Fragment)?;
    let ports = [Field::TcpSrc, Field::TcpDst, Field::TcpFlags, Field::UdpSrc, Field::UdpDst];
    let field = first(rule, &ports).filter(|_| !(0..LATER).any(|value| holds(fragment, value)))?;
    let key = name(field);
    let message =
        format!("no packet matches: a later fragment has no `{key}`; leave one of the two out");
    Some(("fragment", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<Never> {
        matches_nothing(&Rule::read(text).expect("a rule"))
    }

    #[test]
    fn what_no_packet_is_is_told_at_its_key() {
        for (text, key, part) in [
            ("()", "", "says nothing"),
            ("(proto: Udp, tcp_dst: 80, to: \"a\")", "proto", "`tcp_dst` is there in Tcp only"),
            ("(proto: Not(Udp), udp_src: 80)", "proto", "`udp_src` is there in Udp only"),
            (
                "(proto: [1, 50..=60], tcp_flags: \"S\")",
                "proto",
                "`tcp_flags` is there in Tcp only",
            ),
            ("(src: \"10.0.0.0/8\", dst: \"2001:db8::/32\")", "dst", "different families"),
            ("(ethertype: Arp, dst: \"10.0.0.1\")", "ethertype", "`dst` is there in IP only"),
            ("(ethertype: Ipv4, dst: \"2001:db8::1\")", "ethertype", "none of its family"),
            ("(ethertype: Arp, udp_dst: 53)", "ethertype", "`udp_dst` is there in IP only"),
            ("(fragment: Later, udp_dst: 53)", "fragment", "a later fragment has no `udp_dst`"),
            ("(udp_dst: Not(0..=65535))", "udp_dst", "leaves no value over"),
        ] {
            let (at, message) = said(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(at, key, "{text}");
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn what_some_packet_is_stays() {
        for text in [
            "(to: \"rest\")",
            "(set_mark: 3)",
            "(proto: Tcp, tcp_dst: 80)",
            "(proto: Not(Tcp), udp_dst: 80)",
            "(proto: 1..=17, udp_dst: 80)",
            "(src: [\"10.0.0.0/8\", \"2001:db8::/32\"], dst: \"2001:db8::/32\")",
            "(src: Not(\"10.0.0.0/8\"), dst: \"2001:db8::/32\")",
            "(src: Own(\"wan\"), dst: \"2001:db8::/32\")",
            "(ethertype: [Arp, Ipv6], dst: \"2001:db8::/32\")",
            "(ethertype: Arp)",
            "(fragment: First, udp_dst: 53)",
            "(fragment: Any, udp_dst: 53)",
            "(fragment: Later)",
            "(vlan: Not(Untagged))",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
