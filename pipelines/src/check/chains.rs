//! How chains hang together: what begins and ends them, who enters them, and that no packet goes in a circle.
//!
//! Works with what is known of each stage: of one whose arguments are wrong, what kind it is.

use super::RING;
use super::named::{Named, Names};
use super::stages::FoundChain;
use crate::error::Collector;
use crate::spec::{ChainEntry, Description, StageEntry};
use crate::text::Span;
use corelane_runtime::stage::spec::Role;

/// Circles that are reported; whoever mends these sees the rest.
const CIRCLES_MAX: usize = 50;

/// Notes everything wrong with the chains as a whole.
pub(super) fn check(
    description: &Description,
    chains: &[FoundChain],
    named: &mut Named,
    problems: &mut Collector,
) {
    let mut checker = Checker { description, chains, named, problems };
    for (number, chain) in description.chains.iter().enumerate() {
        checker.shape(number, chain);
    }
    checker.entrances();
    checker.circles();
}

struct Checker<'a> {
    description: &'a Description,
    chains: &'a [FoundChain],
    named: &'a mut Named,
    problems: &'a mut Collector,
}

impl Checker<'_> {
    fn error(&mut self, span: Span, code: &'static str, message: String, help: &str) {
        let help = Some(help.to_owned());
        self.problems.error(&self.description.text, span, code, message, help);
    }

    /// Where a step may stand; `None`: it is not known.
    fn role(&self, chain: usize, step: usize) -> Option<Role> {
        self.chains[chain].steps.get(step)?.role
    }

    /// Whether a chain brings packets in, wherever it does.
    fn brings(&self, chain: usize) -> bool {
        self.chains[chain].steps.iter().any(|step| step.role == Some(Role::Source))
    }

    fn shape(&mut self, number: usize, chain: &ChainEntry) {
        let Some(last) = chain.stages.len().checked_sub(1) else {
            if chain.whole {
                let message = format!("chain `{}` is empty", chain.name.text);
                let help = "begin it with `Rx(\"PORT\")`";
                self.error(chain.span, "empty-chain", message, help);
            }
            return;
        };
        for (step, stage) in chain.stages.iter().enumerate() {
            let before = step.checked_sub(1).map(|before| &chain.stages[before]);
            let kind = &stage.entry.kind.text;
            let ring_before = before.is_some_and(|before| before.entry.kind.text == RING);
            if kind == RING && ring_before && chain.whole {
                let message = "there is no stage between this ring and the one before it";
                let span = relation(before, stage);
                self.error(span, "empty-actor", message.to_owned(), "one ring is enough");
            }
            match self.role(number, step) {
                Some(Role::Source) if step > 0 => {
                    let message =
                        format!("`{kind}` brings packets in, so it stands first in a chain");
                    let help = "give it a chain of its own";
                    self.error(relation(before, stage), "misplaced", message, help);
                }
                Some(Role::Sink) if step < last => {
                    let next = relation(Some(stage), &chain.stages[step + 1]);
                    let message = format!("nothing comes here: `{kind}` before it ends the chain");
                    let help = format!("take it out, or put it in front of `{kind}`");
                    self.error(next, "after-the-end", message, &help);
                }
                Some(Role::Source | Role::Middle) if step == last && chain.whole => {
                    // What stands behind the end is told already.
                    let ended = step > 0 && self.role(number, step - 1) == Some(Role::Sink);
                    if !ended {
                        self.no_end(chain, stage);
                    }
                }
                Some(_) | None => {}
            }
        }
    }

    fn no_end(&mut self, chain: &ChainEntry, last: &StageEntry) {
        let (name, kind) = (&chain.name.text, &last.entry.kind.text);
        let message = format!("chain `{name}` ends here, but `{kind}` passes packets on");
        let help = "end the chain with `Tx(\"PORT\")` or `Drop(\"label\")`";
        self.error(last.used.unwrap_or(last.entry.span), "no-end", message, help);
        // What is missing there is most likely a `Tx`.
        self.named.any(Names { chains: false, ports: true });
    }

    /// Every chain has packets: it brings them in, or another sends them there; never both.
    fn entrances(&mut self) {
        let mut entered = vec![false; self.chains.len()];
        for &to in self.chains.iter().flat_map(|chain| &chain.steps).flat_map(|step| &step.outputs)
        {
            entered[to] = true;
        }
        for (number, chain) in self.description.chains.iter().enumerate() {
            let Some(first) = chain.stages.first() else { continue };
            let name = &chain.name.text;
            match self.role(number, 0) {
                Some(Role::Source) if entered[number] => {
                    let kind = &first.entry.kind.text;
                    let message =
                        format!("other chains send to `{name}`, but it begins with `{kind}`");
                    let span = first.used.unwrap_or(first.entry.span);
                    self.error(span, "two-entrances", message, "split it in two chains");
                }
                // One that has it further on is told about that.
                Some(Role::Middle | Role::Sink)
                    if !entered[number]
                        && !self.brings(number)
                        && !self.named.has_chain(name, self.description) =>
                {
                    let message = format!("no packet comes to chain `{name}`");
                    let help = "begin it with `Rx(\"PORT\")`, or name it as an output of a stage";
                    self.error(chain.name.span, "no-entrance", message, help);
                }
                _ => {}
            }
        }
    }

    /// No way leads from a chain back to itself: within an actor it could not be stepped in order, and over
    /// rings it could wait for itself, and would never end.
    fn circles(&mut self) {
        let to = |chain: &FoundChain| {
            chain.steps.iter().flat_map(|step| step.outputs.iter().copied()).collect()
        };
        let mut graph = Graph { to: self.chains.iter().map(to).collect() };
        for _ in 0..CIRCLES_MAX {
            let Some(circle) = graph.circle() else { return };
            let chains: Vec<&ChainEntry> =
                circle.iter().map(|&at| &self.description.chains[at]).collect();
            let names: Vec<&str> = chains.iter().map(|chain| chain.name.text.as_str()).collect();
            let mut stages = chains.iter().flat_map(|chain| &chain.stages);
            let why = match stages.any(|stage| stage.entry.kind.text == RING) {
                true => "its rings would wait for each other for ever",
                false => "they would never leave",
            };
            let message =
                format!("packets go in a circle: {} -> {}; {why}", names.join(" -> "), names[0]);
            self.error(chains[0].name.span, "circle", message, "send them to a chain that ends");
            graph.take_out(circle[0]);
        }
    }
}

