//! One decision in full: what was asked, what each port said and how that is known, what software would do,
//! and what to change in the file for another answer.
//!
//! Says nothing that is not in the [`Explanation`], but for the named profiles it tries the same questions on.

use super::merge::{self, Group};
use super::table::Style;
use super::types::{Chain, Explanation, Origin, SCHEMA, Stage};
use crate::error::near;
use crate::negotiate::{Asked, UNASKED, Verdict, Where};
use crate::shown::visible;
use corelane_device::caps::{Record, profiles};
use corelane_runtime::Error;
use corelane_runtime::offload::Caps;
use serde::Serialize;

/// The kind of port that can be whatever is written for it.
const EMULATED: &str = "Emulated";
/// The kind of port that has no hardware, and cannot act as if.
const PCAP: &str = "Pcap";

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
    /// Decisions that are told together, and what to change for others.
    #[serde(skip)]
    told: Vec<(Group, Vec<String>)>,
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
        let told = merge::groups(&found.verdicts).into_iter().map(|group| {
            let members: Vec<&Verdict> =
                group.members.iter().map(|&member| &found.verdicts[member]).collect();
            let ways = self.alternatives(found, &members);
            (group, ways)
        });
        let told = told.collect();
        Ok(Why { schema: SCHEMA, plan: self.plan.clone(), stage: found.clone(), decisions, told })
    }

    fn decision(&self, stage: &Stage, verdict: &Verdict) -> Decision {
        let known = verdict.asked.iter().map(|asked| self.known(asked));
        let known = known.collect();
        let alternatives = self.alternatives(stage, &[verdict]);
        Decision { verdict: verdict.clone(), known, alternatives }
    }

    /// How an answer is known.
    fn known(&self, asked: &Asked) -> String {
        match self.port(&asked.port) {
            Some(port) => format!("{} ({})", port.origin.text(), port.to_change()),
            None => "a port of the program's own".to_owned(),
        }
    }

    /// What to change for another decision on all of these, which were decided alike.
    fn alternatives(&self, stage: &Stage, verdicts: &[&Verdict]) -> Vec<String> {
        let mut ways = Vec::new();
        let refused = missing(verdicts);
        for (port, caps) in &refused {
            ways.push(self.other_port(port, caps));
        }
        let any = |place: Where| verdicts.iter().any(|verdict| verdict.place == place);
        // What differs from the plain kinds is not among what `Require` is about.
        let named = |name: &&str| Caps::named(name).unwrap_or_default();
        let mut caps = refused.iter().flat_map(|(_, caps)| caps).map(named);
        let counts = caps.any(|caps| !Caps::TSO_REFINEMENTS.contains(caps));
        if counts && any(Where::Software) && stage.offload == "Auto" {
            let line = self.line_with(stage, "Require");
            ways.push(format!("{line}, and the plan is refused where the port cannot do it"));
        }
        let forbidden = stage.offload == "SoftwareOnly";
        if (any(Where::Hardware) || any(Where::Both)) && !forbidden {
            let line = self.line_with(stage, "SoftwareOnly");
            ways.push(format!("{line}, and it is done in software"));
        }
        let asked = verdicts.iter().flat_map(|verdict| &verdict.asked);
        for place in asked.filter_map(unasked_at).filter(|at| stage.place.as_deref() != Some(*at)) {
            let way = format!("{place}: leave `{UNASKED}` out, and the port is asked");
            ways.extend((!ways.contains(&way)).then_some(way));
        }
        if forbidden {
            ways.push(format!("{}, and the port is asked", self.line_with(stage, "Auto")));
        }
        ways
    }

    /// What to write for a port that has these capabilities.
    fn other_port(&self, name: &str, caps: &[&str]) -> String {
        let Some(port) = self.port(name) else {
            return format!("in place of `{name}` a port that grants {}", caps.join(", "));
        };
        let (place, able) = (port.to_change(), profiles_with(caps));
        if place.starts_with("--caps") {
            return format!("{place}: name one that grants {}; {able}", caps.join(", "));
        }
        if port.kind == EMULATED {
            let list = caps.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            let write = match &port.origin {
                Origin::Written { caps } if caps.starts_with('[') => {
                    format!("add {list} to `caps` of `{name}`")
                }
                Origin::Written { .. } | Origin::Recorded { .. } => {
                    format!("write `caps: [{list}]` for `{name}`, with what else it is to have")
                }
                Origin::Asked => format!("give `{name}` the key `caps: [{list}]`"),
            };
            return format!("{place}: {write}; {able}");
        }
        let plans = match port.kind.as_str() {
            PCAP => "; `--caps` then shows the plan, but a capture file cannot run it",
            _ => "",
        };
        let list = caps.join(", ");
        format!("{place}: in place of `{name}` a port that grants {list}; {able}{plans}")
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

/// The named profiles that have all of these and do not lie, in words; or the one that has most of them.
fn profiles_with(caps: &[&str]) -> String {
    let has = |record: &Record| -> Vec<&str> {
        let granted =
            |name: &&str| Caps::named(name).is_some_and(|bit| record.facts.granted.contains(bit));
        caps.iter().copied().filter(granted).collect()
    };
    let records = profiles().filter_map(Record::named).filter(|record| record.lies.is_empty());
    let known: Vec<(String, Vec<&str>)> =
        records.map(|record| (record.name.clone(), has(&record))).collect();
    let all = known.iter().filter(|(_, has)| has.len() == caps.len());
    let all: Vec<&str> = all.map(|(name, _)| name.as_str()).collect();
    if !all.is_empty() {
        return format!("of the profiles that come with corelane it is in {}", all.join(", "));
    }
    let most = known.iter().rev().max_by_key(|(_, has)| has.len());
    match most.filter(|(_, has)| !has.is_empty()) {
        Some((name, has)) => format!("no profile has all of it, {name} has {}", has.join(", ")),
        None => "no profile that comes with corelane has it".to_owned(),
    }
}

/// The stage of the file that keeps a port from being asked, where one does.
fn unasked_at(asked: &Asked) -> Option<&str> {
    asked.why.as_deref()?.strip_prefix(UNASKED)?.strip_prefix(" at ")
}

/// What each port was asked for and does not have.
fn missing<'v>(verdicts: &[&'v Verdict]) -> Vec<(&'v str, Vec<&'v str>)> {
    let mut ports: Vec<(&str, Vec<&str>)> = Vec::new();
    let asked = verdicts.iter().flat_map(|verdict| &verdict.asked);
    for asked in asked.filter(|asked| asked.answer != "yes" && unasked_at(asked).is_none()) {
        match ports.iter_mut().find(|(port, _)| *port == asked.port) {
            Some((_, caps)) if caps.contains(&asked.capability.as_str()) => {}
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
        for (group, ways) in &self.told {
            let members: Vec<&Decision> =
                group.members.iter().map(|&member| &self.decisions[member]).collect();
            write_group(&mut lines, group, &members, ways);
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
fn write_group(lines: &mut Lines, group: &Group, members: &[&Decision], ways: &[String]) {
    let work = if group.work.is_empty() { "all of its work" } else { &group.work };
    lines.line("DECIDED", &format!("{work}: {}", group.place.word()));
    lines.line("because", &group.reason);
    let mut told: Vec<String> = Vec::new();
    for decision in members {
        for (asked, known) in decision.verdict.asked.iter().zip(&decision.known) {
            let why = asked.why.as_ref().map_or(String::new(), |why| format!(" (\"{why}\")"));
            let answer = format!("{}: {} = {}{why}", asked.port, asked.capability, asked.answer);
            let text = format!("{answer}; {known}");
            told.extend((!told.contains(&text)).then_some(text));
        }
    }
    if told.is_empty() {
        told.push("nobody".to_owned());
    }
    told.iter().for_each(|text| lines.line("asked", text));
    in_software(members).iter().for_each(|text| lines.line("in software", text));
    ways.iter().for_each(|text| lines.line("to change", text));
}

/// What software does, each way once, and for which work where there are several.
fn in_software(members: &[&Decision]) -> Vec<String> {
    let mut ways: Vec<(&str, Vec<&str>)> = Vec::new();
    for Verdict { software, work, .. } in members.iter().map(|decision| &decision.verdict) {
        match ways.iter_mut().find(|(known, _)| known == software) {
            Some((_, works)) => works.push(work),
            None => ways.push((software, vec![work])),
        }
    }
    match ways.as_slice() {
        [(only, _)] => vec![(*only).to_owned()],
        several => several
            .iter()
            .map(|(software, works)| format!("{}: {software}", merge::together(works)))
            .collect(),
    }
}
