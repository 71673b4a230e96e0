//! What can be there only once though it is wanted more often: it gets an owner behind a ring.
//!
//! A stage that keeps one state for all, a transmit queue that several copies share, and a receive queue whose
//! packets are for several copies. Cuts are added one by one until nothing is there too often. A cut before a
//! port stands before the finishing steps, so that superpackets cross the ring uncut.
//!
//! No cut makes a circle of actors: chains form none, and a cut only says where on its way a packet changes
//! actors. `cycles` checks that all the same.

use super::copies::{Copies, Limits, number};
use super::drafts::{At, Cut, Cuts, Draft, Drafts, Why, draw};
use crate::check::{Checked, CheckedStage, CheckedStep};
use crate::negotiate::{NEIGHBOUR, is_finishing};
use crate::spec::Cores;
use corelane_runtime::Error;
use corelane_runtime::stage::spec::{Role, Sharing};
use corelane_runtime::topology::Machine;

/// Actors, rings and copies, settled.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) drafts: Drafts,
    /// Of each actor.
    pub(super) copies: Vec<Copies>,
}

/// Draws actors and counts copies until nothing is there more often than it can be.
pub(super) fn settle(checked: &Checked, machine: &Machine) -> Result<Layout, Error> {
    let mut limits = Limits::new(checked, machine)?;
    let mut cuts = Cuts::new();
    loop {
        let drafts = draw(&checked.chains, &cuts);
        let copies = limits.count(&drafts)?;
        let settling = Settling { limits: &limits, drafts: &drafts, copies: &copies };
        match settling.next_cut()? {
            Some((at, cut)) if !cuts.contains_key(&at) => {
                cuts.insert(at, cut);
            }
            Some((_, cut)) => {
                let message =
                    format!("`{}` cannot be cut off once more; ask for fewer CPUs", cut.name);
                return Err(Error::user("cores", message));
            }
            None if limits.most > 1 && has_idle_owner(&drafts, &copies) => {
                // So few cores are left beside the owner that nothing is gained by it.
                limits.most = 1;
                cuts.clear();
            }
            None => {
                known_actors(&checked.cores, &drafts)?;
                return Ok(Layout { drafts, copies });
            }
        }
    }
}

/// Whether a ring of the planner's has one sender, so that without copies nobody would need it.
fn has_idle_owner(drafts: &Drafts, copies: &[Copies]) -> bool {
    let owners = drafts.rings.iter().filter(|ring| drafts.actors[ring.to].single.is_some());
    owners.map(|ring| ring.to).any(|to| {
        let into = drafts.rings.iter().filter(|ring| ring.to == to);
        into.map(|ring| copies[ring.from].count).sum::<usize>() == 1
    })
}

/// Refuses pins of actors that are not there.
fn known_actors(cores: &Cores, drafts: &Drafts) -> Result<(), Error> {
    let Cores::Pin(pins) = cores else { return Ok(()) };
    for (name, _) in pins {
        if !drafts.actors.iter().any(|draft| draft.name == *name) {
            let names: Vec<&str> = drafts.actors.iter().map(|draft| draft.name.as_str()).collect();
            let message =
                format!("no actor is called `{name}`; the actors are {}", names.join(", "));
            return Err(Error::user("cores", message));
        }
    }
    Ok(())
}

struct Settling<'a> {
    limits: &'a Limits<'a>,
    drafts: &'a Drafts,
    copies: &'a [Copies],
}

