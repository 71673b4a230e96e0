//! The explanation for people: a row for each decision, what stands where, and why.
//!
//! Rows are as wide as asked for; a reason that is longer goes on below itself. Names and reasons come from the
//! description and from devices, and are shown without anything that would drive a terminal.

mod brief;
mod layout;
mod rows;

pub(super) use brief::write as brief;
pub(super) use layout::beside;
pub(super) use rows::{Row, core_lines, ring_lines, stage_rows};

use super::types::{Explanation, PlanPort};
use crate::shown::visible;
use layout::Columns;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Characters of the widest line; a word that is longer is broken. Less than 60 is taken as 60.
    pub width: usize,
    /// Whether verdicts are coloured, for a terminal.
    pub colour: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 140, colour: false }
    }
}

/// The whole table.
pub(super) fn write(explanation: &Explanation, style: Style) -> String {
    let mut out = String::new();
    let head = [
        visible(&explanation.pipeline),
        visible(&explanation.file),
        format!("plan {}", explanation.plan),
    ];
    out.push_str(&head.join("   "));
    out.push('\n');
    section(&mut out, "PORTS", ports(explanation), style);
    stages(&mut out, explanation, style);
    section(&mut out, "BYTES", bytes(explanation), style);
    section(&mut out, "CORES", core_lines(&explanation.cores, &explanation.actors), style);
    section(&mut out, "RINGS", ring_lines(&explanation.rings), style);
    section(&mut out, "POOLS", pools(explanation), style);
    out
}

fn stages(out: &mut String, explanation: &Explanation, style: Style) {
    let chains: Vec<(String, Vec<Row>)> = explanation
        .chains
        .iter()
        .map(|chain| {
            (
                rows::title(chain, &explanation.actors),
                chain.stages.iter().flat_map(stage_rows).collect(),
            )
        })
        .collect();
    let all = chains.iter().flat_map(|(_, rows)| rows);
    let columns = Columns::for_rows(all, style);
    for (number, (title, rows)) in chains.iter().enumerate() {
        out.push_str(&if number == 0 { columns.head(title) } else { format!("{title}\n") });
        rows.iter().for_each(|row| out.push_str(&columns.row(row)));
    }
}

/// A word in the margin and lines beside it.
fn section(out: &mut String, word: &str, lines: Vec<String>, style: Style) {
    for (number, line) in lines.iter().enumerate() {
        let margin = if number == 0 { word } else { "" };
        out.push_str(&beside(margin, layout::MARGIN, &visible(line), style));
    }
}

fn ports(explanation: &Explanation) -> Vec<String> {
    let widest = explanation.ports.iter().map(|port| port.name.chars().count()).max().unwrap_or(0);
    explanation.ports.iter().map(|port| port_line(port, widest)).collect()
}

fn port_line(port: &PlanPort, widest: usize) -> String {
    let mtu = port.mtu.map_or("no mtu".to_owned(), |mtu| format!("mtu {mtu}"));
    let queues = match port.queues {
        Some(1) => format!("{} of 1 queue used", port.queues_used),
        Some(most) => format!("{} of {most} queues used", port.queues_used),
        None if port.queues_used == 1 => "1 queue used, as many as asked for".to_owned(),
        None => format!("{} queues used, as many as asked for", port.queues_used),
    };
    let mut known = port.origin.text();
    if let Some(place) = &port.caps_place {
        known.push_str(&format!(" ({place})"));
    }
    if port.verified {
        known.push_str(", and tried");
    }
    let mut line =
        format!("{:widest$}  {} ({}): {known}; {mtu}; {queues}", port.name, port.kind, port.place);
    if !port.addresses.is_empty() {
        line.push_str(&format!("; {}", port.addresses.join(", ")));
    }
    if !port.gateways.is_empty() {
        line.push_str(&format!("; gateway {}", port.gateways.join(", ")));
    }
    line
}

fn bytes(explanation: &Explanation) -> Vec<String> {
    let size = |mtu: Option<u32>| mtu.map_or("no limit".to_owned(), |mtu| mtu.to_string());
    let line = |way: &super::Bytes| {
        let (inside, out) = (size(way.mtu_in), size(way.mtu_out));
        let added = if way.added == 0 { String::new() } else { format!(" {:+} B", way.added) };
        format!("{} {inside}{added} -> {} {out}: {}", way.from, way.to, way.reason)
    };
    let mut lines: Vec<String> = explanation.bytes.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("no packet goes from one port to another".to_owned());
    }
    lines
}

/// Copies of an actor have equal pools, which are told once.
fn pools(explanation: &Explanation) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (actor, pool) in explanation.actors.iter().zip(&explanation.pools) {
        let line = format!(
            "{}: {} headers, {} of 2 KiB, {} of 64 KiB, {}",
            actor.base,
            pool.shells,
            pool.small,
            pool.large,
            megabytes(pool.bytes)
        );
        match lines.last_mut().filter(|(known, _)| *known == line) {
            Some((_, copies)) => *copies += 1,
            None => lines.push((line, 1)),
        }
    }
    let total = explanation.pools.iter().map(|pool| pool.bytes).sum();
    let told = lines.into_iter().map(|(line, copies)| match copies {
        1 => line,
        copies => format!("{line} each, {copies} copies"),
    });
    told.chain([format!("together {}", megabytes(total))]).collect()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
