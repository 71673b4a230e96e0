//! From actors drawn once to all their copies, and from rings drawn once to one for each pair of copies.
//!
//! M copies before a ring and N behind it make M x N rings, since a ring has one producer and one consumer.
//! Where N is more than one, a spreading step in each producer chooses among them. The number of all rings is
//! bounded.

use super::drafts::{At, DraftRing, Drafts, Why};
use super::owners::Layout;
use super::{Plan, PlannedActor, PlannedNode, PlannedRing, PlannedStage, PlannedTarget};
use crate::check::{CheckedChain, CheckedStage, CheckedStep, Spread};
use crate::error::{Problems, Source};
use crate::negotiate::{Exit, added_id};
use corelane_runtime::Error;
use corelane_runtime::actor::OnPanic;
use corelane_runtime::offload::Offload;
use corelane_runtime::packet::HomeConfig;
use corelane_runtime::stage::StageConfig;
use corelane_stages::spread::{self, By, SpreadConfig};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most rings of a plan. Each costs memory, and a look at every step of two actors.
const RINGS_MAX: usize = 4096;

/// Makes actors and rings of chains; CPUs and pools are still to be settled.
pub(super) fn expand(
    chains: Vec<CheckedChain>,
    layout: Layout,
    source: &Source,
) -> Result<Plan, Error> {
    check_rings(&layout)?;
    let spreads = spreads(&layout);
    let places = ring_places(&chains, source);
    let (stages, numbers) = stages(chains, &spreads, source);
    let Layout { drafts, copies } = layout;
    let counts: Vec<usize> = copies.iter().map(|copies| copies.count).collect();
    let expander = Expander { drafts: &drafts, counts: &counts, numbers: &numbers, places };
    let mut actors = Vec::new();
    for (number, (draft, copies)) in drafts.actors.iter().zip(&copies).enumerate() {
        for copy in 0..copies.count {
            let pinned = &copies.pinned;
            let name = expander.name(number, copy);
            actors.push(PlannedActor {
                base: draft.name.clone(),
                copy: (copy, copies.count),
                why_copies: copies.why.clone(),
                cpu: (!pinned.is_empty()).then(|| pinned[copy % pinned.len()]),
                why: String::new(),
                nodes: expander.nodes(number, copy),
                home: HomeConfig { name: name.clone(), shells: 0, small: 0, large: 0, node: None },
                name,
            });
        }
    }
    let rings = expander.rings();
    Ok(Plan {
        name: String::new(),
        hash: String::new(),
        ports: Vec::new(),
        stages,
        actors,
        rings,
        hash_seed: None,
        idle: None,
        cpus: 0,
        left_free: Vec::new(),
        warnings: Problems::none(),
        files: Vec::new(),
        contracts: Vec::new(),
        ways: Vec::new(),
        own_ports: BTreeMap::new(),
        source: Arc::default(),
    })
}

/// Refuses more rings than there may be, with the sum.
fn check_rings(layout: &Layout) -> Result<(), Error> {
    let copies = |actor: usize| layout.copies[actor].count;
    let of = |ring: &DraftRing| copies(ring.from).saturating_mul(copies(ring.to));
    let total = layout.drafts.rings.iter().map(of).fold(0, usize::saturating_add);
    if total <= RINGS_MAX {
        return Ok(());
    }
    let name = |actor: usize| layout.drafts.actors[actor].name.as_str();
    let terms = layout.drafts.rings.iter().filter(|ring| of(ring) > 1).map(|ring| {
        let (from, to) = (ring.from, ring.to);
        format!("{} {} x {} {}", copies(from), name(from), copies(to), name(to))
    });
    let message = format!(
        "{total} rings are needed ({}), more than {RINGS_MAX}; ask for fewer copies",
        terms.collect::<Vec<_>>().join(" + ")
    );
    Err(Error::user("cores", message))
}

/// Where packets are spread, over how many copies, by what.
type Spreads = BTreeMap<At, (usize, Spread)>;

fn spreads(layout: &Layout) -> Spreads {
    let rings = layout.drafts.rings.iter();
    let ways = rings.map(|ring| (ring.key, (layout.copies[ring.to].count, ring.by)));
    ways.filter(|(_, (ways, _))| *ways > 1).collect()
}

/// Where the file has its rings.
fn ring_places(chains: &[CheckedChain], source: &Source) -> BTreeMap<At, String> {
    let steps = chains.iter().enumerate().flat_map(|(number, chain)| {
        chain.steps.iter().enumerate().map(move |(step, content)| ((number, step), content))
    });
    let rings = steps.filter_map(|(at, content)| match content {
        CheckedStep::Ring(ring) => Some((at, source.place_name(ring.span))),
        CheckedStep::Stage(_) => None,
    });
    rings.collect()
}

