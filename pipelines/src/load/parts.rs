//! Parts: lists of stages that chains, and other parts, use by name.
//!
//! Each part is read once, so a mistake in it is found once. Parts that use each other in a circle have no
//! end; such a use is reported and leads nowhere. How much is copied is bounded.

use super::chains::used_at;
use super::{About, Loader};
use crate::error::{instead, near};
use crate::spec::{Misuse, PartEntry, StageEntry, Word};
use crate::text::Span;
use crate::text::tree::{Kind, Node};
use corelane_runtime::stage::spec::KeyInfo;
use serde::Deserialize;

/// The entry of a list that is no stage: it puts those of a part there.
pub(crate) const USE: &str = "Use";
/// The key that a value without a key is for.
pub(crate) const USE_SUBJECT: &str = "part";

pub(crate) const USE_KEYS: &[KeyInfo] = &[KeyInfo {
    name: USE_SUBJECT,
    kind: "the name of a part",
    default: None,
    doc: "the part to use",
}];

/// One entry of a list of stages.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Stage(Box<StageEntry>),
    /// The number of a part, and where it is used.
    Use(usize, Span),
    /// Something that could not be used; whether because it could not be read.
    Nothing(bool),
}

/// A part that has been read.
#[derive(Debug)]
struct Part {
    name: Word,
    items: Vec<Item>,
    whole: bool,
    /// Whether anything names it, even misspelt.
    named: bool,
    /// Whether a chain uses it, if only through another part.
    used: bool,
}

/// A use of a part that cannot be followed.
enum Wrong {
    /// By it a part contains itself: the parts on the way.
    Circle(Vec<usize>),
    /// It is nested too deep.
    Deep,
}

/// All parts of a file.
#[derive(Debug, Default)]
pub(super) struct Parts {
    list: Vec<Part>,
    /// How many stages and uses there are so far.
    copies: usize,
}

/// Arguments of `Use`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UseSpec {
    part: String,
}

impl Parts {
    /// Most stages of a file, those that parts make among them.
    pub(super) const STAGES_MAX: usize = 10_000;
    /// Deepest nesting of parts in parts.
    const DEPTH_MAX: usize = 64;
    /// Most circles that are looked for; whoever mends these sees the rest.
    const CIRCLES_MAX: usize = 50;

    fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|part| part.name.text == name)
    }

    /// Counts one more stage; `None` where there are too many.
    pub(super) fn count(&mut self) -> Option<()> {
        self.copies += 1;
        (self.copies <= Parts::STAGES_MAX).then_some(())
    }

    /// Copies the stages of a part to where `at` uses it. Whether all of them could be read; `None` where there
    /// are too many.
    pub(super) fn copy(
        &mut self,
        part: usize,
        at: Span,
        out: &mut Vec<StageEntry>,
    ) -> Option<bool> {
        let mut whole = self.list[part].whole;
        self.list[part].used = true;
        for index in 0..self.list[part].items.len() {
            self.count()?;
            match &self.list[part].items[index] {
                Item::Stage(stage) => out.push(used_at(stage, at)),
                Item::Use(inner, _) => whole &= self.copy(*inner, at, out)?,
                Item::Nothing(_) => whole = false,
            }
        }
        Some(whole)
    }

    /// The first use that cannot be followed: the part it stands in, and its place there.
    fn wrong_use(&self) -> Option<(usize, usize, Wrong)> {
        let mut depths = vec![0; self.list.len()];
        (0..self.list.len()).find_map(|start| self.depth(start, &mut vec![], &mut depths).err())
    }

    /// How deep parts are nested in a part, itself counted; `depths` holds those that are known, 0 for others.
    fn depth(
        &self,
        part: usize,
        way: &mut Vec<usize>,
        depths: &mut [usize],
    ) -> Result<usize, (usize, usize, Wrong)> {
        if depths[part] > 0 {
            return Ok(depths[part]);
        }
        way.push(part);
        let mut deepest = 0;
        for (index, item) in self.list[part].items.iter().enumerate() {
            let Item::Use(next, _) = item else { continue };
            if let Some(from) = way.iter().position(|on| on == next) {
                return Err((part, index, Wrong::Circle(way[from..].to_vec())));
            }
            // Not deeper down than it may be: this is a recursion too.
            let depth = match way.len() < Parts::DEPTH_MAX {
                true => self.depth(*next, way, depths)?,
                false => Parts::DEPTH_MAX,
            };
            if depth == Parts::DEPTH_MAX {
                return Err((part, index, Wrong::Deep));
            }
            deepest = deepest.max(depth);
        }
        way.pop();
        depths[part] = deepest + 1;
        Ok(depths[part])
    }

    /// Takes out every use.
    fn clear_uses(&mut self) {
        let items = self.list.iter_mut().flat_map(|part| &mut part.items);
        for item in items.filter(|item| matches!(item, Item::Use(..))) {
            *item = Item::Nothing(false);
        }
    }
}

