//! Chains, with the stages of parts in the places where they are used.

use super::Loader;
use super::parts::{Item, Parts};
use crate::spec::{ChainEntry, StageEntry};
use crate::text::Span;
use crate::text::tree::{Kind, Node};

impl Loader {
    pub(super) fn chains(&mut self, node: &Node, parts: &mut Parts) -> Vec<ChainEntry> {
        let mut chains = Vec::new();
        let example = "\"main\": [Rx(\"in\"), ..]";
        if matches!(&node.kind, Kind::Map(entries) if entries.is_empty()) {
            let message = "there is no chain, so nothing to run";
            self.advise(node.span, "no-chains", message, format!("write {{ {example} }}"));
        }
        for (key, value) in self.entries(node, "chains", example) {
            let Some(name) = self.name(key) else { continue };
            let items = self.items(value, parts, "a chain is a list of stages");
            let mut chain = ChainEntry {
                name,
                stages: Vec::new(),
                whole: items.is_some() && value.is_sound(),
                unknown: items.is_none() && value.is_sound(),
                span: value.span,
            };
            for item in items.unwrap_or_default() {
                self.put(item, parts, &mut chain);
            }
            chains.push(chain);
        }
        chains
    }

    /// The stages and uses of parts in a list; `None` where it is none.
    pub(super) fn items(&mut self, node: &Node, parts: &Parts, what: &str) -> Option<Vec<Item>> {
        match &node.kind {
            Kind::List(nodes) => Some(nodes.iter().map(|node| self.item(node, parts)).collect()),
            Kind::Broken | Kind::Missing => None,
            _ => {
                self.advise(node.span, "bad-value", what, "write [Rx(\"in\"), .., Tx(\"out\")]");
                None
            }
        }
    }

    fn put(&mut self, item: Item, parts: &mut Parts, chain: &mut ChainEntry) {
        match item {
            Item::Stage(stage) => match parts.count() {
                Some(()) => chain.stages.push(*stage),
                None => self.too_many(stage.entry.span, chain),
            },
            Item::Nothing(unread) => {
                chain.whole = false;
                chain.unknown |= !unread;
            }
            Item::Use(part, span) => {
                let mut copied = Vec::new();
                let whole = parts.copy(part, span, &mut copied);
                chain.stages.extend(copied);
                match whole {
                    Some(whole) => {
                        chain.whole &= whole;
                        chain.unknown |= !whole;
                    }
                    None => self.too_many(span, chain),
                }
            }
        }
    }

    fn too_many(&mut self, span: Span, chain: &mut ChainEntry) {
        (chain.whole, chain.unknown) = (false, true);
        if std::mem::replace(&mut self.told_too_many, true) {
            return;
        }
        let message = format!("this file has more than {} stages", Parts::STAGES_MAX);
        let help = "use fewer; parts that use parts multiply";
        self.advise(span, "too-many-stages", message, help);
    }
}

/// A stage of a part, for the place where `span` uses it.
pub(super) fn used_at(stage: &StageEntry, span: Span) -> StageEntry {
    StageEntry { used: Some(span), ..stage.clone() }
}
