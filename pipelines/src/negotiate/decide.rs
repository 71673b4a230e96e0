//! Step by step in the order packets take: what may come, what is decided about it, what is handed on.

use super::exits::exits;
use super::flow::Flow;
use super::graph::{At, Graph, id, port_out, stage, title};
use super::verdict::{Absent, Entry, Site};
use super::{Contract, Exit, Verdict};
use crate::check::{Checked, CheckedChain, CheckedPort, CheckedStage, CheckedStep};
use crate::error::Source;
use crate::text::Span;
use corelane_runtime::offload::{Answer, Caps, Looks, Need, Offload};
use corelane_runtime::packet::Tunnel;
use corelane_runtime::stage::spec::Role;
use std::collections::BTreeSet;

/// What was decided, node by node.
pub(super) struct Decided {
    pub(super) graph: Graph,
    pub(super) exits: Vec<Exit>,
    /// The stages that bring in what comes to each.
    pub(super) sources: Vec<BTreeSet<usize>>,
    /// The stages that what leaves each may end at.
    pub(super) sinks: Vec<BTreeSet<usize>>,
    pub(super) needs: Vec<Vec<Need>>,
    pub(super) verdicts: Vec<Vec<Verdict>>,
    /// The stages ahead of each that take packets out of tunnels.
    openers: Vec<BTreeSet<usize>>,
    /// The stages whose superpackets may be among those that each hands on.
    makers: Vec<BTreeSet<usize>>,
    /// Why it was added, where it was.
    pub(super) notes: Vec<Option<String>>,
    /// What may come to each, and what it hands on.
    pub(super) came: Vec<Flow>,
    pub(super) left: Vec<Flow>,
}

/// Decides for each stage.
pub(super) fn decide(checked: &Checked, source: &Source) -> Decided {
    let chains = &checked.chains;
    let graph = Graph::of(chains);
    let exits = exits(chains, &graph);
    let is_source = |node: usize| {
        let stage = stage(chains, graph.at[node]);
        stage.filter(|stage| stage.info.role == Role::Source).map(|_| node)
    };
    let sources = graph.behind(is_source);
    let is_sink = |node: usize| stage(chains, graph.at[node]).and_then(port_out).map(|_| node);
    let sinks = graph.ahead(is_sink);
    let opens = |stage: &&CheckedStage| stage.traits.decapsulates.is_some();
    let openers = graph.ahead(|node| stage(chains, graph.at[node]).filter(opens).map(|_| node));
    let count = graph.at.len();
    let mut decided = Decided {
        graph,
        exits,
        sources,
        sinks,
        openers,
        needs: vec![Vec::new(); count],
        verdicts: vec![Vec::new(); count],
        makers: vec![BTreeSet::new(); count],
        notes: vec![None; count],
        came: vec![Flow::default(); count],
        left: vec![Flow::default(); count],
    };
    let behind = Behind::of(checked, &decided);
    for node in 0..count {
        decided.node(checked, source, &behind, node);
    }
    decided
}

/// The port of that name.
pub(super) fn port<'a>(checked: &'a Checked, name: &str) -> Option<&'a CheckedPort> {
    checked.ports.iter().find(|port| port.name == name)
}

/// The needs there are: what is asked about tunnels means nothing where no packet comes in such a one.
fn concerning(needs: Vec<Need>, came: &Flow) -> Vec<Need> {
    let tunnels = Looks::CARRIED | Looks::PARTIAL_INSIDE;
    let comes = |need: &Need| {
        need.about.is_empty() || !tunnels.contains(need.about) || came.looks.intersects(need.about)
    };
    needs.into_iter().filter(comes).collect()
}

/// Where the file has a stage; for one that was added, where it has the `Tx` that it was added before.
pub(super) fn span(chains: &[CheckedChain], (chain, step): At) -> Option<Span> {
    let steps = chains[chain].steps.get(step..)?;
    steps.iter().find_map(|step| match step {
        CheckedStep::Stage(stage) => stage.span,
        CheckedStep::Ring(_) => None,
    })
}

