//! The explanation on a page: a line for each stage, and where its work is done, without reasons.
//!
//! Work of which there is none to do is left out. What is told at length, and why, is the whole table's business.

use super::layout::{LABEL_MAX, beside};
use super::rows::{core_lines, cut, own_place, ring_lines, title};
use super::{Columns, Row, Style};
use crate::explain::merge;
use crate::explain::types::{Explanation, Stage};
use crate::negotiate::{Verdict, Where};
use crate::shown::visible;

/// Kinds of work told of a stage in one place, at most; what says the same counts once.
const GROUPS_MAX: usize = 3;

/// Columns of a name of a stage at most, so that something is left beside it.
const NAME_MAX: usize = 34;

/// The page.
pub(in crate::explain) fn write(explanation: &Explanation, style: Style) -> String {
    let (name, file) = (visible(&explanation.pipeline), visible(&explanation.file));
    let mut out = format!("{name}   {file}   plan {}\n", explanation.plan);
    let chains: Vec<(String, Vec<Row>)> = explanation
        .chains
        .iter()
        .map(|chain| {
            let rows = chain.stages.iter().flat_map(rows).collect();
            (title(chain, &explanation.actors), rows)
        })
        .collect();
    let columns = Columns::for_rows(chains.iter().flat_map(|(_, rows)| rows), style);
    for (title, rows) in &chains {
        out.push_str(&format!("{title}\n"));
        rows.iter().for_each(|row| out.push_str(&columns.row(row)));
    }
    let cores = core_lines(&explanation.cores, &[]);
    for (word, lines) in [("CORES", cores), ("RINGS", ring_lines(&explanation.rings))] {
        let lines: Vec<String> = lines.iter().map(|line| without_place(line)).collect();
        super::section(&mut out, word, lines, style);
    }
    let more = "the reasons: without --brief; of one stage: --why STAGE";
    out.push_str(&beside("MORE", super::layout::MARGIN, more, style));
    out
}

/// A stage: a line for each place where some of its work is done.
fn rows(stage: &Stage) -> Vec<Row> {
    let written = stage.written.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = match stage.added {
        true => format!("    + {written}"),
        false => format!("{:3} {written}", stage.index),
    };
    let label = cut(&visible(&label), NAME_MAX.min(LABEL_MAX));
    let row =
        |label: String, place: Option<Where>, why: String| Row { label, place, why: visible(&why) };
    let places =
        [Where::Hardware, Where::Both, Where::Software].map(|place| (place, works(stage, place)));
    let mut rows: Vec<Row> = Vec::new();
    for (place, works) in places.into_iter().filter(|(_, works)| !works.is_empty()) {
        let label = if rows.is_empty() { label.clone() } else { String::new() };
        rows.push(row(label, Some(place), works));
    }
    if rows.is_empty() {
        let place = if stage.verdicts.is_empty() { own_place(stage) } else { Some(Where::Nothing) };
        rows.push(row(label, place, String::new()));
    }
    rows
}

/// The kinds of work that are done in a place.
fn works(stage: &Stage, place: Where) -> String {
    let there: Vec<Verdict> =
        stage.verdicts.iter().filter(|verdict| verdict.place == place).cloned().collect();
    let groups = merge::groups(&there);
    let more = groups.len().saturating_sub(GROUPS_MAX);
    let named = groups.into_iter().take(GROUPS_MAX).map(|group| match group.work.is_empty() {
        true => "all of it".to_owned(),
        false => group.work,
    });
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}

/// A line without the place in the file that it ends with.
fn without_place(line: &str) -> String {
    match line.rsplit_once(" (") {
        Some((before, place)) if place.ends_with(')') && place.matches(':').count() >= 2 => {
            before.to_owned()
        }
        _ => line.to_owned(),
    }
}
