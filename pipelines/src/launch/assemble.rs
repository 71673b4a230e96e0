//! Ports opened, rings made, stages built and put into actors.
//!
//! Ports that are read are opened before those that are written, so that a capture which is turned down has
//! not cost an older output its content. A stage is given the port that the plan lets it leave work to.

use super::capture::Captures;
use super::watch::Watch;
use crate::error::Failure;
use crate::negotiate::Exit;
use crate::place::{OwnPorts, Plan, PlannedStage, PlannedTarget};
use crate::report::Facts;
use corelane_runtime::Error;
use corelane_runtime::actor::{Actor, ActorBuilder, ActorHandle, NodeBody, NodeConfig};
use corelane_runtime::edge::{EdgeRx, EdgeTx, edge};
use corelane_runtime::exec::Waker;
use corelane_runtime::offload::{Offload, PortCaps};
use corelane_runtime::packet::Buffers;
use corelane_runtime::port::{Port, RxQueue, TxQueue};
use corelane_runtime::stage::spec::Role;
use corelane_runtime::stage::{BuildContext, Built, CaptureSink, OutputId, PortInfo, Target};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An opened port.
struct OpenPort {
    port: Box<dyn Port>,
    caps: Arc<PortCaps>,
    number: u16,
}

type Ports = BTreeMap<String, OpenPort>;

/// What stages of a run share, by name.
type Shared = BTreeMap<String, Arc<dyn Any + Send + Sync>>;

/// Actors with the supervisor's hold on each.
type Crew = Vec<(Actor, ActorHandle)>;

/// Everything that a run needs.
pub(super) struct Assembled {
    pub(super) crew: Crew,
    pub(super) facts: Facts,
    pub(super) watch: Watch,
}

pub(super) fn assemble(mut plan: Plan, hash_key: u64) -> Result<Assembled, Failure> {
    let own = std::mem::take(&mut plan.own_ports);
    let mut ports = open_ports(&plan, own).map_err(|error| plan.located(error))?;
    let mut captures = Captures::default();
    let crew = crew(&plan, &mut ports, &mut captures, hash_key);
    let crew = crew.map_err(|error| plan.located(error))?;
    let watch = Watch::new(&plan, ports.iter().map(|(name, open)| (name.as_str(), &open.caps)));
    let watch = watch.with_captures(captures);
    Ok(Assembled { crew, facts: Facts::of(&plan), watch })
}

/// Builds every actor.
fn crew(
    plan: &Plan,
    ports: &mut Ports,
    captures: &mut Captures,
    hash_key: u64,
) -> Result<Crew, Error> {
    let wakers: Vec<Arc<Waker>> = plan.actors.iter().map(|_| Arc::new(Waker::new())).collect();
    let mut feeds = Vec::new();
    let mut intakes = Vec::new();
    for ring in &plan.rings {
        let (from, to) = (Arc::clone(&wakers[ring.from]), Arc::clone(&wakers[ring.to.0]));
        let (tx, rx) = edge(&ring.name, ring.capacity, ring.on_full, from, to);
        feeds.push(Some(tx));
        intakes.push(Some(rx));
    }
    let mut crew = Vec::new();
    let mut shared = Shared::new();
    for (index, waker) in wakers.into_iter().enumerate() {
        let shared = &mut shared;
        let mut assembler = Assembler { plan, index, ports, captures, shared, hash_key };
        crew.push(assembler.actor(waker, &mut feeds, &mut intakes)?);
    }
    Ok(crew)
}

fn open_ports(plan: &Plan, mut own: OwnPorts) -> Result<Ports, Error> {
    let reads = |name: &str| {
        let on_it = |stage: &&PlannedStage| stage.traits.port.as_deref() == Some(name);
        plan.stages.iter().filter(on_it).any(|stage| stage.info.role == Role::Source)
    };
    let mut order: Vec<usize> = (0..plan.ports.len()).collect();
    order.sort_by_key(|&index| !reads(&plan.ports[index].name));
    let mut ports = Ports::new();
    for index in order {
        let planned = &plan.ports[index];
        let number = u16::try_from(index).map_err(|_| {
            Error::user(format!("port {}", planned.name), "there are more than 65536 ports")
        })?;
        let port = match own.remove(&planned.name) {
            Some(port) => port,
            None => planned.config.open(&planned.name, plan.queues(&planned.name))?,
        };
        let caps = port.caps();
        caps.withhold(planned.withheld);
        tracing::info!(port = %planned.name, kind = %planned.kind, granted = ?caps.facts.granted, "opened");
        ports.insert(planned.name.clone(), OpenPort { port, caps, number });
    }
    match own.into_keys().next() {
        Some(name) => Err(Error::user(format!("port {name}"), "the description has no such port")),
        None => Ok(ports),
    }
}

/// Puts one actor together.
struct Assembler<'a> {
    plan: &'a Plan,
    index: usize,
    ports: &'a mut Ports,
    captures: &'a mut Captures,
    shared: &'a mut Shared,
    hash_key: u64,
}

