//! From which port to which packets go, and how long they may be on the way.

use super::decide::{Decided, port, span};
use super::graph::{port_out, stage};
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
    /// Bytes that stages on the way put in front, at most.
    pub added: u32,
    /// The port that packets leave by.
    pub exit: String,
    /// Longest IP packet that may leave, bytes, if there is a limit.
    pub exit_mtu: Option<u32>,
}

/// Every way there is, in the order of the ports in the file. Warns where packets may come that are too long
/// to leave.
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
            let place = span(&checked.chains, decided.graph.at[node]);
            if let (Some((come, most)), Some(place)) = (too_long(&way), place) {
                let message = format!(
                    "`{}` may bring IP packets that leave with {come} B; `{}` takes {most} B and the rest is dropped as too_big",
                    way.entry, way.exit
                );
                let help = format!(
                    "give `{}` an mtu of {come}, or `{}` a smaller one",
                    way.exit, way.entry
                );
                problems.warning_at(place, "mtu", message, Some(help));
            }
            ways.push(way);
        }
    }
    ways
}

/// How long packets may be that leave, and how long they may not, where that is less.
fn too_long(way: &Way) -> Option<(u32, u32)> {
    let come = way.entry_mtu?.saturating_add(way.added);
    way.exit_mtu.filter(|&most| come > most).map(|most| (come, most))
}

/// Bytes put in front between two nodes, on the way that puts most.
fn added(checked: &Checked, decided: &Decided, from: usize, to: usize) -> u32 {
    let mut most: Vec<Option<u32>> = vec![None; decided.graph.at.len()];
    most[from] = Some(0);
    for node in from..=to {
        let Some(bytes) = most[node] else { continue };
        let adds =
            stage(&checked.chains, decided.graph.at[node]).map_or(0, |stage| stage.traits.adds);
        for &next in &decided.graph.next[node] {
            most[next] = most[next].max(Some(bytes.saturating_add(adds)));
        }
    }
    most[to].unwrap_or(0)
}
