//! From a [`Record`] to its text, as a person would have written it.
//!
//! It promises that reading gives the same record again. What has its usual value is left out.

use super::Record;
use crate::emulated::Lies;
use corelane_runtime::offload::{Answer, Caps, Limits, Reason, UdpPorts};
use std::fmt::Write;

/// Longest line of a list.
const WIDTH: usize = 100;

impl Record {
    /// The record as RON.
    pub fn to_ron(&self) -> String {
        let facts = &self.facts;
        let mut out = String::from(
            "// What a device can do. Check it anew: corelane caps FILE PORT --verify --record NEW\n",
        );
        out.push_str("Caps(\n");
        key(&mut out, "name", &quoted(&self.name));
        key(&mut out, "source", &quoted(&self.source));
        key(&mut out, "advertised", &list(&names(facts.advertised)));
        if facts.granted != facts.advertised.without_orphans() {
            key(&mut out, "granted", &list(&names(facts.granted)));
        }
        if !facts.reasons.is_empty() {
            let reasons: String = facts.reasons.iter().map(reason).collect();
            key(&mut out, "reasons", &format!("[\n{reasons}    ]"));
        }
        if facts.limits != Limits::default() {
            key(&mut out, "limits", &limits(&facts.limits));
        }
        if let Some(queues) = facts.queues {
            key(&mut out, "queues", &queues.to_string());
        }
        if self.lies != Lies::empty() {
            let lies: Vec<String> =
                self.lies.iter_names().map(|(name, _)| quoted(&name.to_lowercase())).collect();
            key(&mut out, "lies", &list(&lies));
        }
        out.push_str(")\n");
        out
    }
}

fn key(out: &mut String, key: &str, value: &str) {
    // Writing to a text cannot fail.
    let _ = writeln!(out, "    {key}: {value},");
}

/// A text as RON reads it back, whatever is in it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c != '"' && c != '\\' && !c.is_control();
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            c if plain(c) => out.push(c),
            c => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

fn names(caps: Caps) -> Vec<String> {
    caps.iter_names().map(|(name, _)| quoted(&name.to_lowercase())).collect()
}

/// On one line where it fits, else on as many as it takes.
fn list(items: &[String]) -> String {
    let one = format!("[{}]", items.join(", "));
    if one.len() + 20 <= WIDTH {
        return one;
    }
    let mut out = String::from("[");
    let mut line = WIDTH;
    for item in items {
        if line + item.len() + 2 > WIDTH {
            out.push_str("\n       ");
            line = 7;
        }
        let _ = write!(out, " {item},");
        line += item.len() + 2;
    }
    out.push_str("\n    ]");
    out
}

fn reason(reason: &Reason) -> String {
    let answer = match reason.answer {
        Answer::Unknown => "Unknown",
        Answer::Yes | Answer::No => "No",
    };
    let names = names(reason.caps).join(", ");
    format!("        {answer}([{names}], {}),\n", quoted(&reason.why))
}

fn limits(limits: &Limits) -> String {
    let Limits { tso_bytes, tso_segments, header_len, mtu, vxlan_ports, geneve_ports } = limits;
    let mtu = mtu.map(|mtu| format!(", mtu: {mtu}")).unwrap_or_default();
    let ports = |key: &str, ports: &UdpPorts| match (ports.is_empty(), ports.is_any()) {
        (true, _) => String::new(),
        (_, true) => format!(", {key}: \"any\""),
        _ => format!(", {key}: [{ports}]"),
    };
    let ports = ports("vxlan_ports", vxlan_ports) + &ports("geneve_ports", geneve_ports);
    format!(
        "(tso_bytes: {tso_bytes}, tso_segments: {tso_segments}, header_len: {header_len}{mtu}{ports})"
    )
}