impl Loader {
    /// Reads the parts; `None`: the file has none.
    pub(super) fn parts(&mut self, node: Option<&Node>) -> Parts {
        let mut parts = Parts::default();
        let Some(node) = node else { return parts };
        let entries = self.entries(node, "parts", "\"p\": [Count, ..]");
        let mut lists = Vec::new();
        for (key, value) in entries {
            let Some(name) = self.name(key) else { continue };
            if parts.find(&name.text).is_some() {
                continue; // noted as given twice
            }
            let (items, whole, named, used) = (Vec::new(), value.is_sound(), false, false);
            parts.list.push(Part { name, items, whole, named, used });
            lists.push(value);
        }
        for (number, value) in lists.into_iter().enumerate() {
            match self.items(value, &parts, "a part is a list of stages") {
                Some(items) => parts.list[number].items = items,
                None => parts.list[number].whole = false,
            }
        }
        self.break_circles(&mut parts);
        parts
    }

    /// Takes out every use by which a part would contain itself, or be nested too deep.
    fn break_circles(&mut self, parts: &mut Parts) {
        for _ in 0..Parts::CIRCLES_MAX {
            let Some((part, index, wrong)) = parts.wrong_use() else { return };
            let item = std::mem::replace(&mut parts.list[part].items[index], Item::Nothing(false));
            let Item::Use(to, span) = item else { return };
            parts.list[to].named = true;
            match wrong {
                Wrong::Circle(way) => {
                    let names = way.iter().chain([&to]).map(|&on| &parts.list[on].name.text);
                    let names: Vec<&str> = names.map(String::as_str).collect();
                    let message =
                        format!("parts use each other in a circle: {}", names.join(" -> "));
                    self.advise(span, "circle", message, "take out one of the uses");
                }
                Wrong::Deep => {
                    let message = format!("parts are nested deeper than {}", Parts::DEPTH_MAX);
                    self.advise(span, "too-deep", message, "write the stages here instead");
                }
            }
        }
        parts.clear_uses();
    }

    pub(super) fn item(&mut self, node: &Node, parts: &Parts) -> Item {
        let is_use = |loader: &Loader| match &node.kind {
            Kind::Call(call) => call.name.is_some_and(|name| loader.slice(name) == USE),
            _ => false,
        };
        let item = match is_use(self) {
            true => self.usage(node, parts).map(|part| Item::Use(part, node.span)),
            false => self.stage(node).map(|stage| Item::Stage(Box::new(stage))),
        };
        item.unwrap_or(Item::Nothing(!node.is_sound()))
    }

    /// The number of the part that a `Use` names.
    fn usage(&mut self, node: &Node, parts: &Parts) -> Option<usize> {
        let (entry, _) = self.call(node, &[], "")?;
        if !entry.is_whole() {
            return None;
        }
        let args = match entry.arguments(&self.text, Some(USE_SUBJECT)) {
            Ok(args) => args,
            Err(Misuse::Mixed(span) | Misuse::Several(span) | Misuse::NoSubject(span)) => {
                let message = "`Use` takes the name of one part, and nothing else";
                self.advise(span, "mixed-arguments", message, "write `Use(\"PART\")`");
                return None;
            }
        };
        let UseSpec { part } =
            self.typed(&args, &About::new("`Use`", entry.kind.span, USE_KEYS))?;
        let found = parts.find(&part);
        if found.is_none() {
            let names = parts.list.iter().map(|part| part.name.text.as_str());
            self.meant_parts.extend(near(&part, names.clone()).map(str::to_owned));
            let help = instead(&part, names)
                .unwrap_or_else(|| format!("write parts: {{ \"{part}\": [..] }}"));
            let message = format!("`Use` names part `{part}`, which is not in this file");
            let values = entry.values.iter().chain(entry.fields.iter().map(|field| &field.value));
            let span = values.map(|node| node.span).next().unwrap_or(entry.span);
            self.advise(span, "no-such-part", message, help);
        }
        found
    }

    /// What is left of the parts for those who check them, and who is used nowhere.
    pub(super) fn finish_parts(&mut self, mut parts: Parts, unread: bool) -> Vec<PartEntry> {
        self.note_named(&mut parts);
        for part in &parts.list {
            let meant = part.named || self.meant_parts.contains(&part.name.text);
            if !part.used && !meant && !unread {
                let message = format!("part `{}` is used nowhere", part.name.text);
                let help =
                    format!("write `Use(\"{}\")` in a chain, or leave it out", part.name.text);
                let span = part.name.span;
                self.problems.warning(&self.text, span, "unused-part", message, Some(help));
            }
        }
        let finished = parts.list.into_iter().map(|part| PartEntry {
            name: part.name,
            used: part.used,
            stages: part.items.into_iter().filter_map(Item::stage).collect(),
        });
        finished.collect()
    }

    /// Marks the parts that other parts use.
    fn note_named(&self, parts: &mut Parts) {
        let uses = parts.list.iter().flat_map(|part| &part.items);
        let uses = uses.filter_map(|item| match item {
            Item::Use(part, _) => Some(*part),
            _ => None,
        });
        for part in uses.collect::<Vec<usize>>() {
            parts.list[part].named = true;
        }
    }
}

impl Item {
    fn stage(self) -> Option<StageEntry> {
        match self {
            Item::Stage(stage) => Some(*stage),
            Item::Use(..) | Item::Nothing(_) => None,
        }
    }
}