/// Numbers of stages: by their place, and of the spreading step at a place.
struct Numbers {
    stages: BTreeMap<At, usize>,
    spreads: BTreeMap<At, usize>,
}

/// All stages in the order of the file, spreading steps in their places.
fn stages(
    chains: Vec<CheckedChain>,
    spreads: &Spreads,
    source: &Source,
) -> (Vec<PlannedStage>, Numbers) {
    let mut numbers = Numbers { stages: BTreeMap::new(), spreads: BTreeMap::new() };
    let mut stages: Vec<PlannedStage> = Vec::new();
    for (number, chain) in chains.into_iter().enumerate() {
        let indices: Vec<Option<usize>> = chain
            .steps
            .iter()
            .map(|step| super::copies::stage_of(step).map(|stage| stage.index))
            .collect();
        let ids: Vec<String> = (0..chain.steps.len()).map(|step| id_of(&chain, step)).collect();
        for (step, content) in chain.steps.into_iter().enumerate() {
            let at = (number, step);
            let id = ids[step].clone();
            if let Some(&(ways, by)) = spreads.get(&at) {
                let index = indices[step..].iter().flatten().next().copied().unwrap_or_default();
                let taken = stages.iter().map(|stage| stage.id.as_str());
                let id = free_id(&chain.name, index, taken);
                numbers.spreads.insert(at, stages.len());
                stages.push(spreading(&chain.name, id, index, ways, by));
            }
            if let CheckedStep::Stage(stage) = content {
                numbers.stages.insert(at, stages.len());
                stages.push(planned(&chain.name, id, stage, source));
            }
        }
    }
    (stages, numbers)
}

/// `main.+Spread`, or with its index where the chain has several.
fn free_id<'a>(chain: &str, index: usize, mut taken: impl Iterator<Item = &'a str>) -> String {
    let id = format!("{chain}.+{}", spread::INFO.name);
    if taken.any(|known| known == id) { format!("{id}/{index}") } else { id }
}

fn spreading(chain: &str, id: String, index: usize, ways: usize, by: Spread) -> PlannedStage {
    let by = match by {
        Spread::Flow => By::Flow,
        Spread::InnerFlow => By::InnerFlow,
    };
    let config = SpreadConfig { ways, by };
    PlannedStage {
        id,
        chain: chain.to_owned(),
        index,
        name: None,
        added: true,
        info: &spread::INFO,
        traits: config.traits(),
        config: Box::new(config),
        on_panic: OnPanic::default(),
        offload: Offload::Auto,
        written: spread::INFO.name.to_owned(),
        place: None,
        verdicts: Vec::new(),
        exit: Exit::default(),
        note: None,
        entries: Vec::new(),
        exits: Vec::new(),
        answers: Vec::new(),
    }
}

/// What reports call a stage.
fn id_of(chain: &CheckedChain, step: usize) -> String {
    match &chain.steps[step] {
        CheckedStep::Stage(stage) if stage.added => {
            added_id(&chain.name, stage, chain.steps[..step].iter())
        }
        CheckedStep::Stage(stage) => format!("{}.{}", chain.name, stage.index),
        CheckedStep::Ring(_) => String::new(),
    }
}

fn planned(chain: &str, id: String, stage: CheckedStage, source: &Source) -> PlannedStage {
    PlannedStage {
        id,
        chain: chain.to_owned(),
        index: stage.index,
        name: stage.name,
        added: stage.added,
        info: stage.info,
        traits: stage.traits,
        config: stage.config,
        on_panic: stage.on_panic,
        offload: stage.offload,
        written: stage.written,
        place: stage.span.map(|span| source.place_name(span)),
        verdicts: stage.verdicts,
        exit: stage.exit,
        note: stage.note,
        entries: stage.entries,
        exits: stage.exits,
        answers: stage.answers.into_iter().map(|answer| answer.port).collect(),
    }
}

struct Expander<'a> {
    drafts: &'a Drafts,
    counts: &'a [usize],
    numbers: &'a Numbers,
    /// Where the rings of the file stand.
    places: BTreeMap<At, String>,
}

