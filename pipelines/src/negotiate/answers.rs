//! Where answers leave: a stage that answers hands its packets to the `Tx` of the port that the questions came in
//! by, beside the way that its chain goes.
//!
//! That way is nobody's business but the answering stage's: what it makes asks nothing of a port and fits it, so
//! no verdict, no contract and no way from port to port depends on it. It joins the last steps of a chain that ends
//! in that port; where no chain does, there is one of an added `Tx` alone. The actors that answer have that `Tx` in
//! them, or a ring to its owner where there are too few queues; that ring drops what does not fit, since the
//! questions come again.

use super::finish::{added, is_finishing};
use super::graph::{At, Graph, port_out, stage};
use super::neighbours::NEIGHBOUR;
use crate::check::{Answer, Checked, CheckedChain, CheckedStep};
use crate::text::params::quote;
use corelane_runtime::Error;
use corelane_runtime::stage::Registry;
use corelane_runtime::stage::spec::Role;
use std::collections::BTreeSet;

const TX: &str = "Tx";

/// What the chain of an added `Tx` is called, with the name of the port behind it.
const CHAIN: &str = "+answers.";

/// Adds a `Tx` for each port that answers leave by and no chain ends in.
pub(super) fn add_exits(checked: &mut Checked, registry: &Registry) -> Result<(), Error> {
    let graph = Graph::of(&checked.chains);
    let wanted: BTreeSet<String> =
        wanted(&checked.chains, &graph).into_iter().flat_map(|(_, ports)| ports).collect();
    let mut chains = Vec::new();
    for port in checked.ports.iter().filter(|port| wanted.contains(&port.name)) {
        let ended = exit_of(&checked.chains, (usize::MAX, 0), &port.name).is_some();
        if ended || !port.config.transmits() {
            continue;
        }
        let like =
            checked.chains.iter().flat_map(|chain| &chain.steps).find_map(|step| match step {
                CheckedStep::Stage(stage) => Some(stage),
                CheckedStep::Ring(_) => None,
            });
        let Some(like) = like else { continue };
        let arguments = format!("(port: {}, finish: Never)", quote(&port.name));
        let Some(mut tx) = added(TX, &arguments, like, registry)? else { continue };
        tx.index = 0;
        tx.written = format!("{TX}({})", quote(&port.name));
        tx.note = Some(format!("answers to who asks at `{}` leave by it", port.name));
        let name = format!("{CHAIN}{}", port.name);
        chains.push(CheckedChain { name, steps: vec![CheckedStep::Stage(tx)] });
    }
    checked.chains.extend(chains);
    Ok(())
}

/// Says of each stage that answers where its answers go. No step may move after that.
pub(super) fn link(checked: &mut Checked) {
    let graph = Graph::of(&checked.chains);
    for (at, ports) in wanted(&checked.chains, &graph) {
        let transmits = |port: &&String| {
            checked.ports.iter().any(|known| known.name == **port && known.config.transmits())
        };
        let answers = ports.iter().filter(transmits).filter_map(|port| {
            Some(Answer { port: port.clone(), at: exit_of(&checked.chains, at, port)? })
        });
        let answers = answers.collect();
        if let CheckedStep::Stage(stage) = &mut checked.chains[at.0].steps[at.1] {
            stage.answers = answers;
        }
    }
}

/// The stages that answer, with the ports that questions may come in by.
fn wanted(chains: &[CheckedChain], graph: &Graph) -> Vec<(At, BTreeSet<String>)> {
    let sources = graph.behind(|node| {
        let stage = stage(chains, graph.at[node]);
        stage.filter(|stage| stage.info.role == Role::Source).map(|_| node)
    });
    let answering = graph
        .at
        .iter()
        .zip(sources)
        .filter(|(at, _)| stage(chains, **at).is_some_and(|stage| stage.traits.answers));
    // Whom a neighbour stage answers are those of its own port.
    let own = |at: At, port: &String| {
        let stage = stage(chains, at);
        stage.is_none_or(|stage| {
            stage.info.name != NEIGHBOUR || stage.traits.addressed.contains(port)
        })
    };
    let ports = |at: At, nodes: BTreeSet<usize>| {
        let ports =
            nodes.into_iter().filter_map(|node| stage(chains, graph.at[node])?.traits.port.clone());
        ports.filter(|port| own(at, port)).collect()
    };
    answering.map(|(at, nodes)| (*at, ports(*at, nodes))).collect()
}

/// Where packets for a port join the last steps of a chain: the own one if it ends there, else the first.
fn exit_of(chains: &[CheckedChain], own: At, port: &str) -> Option<At> {
    let ends = |chain: &CheckedChain| {
        let last = chain.steps.len().checked_sub(1)?;
        match &chain.steps[last] {
            CheckedStep::Stage(stage) => (port_out(stage) == Some(port)).then_some(last),
            CheckedStep::Ring(_) => None,
        }
    };
    let own_end = chains.get(own.0).and_then(ends).map(|tx| (own.0, tx));
    let first = || chains.iter().enumerate().find_map(|(at, chain)| Some((at, ends(chain)?)));
    let (chain, tx) = own_end.or_else(first)?;
    let steps = &chains[chain].steps;
    // What stands before it may come in by there as well.
    let from = if chain == own.0 { own.1 + 1 } else { 0 };
    let finishes = |step: &&CheckedStep| is_finishing(step) || resolves(step, port);
    let count = steps[from..tx].iter().rev().take_while(finishes).count();
    Some((chain, tx - count))
}

/// Whether a step gives packets for a port their next hop.
fn resolves(step: &CheckedStep, port: &str) -> bool {
    matches!(step, CheckedStep::Stage(stage)
        if stage.info.name == NEIGHBOUR
            && stage.traits.holds > 0
            && stage.traits.addressed.iter().any(|own| own == port))
}
