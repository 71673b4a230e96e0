//! The stages that answer for the addresses of ports and find out whom to send to: added behind each `Rx` and
//! before each `Tx` of a port that has addresses.
//!
//! One that the file has in such a place takes the place of the one that would be added. It is known by the name it is
//! registered under; where nobody registered it, ports have addresses for their own sake.

use super::finish::{added, is_finishing};
use crate::check::{Checked, CheckedChain, CheckedPort, CheckedStage, CheckedStep};
use crate::error::Collector;
use crate::text::params::quote;
use corelane_runtime::Error;
use corelane_runtime::stage::Registry;
use corelane_runtime::stage::spec::Role;

/// The stage that does it.
pub(crate) const NEIGHBOUR: &str = "Neighbour";

/// Adds what is missing.
pub(super) fn add(
    checked: &mut Checked,
    registry: &Registry,
    problems: &mut Collector,
) -> Result<(), Error> {
    let Checked { ports, chains, .. } = checked;
    for port in ports.iter().filter(|port| !port.common.addresses.is_empty()) {
        for chain in chains.iter_mut() {
            before_tx(chain, port, registry)?;
            behind_rx(chain, port, registry)?;
        }
        let asked = chains
            .iter()
            .flat_map(|chain| &chain.steps)
            .any(|step| is_neighbour(step, port).is_some_and(|stage| stage.traits.answers));
        if asked && !port.config.transmits() {
            let name = &port.name;
            let message = format!(
                "port `{name}` has addresses but does not transmit: who asks for them gets no answer"
            );
            let help = port.config.to_transmit().to_owned();
            problems.warning_at(port.span, "no-answers", message, Some(help));
        }
    }
    Ok(())
}

/// The stage at a step, if it is such a one for this port.
fn is_neighbour<'a>(step: &'a CheckedStep, port: &CheckedPort) -> Option<&'a CheckedStage> {
    match step {
        CheckedStep::Stage(stage) => {
            let its = stage.traits.addressed.contains(&port.name);
            (stage.info.name == NEIGHBOUR && its).then_some(stage)
        }
        CheckedStep::Ring(_) => None,
    }
}

fn stands_on(step: &CheckedStep, role: Role, port: &CheckedPort) -> bool {
    matches!(step, CheckedStep::Stage(stage)
        if stage.info.role == role && stage.traits.port.as_deref() == Some(&port.name))
}

/// Behind the source of a chain, unless the chain has one that answers.
fn behind_rx(
    chain: &mut CheckedChain,
    port: &CheckedPort,
    registry: &Registry,
) -> Result<(), Error> {
    let reads = chain.steps.first().is_some_and(|rx| stands_on(rx, Role::Source, port));
    let answers = |step| is_neighbour(step, port).is_some_and(|stage| stage.traits.answers);
    if !reads || chain.steps.iter().any(answers) {
        return Ok(());
    }
    let note = match port.config.transmits() {
        true => format!("`{}` has addresses; answers ARP and ND for them, learns", port.name),
        false => format!("`{}` has addresses; learns, but cannot answer", port.name),
    };
    put(chain, 1, port, "Receive", note, registry)
}

/// Before the finishing steps of the port that a chain ends at, unless there is one that resolves.
fn before_tx(
    chain: &mut CheckedChain,
    port: &CheckedPort,
    registry: &Registry,
) -> Result<(), Error> {
    let Some(tx) = chain.steps.iter().rposition(|step| stands_on(step, Role::Sink, port)) else {
        return Ok(());
    };
    let finishing = chain.steps[..tx].iter().rev().take_while(|step| is_finishing(step)).count();
    let at = tx - finishing;
    let before = at.checked_sub(1).and_then(|before| is_neighbour(&chain.steps[before], port));
    // One that resolves holds packets back.
    if before.is_some_and(|stage| stage.traits.holds > 0) {
        return Ok(());
    }
    let note = format!("`{}` has addresses; finds the next hop of packets without one", port.name);
    put(chain, at, port, "Transmit", note, registry)
}

fn put(
    chain: &mut CheckedChain,
    at: usize,
    port: &CheckedPort,
    side: &str,
    note: String,
    registry: &Registry,
) -> Result<(), Error> {
    let Some(like) = neighbouring(chain, at) else { return Ok(()) };
    let arguments = format!("(port: {}, side: {side})", quote(&port.name));
    let Some(mut stage) = added(NEIGHBOUR, &arguments, like, registry)? else { return Ok(()) };
    stage.written = format!("{NEIGHBOUR}({})", quote(&port.name));
    stage.note = Some(note);
    chain.steps.insert(at, CheckedStep::Stage(stage));
    Ok(())
}

/// The stage that one added at a place stands before, or else behind.
fn neighbouring(chain: &CheckedChain, at: usize) -> Option<&CheckedStage> {
    let stage = |step: &'_ CheckedStep| match step {
        CheckedStep::Stage(_) => true,
        CheckedStep::Ring(_) => false,
    };
    let behind = chain.steps.get(at..)?.iter().find(|step| stage(step));
    let step = behind.or_else(|| chain.steps.get(..at)?.iter().rfind(|step| stage(step)))?;
    match step {
        CheckedStep::Stage(stage) => Some(stage),
        CheckedStep::Ring(_) => None,
    }
}
