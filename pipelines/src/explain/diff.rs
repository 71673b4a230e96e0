//! What one plan does otherwise than another: stage rows, cores and rings that differ.
//!
//! Compares what the table says, so whatever is told apart there is told apart here. Ports are not compared:
//! what they can do shows in what follows from it.

use super::table::{Row, Style, core_lines, ring_lines, stage_rows};
use super::types::{Explanation, SCHEMA};
use crate::shown::visible;
use corelane_runtime::Error;
use serde::Serialize;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const PLAIN: &str = "\x1b[0m";

/// What differs between two plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// Version of the keys.
    pub schema: u32,
    /// Hash of the first plan.
    pub from: String,
    /// Hash of the second.
    pub to: String,
    /// In the order of the plans; none where nothing changes.
    pub changes: Vec<Change>,
}

/// What differs in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// A stage's identity, `cores` or `rings`.
    pub about: String,
    /// What the first plan says.
    pub before: Vec<String>,
    /// What the second says.
    pub after: Vec<String>,
}

impl Explanation {
    /// What `other` does otherwise.
    #[must_use]
    pub fn diff(&self, other: &Explanation) -> Diff {
        let (before, after) = (entries(self), entries(other));
        let mut names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
        let mut last = 0;
        for (name, _) in &after {
            match names.iter().position(|known| known == name) {
                Some(at) => last = at + 1,
                None => {
                    names.insert(last, name);
                    last += 1;
                }
            }
        }
        let of = |entries: &[(String, Vec<String>)], name: &str| -> Vec<String> {
            let found = entries.iter().find(|(known, _)| known == name);
            found.map(|(_, lines)| lines.clone()).unwrap_or_default()
        };
        let changes = names.iter().filter_map(|name| {
            let (before, after) = (of(&before, name), of(&after, name));
            let only = |these: &[String], others: &[String]| -> Vec<String> {
                these.iter().filter(|line| !others.contains(line)).cloned().collect()
            };
            let change = Change {
                about: (*name).to_owned(),
                before: only(&before, &after),
                after: only(&after, &before),
            };
            (!change.before.is_empty() || !change.after.is_empty()).then_some(change)
        });
        let changes = changes.collect();
        Diff { schema: SCHEMA, from: self.plan.clone(), to: other.plan.clone(), changes }
    }
}

/// What is compared, by name.
fn entries(explanation: &Explanation) -> Vec<(String, Vec<String>)> {
    let stages = explanation
        .stages()
        .map(|stage| (stage.id.clone(), stage_rows(stage).iter().map(line).collect()));
    let cores = ("cores".to_owned(), core_lines(&explanation.cores, &explanation.actors));
    let rings = ("rings".to_owned(), ring_lines(&explanation.rings));
    stages.chain([cores, rings]).collect()
}

fn line(row: &Row) -> String {
    let place = row.place.map(|place| format!("{}: ", place.word())).unwrap_or_default();
    // The mark of an added step would look like that of a line that came.
    format!("{}: {place}{}", row.label.trim_start_matches(['+', ' ']), row.why)
}

impl Diff {
    /// Whether the two plans say the same.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// For people: `- ` before what was, `+ ` before what would be.
    #[must_use]
    pub fn table(&self, style: Style) -> String {
        if self.is_empty() {
            return "nothing changes\n".to_owned();
        }
        let paint = |colour: &str, line: String| match style.colour {
            true => format!("{colour}{line}{PLAIN}\n"),
            false => line + "\n",
        };
        let mut out = String::new();
        for change in &self.changes {
            out.push_str(&format!("{}\n", visible(&change.about)));
            for line in &change.before {
                out.push_str(&paint(RED, format!("- {}", visible(line))));
            }
            for line in &change.after {
                out.push_str(&paint(GREEN, format!("+ {}", visible(line))));
            }
        }
        out
    }

    /// As JSON, one object.
    ///
    /// # Errors
    /// Where a number cannot be written; none of these can be.
    pub fn to_json(&self) -> Result<String, Error> {
        super::json(self)
    }
}
