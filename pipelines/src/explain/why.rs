//! One decision in full: what was asked, what each port said and how that is known, what software would do,
//! and what to change in the file for another answer.
//!
//! Says nothing that is not in the [`Explanation`], but for the named profiles it tries the same questions on.

use super::merge::{self, Group};
use super::table::Style;
use super::types::{Chain, Explanation, PlanPort, SCHEMA, Stage};
use crate::error::near;
use crate::negotiate::{Asked, Verdict, Where};
use crate::shown::visible;
use corelane_device::caps::{Record, profiles};
use corelane_runtime::Error;
use corelane_runtime::offload::Caps;
use serde::Serialize;

/// A stage and every decision about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// Version of the keys.
    pub schema: u32,
    /// Hash of the plan.
    pub plan: String,
    /// The stage.
    pub stage: Stage,
    /// Need by need; none where no port could do any of its work.
    pub decisions: Vec<Decision>,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What was decided.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// For each question, how the answer is known.
    pub known: Vec<String>,
    /// What to change for another decision.
    pub alternatives: Vec<String>,
}

/// No stage has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// What was asked for.
    pub asked: String,
    /// Every identity there is.
    pub stages: Vec<String>,
}

impl std::fmt::Display for Nearest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no stage is called `{}`", visible(&self.asked))?;
        if let Some(near) = near(&self.asked, self.stages.iter().map(String::as_str)) {
            write!(f, "; did you mean `{}`?", visible(near))?;
        }
        write!(f, "; the stages are {}", visible(&self.stages.join(", ")))
    }
}

impl std::error::Error for Nearest {}

impl Explanation {
    /// Every decision about one stage: `main.1`, `main.+Gso`, or the name that the file gives it.
    ///
    /// # Errors
    /// Where no stage has that name, or several have; says which there are.
    pub fn why(&self, stage: &str) -> Result<Why, Nearest> {
        let by_name = |found: &&Stage| found.name.as_deref() == Some(stage);
        let mut named = self.stages().filter(by_name);
        let found = match (self.stages().find(|found| found.id == stage), named.next()) {
            (Some(found), _) => Some(found),
            (None, found) => found.filter(|_| named.next().is_none()),
        };
        let Some(found) = found else {
            let stages = self.stages().map(|stage| stage.id.clone()).collect();
            return Err(Nearest { asked: stage.to_owned(), stages });
        };
        let decisions = found.verdicts.iter().map(|verdict| self.decision(found, verdict));
        let decisions = decisions.collect();
        Ok(Why { schema: SCHEMA, plan: self.plan.clone(), stage: found.clone(), decisions })
    }

    fn decision(&self, stage: &Stage, verdict: &Verdict) -> Decision {
        let known = verdict.asked.iter().map(|asked| self.known(asked));
        let known = known.collect();
        let alternatives = self.alternatives(stage, verdict);
        Decision { verdict: verdict.clone(), known, alternatives }
    }

    /// How an answer is known.
    fn known(&self, asked: &Asked) -> String {
        match self.port(&asked.port) {
            Some(port) => format!("{} ({})", port.origin.text(), port.to_change()),
            None => "a port of the program's own".to_owned(),
        }
    }

    fn alternatives(&self, stage: &Stage, verdict: &Verdict) -> Vec<String> {
        let mut ways = Vec::new();
        let refused = missing(verdict);
        for (port, caps) in &refused {
            ways.push(self.other_port(port, caps));
        }
        if !refused.is_empty() && verdict.place == Where::Software && stage.offload == "Auto" {
            let line = self.line_with(stage, "Require");
            ways.push(format!("{line}, and the plan is refused where the port cannot do it"));
        }
        if matches!(verdict.place, Where::Hardware | Where::Both) {
            let line = self.line_with(stage, "SoftwareOnly");
            ways.push(format!("{line}, and it is done in software: {}", verdict.software));
        }
        if stage.offload == "SoftwareOnly" {
            ways.push(format!("{}, and the port is asked", self.line_with(stage, "Auto")));
        }
        ways
    }

    fn other_port(&self, port: &str, caps: &[&str]) -> String {
        let place = self.port(port).map(PlanPort::to_change).unwrap_or_default();
        let able = profiles_with(caps.iter().filter_map(|name| Caps::named(name)).collect());
        let able = match able.as_slice() {
            [] => "no profile that comes with corelane has that".to_owned(),
            some => format!(
                "of the profiles that come with corelane, {} (`--caps {port}={}` shows the plan then)",
                some.join(", "),
                some[0]
            ),
        };
        format!("{place}: in place of `{port}` a port that grants {}: {able}", caps.join(", "))
    }