impl Assembler<'_> {
    fn actor(
        &mut self,
        waker: Arc<Waker>,
        feeds: &mut [Option<EdgeTx>],
        intakes: &mut [Option<EdgeRx>],
    ) -> Result<(Actor, ActorHandle), Error> {
        let planned = &self.plan.actors[self.index];
        let buffers = Buffers::new(&planned.home)?;
        let mut builder = ActorBuilder::new(&planned.name, waker);
        let mut edges = BTreeMap::new();
        for (number, ring) in self.plan.rings.iter().enumerate() {
            if ring.from == self.index {
                edges.extend(feeds[number].take().map(|tx| (number, builder.feed(tx))));
            }
        }
        for node in 0..planned.nodes.len() {
            let config = self.node(node, &edges)?;
            builder.node(config);
        }
        for (number, ring) in self.plan.rings.iter().enumerate() {
            if ring.to.0 == self.index
                && let Some(rx) = intakes[number].take()
            {
                builder.read(rx, ring.to.1);
            }
        }
        Ok(builder.build(buffers))
    }

    /// The port that a stage may leave work to.
    fn exit(&self, stage: &PlannedStage) -> Option<Arc<PortCaps>> {
        match &stage.exit {
            Exit::Port(name) if stage.offload != Offload::SoftwareOnly => {
                self.ports.get(name).map(|open| Arc::clone(&open.caps))
            }
            _ => None,
        }
    }

    fn node(&mut self, node: usize, edges: &BTreeMap<usize, usize>) -> Result<NodeConfig, Error> {
        let planned = &self.plan.actors[self.index].nodes[node];
        let stage = &self.plan.stages[planned.stage];
        let exit = self.exit(stage);
        let mut context = Context {
            plan: self.plan,
            stage,
            ports: self.ports,
            captures: self.captures,
            shared: self.shared,
            exit,
            hash_key: self.hash_key,
        };
        let body = match stage.config.build(&mut context)? {
            Built::Source(source) => NodeBody::Source(source),
            Built::Stage(stage, factory) => NodeBody::Stage(stage, factory),
        };
        let targets = planned.targets.iter().map(|target| match *target {
            PlannedTarget::Node(to) => Target::Node(to),
            PlannedTarget::Ring(ring) => Target::Edge(edges[&ring]),
            PlannedTarget::Nowhere => Target::Nowhere,
        });
        Ok(NodeConfig {
            stage: planned.stage,
            name: format!("{} {}", stage.id, stage.info.name),
            body,
            targets: targets.collect(),
            reasons: stage.info.drop_reasons.len(),
            counters: stage.counters().len(),
            multiplies: stage.traits.multiplies,
            mirrors: stage.traits.mirrors,
            on_panic: stage.on_panic,
        })
    }
}

/// What a stage may ask for while it is built.
struct Context<'a> {
    plan: &'a Plan,
    stage: &'a PlannedStage,
    ports: &'a mut Ports,
    captures: &'a mut Captures,
    shared: &'a mut Shared,
    exit: Option<Arc<PortCaps>>,
    hash_key: u64,
}

impl Context<'_> {
    fn port(&mut self, name: &str) -> Result<&mut OpenPort, Error> {
        let missing = || Error::user(format!("port {name}"), "there is no such port");
        self.ports.get_mut(name).ok_or_else(missing)
    }
}

impl BuildContext for Context<'_> {
    fn open_rx(&mut self, port: &str) -> Result<Box<dyn RxQueue>, Error> {
        self.port(port)?.port.open_rx()
    }

    fn open_tx(&mut self, port: &str) -> Result<Box<dyn TxQueue>, Error> {
        self.port(port)?.port.open_tx()
    }

    fn open_capture(&mut self, path: &str) -> Result<Box<dyn CaptureSink>, Error> {
        self.plan.free_to_write(path)?;
        self.captures.open(path)
    }

    fn port_caps(&self, port: &str) -> Option<Arc<PortCaps>> {
        self.ports.get(port).map(|open| Arc::clone(&open.caps))
    }

    fn exit_caps(&self) -> Option<Arc<PortCaps>> {
        self.exit.clone()
    }

    fn port_number(&self, port: &str) -> u16 {
        self.ports.get(port).map_or(u16::MAX, |open| open.number)
    }

    fn hash_key(&self) -> u64 {
        self.hash_key
    }

    fn offload(&self) -> Offload {
        self.stage.offload
    }

    fn port_info(&self, port: &str) -> Option<PortInfo> {
        let common = &self.plan.ports.iter().find(|planned| planned.name == port)?.common;
        let open = self.ports.get(port)?;
        Some(PortInfo {
            name: port.to_owned(),
            number: open.number,
            mac: common.mac,
            mtu: open.caps.facts.limits.mtu,
            addresses: common.addresses.clone(),
            gateways: common.gateways.clone(),
        })
    }

    fn entries(&self) -> Vec<String> {
        self.stage.entries.clone()
    }

    fn exits(&self) -> Vec<String> {
        self.stage.exits.clone()
    }

    fn answer(&self, port: u16) -> Option<OutputId> {
        let mut ports = self.ports.iter();
        let (name, _) = ports.find(|(_, open)| open.number == port)?;
        self.stage.answer(name)
    }

    fn shared(
        &mut self,
        name: &str,
        make: &mut dyn FnMut() -> Arc<dyn Any + Send + Sync>,
    ) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(self.shared.entry(name.to_owned()).or_insert_with(make))
    }

    fn drops_when_full(&self, port: &str) -> bool {
        let mut ports = self.plan.ports.iter();
        ports.any(|planned| planned.name == port && planned.common.drop_when_full)
    }
}
