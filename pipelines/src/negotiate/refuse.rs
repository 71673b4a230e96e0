//! What cannot be: a stage or port that would be handed what it does not take, and work that hardware must do
//! and cannot.
//!
//! Each refusal names the edge, both sides, what they differ in, an example packet, and the cure.

use super::decide::{Decided, port, span};
use super::flow::Flow;
use super::graph::{At, port_out, stage, title};
use super::{Verdict, Where};
use crate::check::{Checked, CheckedPort, CheckedStage};
use crate::error::Collector;
use crate::text::Span;
use corelane_runtime::offload::{Looks, Need, Offload};
use corelane_runtime::stage::spec::Role;

/// Notes all of it.
pub(super) fn refuse(checked: &Checked, decided: &Decided, problems: &mut Collector) {
    for node in 0..decided.graph.at.len() {
        let at = decided.graph.at[node];
        let Some(stage) = stage(&checked.chains, at) else { continue };
        let Some(span) = span(&checked.chains, at) else { continue };
        for &from in &decided.graph.before[node] {
            let Some(clash) = clash(checked, stage, &decided.left[from]) else { continue };
            let giver = title(&checked.chains, decided.graph.at[from]);
            let taker = title(&checked.chains, at);
            let message = format!(
                "edge {giver} -> {taker}, {}: `{giver}` may hand over {}, `{taker}` takes {}; for example {}",
                clash.field, clash.given, clash.taken, clash.example
            );
            problems.error_at(span, "edge-contract", message, Some(clash.cure));
        }
        if stage.offload == Offload::Require {
            required(checked, decided, node, span, problems);
        }
    }
}

/// Whether `offload: Require` is about it. What differs from the plain kinds of superpackets is not: hardly a device
/// does all of that, and the rest of what comes is left to it all the same.
fn counts(need: &Need) -> bool {
    let refines = !need.about.is_empty() && Looks::REFINED.contains(need.about);
    need.caps.is_some() && !need.optional && !refines
}

/// Notes what hardware must do for a stage and cannot, all in one.
fn required(
    checked: &Checked,
    decided: &Decided,
    node: usize,
    span: Span,
    problems: &mut Collector,
) {
    let at = decided.graph.at[node];
    let Some(stage) = stage(&checked.chains, at) else { return };
    let needs = decided.needs[node].iter().zip(&decided.verdicts[node]);
    let mut needs = needs.filter(|(need, _)| counts(need)).peekable();
    if needs.peek().is_none() && stage.info.role == Role::Middle {
        let message =
            format!("`offload: Require` has no effect on `{}`", title(&checked.chains, at));
        let help = "no port can do any of its work; leave the key out";
        problems.warning_at(span, "no-effect", message, Some(help.to_owned()));
    }
    let open = |verdict: &&Verdict| matches!(verdict.place, Where::Software | Where::Both);
    let unmet: Vec<&Verdict> = needs.map(|(_, verdict)| verdict).filter(open).collect();
    if !unmet.is_empty() {
        let (message, help) = self::unmet(&who(checked, at), &unmet);
        problems.error_at(span, "offload-required", message, Some(help));
    }
}

/// Who says so: the stage, or the `Tx` that it was added for.
fn who(checked: &Checked, (chain, step): At) -> String {
    let chains = &checked.chains;
    let own = |&step: &usize| stage(chains, (chain, step)).is_some_and(|stage| !stage.added);
    let own = (step..chains[chain].steps.len()).find(own).unwrap_or(step);
    let own_title = title(chains, (chain, own));
    match own == step {
        true => format!("`{own_title}` says `offload: Require`, but hardware does not do"),
        false => format!(
            "`{own_title}` says `offload: Require`, which holds for `{}` too, but hardware does not do",
            title(chains, (chain, step))
        ),
    }
}

