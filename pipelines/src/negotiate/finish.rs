//! The steps that every packet needs before a port: cutting what was joined, filling checksums.
//!
//! They are put before each `Tx`, whether or not a packet can need them: one that needs neither passes them on
//! one test of its flags. A step that the file has itself takes the place of the one added where all packets
//! for that `Tx` come through it and it may leave work to that port. They are known by the names they are
//! registered under; where nobody registered them, a pipeline that joins packets is refused and any other goes
//! without.

use super::Exit;
use super::graph::{Graph, port_out, stage};
use crate::check::{CheckedChain, CheckedStage, CheckedStep};
use corelane_runtime::Error;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::offload::Offload;
use corelane_runtime::stage::spec::Role;
use corelane_runtime::stage::{Args, Registry};

const CUT: &str = "Gso";
const FILL: &str = "ChecksumFill";

/// What a packet may still lack at some place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lack {
    /// It may be a superpacket that some stage of this pipeline joined.
    joined: bool,
    /// No step that decides for its port has seen it.
    uncut: bool,
    /// No step that finishes checksums for its port has seen it.
    unfilled: bool,
}

impl Lack {
    fn or(self, other: Lack) -> Lack {
        Lack {
            joined: self.joined || other.joined,
            uncut: self.uncut || other.uncut,
            unfilled: self.unfilled || other.unfilled,
        }
    }

    fn after(self, stage: &CheckedStage, exit: &Exit) -> Lack {
        let decides = matches!(exit, Exit::Port(_)) || stage.offload == Offload::SoftwareOnly;
        if stage.info.role == Role::Source {
            return Lack { joined: false, uncut: true, unfilled: true };
        }
        if stage.info.name == FILL {
            return Lack { unfilled: self.unfilled && !decides, ..self };
        }
        if stage.traits.cuts {
            return Lack { joined: false, uncut: self.uncut && !decides, unfilled: true };
        }
        if stage.traits.coalesces {
            return Lack { joined: true, uncut: true, unfilled: true };
        }
        self
    }
}

/// Adds what is missing before each port; `exits` are those of the nodes of `graph`.
pub(super) fn add_steps(
    chains: &mut [CheckedChain],
    graph: &Graph,
    exits: &[Exit],
    registry: &Registry,
) -> Result<(), Error> {
    let mut wanted = Vec::new();
    let mut lacks = vec![Lack::default(); graph.at.len()];
    for node in 0..graph.at.len() {
        let (at, came) = (graph.at[node], lacks[node]);
        let mut left = came;
        if let Some(stage) = stage(chains, at) {
            if port_out(stage).is_some() && !stage.traits.unfinished {
                wanted.push((at, missing(stage, came, registry)?));
            }
            left = came.after(stage, &exits[node]);
        }
        for &next in &graph.next[node] {
            lacks[next] = lacks[next].or(left);
        }
    }
    // From behind, so that no step moves before its turn.
    wanted.sort_by_key(|&(at, _)| std::cmp::Reverse(at));
    for ((chain, step), added) in wanted {
        chains[chain].steps.splice(step..step, added.into_iter().map(CheckedStep::Stage));
    }
    Ok(())
}

fn missing(tx: &CheckedStage, lack: Lack, registry: &Registry) -> Result<Vec<CheckedStage>, Error> {
    let mut added = Vec::new();
    if lack.uncut {
        match build(CUT, tx, registry)? {
            Some(stage) => added.push(stage),
            None if lack.joined => {
                let port = tx.traits.port.as_deref().unwrap_or_default();
                let message = format!(
                    "packets are joined on the way to it, but no stage `{CUT}` is registered to cut them"
                );
                return Err(Error::user(format!("port {port}"), message));
            }
            None => {}
        }
    }
    if lack.unfilled || !added.is_empty() {
        added.extend(build(FILL, tx, registry)?);
    }
    Ok(added)
}

/// Whether a step finishes packets for a port: one that was added for that, or one of the file in its place.
pub(crate) fn is_finishing(step: &CheckedStep) -> bool {
    matches!(step, CheckedStep::Stage(stage) if stage.traits.cuts || stage.info.name == FILL)
}

/// A stage with all its defaults, if there is such a kind. What the file allows `Tx`, it allows it.
fn build(
    kind: &str,
    tx: &CheckedStage,
    registry: &Registry,
) -> Result<Option<CheckedStage>, Error> {
    added(kind, "()", tx, registry)
}

/// A stage that the file does not have, at the place of `like`, if there is such a kind.
pub(super) fn added(
    kind: &str,
    arguments: &str,
    like: &CheckedStage,
    registry: &Registry,
) -> Result<Option<CheckedStage>, Error> {
    let Some(spec) = registry.get(kind) else { return Ok(None) };
    let config = spec.configure(Args { text: arguments }).map_err(|errors| {
        let first = errors.into_iter().next().map(|error| error.message).unwrap_or_default();
        Error::user(
            kind,
            format!("cannot be added as {kind}{arguments}: {first}; write it yourself"),
        )
    })?;
    Ok(Some(CheckedStage {
        info: spec.info(),
        name: None,
        on_panic: OnPanic::default(),
        offload: like.offload,
        traits: config.traits(),
        config,
        arguments: arguments.to_owned(),
        written: spec.info().name.to_owned(),
        span: None,
        outputs: Vec::new(),
        index: like.index,
        added: true,
        verdicts: Vec::new(),
        exit: Exit::default(),
        note: None,
        entries: Vec::new(),
        exits: Vec::new(),
        answers: Vec::new(),
    }))
}
