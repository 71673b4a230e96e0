//! Names that the language has but this version does not: said apart from misspellings, once each.
//!
//! A stage that the program registers under such a name goes before. Their subjects are known, so that a value
//! without a key beside others is told here already.

use crate::error::{Collector, instead, near};

/// A name of a later version, and its subject.
type Later = (&'static str, Option<&'static str>);

const STAGES: [Later; 1] = [("Police", None)];

const PORTS: [Later; 3] =
    [("AfPacket", Some("interface")), ("AfXdp", Some("interface")), ("Dpdk", None)];

/// The subject of a stage of a later version; an outer `None`: there is none of that name.
pub(super) fn stage(name: &str) -> Option<Option<&'static str>> {
    find(&STAGES, name)
}

/// The same of a kind of port.
pub(super) fn port(name: &str) -> Option<Option<&'static str>> {
    find(&PORTS, name)
}

fn find(all: &[Later], name: &str) -> Option<Option<&'static str>> {
    all.iter().find(|(known, _)| *known == name).map(|(_, subject)| *subject)
}

/// What to write instead of the name of a stage that nobody knows.
pub(super) fn instead_of_stage<'n>(
    found: &str,
    known: impl Iterator<Item = &'n str>,
) -> Option<String> {
    instead_of(found, known.collect(), &STAGES)
}

/// The same of a kind of port.
pub(super) fn instead_of_port<'n>(
    found: &str,
    known: impl Iterator<Item = &'n str>,
) -> Option<String> {
    instead_of(found, known.collect(), &PORTS)
}

fn instead_of(found: &str, known: Vec<&str>, later: &[Later]) -> Option<String> {
    let all = known.iter().copied().chain(later.iter().map(|(name, _)| *name));
    match near(found, all) {
        Some(near) if !known.contains(&near) => {
            Some(format!("did you mean `{near}`? It does not exist yet in this version"))
        }
        _ => instead(found, known),
    }
}

/// Whether nothing was said of `name` yet; it is from now on.
pub(super) fn first(problems: &mut Collector, name: &str) -> bool {
    problems.first("not-yet", name)
}