fn unmet(who: &str, unmet: &[&Verdict]) -> (String, String) {
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for asked in unmet.iter().flat_map(|verdict| &verdict.asked) {
        if asked.answer == "yes" {
            continue;
        }
        let (port, bit) = (asked.port.as_str(), asked.capability.as_str());
        match missing.iter_mut().find(|(name, _)| *name == port) {
            Some((_, bits)) if bits.contains(&bit) => {}
            Some((_, bits)) => bits.push(bit),
            None => missing.push((port, vec![bit])),
        }
    }
    let works: Vec<String> = unmet.iter().map(|verdict| format!("`{}`", verdict.work)).collect();
    let mut reasons: Vec<&str> = Vec::new();
    for verdict in unmet {
        if !reasons.contains(&verdict.reason.as_str()) {
            reasons.push(&verdict.reason);
        }
    }
    let message = format!("{who} {}: {}", works.join(", "), reasons.join("; "));
    let ports = missing
        .iter()
        .map(|(port, bits)| format!("`{port}` a port that grants {}", bits.join(", ")));
    let help = match missing.is_empty() {
        true => "write `offload: Auto`, or let all packets leave by one port".to_owned(),
        false => {
            let ports = ports.collect::<Vec<_>>().join(" and ");
            format!("write `offload: Auto`, or make {ports}")
        }
    };
    (message, help)
}

/// Where two sides of an edge differ.
struct Clash {
    field: &'static str,
    given: String,
    taken: String,
    example: String,
    cure: String,
}

fn clash(checked: &Checked, taker: &CheckedStage, given: &Flow) -> Option<Clash> {
    let partial = given.looks & Looks::PARTIAL;
    if taker.traits.no_superpackets && given.looks.has_supers() {
        return Some(Clash {
            field: "superpackets",
            given: given.kinds().join(", "),
            taken: "none".to_owned(),
            example: example(given.looks),
            cure: format!("put `Gso` before `{}`", taker.info.name),
        });
    }
    if taker.traits.no_partial && (!partial.is_empty() || given.looks.has_supers()) {
        return Some(Clash {
            field: "unfinished checksums",
            given: "some".to_owned(),
            taken: "none".to_owned(),
            example: example(given.looks),
            cure: format!("put `Gso, ChecksumFill` before `{}`", taker.info.name),
        });
    }
    let port = port_out(taker).and_then(|name| port(checked, name))?;
    at_port(port, taker, given)
}

/// Held against what a port takes.
fn at_port(port: &CheckedPort, tx: &CheckedStage, given: &Flow) -> Option<Clash> {
    let cure = match tx.traits.unfinished {
        true => "take `finish: Never` away, so that what the port cannot do is done before it"
            .to_owned(),
        false => {
            "register the stages `Gso` and `ChecksumFill`, which do what the port cannot".to_owned()
        }
    };
    let taken = |caps: String| match caps.is_empty() {
        true => format!("none such: no device of `{}` is asked for that", port.name),
        false => format!("it only if `{}` grants {caps}, which it does not", port.name),
    };
    let beyond = given.looks.beyond(port.facts.granted);
    if !beyond.is_empty() {
        let supers = beyond.intersects(Looks::SUPER | Looks::BARE | Looks::REFINED);
        let field = if supers { "superpackets" } else { "unfinished checksums" };
        let first = beyond.iter().next().unwrap_or(beyond);
        let lacking = first.needed().map(|caps| (caps - port.facts.granted).names());
        return Some(Clash {
            field,
            given: what(first).to_owned(),
            taken: taken(lacking.unwrap_or_default()),
            example: example(beyond),
            cure,
        });
    }
    let (field, come, most) = given.over(&port.facts.limits)?;
    Some(Clash {
        field: "largest packet",
        given: format!("superpackets of up to {come} {field}"),
        taken: format!("up to {most}"),
        example: format!("a superpacket of {come} {field}"),
        cure,
    })
}

