//! What ports can do, for people.

use super::{Known, KnownPort};
use crate::explain::Style;
use crate::explain::table::beside;
use crate::shown::visible;
use std::fmt::Write;

/// Columns of a capability's name.
const NAME: usize = 18;
/// Columns of yes and no.
const WORD: usize = 12;

/// Each port with every capability.
pub(super) fn full(known: &Known, style: Style) -> String {
    let tables = known.ports.iter().map(|port| one(port, style));
    tables.collect::<Vec<_>>().join("\n")
}

fn one(port: &KnownPort, style: Style) -> String {
    let mut out = beside(
        "",
        0,
        &visible(&format!("{}: {}; {}", port.name, port.origin.text(), port.source)),
        style,
    );
    let row = |name: &str, advertised: &str, granted: &str, why: &str| {
        let margin = format!("{name:NAME$}{advertised:WORD$}{granted:WORD$}");
        beside(&margin, NAME + 2 * WORD, why, style)
    };
    out.push_str(&row("CAPABILITY", "advertised", "granted", "meaning, and why not"));
    for capability in &port.capabilities {
        let word = |yes: bool| if yes { "yes" } else { "no" };
        let granted =
            if capability.answer == "unknown" { "unknown" } else { word(capability.granted) };
        let why = match &capability.why {
            Some(why) => format!("{} ({why})", capability.meaning),
            None => capability.meaning.to_owned(),
        };
        let why = if capability.asked { why } else { format!("{why}; no stage asks for it yet") };
        let advertised = word(capability.advertised);
        out.push_str(&row(&capability.name, advertised, granted, &visible(&why)));
    }
    out.push_str(&limits(port, style));
    out
}

fn limits(port: &KnownPort, style: Style) -> String {
    let mtu = port.mtu.map_or("no mtu".to_owned(), |mtu| format!("mtu {mtu}"));
    let mut text = format!(
        "cuts packets of up to {} B in up to {} segments with up to {} B of headers; {mtu}",
        port.tso_bytes, port.tso_segments, port.header_bytes
    );
    let known = &port.record.facts.limits;
    for (kind, ports) in [("VXLAN", known.vxlan_ports), ("Geneve", known.geneve_ports)] {
        let _ = match (ports.is_empty(), ports.is_any()) {
            (true, _) => Ok(()),
            (_, true) => write!(text, "; is told where {kind} is, behind any UDP port"),
            _ => write!(text, "; looks for {kind} behind UDP port {ports}"),
        };
    }
    let _ = match port.queues {
        Some(queues) => write!(text, "; {queues} queues per direction"),
        None => write!(text, "; as many queues as are asked for"),
    };
    let mut out = beside("LIMITS", 8, &text, style);
    if !port.lies.is_empty() {
        let text = format!("emulated, it does other than it says: {}", port.lies.join(", "));
        out.push_str(&beside("LIES", 8, &text, style));
    }
    out
}

/// A line for each port.
pub(super) fn list(known: &Known, style: Style) -> String {
    let widest = known.ports.iter().map(|port| port.name.chars().count()).max().unwrap_or(0);
    let line = |port: &KnownPort| {
        let granted = port.capabilities.iter().filter(|capability| capability.granted).count();
        let text = format!("{granted:2} granted; {}", port.source);
        beside(&visible(&port.name), widest + 2, &visible(&text), style)
    };
    known.ports.iter().map(line).collect()
}
