//! What ports lose while packets flow: told once each, and held against what stages require.
//!
//! It promises one line of log and one entry of the report for each loss, and that nothing here is done on the
//! packet path. A loss is seen when the supervisor looks, so its time is that of the look.

use super::capture::Captures;
use crate::negotiate::{Verdict, Where};
use crate::place::{Plan, PlannedStage};
use crate::report::{Demotion, Report};
use corelane_runtime::offload::{Caps, Offload, PortCaps};
use std::sync::Arc;
use std::time::Duration;

/// Why, where the port did not say.
const SOMEHOW: &str = "the port stopped doing it";

/// The ports of a run and those who depend on them.
pub(super) struct Watch {
    ports: Vec<Watched>,
    required: Vec<Required>,
    errors: Vec<String>,
    captures: Captures,
}

struct Watched {
    /// As the description calls it.
    name: String,
    caps: Arc<PortCaps>,
    told: Caps,
    demoted: Vec<Demotion>,
}

/// What a stage with `offload: Require` leaves to a port.
struct Required {
    /// The stage, and where the file says so of it.
    who: String,
    port: String,
    caps: Caps,
}

impl Watch {
    /// Watches the ports of a plan, which are open.
    pub(super) fn new<'a>(
        plan: &Plan,
        ports: impl Iterator<Item = (&'a str, &'a Arc<PortCaps>)>,
    ) -> Watch {
        let required = plan.stages.iter().filter(|stage| stage.offload == Offload::Require);
        let required = required.flat_map(|stage| required_by(plan, stage));
        let watched = |(name, caps): (&str, &Arc<PortCaps>)| Watched {
            name: name.to_owned(),
            caps: Arc::clone(caps),
            told: Caps::empty(),
            demoted: Vec::new(),
        };
        Watch {
            ports: ports.map(watched).collect(),
            required: required.collect(),
            errors: Vec::new(),
            captures: Captures::default(),
        }
    }

    /// Watches the files that stages write, too.
    pub(super) fn with_captures(self, captures: Captures) -> Watch {
        Watch { captures, ..self }
    }

    /// Tells what was lost since the last look, `now` after the start. Whether a stage requires any of it.
    pub(super) fn look(&mut self, now: Duration) -> bool {
        let before = self.errors.len();
        for port in &mut self.ports {
            let lost = port.caps.demoted() - port.told;
            if lost.is_empty() {
                continue;
            }
            let required = self.required.iter().filter(|required| required.port == port.name);
            let required = required.filter(|required| required.caps.intersects(lost));
            let complaints: Vec<String> = required
                .map(|required| required.complaint(required.caps & lost, &port.caps))
                .collect();
            port.tell(lost, now, !complaints.is_empty());
            self.errors.extend(complaints);
        }
        self.errors.len() > before
    }

    /// Puts what was told into a report.
    pub(super) fn tell(&self, report: &mut Report) {
        for port in &self.ports {
            report.ports.entry(&port.name).demoted.clone_from(&port.demoted);
            report.totals.demoted += port.demoted.len() as u64;
        }
        report.errors.extend(self.errors.iter().cloned().chain(self.captures.failures()));
    }
}

impl Watched {
    fn tell(&mut self, lost: Caps, now: Duration, required: bool) {
        self.told |= lost;
        let at_s = now.as_secs_f64();
        for bit in lost {
            let why = self.caps.cause(bit).unwrap_or(SOMEHOW).to_owned();
            self.demoted.push(Demotion { capability: bit.names(), why, at_s });
        }
        let (port, why) = (&self.name, self.caps.cause(lost).unwrap_or(SOMEHOW));
        let lost = lost.names();
        match required {
            true => {
                tracing::warn!(%port, %lost, why, at_s, "capabilities lost that a stage requires; the run is drained and fails");
            }
            false => {
                tracing::warn!(%port, %lost, why, at_s, "capabilities lost; software does it from now on");
            }
        }
    }
}

impl Required {
    fn complaint(&self, missing: Caps, port: &PortCaps) -> String {
        format!(
            "{} `offload: Require`, but port {} no longer does {} ({}); write `offload: Auto` to let software do it then",
            self.who,
            self.port,
            missing.names(),
            port.cause(missing).unwrap_or(SOMEHOW)
        )
    }
}

/// Who says `offload: Require`: the stage itself, or for one that was added the `Tx` that it was added before.
fn says(plan: &Plan, stage: &PlannedStage) -> String {
    let named = |stage: &PlannedStage| {
        let at = stage.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        format!("{} {}{at}", stage.id, stage.info.name)
    };
    let own = |other: &&PlannedStage| {
        other.chain == stage.chain && other.index == stage.index && !other.added
    };
    match plan.stages.iter().find(own).filter(|_| stage.added) {
        Some(tx) => format!("stage {}, which {} was added for, says", named(tx), stage.id),
        None => format!("stage {} says", named(stage)),
    }
}

/// What was decided to be left to ports, port by port.
fn required_by(plan: &Plan, stage: &PlannedStage) -> Vec<Required> {
    let who = says(plan, stage);
    let is_left = |verdict: &&Verdict| matches!(verdict.place, Where::Hardware | Where::Both);
    let asked = stage.verdicts.iter().filter(is_left).flat_map(|verdict| &verdict.asked);
    let mut required: Vec<Required> = Vec::new();
    for asked in asked.filter(|asked| asked.answer == "yes") {
        let caps = Caps::named(&asked.capability).unwrap_or_default() - Caps::TSO_REFINEMENTS;
        match required.iter_mut().find(|required| required.port == asked.port) {
            Some(required) => required.caps |= caps,
            None => {
                required.push(Required { who: who.clone(), port: asked.port.clone(), caps });
            }
        }
    }
    required
}