    /// Where to write which `offload` for a stage; one that was added is written before the stage it precedes.
    fn line_with(&self, stage: &Stage, offload: &str) -> String {
        let kind = &stage.kind;
        if let Some(place) = &stage.place {
            return format!("{place}: give `{kind}` the key `offload: {offload}`");
        }
        let same = |chain: &&Chain| chain.stages.iter().any(|other| other.id == stage.id);
        let before = self
            .chains
            .iter()
            .find(same)
            .and_then(|chain| chain.stages.iter().find(|s| s.index == stage.index && !s.added));
        match before.and_then(|before| Some((before.place.as_ref()?, &before.kind))) {
            Some((place, next)) => {
                format!("{place}: write `{kind}(offload: {offload})` before `{next}`")
            }
            None => format!("write `{kind}(offload: {offload})` in the file"),
        }
    }
}

/// The named profiles that have these bits and do not lie.
fn profiles_with(bits: Caps) -> Vec<&'static str> {
    let able = |name: &&str| {
        Record::named(name)
            .is_some_and(|record| record.lies.is_empty() && record.facts.granted.contains(bits))
    };
    profiles().filter(able).collect()
}

/// What each port was asked for and does not have.
fn missing(verdict: &Verdict) -> Vec<(&str, Vec<&str>)> {
    let mut ports: Vec<(&str, Vec<&str>)> = Vec::new();
    for asked in verdict.asked.iter().filter(|asked| asked.answer != "yes") {
        match ports.iter_mut().find(|(port, _)| *port == asked.port) {
            Some((_, caps)) => caps.push(&asked.capability),
            None => ports.push((&asked.port, vec![&asked.capability])),
        }
    }
    ports
}

impl Why {
    /// As JSON, one object.
    ///
    /// # Errors
    /// Where a number cannot be written; none of these can be.
    pub fn to_json(&self) -> Result<String, Error> {
        super::json(self)
    }

    /// For people.
    #[must_use]
    pub fn table(&self, style: Style) -> String {
        let mut lines = Lines { out: String::new(), style };
        let stage = &self.stage;
        let place = stage.place.as_deref().unwrap_or("added, not in the file");
        lines.line("STAGE", &format!("{}  {}  ({place})", stage.id, stage.written));
        lines.line("does", &stage.summary);
        lines.line("runs in", &stage.actors.join(", "));
        for output in &stage.outputs {
            lines.line("leads", &format!("{} -> {}", output.name, output.to));
        }
        if self.decisions.is_empty() {
            let none = "no port could do any of its work, so none is asked: all of it is done here";
            lines.line("DECIDED", none);
        }
        let verdicts: Vec<Verdict> =
            self.decisions.iter().map(|decision| decision.verdict.clone()).collect();
        for group in merge::groups(&verdicts) {
            let members: Vec<&Decision> =
                group.members.iter().map(|&member| &self.decisions[member]).collect();
            write_group(&mut lines, &group, &members);
        }
        lines.out
    }
}

/// Lines with a word in the margin.
struct Lines {
    out: String,
    style: Style,
}

impl Lines {
    fn line(&mut self, margin: &str, text: &str) {
        let line = super::table::beside(margin, 12, &visible(text), self.style);
        self.out.push_str(&line);
    }
}

/// Decisions that say the same, told together.
fn write_group(lines: &mut Lines, group: &Group, members: &[&Decision]) {
    let work = if group.work.is_empty() { "all of its work" } else { &group.work };
    lines.line("DECIDED", &format!("{work}: {}", group.place.word()));
    lines.line("because", &group.reason);
    let mut told: Vec<(&str, String)> = Vec::new();
    for decision in members {
        for (asked, known) in decision.verdict.asked.iter().zip(&decision.known) {
            let why = asked.why.as_ref().map_or(String::new(), |why| format!(" (\"{why}\")"));
            let answer = format!("{}: {} = {}{why}", asked.port, asked.capability, asked.answer);
            told.push(("asked", format!("{answer}; {known}")));
        }
        told.push(("in software", decision.verdict.software.clone()));
        told.extend(decision.alternatives.iter().map(|way| ("to change", way.clone())));
    }
    if members.iter().all(|decision| decision.verdict.asked.is_empty()) {
        told.insert(0, ("asked", "nobody".to_owned()));
    }
    for margin in ["asked", "in software", "to change"] {
        let mut known: Vec<&str> = Vec::new();
        for (_, text) in told.iter().filter(|(kind, _)| *kind == margin) {
            if !known.contains(&text.as_str()) {
                known.push(text);
                lines.line(margin, text);
            }
        }
    }
}
