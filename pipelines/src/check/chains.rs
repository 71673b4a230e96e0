//! How chains hang together: what begins and ends them, who enters them, and that no packet goes in a circle.

use super::entries::{FoundChain, place_of};
use super::{CheckedStep, RING};
use crate::error::Collector;
use crate::spec::{ChainEntry, Description};
use crate::text::Span;
use corelane_runtime::stage::spec::Role;

/// Notes everything wrong with the chains as a whole.
pub(super) fn check(description: &Description, chains: &[FoundChain], problems: &mut Collector) {
    let mut checker = Checker { description, chains, problems };
    for (number, chain) in description.chains.iter().enumerate() {
        checker.shape(number, chain);
    }
    checker.names();
    checker.entrances();
    checker.circles();
}

struct Checker<'a> {
    description: &'a Description,
    chains: &'a [FoundChain],
    problems: &'a mut Collector,
}

impl Checker<'_> {
    fn error(&mut self, span: Span, code: &'static str, message: String, help: Option<&str>) {
        let help = help.map(str::to_owned);
        self.problems.error(&self.description.text, span, code, message, help);
    }

    /// What a step is allowed to be where it stands; `None`: it is not known.
    fn role(&self, chain: usize, step: usize) -> Option<Role> {
        match self.chains[chain].steps.get(step)? {
            Some(CheckedStep::Stage(stage)) => Some(stage.info.role),
            Some(CheckedStep::Ring(_)) => Some(Role::Middle),
            None => None,
        }
    }

    /// Whether a stage before this one already ended the chain.
    fn is_end(&self, chain: usize, step: usize) -> bool {
        step > 0 && self.role(chain, step - 1) == Some(Role::Sink)
    }

    fn shape(&mut self, number: usize, chain: &ChainEntry) {
        let name = &chain.name.text;
        let Some(last) = chain.stages.len().checked_sub(1) else {
            if chain.whole {
                let message = format!("chain `{name}` is empty");
                self.error(
                    chain.span,
                    "empty-chain",
                    message,
                    Some("begin it with `Rx(\"PORT\")`"),
                );
            }
            return;
        };
        for (step, stage) in chain.stages.iter().enumerate() {
            let (kind, span) = (&stage.entry.kind.text, stage.entry.kind.span);
            let ring_before = step > 0 && chain.stages[step - 1].entry.kind.text == RING;
            if kind == RING && ring_before && chain.whole {
                let message =
                    "there is no stage between this ring and the one before it".to_owned();
                self.error(span, "empty-actor", message, Some("one ring is enough"));
            }
            match self.role(number, step) {
                Some(Role::Source) if step > 0 => {
                    let message =
                        format!("`{kind}` brings packets in, so it stands first in a chain");
                    self.error(span, "misplaced", message, Some("give it a chain of its own"));
                }
                Some(Role::Sink) if step < last => {
                    let next = &chain.stages[step + 1].entry;
                    let message =
                        format!("nothing comes here: `{kind}` before it ends chain `{name}`");
                    self.error(next.span, "after-the-end", message, None);
                }
                Some(Role::Source | Role::Middle)
                    if step == last && chain.whole && !self.is_end(number, step) =>
                {
                    let message =
                        format!("chain `{name}` ends here, but `{kind}` passes packets on");
                    let help = "end the chain with `Tx(\"PORT\")` or `Drop(\"label\")`";
                    self.error(stage.entry.span, "no-end", message, Some(help));
                }
                Some(_) | None => {}
            }
        }
    }

    /// Every actor has a name of its own.
    fn names(&mut self) {
        let mut taken: Vec<&str> = Vec::new();
        for chain in self.chains {
            if chain
                .steps
                .first()
                .is_some_and(|step| step.as_ref().is_some_and(CheckedStep::is_source))
            {
                taken.push(&chain.name);
            }
        }
        let mut clashes = Vec::new();
        for (chain, entry) in self.chains.iter().zip(&self.description.chains) {
            for (step, stage) in chain.steps.iter().zip(&entry.stages) {
                let Some(CheckedStep::Ring(ring)) = step else { continue };
                if taken.contains(&ring.name.as_str()) {
                    let span = place_of(&self.description.text, &stage.entry, &ring.name);
                    clashes.push((span, ring.name.clone()));
                }
                taken.push(&ring.name);
            }
        }
        for (span, name) in clashes {
            let message = format!("there is an actor `{name}` already");
            self.error(span, "duplicate-actor", message, Some("a ring names the actor behind it"));
        }
    }

    /// Every chain has packets: it brings them in, or another sends them there; never both.
    fn entrances(&mut self) {
        let unknown = |chain: &FoundChain| chain.steps.iter().any(Option::is_none);
        if self.description.incomplete || self.chains.iter().any(unknown) {
            return; // who enters what is not known
        }
        if self.description.chains.is_empty() {
            self.problems.unplaced("no-chains", "there is no chain, so nothing to run".into());
        }
        let edges = self.edges();
        for (number, chain) in self.description.chains.iter().enumerate() {
            let Some(first) = chain.stages.first() else { continue };
            let (name, first) = (&chain.name.text, &first.entry);
            let entered = edges.iter().any(|&(_, to)| to == number);
            let source = self.role(number, 0) == Some(Role::Source);
            if source && entered {
                let kind = &first.kind.text;
                let message = format!("other chains send to `{name}`, but it begins with `{kind}`");
                self.error(first.span, "two-entrances", message, Some("split it in two chains"));
            } else if !source && !entered {
                let message = format!("no packet comes to chain `{name}`");
                let help = "begin it with `Rx(\"PORT\")`, or name it as an output of a stage";
                self.error(chain.name.span, "no-entrance", message, Some(help));
            }
        }
    }

    /// Which chain sends to which.
    fn edges(&self) -> Vec<(usize, usize)> {
        let mut edges = Vec::new();
        for (from, chain) in self.chains.iter().enumerate() {
            for (_, stage) in chain.stages() {
                edges.extend(stage.outputs.iter().map(|&to| (from, to)));
            }
        }
        edges
    }

    /// No way leads from a chain back to itself: within an actor it could not be stepped in order, and over
    /// rings it could wait for itself, and would never end.
    fn circles(&mut self) {
        let edges = self.edges();
        for (number, chain) in self.description.chains.iter().enumerate() {
            let Some(circle) = circle_from(number, &edges) else { continue };
            if circle.iter().any(|&other| other < number) {
                continue; // reported there
            }
            let names: Vec<&str> =
                circle.iter().map(|&at| self.description.chains[at].name.text.as_str()).collect();
            let rings = circle.iter().any(|&at| {
                self.description.chains[at].stages.iter().any(|stage| stage.entry.kind.text == RING)
            });
            let why = if rings {
                "its rings would wait for each other for ever"
            } else {
                "they would never leave"
            };
            let message =
                format!("packets go in a circle: {} -> {}; {why}", names.join(" -> "), names[0]);
            self.error(chain.name.span, "circle", message, Some("send them to a chain that ends"));
        }
    }
}

/// The shortest way from a chain back to itself.
fn circle_from(start: usize, edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut ways = vec![vec![start]];
    let mut seen = vec![];
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let at = *way.last()?;
            for &(_, to) in edges.iter().filter(|&&(from, _)| from == at) {
                if to == start {
                    return Some(way);
                }
                if !seen.contains(&to) {
                    seen.push(to);
                    longer.push([way.as_slice(), &[to]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}