/// The stages behind each node that settle something, to say who did.
struct Behind {
    cutters: Vec<BTreeSet<usize>>,
    fillers: Vec<BTreeSet<usize>>,
    checkers: Vec<BTreeSet<usize>>,
}

impl Behind {
    fn of(checked: &Checked, decided: &Decided) -> Behind {
        let such = |is: fn(&CheckedStage) -> bool| {
            decided.graph.behind(|node| {
                let stage = stage(&checked.chains, decided.graph.at[node]);
                stage.filter(|stage| is(stage)).map(|_| node)
            })
        };
        Behind {
            cutters: such(|stage| stage.traits.cuts),
            fillers: such(|stage| {
                stage.config.needs().iter().any(|need| need.about.intersects(Looks::PARTIAL))
            }),
            checkers: such(|stage| stage.traits.checks),
        }
    }
}

impl Decided {
    fn node(&mut self, checked: &Checked, source: &Source, behind: &Behind, node: usize) {
        let chains = &checked.chains;
        let before = &self.graph.before[node];
        let mut came = before.iter().fold(Flow::default(), |sum, &from| sum.or(&self.left[from]));
        came.by_flow |= before.len() > 1;
        let Some(stage) = stage(chains, self.graph.at[node]) else {
            came.by_flow |= is_spread(chains, self.graph.at[node]);
            (self.came[node], self.left[node]) = (came.clone(), came);
            self.makers[node] = self.makers_before(node);
            return;
        };
        if stage.info.role == Role::Source {
            let port = stage.traits.port.as_deref().and_then(|name| port(checked, name));
            came = port.map_or_else(Flow::from_nowhere, Flow::from_port);
        }
        let needs = concerning(stage.config.needs(), &came);
        let out = match &self.exits[node] {
            Exit::Port(name) if stage.info.role != Role::Sink => port(checked, name),
            _ => None,
        };
        let site = Site {
            looks: came.looks,
            carried: &came.carried,
            opened: self.opened(chains, node),
            any: came.any,
            offload: stage.offload,
            place: self.place(chains, source, node),
            kind: stage.info.name,
            entries: self.entries(checked, source, node),
            exit: &self.exits[node],
            out,
            one_part: if stage.traits.cuts { self.one_part(checked, node) } else { Vec::new() },
            place_of: &|span| source.place_name(span),
            absent: self.absent(checked, behind, node, &came),
        };
        let verdicts = site.decide_all(&needs);
        self.notes[node] = stage.added.then(|| self.note(checked, node, &came)).flatten();
        let facts = out.map(|port| &port.facts);
        self.left[node] = came.through(stage, &needs, &verdicts, facts);
        self.makers[node] = self.makers_of(stage, node);
        (self.came[node], self.needs[node], self.verdicts[node]) = (came, needs, verdicts);
    }

    /// The tunnels that stages ahead take packets out of.
    fn opened(&self, chains: &[CheckedChain], node: usize) -> BTreeSet<(Tunnel, u16)> {
        let ahead = self.openers[node].iter();
        let ahead = ahead.filter_map(|&other| Some(&stage(chains, self.graph.at[other])?.traits));
        let kinds = ahead.filter_map(|traits| Some((traits.decapsulates?, &traits.tunnel_ports)));
        let each = kinds.flat_map(|(kind, ports)| match ports.as_slice() {
            [] => vec![(kind, 0)],
            ports => ports.iter().map(|&port| (kind, port)).collect(),
        });
        each.collect()
    }

    fn place(&self, chains: &[CheckedChain], source: &Source, node: usize) -> String {
        let span = span(chains, self.graph.at[node]);
        span.map_or(String::new(), |span| source.place_name(span))
    }

