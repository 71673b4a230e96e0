//! From a [`Plan`] to running actors: ports opened, pools mapped, rings made, stages built.
//!
//! Ports that are read are opened before those that are written, so that a capture which is turned down has
//! not cost an older output its content. Sets no signal handler and no logger.

#[cfg(test)]
mod tests;

use crate::error::Failure;
use crate::place::{OwnPorts, Plan, PlannedStage, PlannedTarget};
use crate::report::{self, Facts, Mode, Report};
use corelane_runtime::actor::{Actor, ActorBuilder, ActorHandle, Control, NodeBody, NodeConfig};
use corelane_runtime::edge::{EdgeRx, EdgeTx, edge};
use corelane_runtime::exec::sim::{self, SimConfig, SimOutcome};
use corelane_runtime::exec::threads::{self, Running};
use corelane_runtime::exec::{IdleProfile, Waker};
use corelane_runtime::offload::PortCaps;
use corelane_runtime::packet::Buffers;
use corelane_runtime::port::{Port, RxQueue, TxQueue};
use corelane_runtime::stage::spec::Role;
use corelane_runtime::stage::{BuildContext, Built, Target};
use corelane_runtime::{Error, Time};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a waiting supervisor looks at its actors.
const LOOK: Duration = Duration::from_millis(2);

impl Plan {
    /// Starts the actors on threads of their own, pinned as planned.
    ///
    /// # Errors
    /// Where a port, a pool, a stage or a thread cannot be had; nothing runs then.
    pub fn start(self) -> Result<Handle, Failure> {
        let cpus: Vec<Option<usize>> = self.actors.iter().map(|actor| actor.cpu).collect();
        let profile = IdleProfile::for_load(self.actors.len(), self.cpus);
        let key = self.hash_seed.unwrap_or_else(|| RandomState::new().hash_one("corelane"));
        let (actors, facts) = assemble(self, key)?;
        let started = Instant::now();
        let running = threads::start(actors, &cpus, profile)?;
        Ok(Handle { running, facts, started, drained: false, stopped: false })
    }

    /// Runs the same actors in the simulator, in an order drawn from `seed`, in virtual time.
    ///
    /// # Errors
    /// As for [`Plan::start`], and where the run does not come to its end.
    pub fn simulate(self, seed: u64) -> Result<Report, Failure> {
        self.simulate_with(&SimConfig::new(seed)).map(|(report, _)| report)
    }

    /// As [`Plan::simulate`], with faults, and with what the simulator itself counted.
    ///
    /// # Errors
    /// As for [`Plan::simulate`].
    pub fn simulate_with(self, config: &SimConfig) -> Result<(Report, SimOutcome), Failure> {
        self.simulate_under(config, &mut |_| (Verdict::GoOn, Duration::MAX))
    }

    /// As [`Plan::simulate_with`], under a supervisor that is asked every few turns and told the virtual time.
    /// Beside its verdict it says at which time it is to be asked again at the latest. Its first
    /// [`Verdict::Drain`] drains the run, further ones change nothing.
    ///
    /// # Errors
    /// As for [`Plan::simulate`].
    pub fn simulate_under(
        self,
        config: &SimConfig,
        supervisor: &mut dyn FnMut(Duration) -> (Verdict, Duration),
    ) -> Result<(Report, SimOutcome), Failure> {
        let key = self.hash_seed.unwrap_or(config.seed);
        let (crew, facts) = assemble(self, key)?;
        let (actors, mut handles): (Vec<Actor>, Vec<ActorHandle>) = crew.into_iter().unzip();
        let (mut drained, mut stopped) = (false, false);
        let (mut actors, outcome) = sim::run_while(actors, config, &mut |now| {
            let (verdict, next) = supervisor(Duration::from_nanos(now));
            match verdict {
                Verdict::Drain if !drained => {
                    drained = true;
                    handles.iter_mut().for_each(|handle| handle.send(Control::Drain));
                }
                Verdict::GoOn | Verdict::Drain => {}
                Verdict::Stop => stopped = true,
            }
            (!stopped).then(|| Time::try_from(next.as_nanos()).unwrap_or(Time::MAX))
        });
        let mode = Mode::Simulated { seed: config.seed, turns: outcome.turns, stopped };
        let duration = Duration::from_nanos(outcome.time);
        let mut report = report::make(&facts, &mut actors, mode, duration);
        if !outcome.finished && !stopped {
            let turns = outcome.turns;
            report.errors.push(format!(
                "the simulation did not end within {turns} turns: an endless input, or actors that wait for each other"
            ));
        }
        Ok((report, outcome))
    }

