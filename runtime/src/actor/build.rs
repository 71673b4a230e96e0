//! Putting an actor together: nodes in topological order, rings at its ends, one home.

use super::mailbox::{ActorHandle, Mailbox};
use super::node::{Body, Node, NodeState, OnPanic};
use super::{Actor, Intake, Phase};
use crate::edge::{EdgeRx, EdgeTx};
use crate::exec::Waker;
use crate::packet::{Buffers, Burst, Units};
use crate::stage::spec::Factory;
use crate::stage::{Source, Stage, Tally, Target};
use std::sync::Arc;

/// A stage to be put in an actor.
pub struct NodeConfig {
    /// Its number in the plan.
    pub stage: usize,
    /// For messages: `main.2 Gro`.
    pub name: String,
    /// What it does.
    pub body: NodeBody,
    /// Where its outputs lead; nodes must have a higher index than this one.
    pub targets: Vec<Target>,
    /// Number of drop reasons it declared.
    pub reasons: usize,
    /// Number of counters it declared.
    pub counters: usize,
    /// It may emit more packets than it takes.
    pub multiplies: bool,
    /// It sends copies by its named outputs, which never hold it up.
    pub mirrors: bool,
    /// What to do when it panics.
    pub on_panic: OnPanic,
}

/// The working part of a node.
pub enum NodeBody {
    /// Brings packets in.
    Source(Box<dyn Source>),
    /// Handles packets; with a factory it can be restarted.
    Stage(Box<dyn Stage>, Option<Factory>),
}

/// Collects the pieces of an actor.
pub struct ActorBuilder {
    name: String,
    nodes: Vec<Node>,
    intakes: Vec<Intake>,
    edges: Vec<EdgeTx>,
    waker: Arc<Waker>,
}

impl ActorBuilder {
    /// An actor without stages, woken by `waker`.
    pub fn new(name: &str, waker: Arc<Waker>) -> ActorBuilder {
        let name = name.to_owned();
        ActorBuilder { name, nodes: Vec::new(), intakes: Vec::new(), edges: Vec::new(), waker }
    }

    /// Adds a ring this actor feeds; returns its number for [`Target::Edge`].
    pub fn feed(&mut self, edge: EdgeTx) -> usize {
        self.edges.push(edge);
        self.edges.len() - 1
    }

    /// Adds a ring this actor reads into node `node`.
    pub fn read(&mut self, edge: EdgeRx, node: usize) {
        self.intakes.push(Intake { edge, node, finished: false, stopped: Units::default() });
    }

    /// Adds a stage; returns its number for [`Target::Node`].
    pub fn node(&mut self, config: NodeConfig) -> usize {
        let index = self.nodes.len();
        let forward = |target: &Target| !matches!(target, Target::Node(to) if *to <= index);
        assert!(config.targets.iter().all(forward), "stages are added in the order packets take");
        let (body, factory) = match config.body {
            NodeBody::Source(source) => (Body::Source(source), None),
            NodeBody::Stage(stage, factory) => (Body::Stage(stage), factory),
        };
        let deadline = match &body {
            Body::Stage(stage) => stage.next_deadline(),
            Body::Source(_) | Body::Bypass | Body::Discard => None,
        };
        self.nodes.push(Node {
            stage: config.stage,
            name: config.name,
            sent: vec![Units::default(); config.targets.len()],
            targets: config.targets,
            reach: Vec::new(),
            tally: Tally::new(config.reasons, config.counters),
            lost: Default::default(),
            panics: Vec::with_capacity(16),
            bursts: 0,
            body,
            factory,
            on_panic: config.on_panic,
            multiplies: config.multiplies,
            mirrors: config.mirrors,
            upstream: 0,
            state: NodeState::Running,
            deadline,
            stuck: false,
            held: Units::default(),
            final_queue: None,
            panic_count: 0,
        });
        index
    }

    /// The finished actor and the supervisor's hold on it.
    pub fn build(mut self, buffers: Buffers) -> (Actor, ActorHandle) {
        self.count_upstream();
        self.find_reach();
        buffers.set_waker(Arc::clone(&self.waker));
        let (handle, mailbox) = Mailbox::new(Arc::clone(&self.waker));
        let actor = Actor {
            name: self.name,
            inputs: self.nodes.iter().map(|_| Burst::new()).collect(),
            nodes: self.nodes,
            intakes: self.intakes,
            edges_stopped: vec![Units::default(); self.edges.len()],
            edges: self.edges,
            buffers,
            waker: self.waker,
            mailbox,
            phase: Phase::Running,
            full_edge: None,
            steps: [0; 3],
            times: [0; 3],
            cpus: Vec::new(),
            failed: None,
            watch: None,
        };
        (actor, handle)
    }

    fn count_upstream(&mut self) {
        for index in 0..self.nodes.len() {
            for target in self.nodes[index].targets.clone() {
                if let Target::Node(to) = target {
                    self.nodes[to].upstream += 1;
                }
            }
        }
        for intake in &self.intakes {
            self.nodes[intake.node].upstream += 1;
        }
    }

    /// Which edges packets of a node can come to: while one of them is full the node is not stepped. Those that
    /// only copies come to do not count.
    fn find_reach(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let mut reach = Vec::new();
            let node = &self.nodes[index];
            let waited_for = if node.mirrors { 1 } else { node.targets.len() };
            for target in node.targets.iter().take(waited_for) {
                match *target {
                    Target::Edge(edge) => reach.push(edge),
                    Target::Node(to) => reach.extend_from_slice(&self.nodes[to].reach),
                    Target::Nowhere => {}
                }
            }
            reach.sort_unstable();
            reach.dedup();
            self.nodes[index].reach = reach;
        }
    }
}