impl Expander<'_> {
    /// The number of an actor's first copy.
    fn first(&self, actor: usize) -> usize {
        self.counts[..actor].iter().sum()
    }

    fn name(&self, actor: usize, copy: usize) -> String {
        let name = &self.drafts.actors[actor].name;
        if self.counts[actor] > 1 { format!("{name}#{copy}") } else { name.clone() }
    }

    /// The ring of a pair of copies.
    fn ring(&self, ring: usize, from: usize, to: usize) -> usize {
        let pairs = |ring: &DraftRing| self.counts[ring.from] * self.counts[ring.to];
        let before: usize = self.drafts.rings[..ring].iter().map(pairs).sum();
        before + from * self.counts[self.drafts.rings[ring].to] + to
    }

    /// The nodes of one copy; spreading steps come last.
    fn nodes(&self, actor: usize, copy: usize) -> Vec<PlannedNode> {
        let draft = &self.drafts.actors[actor];
        let mut spreads: Vec<usize> = Vec::new();
        let mut nodes = Vec::new();
        for (at, targets) in &draft.nodes {
            let targets = targets.iter().map(|target| match *target {
                PlannedTarget::Ring(ring) if self.counts[self.drafts.rings[ring].to] == 1 => {
                    PlannedTarget::Ring(self.ring(ring, copy, 0))
                }
                PlannedTarget::Ring(ring) => {
                    let known = spreads.iter().position(|known| *known == ring);
                    let place = known.unwrap_or_else(|| {
                        spreads.push(ring);
                        spreads.len() - 1
                    });
                    PlannedTarget::Node(draft.nodes.len() + place)
                }
                PlannedTarget::Node(_) | PlannedTarget::Nowhere => *target,
            });
            let targets = targets.collect();
            nodes.push(PlannedNode { stage: self.numbers.stages[at], targets });
        }
        nodes.extend(spreads.into_iter().map(|ring| {
            let DraftRing { key, to, .. } = self.drafts.rings[ring];
            let ways = 0..self.counts[to];
            let targets = ways.map(|way| PlannedTarget::Ring(self.ring(ring, copy, way))).collect();
            PlannedNode { stage: self.numbers.spreads[&key], targets }
        }));
        nodes
    }

    fn rings(&self) -> Vec<PlannedRing> {
        let mut rings = Vec::new();
        for ring in &self.drafts.rings {
            let reason = self.reason(ring);
            for from in 0..self.counts[ring.from] {
                for to in 0..self.counts[ring.to] {
                    rings.push(PlannedRing {
                        name: self.ring_name(ring, from, to),
                        from: self.first(ring.from) + from,
                        to: (self.first(ring.to) + to, 0),
                        capacity: ring.capacity,
                        on_full: ring.on_full,
                        place: self.places.get(&ring.key).cloned(),
                        reason: reason.clone(),
                    });
                }
            }
        }
        rings
    }

    /// The copy behind it; where it is not the only ring into that, the one before it too. Has none of the signs
    /// that compare, so that expectations can name it.
    fn ring_name(&self, ring: &DraftRing, from: usize, to: usize) -> String {
        let (producer, consumer) = (self.name(ring.from, from), self.name(ring.to, to));
        let into = self.drafts.rings.iter().filter(|other| other.to == ring.to);
        match into.map(|other| self.counts[other.from]).sum() {
            1_usize => consumer,
            _ => format!("{consumer} from {producer}"),
        }
    }

    /// Why there is a ring, with the numbers of copies on both sides.
    fn reason(&self, ring: &DraftRing) -> String {
        let into = || self.drafts.rings.iter().filter(|other| other.to == ring.to);
        let senders: usize = into().map(|other| self.counts[other.from]).sum();
        let ways = self.counts[ring.to];
        let copied = into().count() == 1;
        let senders_text = match (senders, copied) {
            (1, _) => "1 actor sends to it".to_owned(),
            (_, true) => format!("{senders} copies send to it"),
            (_, false) => format!("{senders} actors send to it"),
        };
        match &ring.why {
            Why::Written => {
                let by = match ring.by {
                    Spread::Flow => "flow",
                    Spread::InnerFlow => "inner flow",
                };
                match (senders, ways) {
                    (1, 1) => "the file has it".to_owned(),
                    (_, 1) => format!("the file has it; {senders} x 1 = {senders} rings"),
                    (_, _) => format!(
                        "the file has it, spread by {by}; {senders} x {ways} = {} rings",
                        senders * ways
                    ),
                }
            }
            Why::OneReader(words) => {
                format!("{words}; packets are spread by flow over {ways} copies")
            }
            Why::FewTransmit { port, queues } => {
                let queues = super::copies::number(*queues, "queue");
                format!("{port} has {queues}, {senders_text}")
            }
            Why::Exclusive(kind) => {
                format!("`{kind}` keeps one state for all: one owner, {senders_text}")
            }
        }
    }
}