    /// Puts a port of the program's own in the place of the one that the description calls `name`. It is used
    /// as it is: it must be open, with queues enough.
    #[must_use]
    pub fn with_port(mut self, name: &str, port: Box<dyn Port>) -> Plan {
        self.own_ports.insert(name.to_owned(), port);
        self
    }
}

/// What the supervisor of a simulation wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    GoOn,
    /// Nothing more is to come in; what is inside is passed on, then the run ends.
    Drain,
    /// The run is to end at once. What is inside is discarded and counted as `stopped`.
    Stop,
}

/// A pipeline at work.
pub struct Handle {
    running: Running,
    facts: Facts,
    started: Instant,
    drained: bool,
    stopped: bool,
}

impl Handle {
    /// Whether every actor has finished.
    pub fn is_finished(&self) -> bool {
        self.running.is_finished()
    }

    /// Whether it has been told to bring nothing new in, or does so since a stage failed for good.
    pub fn is_draining(&self) -> bool {
        self.drained
    }

    /// Stops bringing packets in; what is inside is passed on, then the run ends.
    pub fn drain(&mut self) {
        self.drained = true;
        self.running.drain();
    }

    /// Ends the run at once. What is inside is discarded and counted as `stopped`.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.running.stop();
    }

    /// Waits until the run has ended or `timeout` is over; whether it has ended. A stage that failed for
    /// good drains the run.
    pub fn wait_for(&mut self, timeout: Duration) -> bool {
        // `None`: later than any clock will ever show.
        let until = Instant::now().checked_add(timeout);
        loop {
            if self.running.is_finished() {
                return true;
            }
            if self.running.has_failed() && !self.drained {
                tracing::error!("a stage failed for good; draining");
                self.drain();
            }
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(LOOK.min(left));
        }
    }

    /// Waits for the end and reads the books.
    pub fn wait(mut self) -> Report {
        while !self.wait_for(Duration::from_secs(3600)) {}
        let duration = self.started.elapsed();
        let mut actors = self.running.join();
        let mode = Mode::Threads { stopped: self.stopped };
        report::make(&self.facts, &mut actors, mode, duration)
    }
}

/// An opened port.
struct OpenPort {
    port: Box<dyn Port>,
    caps: Arc<PortCaps>,
    number: u16,
}

type Ports = BTreeMap<String, OpenPort>;

/// Actors with the supervisor's hold on each.
type Crew = Vec<(Actor, ActorHandle)>;

fn assemble(mut plan: Plan, hash_key: u64) -> Result<(Crew, Facts), Failure> {
    let own = std::mem::take(&mut plan.own_ports);
    let crew = crew(&plan, own, hash_key).map_err(|error| plan.located(error))?;
    Ok((crew, Facts::of(&plan)))
}

fn crew(plan: &Plan, own: OwnPorts, hash_key: u64) -> Result<Crew, Error> {
    let mut ports = open_ports(plan, own)?;
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
    for (index, waker) in wakers.into_iter().enumerate() {
        let mut assembler = Assembler { plan, index, ports: &mut ports, hash_key };
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
        tracing::info!(port = %planned.name, kind = %planned.kind, granted = ?caps.granted, "opened");
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

    fn node(&mut self, node: usize, edges: &BTreeMap<usize, usize>) -> Result<NodeConfig, Error> {
        let planned = &self.plan.actors[self.index].nodes[node];
        let stage = &self.plan.stages[planned.stage];
        let exits = self.plan.exits(self.index, node);
        let exit = match exits.as_slice() {
            [port] => self.ports.get(*port).map(|open| Arc::clone(&open.caps)),
            _ => None,
        };
        let mut context = Context { ports: self.ports, exit, hash_key: self.hash_key };
        let body = match stage.config.build(&mut context)? {
            Built::Source(source) => NodeBody::Source(source),
            Built::Stage(stage, factory) => NodeBody::Stage(stage, factory),
        };
        let targets = planned.targets.iter().map(|target| match *target {
            PlannedTarget::Node(to) => Target::Node(to),
            PlannedTarget::Ring(ring) => Target::Edge(edges[&ring]),
        });
        Ok(NodeConfig {
            stage: planned.stage,
            name: format!("{} {}", stage.id, stage.info.name),
            body,
            targets: targets.collect(),
            reasons: stage.info.drop_reasons.len(),
            counters: stage.info.counters.len(),
            multiplies: stage.traits.multiplies,
            on_panic: stage.on_panic,
        })
    }
}

/// What a stage may ask for while it is built.
struct Context<'a> {
    ports: &'a mut Ports,
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
}
