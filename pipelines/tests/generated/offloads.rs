//! What stages ask of ports, and what the recorded cards answer, as Markdown.

use crate::cell;
use corelane::explain::caps::{self, Capability, KnownPort};
use corelane_runtime::offload::{Need, Side};
use corelane_runtime::stage::Args;
use std::fmt::Write;

const INTRODUCTION: &str = "# Offloads

What a port may do in place of a stage, what that asks of it, and which recorded cards can. This page is written by the
program from the tables that plans and packets go by, and held by a test. [explain.md](explain.md) shows the same for
one description; `corelane caps NAME` for one card, with reasons.

Whatever a port does, the packets that leave are the same: see invariant 5 in [ARCHITECTURE.md](ARCHITECTURE.md).
";

pub(crate) fn text() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## What stages ask for\n\n`Entry`: the port that packets come from; `Exit`: the one they leave by.\n");
    text.push_str("\n| stage | work | port | asks for | otherwise |\n|---|---|---|---|---|\n");
    for (stage, need) in needs() {
        let side = match need.side {
            Side::Entry => "Entry",
            Side::Exit => "Exit",
        };
        let asked = match (need.caps, need.instead) {
            (None, None) => "nothing".to_owned(),
            (None, Some((caps, how))) => format!("`{}`: {how}", caps.names()),
            (Some(caps), None) => format!("`{}`", caps.names()),
            (Some(caps), Some((other, how))) if other.is_empty() => {
                format!("`{}`, or nothing: {how}", caps.names())
            }
            (Some(caps), Some((other, how))) => {
                format!("`{}`, or `{}`: {how}", caps.names(), other.names())
            }
        };
        let asked = match need.around {
            Some(around) => {
                format!("{asked}; around tunnels that the port finds `{}`", around.names())
            }
            None if need.within => format!("{asked}, inside tunnels that the port finds"),
            None => asked,
        };
        let optional = if need.optional { "nobody does it" } else { need.software };
        let _ = writeln!(
            text,
            "| {stage} | {} | {side} | {} | {} |",
            cell(need.work),
            cell(&asked),
            cell(optional)
        );
    }
    matrix(&mut text);
    text
}

/// The needs of every stage, as its example is configured.
fn needs() -> Vec<(&'static str, Need)> {
    let mut all = Vec::new();
    for spec in corelane::standard().iter() {
        let info = spec.info();
        let arguments = spec.example().strip_prefix(info.name).unwrap_or_default();
        let keyed = match info.subject {
            Some(subject) if !arguments.is_empty() && !arguments.contains(':') => {
                format!("({subject}: {}", arguments.trim_start_matches('('))
            }
            _ if arguments.is_empty() => "()".to_owned(),
            _ => arguments.to_owned(),
        };
        let Ok(config) = spec.configure(Args { text: &keyed }) else { continue };
        all.extend(config.needs().into_iter().map(|need| (info.name, need)));
    }
    all
}

fn matrix(text: &mut String) {
    let known = caps::profiles();
    text.push_str("\n## What recorded cards can\n\n");
    text.push_str("`yes` is granted, `-` is no, `?` is unknown, which counts as no. Sources are in the last table.\n");
    let names = known.ports.iter().map(|port| port.name.as_str());
    let _ = writeln!(text, "\n| capability | {} |", names.collect::<Vec<_>>().join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(known.ports.len()));
    for capability in capabilities(&known.ports) {
        let answers = known.ports.iter().map(|port| answer(port, &capability.name));
        let answers = answers.collect::<Vec<_>>().join(" | ");
        let _ = writeln!(text, "| `{}` | {answers} |", capability.name);
    }
    text.push_str("\n### What the names mean\n\n| capability | meaning | asked for by a stage |\n|---|---|---|\n");
    for capability in capabilities(&known.ports) {
        let asked = if capability.asked { "yes" } else { "not yet" };
        let _ =
            writeln!(text, "| `{}` | {} | {asked} |", capability.name, cell(capability.meaning));
    }
    text.push_str("\n### Where the records come from\n\n| card | source |\n|---|---|\n");
    for port in &known.ports {
        let _ = writeln!(text, "| {} | {} |", port.name, cell(&port.source));
    }
}

fn capabilities(ports: &[KnownPort]) -> Vec<Capability> {
    ports.first().map(|port| port.capabilities.clone()).unwrap_or_default()
}

fn answer(port: &KnownPort, name: &str) -> &'static str {
    let found = port.capabilities.iter().find(|capability| capability.name == name);
    match found.map(|capability| (capability.granted, capability.answer)) {
        Some((true, _)) => "yes",
        Some((false, "unknown")) => "?",
        _ => "-",
    }
}
