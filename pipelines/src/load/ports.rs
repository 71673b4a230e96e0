//! Ports: their names, their arguments as text, and what was given beside the file in place of either.

use super::{Loader, common};
use crate::error::instead;
use crate::spec::{PortEntry, Word};
use crate::text::Span;
use crate::text::params::string_value;
use crate::text::tree::{Field, Kind, Node};

/// Where the arguments stand of ports that others are given in place of, but for the common keys, which stay.
pub(super) fn replaced(text: &str, root: &Node, given: &[(String, String)]) -> Vec<Span> {
    let slice = |span: Span| text.get(span.range()).unwrap_or_default();
    let Kind::Call(call) = &root.kind else { return Vec::new() };
    let ports = call.fields.iter().filter(|field| slice(field.key) == "ports");
    let entries = ports.filter_map(|field| match &field.value.kind {
        Kind::Map(entries) => Some(entries),
        _ => None,
    });
    let is_given = |key: &Node| {
        let name = string_value(slice(key.span));
        given.iter().any(|(given, _)| Some(given) == name.as_ref())
    };
    let calls = entries.flatten().filter_map(|(key, value)| match &value.kind {
        Kind::Call(call) if is_given(key) => Some(call),
        _ => None,
    });
    calls
        .flat_map(|call| {
            let own = |field: &&Field| !common::KEYS.contains(&slice(field.key));
            let fields = call.fields.iter().filter(own).map(|field| field.value.span);
            call.values.iter().map(|value| value.span).chain(fields)
        })
        .collect()
}

impl Loader {
    /// The ports, and the names of those of which nothing else could be read.
    pub(super) fn ports(&mut self, node: &Node, unknown: &mut Vec<String>) -> Vec<PortEntry> {
        let given = std::mem::take(&mut self.given.ports);
        let caps = std::mem::take(&mut self.given.caps);
        let mut ports: Vec<PortEntry> = Vec::new();
        let mut names = Vec::new();
        for (key, value) in self.entries(node, "ports", "\"in\": Pcap(\"in.pcap\")") {
            let Some(name) = self.name(key) else { continue };
            names.push(name.text.clone());
            let replaced = given.iter().find(|(known, _)| *known == name.text);
            let lost = name.text.clone();
            let Some(mut port) = self.port(name, value, replaced.map(|(_, node)| node)) else {
                unknown.push(lost);
                continue;
            };
            let given = caps.iter().find(|(known, _)| *known == port.name.text);
            if let Some((_, caps)) = given {
                port.common.caps = Some(caps.clone());
            }
            ports.push(port);
        }
        let ports_given = given.iter().map(|(name, node)| (name, node.span));
        let caps_given = caps.iter().map(|(name, word)| (name, word.span));
        for (name, span) in ports_given.chain(caps_given) {
            if !names.contains(name) && node.is_sound() {
                let message = "no port of this file has that name".to_owned();
                let help = instead(name, names.iter().map(String::as_str));
                self.problems.error(&self.text, span, "no-such-port", message, help);
            }
        }
        ports
    }

    /// A port, or what was given in its place, with the common keys of both; what was given goes before.
    fn port(&mut self, name: Word, written: &Node, given: Option<&Node>) -> Option<PortEntry> {
        let what = "a port such as `Pcap(read: \"x.pcap\")`";
        let call = self.call(written, &common::KEYS, what);
        let Some(given) = given else {
            let (entry, common_fields) = call?;
            let common = self.common(&common_fields);
            return Some(PortEntry { name, entry, common, common_fields });
        };
        let (entry, own) = self.call(given, &common::KEYS, what)?;
        let is_own =
            |field: &Field| own.iter().any(|own| self.slice(own.key) == self.slice(field.key));
        let kept = call.map_or(Vec::new(), |(_, fields)| fields);
        let kept = kept.into_iter().filter(|field| !is_own(field));
        let common_fields: Vec<Field> = kept.chain(own.iter().cloned()).collect();
        let common = self.common(&common_fields);
        Some(PortEntry { name, entry, common, common_fields })
    }
}
