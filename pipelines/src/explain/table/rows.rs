//! What stands in each row: a stage, one of its needs, an output, a core, a ring.
//!
//! Says what was decided, in the words of who decided; measures nothing.

use super::layout::LABEL_MAX;
use crate::check::RING;
use crate::explain::merge::{self, Group};
use crate::explain::types::{Actor, Chain, CoresUsed, PlanCore, Ring, Stage};
use crate::negotiate::Where;
use crate::shown::visible;

/// Every kind of work of a stage, where none is there to be done.
const ALL: &str = "all of it";

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::explain) struct Row {
    /// Stage, work or output, indented.
    pub(in crate::explain) label: String,
    /// Where it is done, if that is a question.
    pub(in crate::explain) place: Option<Where>,
    /// Why.
    pub(in crate::explain) why: String,
}

impl Row {
    fn new(label: String, place: Option<Where>, why: &str) -> Row {
        Row { label: visible(&label), place, why: visible(why) }
    }
}

/// A stage as the file writes it, as far as it fits so many columns.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 1).collect();
    kept + "\u{2026}"
}

/// Above the stages of a chain: its name, and who runs it where that is not an actor of that name alone.
pub(super) fn title(chain: &Chain, actors: &[Actor]) -> String {
    let name = visible(&chain.name).to_uppercase();
    let runs = |actor: &&Actor| actor.copy == 0 && chain.actors.contains(&actor.name);
    let runs: Vec<&Actor> = actors.iter().filter(runs).collect();
    if runs.len() == 1 && runs[0].base == chain.name && runs[0].copies == 1 {
        return name;
    }
    let words = if runs.len() == 1 { "actor" } else { "actors" };
    let shown = runs.iter().map(|actor| match actor.copies {
        1 => actor.base.clone(),
        copies => format!("{} x {copies}", actor.base),
    });
    format!("{name}  (runs in {words} {})", visible(&shown.collect::<Vec<_>>().join(", ")))
}

/// A stage and everything below it.
pub(in crate::explain) fn stage_rows(stage: &Stage) -> Vec<Row> {
    let written = stage.written.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = match stage.added {
        true => cut(&format!("    + {written}"), LABEL_MAX),
        false => cut(&format!("{:3} {written}", stage.index), LABEL_MAX),
    };
    let groups = merge::groups(&stage.verdicts);
    let mut rows = match groups.as_slice() {
        [] => vec![Row::new(label, own_place(stage), &plain(stage))],
        [only] if only.work.is_empty() || stage.verdicts.len() == 1 => {
            vec![Row::new(label, Some(only.place), &with_place(stage, &reason_of(only)))]
        }
        [none] if none.place == Where::Nothing => {
            let all = Row::new(format!("      {ALL}"), Some(none.place), &none.reason);
            vec![Row::new(label, None, &plain(stage)), all]
        }
        several => {
            // Each need has a row of its own below.
            let first = Row::new(label, None, &plain(stage));
            let need = |group: &Group| {
                Row::new(format!("      {}", group.work), Some(group.place), &group.reason)
            };
            std::iter::once(first).chain(several.iter().map(need)).collect()
        }
    };
    let named = stage.outputs.iter().filter(|output| output.name != "next");
    rows.extend(named.map(|output| {
        Row::new(format!("      -> {}", output.name), None, &format!("to {}", output.to))
    }));
    rows
}

fn reason_of(group: &Group) -> String {
    match group.work.as_str() {
        "" => group.reason.clone(),
        work => format!("{work}: {}", group.reason),
    }
}

/// Where a stage without needs works: here, if it works on packets at all. Bringing them in and handing them out
/// is no work of either.
pub(super) fn own_place(stage: &Stage) -> Option<Where> {
    (stage.kind != RING && stage.port.is_none()).then_some(Where::Software)
}

fn plain(stage: &Stage) -> String {
    let what = stage.summary.trim_end_matches('.');
    let added = if stage.added { "added: " } else { "" };
    with_place(stage, &format!("{added}{what}"))
}

/// A reason and the line of the file that it stands on.
fn with_place(stage: &Stage, reason: &str) -> String {
    match &stage.place {
        Some(place) => format!("{} ({place})", reason.trim_end_matches('.')),
        None => reason.trim_end_matches('.').to_owned(),
    }
}

/// CPUs, each with its actors, why there are copies, and those left free.
pub(in crate::explain) fn core_lines(cores: &CoresUsed, actors: &[Actor]) -> Vec<String> {
    let mut lines: Vec<String> = cores.used.iter().map(core_line).collect();
    let first = actors.iter().filter(|actor| actor.copy == 0 && !actor.why_copies.is_empty());
    lines.extend(first.map(|actor| format!("{}: {}", actor.base, actor.why_copies)));
    lines.extend(
        cores
            .free
            .iter()
            .map(|free| format!("left free: cpu {} ({})", ranges(&free.cpus), free.reason)),
    );
    lines
}

fn core_line(core: &PlanCore) -> String {
    let cpu = core.cpu.map_or("any cpu".to_owned(), |cpu| format!("cpu {cpu}"));
    let node = core.node.map_or(String::new(), |node| format!(", node {node}"));
    let actors = core.actors.join(" ");
    match core.reasons.as_slice() {
        [] => format!("{cpu}{node}: {actors}"),
        reasons => format!("{cpu}{node}: {actors}  ({})", reasons.join("; ")),
    }
}

/// `0-2,5`.
fn ranges(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut().filter(|(_, last)| last + 1 == cpu) {
            Some((_, last)) => *last = cpu,
            None => parts.push((cpu, cpu)),
        }
    }
    let text = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Rings, each with its reason.
pub(in crate::explain) fn ring_lines(rings: &[Ring]) -> Vec<String> {
    if rings.is_empty() {
        return vec!["none: each packet stays on the core that received it".to_owned()];
    }
    rings.iter().map(ring_line).collect()
}

fn ring_line(ring: &Ring) -> String {
    let (from, to) = (ring.from.join(" "), ring.to.join(" "));
    // The planner's reason has the sum where there are several.
    let count = match ring.rings {
        rings if rings > 1 && !ring.reason.contains(" rings") => format!("{rings} rings, "),
        _ => String::new(),
    };
    let place = ring.place.as_ref().map_or(String::new(), |place| format!(" ({place})"));
    format!(
        "{}: {from} -> {to}, {count}{} packets each, on_full {}: {}{place}",
        ring.name, ring.capacity, ring.on_full, ring.reason
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_cpus_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges(&[]), "");
    }
}