impl Settling<'_> {
    /// The first place, in the order packets take, where a cut is needed.
    fn next_cut(&self) -> Result<Option<(At, Cut)>, Error> {
        for (draft, copies) in self.drafts.actors.iter().zip(self.copies) {
            for &(at, _) in &draft.nodes {
                let Some(stage) = self.limits.stage(at) else { continue };
                let cut = match stage.info.role {
                    Role::Source => self.reader(draft, copies, stage)?,
                    Role::Middle | Role::Sink => self.owner(draft, at, stage)?,
                };
                if cut.is_some() {
                    return Ok(cut);
                }
            }
        }
        Ok(None)
    }

    /// The copies of all actors that a stage is in.
    fn instances(&self, at: At) -> usize {
        let in_it = self
            .drafts
            .actors
            .iter()
            .zip(self.copies)
            .filter(|(draft, _)| draft.nodes.iter().any(|(place, _)| *place == at));
        in_it.map(|(_, copies)| copies.count).sum()
    }

    /// A cut behind a source of which there are more copies than it can have.
    fn reader(
        &self,
        draft: &Draft,
        copies: &Copies,
        source: &CheckedStage,
    ) -> Result<Option<(At, Cut)>, Error> {
        let (limit, words) = self.limits.readers(source);
        if limit.is_none_or(|limit| copies.count <= limit) {
            return Ok(None);
        }
        let behind = (draft.start.0, draft.start.1 + 1);
        if self.limits.stage(behind).is_none() {
            let message = format!(
                "`{}` is pinned to {} CPUs, but {words} and it does nothing else than read; pin what is behind its ring",
                draft.name, copies.count
            );
            return Err(Error::user("cores", message));
        }
        let port = source.traits.port.as_deref().unwrap_or(source.info.name);
        let cut = Cut {
            name: draft.name.clone(),
            before: Some(self.free_name(format!("{port}.rx"))),
            words: words.clone(),
            why: Why::OneReader(words),
        };
        Ok(Some((behind, cut)))
    }

    /// A cut before a stage that is there more often than it can be.
    fn owner(
        &self,
        draft: &Draft,
        at: At,
        stage: &CheckedStage,
    ) -> Result<Option<(At, Cut)>, Error> {
        let instances = self.instances(at);
        let chain = &self.limits.checked.chains[at.0].name;
        let exclusive = stage.traits.sharing == Sharing::Exclusive;
        let port = self.limits.port(stage).filter(|_| stage.info.role == Role::Sink);
        let share = port.and_then(|port| port.share(Role::Sink));
        let (places, cut) = if exclusive && instances > 1 {
            let kind = stage.info.name;
            let name = self.free_name(format!("{chain}.{kind}"));
            let words = format!("`{kind}` keeps one state for all");
            (vec![at], Cut { name, before: None, words, why: Why::Exclusive(kind) })
        } else if let (Some(port), Some(share)) = (port, share)
            && instances > share
        {
            let queues = port.queues(Role::Sink).unwrap_or(share);
            let name = self.free_name(format!("{}.tx", port.name));
            let why = Why::FewTransmit { port: port.name.to_owned(), queues };
            let words = format!("{} has {}", port.name, number(queues, "queue"));
            (self.finishing(at), Cut { name, before: None, words, why })
        } else {
            return Ok(None);
        };
        // What several copies begin with cannot be cut off from them.
        let begins = |place: At| {
            let all = self.drafts.actors.iter().zip(self.copies);
            all.into_iter().any(|(draft, copies)| draft.start == place && copies.count > 1)
        };
        match places.into_iter().find(|&place| !begins(place)) {
            Some(place) => Ok(Some((place, cut))),
            None => {
                let message = format!(
                    "{instances} copies of `{}` begin with `{}`, but {}; ask for one copy",
                    draft.name, stage.written, cut.words
                );
                Err(Error::user("cores", message))
            }
        }
    }

    /// A port and the finishing steps right before it, the first step first.
    fn finishing(&self, tx: At) -> Vec<At> {
        let steps = &self.limits.checked.chains[tx.0].steps[..tx.1];
        let finishes = |step: &CheckedStep| {
            let neighbour = matches!(step, CheckedStep::Stage(stage)
                if stage.info.name == NEIGHBOUR && stage.traits.holds > 0);
            is_finishing(step) || neighbour
        };
        let count = steps.iter().rev().take_while(|step| finishes(step)).count();
        (tx.1 - count..=tx.1).map(|step| (tx.0, step)).collect()
    }

    /// A name that no actor has yet.
    fn free_name(&self, wanted: String) -> String {
        let checked = self.limits.checked;
        let rings = checked.chains.iter().flat_map(|chain| &chain.steps).filter_map(|step| {
            if let CheckedStep::Ring(ring) = step { Some(ring.name.as_str()) } else { None }
        });
        let chains = checked.chains.iter().map(|chain| chain.name.as_str());
        let drafts = self.drafts.actors.iter().map(|draft| draft.name.as_str());
        let taken: Vec<&str> = rings.chain(chains).chain(drafts).collect();
        let mut name = wanted.clone();
        let mut next = 2;
        while taken.contains(&name.as_str()) {
            name = format!("{wanted}/{next}");
            next += 1;
        }
        name
    }
}
