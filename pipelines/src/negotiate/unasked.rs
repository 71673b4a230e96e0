//! Ports that nobody lets do anything with what they receive: they are not asked for it in this run.
//!
//! A port that joins packets, or leaves words about them, does so for all who read it. So it is left out only where
//! every `Rx` on it says `offload: SoftwareOnly`; what a single stage behind it says cannot undo what came joined.

use super::graph::{Graph, stage};
use crate::check::Checked;
use crate::error::Source;
use corelane_runtime::offload::{Answer, Caps, Offload, Reason};
use corelane_runtime::stage::spec::Role;

/// How the reason begins that stands with what such a port is not asked for.
pub(crate) const UNASKED: &str = "offload: SoftwareOnly";

/// Takes from the facts of such ports what they would do on receipt, and says where the file wants that.
pub(super) fn withhold(checked: &mut Checked, graph: &Graph, source: &Source) {
    for port in &mut checked.ports {
        let stages = graph.at.iter().filter_map(|&at| stage(&checked.chains, at));
        let readers: Vec<_> = stages
            .filter(|stage| stage.info.role == Role::Source)
            .filter(|stage| stage.traits.port.as_deref() == Some(&port.name))
            .collect();
        let Some(first) = readers.first() else { continue };
        if readers.iter().any(|reader| reader.offload != Offload::SoftwareOnly) {
            continue;
        }
        let caps = port.facts.granted & Caps::RX_WORK;
        let place = first.span.map_or(String::new(), |span| source.place_name(span));
        let why = format!("{UNASKED} at {place}");
        port.facts.granted -= caps;
        port.facts.reasons.insert(0, Reason { caps, answer: Answer::No, why });
        port.withheld = caps;
    }
}
