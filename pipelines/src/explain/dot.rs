//! The plan as a graph for Graphviz: actors as boxes, stages coloured by verdict, rings between the boxes.
//!
//! Every text is quoted, so whatever a file calls its chains stays one label. A stage that runs in several
//! actors is drawn in each.

use super::merge;
use super::types::{Actor, Explanation, Stage};
use crate::check::RING;
use crate::negotiate::Where;
use crate::shown::visible;

/// The graph.
pub(super) fn write(explanation: &Explanation) -> String {
    let title = format!("{}, plan {}", explanation.pipeline, explanation.plan);
    let mut out = String::from("digraph plan {\n");
    out.push_str("  rankdir=LR;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
    out.push_str(&format!("  label={};\n", quoted(&title)));
    for (number, actor) in explanation.actors.iter().enumerate() {
        cluster(&mut out, explanation, number, actor);
    }
    for actor in &explanation.actors {
        edges(&mut out, explanation, actor);
    }
    out.push_str("}\n");
    out
}

fn cluster(out: &mut String, explanation: &Explanation, number: usize, actor: &Actor) {
    let cpu = actor.cpu.map_or("any cpu".to_owned(), |cpu| format!("cpu {cpu}"));
    let label = quoted(&format!("{}, {cpu}", actor.name));
    out.push_str(&format!("  subgraph cluster_{number} {{\n    label={label};\n"));
    for id in &actor.stages {
        let Some(stage) = explanation.stages().find(|stage| stage.id == *id) else { continue };
        let attributes = [
            ("label", text(stage)),
            ("fillcolor", colour(stage.place_of_all()).to_owned()),
            ("tooltip", tooltip(stage)),
        ];
        let attributes = attributes.map(|(key, value)| format!("{key}={}", quoted(&value)));
        let node = node(actor, id);
        out.push_str(&format!("    {node} [{}];\n", attributes.join(", ")));
    }
    out.push_str("  }\n");
}

/// A stage as its actor runs it.
fn node(actor: &Actor, id: &str) -> String {
    quoted(&format!("{}/{id}", actor.name))
}

fn text(stage: &Stage) -> String {
    match &stage.name {
        Some(name) => format!("{} ({name})\n{}", stage.kind, stage.id),
        None if stage.added => format!("+ {}\n{}", stage.kind, stage.id),
        None => format!("{}\n{}", stage.kind, stage.id),
    }
}

fn tooltip(stage: &Stage) -> String {
    let rows = merge::groups(&stage.verdicts);
    let rows = rows.iter().map(|row| {
        let work = if row.work.is_empty() { String::new() } else { format!("{}: ", row.work) };
        format!("{work}{}: {}", row.place.word(), row.reason)
    });
    std::iter::once(stage.written.clone()).chain(rows).collect::<Vec<_>>().join("\n")
}

fn colour(place: Option<Where>) -> &'static str {
    match place {
        Some(Where::Hardware) => "palegreen",
        Some(Where::Software) => "lightgoldenrod",
        Some(Where::Both) => "darkseagreen1",
        Some(Where::Nothing) | None => "white",
    }
}

/// From every stage of an actor to where its packets go: in the same actor, or over a ring.
fn edges(out: &mut String, explanation: &Explanation, actor: &Actor) {
    for id in &actor.stages {
        let Some(stage) = explanation.stages().find(|stage| stage.id == *id) else { continue };
        for output in &stage.outputs {
            let to = explanation.stages().find(|stage| stage.id == output.to);
            let Some(to) = to else { continue };
            if to.kind != RING {
                edge(out, (actor, id), (actor, &to.id), &output.name, "solid");
                continue;
            }
            let next = to.outputs.first().map(|output| output.to.as_str()).unwrap_or_default();
            for behind in explanation.actors.iter().filter(|other| reads(explanation, to, other)) {
                let ring = format!("ring {}", to.name.as_deref().unwrap_or_default());
                edge(out, (actor, id), (behind, next), &ring, "bold");
            }
        }
    }
}

/// Whether a ring step leads into an actor.
fn reads(explanation: &Explanation, ring: &Stage, actor: &Actor) -> bool {
    let name = ring.name.as_deref().unwrap_or_default();
    let ring = explanation.rings.iter().find(|known| known.name == name);
    ring.is_some_and(|ring| ring.to.contains(&actor.name))
}

fn edge(out: &mut String, from: (&Actor, &str), to: (&Actor, &str), name: &str, style: &str) {
    let (from, to) = (node(from.0, from.1), node(to.0, to.1));
    let label = if name == "next" { "" } else { name };
    out.push_str(&format!("  {from} -> {to} [label={}, style={style}];\n", quoted(label)));
}

/// A quoted string: nothing in it ends it, and a line break is one.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for line in text.split('\n').enumerate() {
        let (number, line) = line;
        out.push_str(if number > 0 { "\\n" } else { "" });
        for c in visible(line).chars() {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out.push('"');
    out
}
