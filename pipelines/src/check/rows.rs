//! What a stage names beside chains and its own port: the table whose rows it reads, and ports whose addresses or
//! names it must be told.
//!
//! A stage reads the rows itself; what it finds wrong is shown in the row. A row may name chains and ports as the
//! arguments of the stage may.

use super::named::{Names, Texts};
use super::stages::Reader;
use crate::error::instead;
use crate::load::{About, report};
use crate::spec::{Entry, TableEntry};
use crate::text::{Mapped, Span, tree};
use corelane_runtime::stage::spec::Traits;
use corelane_runtime::stage::{Row, StageConfig};
use std::collections::BTreeMap;

impl Reader<'_> {
    /// Gives a stage the rows of the table that it names, which join its `arguments`. Whether all of them are
    /// right.
    pub(super) fn rows(
        &mut self,
        entry: &Entry,
        config: &mut dyn StageConfig,
        arguments: &mut String,
    ) -> bool {
        let Some(name) = config.traits().table else { return true };
        self.named.table(&name);
        let description = self.description;
        let Some(table) = description.tables.iter().find(|table| table.name.text == name) else {
            self.no_such_table(entry, &name);
            self.named.any(Names { chains: true, ports: true });
            return false;
        };
        let text = description.text.text();
        let slice = |span: &Span| text.get(span.range()).unwrap_or_default();
        let rows: Vec<Row<'_>> = table.rows.iter().map(|span| Row { text: slice(span) }).collect();
        arguments.extend(rows.iter().flat_map(|row| ["\n", row.text]));
        let taken = config.take_rows(&rows);
        if !table.whole || taken.is_err() {
            // What is wrong may name any chain.
            self.named.any(Names { chains: true, ports: true });
        }
        let Err(errors) = taken else { return table.whole };
        let what = format!("a row of `{name}`");
        let mut by_row: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        errors.into_iter().for_each(|it| by_row.entry(it.row).or_default().push(it.error));
        for (row, errors) in by_row {
            let Some(&span) = table.rows.get(row) else { continue };
            let mut args = Mapped::default();
            args.copy(text, span);
            report(self.problems, &description.text, &args, &About::new(&what, span, &[]), errors);
        }
        false
    }

    fn no_such_table(&mut self, entry: &Entry, name: &str) {
        if self.description.unknown.tables {
            return;
        }
        let names = self.description.tables.iter().map(|table| table.name.text.as_str());
        self.named.meant_table(name, names.clone());
        let message =
            format!("`{}` names table `{name}`, which is not in this file", entry.kind.text);
        let help = instead(name, names);
        let help = help.or_else(|| Some(format!("write tables: {{ \"{name}\": [(..), ..] }}")));
        let span = self.place(entry, &Traits::default(), name);
        self.error(span, "no-such-table", message, help);
    }

    /// Whether the ports that a stage names are there, and have the addresses that it must be told.
    pub(super) fn named_ports(&mut self, entry: &Entry, traits: &Traits) -> bool {
        let mut right = true;
        for name in traits.addressed.iter().chain(&traits.named_ports) {
            let ports = &self.description.ports;
            let Some(port) = ports.iter().find(|port| port.name.text == *name) else {
                right = false;
                if !self.description.unknown.ports.contains(name) {
                    self.no_such_port(entry, traits, name);
                }
                continue;
            };
            // One whose addresses could not be read is told already.
            let has_some = !port.common.addresses.is_empty() || port.common.addresses_at.is_some();
            if traits.addressed.contains(name) && !has_some {
                right = false;
                let span = self.place(entry, traits, name);
                let message = format!("port `{name}` has no addresses");
                let help = "give it some: addresses: [\"192.0.2.1/24\"]".to_owned();
                self.error(span, "no-addresses", message, Some(help));
            }
        }
        right
    }

    fn no_such_port(&mut self, entry: &Entry, traits: &Traits, name: &str) {
        let names = self.description.ports.iter().map(|port| port.name.text.as_str());
        self.named.misspelt(name, names.clone());
        let message = format!("`{}` names port `{name}`, which is not there", entry.kind.text);
        let help = instead(name, names);
        let help = help.or_else(|| Some(format!("write ports: {{ \"{name}\": .. }}")));
        let span = self.place(entry, traits, name);
        self.error(span, "no-such-port", message, help);
    }

    /// Where a text stands in a stage, or in the rows it reads; the stage itself if nowhere. What stands in the
    /// stage is looked at once, however many names are asked for.
    pub(super) fn place(&mut self, entry: &Entry, traits: &Traits, name: &str) -> Span {
        let key = (entry.span, traits.table.clone());
        let texts = match self.texts.take().filter(|(of, _)| *of == key) {
            Some((_, texts)) => texts,
            None => self.texts_of(entry, traits),
        };
        let place = texts.get(name).unwrap_or(entry.span);
        self.texts = Some((key, texts));
        place
    }

    /// The texts in a stage, and behind them those in the rows that it reads.
    fn texts_of(&self, entry: &Entry, traits: &Traits) -> Texts {
        let text = self.text();
        let mut texts = Texts::default();
        entry.nodes().for_each(|node| texts.add(text, node));
        let is_table = |table: &&TableEntry| Some(&table.name.text) == traits.table.as_ref();
        let table = self.description.tables.iter().find(is_table);
        for row in table.into_iter().flat_map(|table| &table.rows) {
            texts.add(text, &tree::parse_part(text.text(), *row).root);
        }
        texts
    }
}