/// The place of what a stage has to do with the one before it: where a part was put in, that place.
fn relation(before: Option<&StageEntry>, stage: &StageEntry) -> Span {
    match stage.used {
        Some(used) if before.is_none_or(|before| before.used != stage.used) => used,
        _ => stage.entry.kind.span,
    }
}

/// Which chain sends to which.
struct Graph {
    to: Vec<Vec<usize>>,
}

impl Graph {
    /// A way from a chain back to itself, from its first chain in the order of the file.
    fn circle(&self) -> Option<Vec<usize>> {
        let live = self.on_circles();
        let mut at = live.iter().position(|&live| live)?;
        let mut way = Vec::new();
        let mut places = vec![None; self.to.len()];
        // Every live chain leads to a live one, so the way must come back to itself.
        while places[at].is_none() {
            places[at] = Some(way.len());
            way.push(at);
            at = self.to[at].iter().copied().find(|&to| live[to])?;
        }
        let mut circle = way.split_off(places[at]?);
        let first = circle.iter().enumerate().min_by_key(|(_, chain)| **chain)?.0;
        circle.rotate_left(first);
        Some(circle)
    }

    /// The chains from which a way leads to a circle: all but those that, one after the other, lead nowhere.
    fn on_circles(&self) -> Vec<bool> {
        let mut from = vec![Vec::new(); self.to.len()];
        let mut left: Vec<usize> = self.to.iter().map(Vec::len).collect();
        for (chain, to) in self.to.iter().enumerate() {
            to.iter().for_each(|&to| from[to].push(chain));
        }
        let mut live = vec![true; self.to.len()];
        let mut ends: Vec<usize> = (0..left.len()).filter(|&chain| left[chain] == 0).collect();
        while let Some(end) = ends.pop() {
            live[end] = false;
            for &chain in &from[end] {
                left[chain] -= 1;
                if left[chain] == 0 {
                    ends.push(chain);
                }
            }
        }
        live
    }

    /// Leaves out a chain, and with it every circle it is on.
    fn take_out(&mut self, chain: usize) {
        self.to[chain].clear();
    }
}