/// One look in words.
fn what(look: Looks) -> &'static str {
    let words = [
        (Looks::SUPER_TCP4 | Looks::BARE_TCP4, "superpackets of TCP over IPv4"),
        (Looks::SUPER_TCP6 | Looks::BARE_TCP6, "superpackets of TCP over IPv6"),
        (Looks::SUPER_UDP4 | Looks::BARE_UDP4, "superpackets of UDP over IPv4"),
        (Looks::SUPER_UDP6 | Looks::BARE_UDP6, "superpackets of UDP over IPv6"),
        (Looks::FIXED_TCP | Looks::FIXED_UDP, "superpackets with one IPv4 ID"),
        (Looks::ECN, "superpackets with CWR on the first segment"),
        (Looks::CWR_ALL, "superpackets with CWR on every segment"),
        (Looks::PAD_LAST, "superpackets whose last segment is padded"),
        (Looks::PARTS, "superpackets of several parts"),
        (Looks::FOREIGN, "superpackets of uneven segments or with headers behind IPv6 extensions"),
        (Looks::PARTIAL_TCP4, "unfinished TCP checksums over IPv4"),
        (Looks::PARTIAL_TCP6, "unfinished TCP checksums over IPv6"),
        (Looks::PARTIAL_UDP4, "unfinished UDP checksums over IPv4"),
        (Looks::PARTIAL_UDP6, "unfinished UDP checksums over IPv6"),
        (Looks::PARTIAL_HIDDEN, "unfinished checksums behind IPv6 extensions or in fragments"),
        (Looks::PARTIAL_ODD, "unfinished checksums that end before the datagram"),
        (Looks::VXLAN, "superpackets inside VXLAN"),
        (Looks::VXLAN_SUM, "superpackets inside VXLAN with an outer UDP checksum"),
        (Looks::GENEVE, "superpackets inside Geneve"),
        (Looks::GENEVE_SUM, "superpackets inside Geneve with an outer UDP checksum"),
        (Looks::GRE | Looks::GRE_SUM, "superpackets inside GRE"),
        (Looks::IPIP, "superpackets of IP in IP"),
        (Looks::OUTER_ID, "superpackets with one outer IPv4 ID"),
        (Looks::UDP_INSIDE, "superpackets of UDP inside a tunnel"),
        (Looks::REPEATED, "superpackets whose headers are to be repeated"),
        (Looks::PARTIAL_OUTER, "two unfinished checksums in one packet"),
        (Looks::PARTIAL_INSIDE, "unfinished checksums inside tunnels"),
        (Looks::PARTIAL_IPV4, "unfinished IPv4 header checksums"),
    ];
    let found = words.iter().find(|(looks, _)| looks.intersects(look));
    found.map_or("such packets", |(_, words)| words)
}

/// A packet that looks so.
fn example(looks: Looks) -> String {
    let kinds = [
        (Looks::SUPER_TCP4 | Looks::BARE_TCP4, "TCP/IPv4", 1448),
        (Looks::SUPER_TCP6 | Looks::BARE_TCP6, "TCP/IPv6", 1428),
        (Looks::SUPER_UDP4 | Looks::BARE_UDP4, "UDP/IPv4", 1200),
        (Looks::SUPER_UDP6 | Looks::BARE_UDP6, "UDP/IPv6", 1200),
        (Looks::FIXED_UDP, "UDP/IPv4", 1200),
        (Looks::FOREIGN, "TCP/IPv6", 1420),
        (Looks::REFINED, "TCP/IPv4", 1448),
    ];
    let detail = [
        (Looks::FIXED_TCP | Looks::FIXED_UDP, " with one IPv4 ID"),
        (Looks::ECN, " with CWR on the first"),
        (Looks::CWR_ALL, " with CWR on both"),
        (Looks::PAD_LAST, ", the last one padded to 60 B"),
        (Looks::PARTS, " in two parts"),
        (Looks::FOREIGN, " behind an extension header"),
        (Looks::VXLAN | Looks::VXLAN_SUM, " in VXLAN"),
        (Looks::GENEVE | Looks::GENEVE_SUM, " in Geneve"),
        (Looks::CARRIED, " in a tunnel"),
    ];
    let supers = looks & (Looks::SUPER | Looks::BARE | Looks::REFINED);
    match kinds.iter().find(|(bits, ..)| supers.intersects(*bits)) {
        Some((_, kind, size)) => {
            let plain = supers.intersects(Looks::SUPER | Looks::BARE);
            let detail = detail.iter().find(|(bits, _)| !plain && supers.intersects(*bits));
            let detail = detail.map_or("", |(_, words)| words);
            format!("a {kind} superpacket of 2 segments of {size} B{detail}")
        }
        None => {
            let first = (looks & Looks::PARTIAL).iter().next().unwrap_or(Looks::PARTIAL_TCP4);
            format!("a packet with {}", what(first).replace("checksums", "checksum"))
        }
    }
}
