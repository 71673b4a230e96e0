//! From which port to which packets go, and how long they may be on the way.

use super::decide::{Decided, port, span};
use super::graph::{port_out, stage, title};
use crate::check::Checked;
use crate::error::Collector;
use serde::Serialize;

/// From one port to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// The port that packets come from.
    pub entry: String,
    /// Longest IP packet that may come, bytes, if there is a limit.
    pub entry_mtu: Option<u32>,
    /// Bytes that stages on the way make IP packets longer by, at most; less than 0 where they come out of tunnels.
    pub added: i64,
    /// The port that packets leave by.
    pub exit: String,
    /// Longest IP packet that may leave, bytes, if there is a limit.
    pub exit_mtu: Option<u32>,
}

/// Every way there is, in the order of the ports in the file. Where packets may come that are too long to leave, a
/// stage on the way that puts them into a tunnel must say what becomes of those; elsewhere it is a warning.
pub(super) fn ways(checked: &Checked, decided: &Decided, problems: &mut Collector) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for node in 0..decided.graph.at.len() {
        let Some(tx) = stage(&checked.chains, decided.graph.at[node]) else { continue };
        let Some(out) = port_out(tx).and_then(|name| port(checked, name)) else { continue };
        for &from in &decided.sources[node] {
            let Some(rx) = stage(&checked.chains, decided.graph.at[from]) else { continue };
            let entry = rx.traits.port.as_deref().and_then(|name| port(checked, name));
            let Some(entry) = entry else { continue };
            let way = Way {
                entry: entry.name.clone(),
                entry_mtu: entry.facts.limits.mtu,
                added: added(checked, decided, from, node),
                exit: out.name.clone(),
                exit_mtu: out.facts.limits.mtu,
            };
            if ways.contains(&way) {
                continue;
            }
            match wrappers(checked, decided, from, node).as_slice() {
                [] => warn(checked, decided, node, &way, problems),
                several => several.iter().for_each(|&at| ask(checked, decided, at, &way, problems)),
            }
            ways.push(way);
        }
    }
    ways
}

/// The stages between two others that put packets into a tunnel.
fn wrappers(checked: &Checked, decided: &Decided, from: usize, to: usize) -> Vec<usize> {
    let wraps = |&node: &usize| {
        let stage = stage(&checked.chains, decided.graph.at[node]);
        stage.is_some_and(|stage| stage.traits.encapsulates.is_some())
            && decided.sources[node].contains(&from)
            && decided.sinks[node].contains(&to)
    };
    (from..=to).filter(wraps).collect()
}

/// Says that packets may be dropped at the end of a way.
fn warn(checked: &Checked, decided: &Decided, node: usize, way: &Way, problems: &mut Collector) {
    let place = span(&checked.chains, decided.graph.at[node]);
    let (Some((come, most)), Some(place)) = (too_long(way), place) else { return };
    let message = format!(
        "`{}` may bring IP packets that leave with {come} B; `{}` takes {most} B and the rest is dropped as too_big",
        way.entry, way.exit
    );
    let help = format!("give `{}` an mtu of {come}, or `{}` a smaller one", way.exit, way.entry);
    problems.warning_at(place, "mtu", message, Some(help));
}

/// Asks a stage that puts packets into a tunnel what becomes of those that are too long then, if it does not say.
fn ask(checked: &Checked, decided: &Decided, node: usize, way: &Way, problems: &mut Collector) {
    let at = decided.graph.at[node];
    let Some(encap) = stage(&checked.chains, at).filter(|stage| !stage.traits.fits) else { return };
    let (Some(place), Some(most)) = (span(&checked.chains, at), way.exit_mtu) else { return };
    let (come, written) = match way.entry_mtu {
        Some(mtu) if leaving(mtu, way.added) <= most => return,
        Some(mtu) => (format!("of up to {mtu} B (its mtu)"), mtu.to_string()),
        None => ("of any length (it has no mtu)".to_owned(), "no mtu".to_owned()),
    };
    let message = format!(
        "`{}` needs `oversize`: `{}` may bring IP packets {come}, {} B are put in front, and `{}` takes {most} B (its mtu)",
        title(&checked.chains, at),
        way.entry,
        way.added,
        way.exit
    );
    let help = format!(
        "write what becomes of packets that are too long, such as `oversize: [Segment, PmtuReply]` or `oversize: [Drop]` \
         of `{}`; or give `{}` an mtu of {} or less (now {written})",
        encap.info.name,
        way.entry,
        leaving(most, -way.added)
    );
    problems.error_at(place, "oversize", message, Some(help));
}

/// How long packets may be that leave, and how long they may not, where that is less.
fn too_long(way: &Way) -> Option<(u32, u32)> {
    let come = leaving(way.entry_mtu?, way.added);
    way.exit_mtu.filter(|&most| come > most).map(|most| (come, most))
}

/// How long an IP packet of so many bytes is once so many were added.
pub(crate) fn leaving(bytes: u32, added: i64) -> u32 {
    i64::from(bytes).saturating_add(added).clamp(0, i64::from(u32::MAX)) as u32
}

/// Bytes that IP packets get longer by between two nodes, on the way that adds most.
fn added(checked: &Checked, decided: &Decided, from: usize, to: usize) -> i64 {
    let mut most: Vec<Option<i64>> = vec![None; decided.graph.at.len()];
    most[from] = Some(0);
    for node in from..=to {
        let Some(bytes) = most[node] else { continue };
        let (chain, step) = decided.graph.at[node];
        let traits = stage(&checked.chains, (chain, step)).map(|stage| &stage.traits);
        let (adds, removes) = traits.map_or((0, 0), |traits| (traits.adds, traits.removes));
        for &next in &decided.graph.next[node] {
            // What is not taken out goes to a named output as it came.
            let removes = if decided.graph.at[next] == (chain, step + 1) { removes } else { 0 };
            let bytes = bytes + i64::from(adds) - i64::from(removes);
            most[next] = most[next].max(Some(bytes));
        }
    }
    most[to].unwrap_or(0)
}
