//! What the entries of a file name, as far as that can be told: of a stage that is known the chains and the port
//! it says, of any other every text in it.
//!
//! So a chain or port that only something wrong names is not taken to be unused: that would merely follow.

use crate::error::near;
use crate::spec::{Description, Entry};
use crate::text::params::string_value;
use crate::text::tree::{Call, Kind, Node};
use crate::text::{Mapped, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Names that stand somewhere.
#[derive(Debug, Default)]
pub(super) struct Named {
    chains: BTreeSet<String>,
    ports: BTreeSet<String>,
    tables: BTreeSet<String>,
    /// Whether a value is missing that could be any chain.
    any_chain: bool,
    /// Whether one is missing that could be any port.
    any_port: bool,
}

/// What the value of a key names, for all that is documented.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Names {
    pub(super) chains: bool,
    pub(super) ports: bool,
}

impl Named {
    /// A stage that is known sends to this chain.
    pub(super) fn chain(&mut self, name: &str) {
        self.chains.insert(name.to_owned());
    }

    /// A stage that is known stands on this port.
    pub(super) fn port(&mut self, name: &str) {
        self.ports.insert(name.to_owned());
    }

    /// A stage that is known reads the rows of this table.
    pub(super) fn table(&mut self, name: &str) {
        self.tables.insert(name.to_owned());
    }

    /// A table that is not there was reported: the one near to it was meant.
    pub(super) fn meant_table<'n>(&mut self, name: &str, known: impl Iterator<Item = &'n str>) {
        self.tables.extend(near(name, known).map(str::to_owned));
    }

    /// A name that is not there was reported: the one near to it was meant.
    pub(super) fn misspelt<'n>(&mut self, name: &str, known: impl Iterator<Item = &'n str>) {
        if let Some(near) = near(name, known) {
            self.chains.insert(near.to_owned());
            self.ports.insert(near.to_owned());
        }
    }

    /// Something is not known that could be any chain, or any port.
    pub(super) fn any(&mut self, names: Names) {
        self.any_chain |= names.chains;
        self.any_port |= names.ports;
    }

    /// Nothing is known of this entry: every text in it may be a name.
    pub(super) fn anything(&mut self, text: &Mapped, entry: &Entry) {
        for node in entry.nodes() {
            let lacks = node.lacks_value();
            self.any(Names { chains: lacks, ports: lacks });
            self.texts(text, node);
        }
    }

    /// Of this entry some values are not known: the texts in it may be names, and a value that is missing any
    /// one of what `names` says of its key.
    pub(super) fn values(&mut self, text: &Mapped, entry: &Entry, names: impl Fn(&str) -> Names) {
        for field in &entry.fields {
            let key = text.text().get(field.key.range()).unwrap_or_default();
            if field.value.lacks_value() {
                self.any(names(key));
            }
        }
        entry.nodes().for_each(|node| self.texts(text, node));
    }

    fn texts(&mut self, text: &Mapped, node: &Node) {
        let written = text.text().get(node.span.range());
        let name = match &node.kind {
            Kind::Str => written.and_then(string_value),
            // A name whose quotes were forgotten.
            Kind::Call(Call { brackets: None, .. }) => written.map(str::to_owned),
            _ => None,
        };
        if let Some(name) = name {
            self.ports.insert(name.clone());
            self.tables.insert(name.clone());
            self.chains.insert(name);
        }
        node.children().into_iter().for_each(|node| self.texts(text, node));
    }

    /// Whether a chain may be entered, for all that is known.
    pub(super) fn has_chain(&self, name: &str, description: &Description) -> bool {
        self.any_chain || self.chains.contains(name) || in_unread(name, description)
    }

    /// Whether something may stand on a port, for all that is known.
    pub(super) fn has_port(&self, name: &str, description: &Description) -> bool {
        self.any_port || self.ports.contains(name) || in_unread(name, description)
    }

    /// Whether a stage may read the rows of a table, for all that is known.
    pub(super) fn has_table(&self, name: &str, description: &Description) -> bool {
        self.any_port || self.tables.contains(name) || in_unread(name, description)
    }
}

/// Whether a name stands in quotes twice in a file that could not be read to its end: once it is declared.
fn in_unread(name: &str, description: &Description) -> bool {
    let quoted = crate::text::params::quote(name);
    description.unread && description.text.text().matches(&quoted).nth(1).is_some()
}

/// Where the text `name` stands in an entry; the entry itself if nowhere.
pub(super) fn place_of(text: &Mapped, entry: &Entry, name: &str) -> Span {
    entry.nodes().find_map(|node| string_in(text, node, name)).unwrap_or(entry.span)
}

/// Where the text `name` stands as a value.
fn string_in(text: &Mapped, node: &Node, name: &str) -> Option<Span> {
    match &node.kind {
        Kind::Str => {
            let content = string_value(text.text().get(node.span.range())?)?;
            (content == name).then_some(node.span)
        }
        Kind::Map(entries) => entries.iter().find_map(|(_, value)| string_in(text, value, name)),
        _ => node.children().into_iter().find_map(|node| string_in(text, node, name)),
    }
}

/// Every text that stands as a value, with the first place where it does.
#[derive(Debug, Default)]
pub(super) struct Texts(BTreeMap<String, Span>);

impl Texts {
    pub(super) fn get(&self, name: &str) -> Option<Span> {
        self.0.get(name).copied()
    }

    /// Adds those in a value, behind those that are known.
    pub(super) fn add(&mut self, text: &Mapped, node: &Node) {
        match &node.kind {
            Kind::Str => {
                let written = text.text().get(node.span.range());
                if let Some(content) = written.and_then(string_value) {
                    self.0.entry(content).or_insert(node.span);
                }
            }
            Kind::Map(entries) => entries.iter().for_each(|(_, value)| self.add(text, value)),
            _ => node.children().into_iter().for_each(|node| self.add(text, node)),
        }
    }
}
