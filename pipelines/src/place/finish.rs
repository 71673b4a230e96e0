//! The steps that every packet needs before a port: cutting what was joined, filling checksums.
//!
//! They are put before each `Tx` unless the file has them there itself. A packet that needs neither passes
//! them on one test of its flags. They are known by the names they are registered under; where nobody
//! registered them, a pipeline that joins packets is refused and any other goes without.

use crate::check::{CheckedChain, CheckedStage, CheckedStep};
use corelane_runtime::Error;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::stage::spec::Role;
use corelane_runtime::stage::{Args, Registry};

const CUT: &str = "Gso";
const FILL: &str = "ChecksumFill";

/// What a packet may still need at some place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Needs {
    /// It may be a superpacket that some stage of this pipeline joined.
    joined: bool,
    /// It may be a superpacket, if only because it came in as one.
    uncut: bool,
    /// It may lack a checksum.
    unfilled: bool,
}

impl Needs {
    fn or(self, other: Needs) -> Needs {
        Needs {
            joined: self.joined || other.joined,
            uncut: self.uncut || other.uncut,
            unfilled: self.unfilled || other.unfilled,
        }
    }

    fn after(self, stage: &CheckedStage) -> Needs {
        if stage.info.role == Role::Source {
            return Needs { joined: false, uncut: true, unfilled: true };
        }
        if stage.info.name == FILL {
            return Needs { unfilled: false, ..self };
        }
        if stage.traits.cuts {
            return Needs { joined: false, uncut: false, unfilled: true };
        }
        if stage.traits.coalesces {
            return Needs { joined: true, uncut: true, unfilled: true };
        }
        self
    }
}

/// Adds what is missing before each port.
pub(super) fn add_steps(chains: &mut [CheckedChain], registry: &Registry) -> Result<(), Error> {
    let entered = needs_at_entrance(chains);
    for (chain, entered) in chains.iter_mut().zip(entered) {
        let mut needs = entered;
        let mut at = 0;
        while at < chain.steps.len() {
            let CheckedStep::Stage(stage) = &chain.steps[at] else {
                at += 1;
                continue;
            };
            if stage.info.role == Role::Sink && stage.traits.port.is_some() {
                let added = missing(stage, needs, registry)?;
                let count = added.len();
                chain.steps.splice(at..at, added.into_iter().map(CheckedStep::Stage));
                at += count;
            }
            if let CheckedStep::Stage(stage) = &chain.steps[at] {
                needs = needs.after(stage);
            }
            at += 1;
        }
    }
    Ok(())
}

/// What packets may need where they enter each chain. Chains form no circle, so as many rounds as there are
/// chains carry everything to the end.
fn needs_at_entrance(chains: &[CheckedChain]) -> Vec<Needs> {
    let mut entered = vec![Needs::default(); chains.len()];
    for _ in 0..chains.len() {
        for number in 0..chains.len() {
            let mut needs = entered[number];
            for step in &chains[number].steps {
                let CheckedStep::Stage(stage) = step else { continue };
                needs = needs.after(stage);
                for &to in &stage.outputs {
                    entered[to] = entered[to].or(needs);
                }
            }
        }
    }
    entered
}

fn missing(
    tx: &CheckedStage,
    needs: Needs,
    registry: &Registry,
) -> Result<Vec<CheckedStage>, Error> {
    let mut added = Vec::new();
    if needs.uncut {
        match build(CUT, tx.index, registry)? {
            Some(stage) => added.push(stage),
            None if needs.joined => {
                let port = tx.traits.port.as_deref().unwrap_or_default();
                let message = format!(
                    "packets are joined on the way to it, but no stage `{CUT}` is registered to cut them"
                );
                return Err(Error::user(format!("port {port}"), message));
            }
            None => {}
        }
    }
    if needs.unfilled || !added.is_empty() {
        added.extend(build(FILL, tx.index, registry)?);
    }
    Ok(added)
}

/// A stage with all its defaults, if there is such a kind.
fn build(kind: &str, index: usize, registry: &Registry) -> Result<Option<CheckedStage>, Error> {
    let Some(spec) = registry.get(kind) else { return Ok(None) };
    let config = spec.configure(Args { text: "()" }).map_err(|errors| {
        let first = errors.into_iter().next().map(|error| error.message).unwrap_or_default();
        Error::user(kind, format!("cannot be added without arguments: {first}; write it before Tx"))
    })?;
    Ok(Some(CheckedStage {
        info: spec.info(),
        name: None,
        on_panic: OnPanic::default(),
        traits: config.traits(),
        config,
        arguments: "()".to_owned(),
        outputs: Vec::new(),
        index,
        added: true,
    }))
}
