//! The one port that a stage may leave work to, or why there is none.

use super::Exit;
use super::graph::{Graph, port_out, stage, title};
use crate::check::{CheckedChain, CheckedStage};
use corelane_runtime::offload::{Looks, Offload, Side};
use std::collections::BTreeSet;

/// Node by node; a ring has none.
pub(super) fn exits(chains: &[CheckedChain], graph: &Graph) -> Vec<Exit> {
    let sinks = graph.ahead(|node| {
        stage(chains, graph.at[node]).filter(|stage| port_out(stage).is_some()).map(|_| node)
    });
    // Only what is on the way to a port matters: what ends elsewhere asks no port for anything.
    let on_the_way = graph.ahead(|node| (!sinks[node].is_empty()).then_some(node));
    let exit = |node: usize| match stage(chains, graph.at[node]) {
        Some(stage) => exit(chains, graph, node, stage, &sinks[node], &on_the_way[node]),
        None => Exit::Nobody,
    };
    (0..graph.at.len()).map(exit).collect()
}

fn exit(
    chains: &[CheckedChain],
    graph: &Graph,
    node: usize,
    from: &CheckedStage,
    sinks: &BTreeSet<usize>,
    on_the_way: &BTreeSet<usize>,
) -> Exit {
    if let Some(port) = port_out(from) {
        return Exit::Port(port.to_owned());
    }
    let ports: BTreeSet<&str> =
        sinks.iter().filter_map(|&sink| stage(chains, graph.at[sink]).and_then(port_out)).collect();
    if ports.is_empty() {
        return Exit::Nobody;
    }
    if from.offload == Offload::SoftwareOnly {
        return Exit::Forbidden;
    }
    let stages = on_the_way.iter().filter(|&&other| other != node);
    let stages = stages.filter_map(|&other| Some((other, stage(chains, graph.at[other])?)));
    let (leaves_supers, leaves_partial) = leaves(from);
    for (other, on_way) in stages {
        if on_way.traits.changes_headers {
            return Exit::Changed(title(chains, graph.at[other]));
        }
        let cut = on_way.traits.no_superpackets && leaves_supers;
        if cut || on_way.traits.no_partial && (leaves_partial || leaves_supers) {
            return Exit::Held(title(chains, graph.at[other]));
        }
    }
    match ports.iter().collect::<Vec<_>>().as_slice() {
        [port] => Exit::Port((**port).to_owned()),
        several => Exit::Several(several.iter().map(|port| (**port).to_owned()).collect()),
    }
}

/// Whether a stage may leave superpackets, or unfinished checksums, to a port.
fn leaves(stage: &CheckedStage) -> (bool, bool) {
    let needs = stage.config.needs();
    let about = |looks: Looks| {
        needs.iter().any(|need| need.side == Side::Exit && need.about.intersects(looks))
    };
    (stage.traits.cuts || about(Looks::SUPER | Looks::BARE), about(Looks::PARTIAL))
}