    /// The ports ahead that take no packets of several parts.
    fn one_part<'a>(&self, checked: &'a Checked, node: usize) -> Vec<&'a str> {
        let sinks = self.sinks[node].iter();
        let names = sinks.filter_map(|&to| port_out(stage(&checked.chains, self.graph.at[to])?));
        let names: BTreeSet<&str> = names.collect();
        let ports = checked.ports.iter().filter(|port| names.contains(port.name.as_str()));
        let ports = ports.filter(|port| !port.facts.granted.contains(Caps::MULTI_PART));
        ports.map(|port| port.name.as_str()).collect()
    }

    fn entries<'a>(&self, checked: &'a Checked, source: &Source, node: usize) -> Vec<Entry<'a>> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for &from in &self.sources[node] {
            let Some(rx) = stage(&checked.chains, self.graph.at[from]) else { continue };
            let name = rx.traits.port.as_deref().unwrap_or_default();
            let Some(port) = port(checked, name) else { continue };
            let software = rx.offload == Offload::SoftwareOnly && from != node;
            let ignored = software.then(|| self.place(&checked.chains, source, from));
            let known = |entry: &Entry<'_>| {
                entry.port.name == port.name && entry.ignored.is_some() == ignored.is_some()
            };
            if !entries.iter().any(known) {
                entries.push(Entry { port, ignored });
            }
        }
        entries
    }

    /// Why packets of some kind do not come, where they do not: who has dealt with them, or that nobody makes them.
    fn absent(&self, checked: &Checked, behind: &Behind, node: usize, came: &Flow) -> Absent {
        let who = |nodes: &BTreeSet<usize>, had: Looks| {
            let nodes = nodes.iter().filter(|&&other| {
                other != node && (had.is_empty() || self.came[other].looks.intersects(had))
            });
            let titles = nodes.map(|&other| title(&checked.chains, self.graph.at[other]));
            titles.collect::<Vec<_>>().join(" and ")
        };
        let ports = |asked: Caps| {
            let ports = self.sources[node].iter().filter_map(|&from| {
                stage(&checked.chains, self.graph.at[from])?.traits.port.as_deref()
            });
            let said = ports.map(|name| {
                let answer = port(checked, name).map(|port| port.facts.answer(asked));
                let word = if answer == Some(Answer::Unknown) { "Unknown" } else { "No" };
                format!("{name}: {} = {word}", asked.names())
            });
            said.collect::<Vec<_>>().join("; ")
        };
        let cut = who(&behind.cutters[node], Looks::SUPER | Looks::BARE);
        let filled = who(&behind.fillers[node], Looks::PARTIAL);
        let supers = match cut.is_empty() {
            true => format!("nothing joins packets before this; {}", ports(Caps::RX_HW_GRO)),
            false => format!("{cut} {} cut what was joined before", has(&cut)),
        };
        let partial = match (filled.is_empty(), cut.is_empty(), came.looks.has_supers()) {
            (false, ..) => format!("{filled} {} finished them", has(&filled)),
            (true, true, _) => {
                format!("packets come with their checksums; {}", ports(Caps::RX_PARTIAL))
            }
            (true, false, true) => format!(
                "the port sums what it cuts; {cut} {} the rest from what is known of its pieces",
                if several(&cut) { "sum" } else { "sums" }
            ),
            (true, false, false) => {
                let verb = if several(&cut) { "complete" } else { "completes" };
                format!("{cut} {verb} checksums from what is known of the pieces")
            }
        };
        let checkers = who(&behind.checkers[node], Looks::empty());
        Absent { supers, partial, unchecked: format!("{checkers} {} checked them", has(&checkers)) }
    }

    fn makers_before(&self, node: usize) -> BTreeSet<usize> {
        let before = self.graph.before[node].iter();
        before.flat_map(|&from| self.makers[from].iter().copied()).collect()
    }

    /// Whose superpackets a stage hands on; its own among them, if it makes any.
    fn makers_of(&self, stage: &CheckedStage, node: usize) -> BTreeSet<usize> {
        let mut makers = self.makers_before(node);
        let makes = stage.traits.coalesces || stage.traits.makes.has_supers();
        if makes || stage.info.role == Role::Source {
            makers.insert(node);
        }
        if self.left[node].looks.has_supers() { makers } else { BTreeSet::new() }
    }

    /// Why a step was added, and what for.
    fn note(&self, checked: &Checked, node: usize, came: &Flow) -> Option<String> {
        let stage = stage(&checked.chains, self.graph.at[node])?;
        let Exit::Port(port) = &self.exits[node] else { return None };
        if !stage.traits.cuts {
            return Some(match came.looks.intersects(Looks::PARTIAL) {
                true => format!(
                    "packets may lack a checksum, and what `{port}` cannot finish is finished here"
                ),
                false => "before every Tx; here there is nothing to finish".to_owned(),
            });
        }
        let who = self.makers_before(node);
        let who: Vec<String> =
            who.into_iter().map(|from| title(&checked.chains, self.graph.at[from])).collect();
        Some(match came.looks.has_supers() {
            true => format!(
                "superpackets come from {}, and what `{port}` cannot cut is cut here",
                who.join(" and ")
            ),
            false => "before every Tx; here there is nothing to cut".to_owned(),
        })
    }

    /// What packets may look like on each edge, in the order of the file.
    pub(super) fn contracts(&self, chains: &[CheckedChain]) -> Vec<Contract> {
        let mut edges = Vec::new();
        for (node, next) in self.graph.next.iter().enumerate() {
            let flow = &self.left[node];
            edges.extend(next.iter().map(|&to| (self.graph.at[node], self.graph.at[to], flow)));
        }
        edges.sort_by_key(|&(from, to, _)| (from, to));
        let contract = |(from, to, flow): (At, At, &Flow)| Contract {
            from: id(chains, from),
            to: id(chains, to),
            superpackets: flow.kinds(),
            refinements: flow.refinements(),
            partial: flow.looks.intersects(Looks::PARTIAL) || flow.looks.has_supers(),
            largest: flow.largest,
            order: if flow.by_flow { "flow" } else { "port" },
        };
        edges.into_iter().map(contract).collect()
    }

    /// Puts what was decided into the stages.
    pub(super) fn write(self, chains: &mut [CheckedChain]) {
        let ends = |nodes: &[BTreeSet<usize>]| -> Vec<Vec<String>> {
            nodes.iter().map(|nodes| ports_of(chains, &self.graph, nodes)).collect()
        };
        let ends = ends(&self.sources).into_iter().zip(ends(&self.sinks));
        let decided = self.exits.into_iter().zip(self.verdicts).zip(self.notes).zip(ends);
        for ((chain, step), (((exit, verdicts), note), (entries, exits))) in
            self.graph.at.into_iter().zip(decided)
        {
            if let CheckedStep::Stage(stage) = &mut chains[chain].steps[step] {
                // Who added it may have said why already.
                stage.note = stage.note.take().or(note);
                (stage.exit, stage.verdicts) = (exit, verdicts);
                (stage.entries, stage.exits) = (entries, exits);
            }
        }
    }
}

/// The ports that these stages stand on, each once.
fn ports_of(chains: &[CheckedChain], graph: &Graph, nodes: &BTreeSet<usize>) -> Vec<String> {
    let stages = nodes.iter().filter_map(|&node| stage(chains, graph.at[node]));
    let names: BTreeSet<&String> = stages.filter_map(|stage| stage.traits.port.as_ref()).collect();
    names.into_iter().cloned().collect()
}

/// Whether these titles are of several stages.
fn several(titles: &str) -> bool {
    titles.contains(" and ")
}

fn has(titles: &str) -> &'static str {
    if several(titles) { "have" } else { "has" }
}

/// Whether packets are spread over several actors there.
fn is_spread(chains: &[CheckedChain], (chain, step): At) -> bool {
    matches!(&chains[chain].steps[step], CheckedStep::Ring(ring) if ring.ways > 1)
}
