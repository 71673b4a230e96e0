//! What stages want of others on the way, once it is known which ports packets come in by and leave by: somebody who
//! finds the link-layer address of the next hop, and somebody who checks what is to be cut.
//!
//! It promises a complaint only where nobody on the way can do it: a stage that changes headers may do anything.

use super::{Checked, CheckedPort, CheckedStage, CheckedStep};
use crate::error::Collector;
use crate::negotiate::{Negotiated, Way, leaving};
use corelane_runtime::offload::Caps;
use corelane_runtime::stage::spec::Role;
use std::collections::BTreeSet;

/// A step: chain and place in it.
type Place = (usize, usize);

/// Notes what is missing.
pub(crate) fn behind(negotiated: &Negotiated, problems: &mut Collector) {
    let Negotiated { checked, ways, .. } = negotiated;
    for (number, chain) in checked.chains.iter().enumerate() {
        for (index, step) in chain.steps.iter().enumerate() {
            let CheckedStep::Stage(stage) = step else { continue };
            if stage.traits.unresolved {
                unresolved(checked, (number, index), stage, problems);
            }
            if stage.info.role == Role::Source {
                unchecked(checked, (number, index), stage, ways, problems);
            }
        }
    }
}

fn stage(checked: &Checked, (chain, step): Place) -> Option<&CheckedStage> {
    match checked.chains.get(chain)?.steps.get(step)? {
        CheckedStep::Stage(stage) => Some(stage),
        CheckedStep::Ring(_) => None,
    }
}

fn port<'a>(checked: &'a Checked, name: &str) -> Option<&'a CheckedPort> {
    checked.ports.iter().find(|port| port.name == name)
}

/// The steps that packets from one come to, without what is behind a stage for which `ends` holds.
fn reach(checked: &Checked, from: Place, ends: impl Fn(&CheckedStage) -> bool) -> Vec<Place> {
    let (mut found, mut known) = (vec![from], BTreeSet::from([from]));
    let mut at = 0;
    while let Some(&(chain, step)) = found.get(at) {
        at += 1;
        let here = stage(checked, (chain, step));
        if here.is_some_and(|here| (chain, step) != from && ends(here)) {
            continue;
        }
        let next = (chain, step + 1);
        let outputs = here.into_iter().flat_map(|here| &here.outputs).map(|&output| (output, 0));
        let behind = checked.chains.get(chain).is_some_and(|found| step + 1 < found.steps.len());
        for place in behind.then_some(next).into_iter().chain(outputs) {
            if known.insert(place) {
                found.push(place);
            }
        }
    }
    found
}

/// Packets that nobody gives an address would be sent to 00:00:00:00:00:00.
fn unresolved(checked: &Checked, at: Place, encap: &CheckedStage, problems: &mut Collector) {
    let Some(span) = encap.span else { return };
    let reached = reach(checked, at, |stage| stage.traits.changes_headers);
    let mut told = BTreeSet::new();
    for stage in reached.into_iter().filter_map(|place| stage(checked, place)) {
        let sink = stage.traits.port.as_deref().filter(|_| stage.info.role == Role::Sink);
        let Some(port) = sink.and_then(|name| port(checked, name)) else { continue };
        if !port.common.addresses.is_empty() || !told.insert(&port.name) {
            continue;
        }
        let (kind, name) = (encap.info.name, &port.name);
        let message = format!(
            "`{kind}` does not say to which link-layer address packets go, and `{name}`, by which they leave, has no \
             addresses to find it out from: all would go to 00:00:00:00:00:00"
        );
        let help = format!(
            "write `next_hop: \"02:00:00:00:00:02\"` in the tunnel, or give `{name}` `addresses: [\"192.0.2.1/24\"]` and a \
             `mac`"
        );
        problems.error_at(span, "no-next-hop", message, Some(help));
    }
}

/// Packets that are too long and would be cut, had somebody checked them.
fn unchecked(
    checked: &Checked,
    at: Place,
    rx: &CheckedStage,
    ways: &[Way],
    problems: &mut Collector,
) {
    let Some(entry) = rx.traits.port.as_deref().and_then(|name| port(checked, name)) else {
        return;
    };
    if entry.facts.granted.contains(Caps::RX_TCP) {
        return;
    }
    let reached = reach(checked, at, |stage| stage.traits.checks);
    for encap in reached.into_iter().filter_map(|place| stage(checked, place)) {
        let Some(span) = encap.span.filter(|_| encap.traits.wants_checked) else { continue };
        let too_long = |way: &&Way| {
            let come = way.entry_mtu.map_or(u32::MAX, |mtu| leaving(mtu, way.added));
            way.entry == entry.name
                && encap.exits.contains(&way.exit)
                && way.exit_mtu.is_some_and(|most| come > most)
        };
        if ways.iter().any(|way| too_long(&way)) {
            let message = format!(
                "`{}` cuts only what is known to be right, and nobody checks what comes from `{}`: what is too long is \
                 dropped as too_big",
                encap.info.name, entry.name
            );
            let help = "put `ChecksumValidate(on_bad: Drop)` before it".to_owned();
            problems.warning_at(span, "unchecked", message, Some(help));
        }
    }
}
