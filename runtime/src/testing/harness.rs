//! One stage alone: packets in, in any split into bursts, packets out, books checked.
//!
//! It stands in for the engine with the same rules: the burst is limited to the room of the outputs, ticks
//! come when they are due, drain is called until done. It knows no protocol; packets are given as they are.

use crate::Time;
use crate::packet::{BURST_MAX, Buffers, Burst, HomeConfig, Packet, Units};
use crate::stage::spec::StageInfo;
use crate::stage::{OutputId, Outputs, Progress, Source, Stage, StageContext, Tally, Target};

/// Parts of each class in the harness's home, unless said otherwise.
const PARTS: HomeConfig =
    HomeConfig { name: String::new(), shells: 2048, small: 2048, large: 24, node: None };

enum Body {
    Stage(Box<dyn Stage>),
    Source(Box<dyn Source>),
}

/// Runs one stage. Panics, as assertions do, where the stage breaks its contract.
pub struct Harness {
    body: Body,
    info: StageInfo,
    /// The home that packets come from; a test may withhold from it.
    pub buffers: Buffers,
    /// The time the stage sees, ns.
    pub now: Time,
    tally: Tally,
    input: Box<Burst>,
    /// What the stage sends lands here, output by output.
    nodes: Vec<Burst>,
    targets: Vec<Target>,
    sent: Vec<Units>,
    no_room: Units,
    /// What each output had room for when the call began, in packets sent since the first.
    told: Vec<u64>,
    entered: Units,
    multiplies: bool,
    mirrors: bool,
    room: usize,
    /// Packets that occupy the outputs, and their home; only where the room was set.
    fillers: Vec<Packet>,
    filler_home: Option<Buffers>,
    out: Vec<Vec<Packet>>,
}

impl Harness {
    /// A stage with one output.
    pub fn new(stage: impl Stage + 'static, info: &StageInfo) -> Harness {
        Harness::with_body(Body::Stage(Box::new(stage)), info)
    }

    /// A stage that was built by its spec, or a source.
    pub fn built(built: crate::stage::Built, info: &StageInfo) -> Harness {
        let body = match built {
            crate::stage::Built::Source(source) => Body::Source(source),
            crate::stage::Built::Stage(stage, _) => Body::Stage(stage),
        };
        Harness::with_body(body, info)
    }

    /// A source with one output.
    pub fn source(source: impl Source + 'static, info: &StageInfo) -> Harness {
        Harness::with_body(Body::Source(Box::new(source)), info)
    }

    fn with_body(body: Body, info: &StageInfo) -> Harness {
        let mut harness = Harness {
            body,
            info: *info,
            buffers: home(&PARTS),
            now: 0,
            tally: Tally::new(info.drop_reasons.len(), info.counters.len()),
            input: Box::new(Burst::new()),
            nodes: Vec::new(),
            targets: Vec::new(),
            sent: Vec::new(),
            no_room: Units::default(),
            told: Vec::new(),
            entered: Units::default(),
            multiplies: false,
            mirrors: false,
            room: usize::MAX,
            fillers: Vec::new(),
            filler_home: None,
            out: Vec::new(),
        };
        harness.set_outputs(1);
        harness
    }

    /// Another number of outputs; 0 for a sink.
    #[must_use]
    pub fn outputs(mut self, n: usize) -> Harness {
        self.set_outputs(n);
        self
    }

    fn set_outputs(&mut self, n: usize) {
        self.nodes = (0..n).map(|_| Burst::new()).collect();
        self.targets = (0..n).map(Target::Node).collect();
        self.sent = vec![Units::default(); n];
        self.told = vec![0; n];
        self.out = (0..n).map(|_| Vec::new()).collect();
    }

    /// A home with other numbers of parts.
    #[must_use]
    pub fn home(mut self, shells: u32, small: u32, large: u32) -> Harness {
        self.buffers = home(&HomeConfig { shells, small, large, ..PARTS });
        self
    }

    /// The stage may emit more than it takes: its bursts are not limited to the room.
    #[must_use]
    pub fn multiplies(mut self) -> Harness {
        self.multiplies = true;
        self
    }

    /// The instance has so many counters beside those of its kind
    /// ([`StageConfig::extra_counters`](crate::stage::StageConfig::extra_counters)).
    #[must_use]
    pub fn extra_counters(mut self, n: usize) -> Harness {
        self.tally.counters.resize(self.info.counters.len() + n, 0);
        self
    }

    /// The stage sends copies by its named outputs, which do not limit its bursts.
    #[must_use]
    pub fn mirrors(mut self) -> Harness {
        self.mirrors = true;
        self
    }

    /// Packets that each output takes a call, from now on.
    pub fn set_room(&mut self, room: usize) {
        self.room = room;
        let missing = (fillers_of(room) * self.nodes.len()).saturating_sub(self.fillers.len());
        let buffers = self.filler_home.get_or_insert_with(|| {
            home(&HomeConfig {
                small: (BURST_MAX * self.nodes.len()) as u32,
                shells: 0,
                large: 0,
                ..PARTS
            })
        });
        self.fillers.extend((0..missing).map_while(|_| buffers.receive(&[])));
    }

    /// A packet with these bytes, whole as captured, received now.
    pub fn packet(&mut self, frame: &[u8]) -> Packet {
        let Some(mut packet) = self.buffers.receive(frame) else { panic!("no buffer for a frame") };
        packet.meta_mut().orig_len = packet.len();
        packet.set_time(self.now);
        packet
    }

    /// Puts a packet into the stage's input.
    pub fn push(&mut self, packet: Packet) {
        self.entered += packet.units();
        assert!(self.input.push(packet).is_ok(), "the input is full: run the stage first");
    }

    /// One call: to `process`, and to `tick` before it if that is due. Returns packets taken.
    pub fn step(&mut self) -> usize {
        let Body::Stage(stage) = &mut self.body else { panic!("a source is polled") };
        let due = stage.next_deadline().is_some_and(|deadline| deadline <= self.now);
        if due {
            self.call(Call::Tick);
        }
        let before = self.input.len();
        if before > 0 {
            self.call(Call::Process);
        }
        before - self.input.len()
    }

    /// Calls the stage until it takes nothing more from its input.
    pub fn run(&mut self) {
        while self.step() > 0 {}
    }

    /// Feeds packets in bursts of the sizes given, over and over, running the stage after each.
    pub fn feed(&mut self, packets: impl IntoIterator<Item = Packet>, split: &[usize]) {
        let mut sizes = split.iter().copied().filter(|&n| n > 0).cycle();
        let mut left = sizes.next().unwrap_or(BURST_MAX);
        for packet in packets {
            self.push(packet);
            left -= 1;
            if left == 0 || self.input.len() == BURST_MAX {
                self.run();
                left = sizes.next().unwrap_or(BURST_MAX);
            }
        }
        self.run();
    }

    /// Time passes to `now`; the stage is ticked at each deadline on the way.
    pub fn advance(&mut self, now: Time) {
        while let Body::Stage(stage) = &self.body {
            let Some(deadline) = stage.next_deadline().filter(|&deadline| deadline <= now) else {
                break;
            };
            self.now = self.now.max(deadline);
            self.call(Call::Tick);
            let Body::Stage(stage) = &self.body else { break };
            assert_ne!(stage.next_deadline(), Some(deadline), "a tick did not move its deadline");
        }
        self.now = now;
    }

    /// Runs the input empty, then drains until done. Panics if that does not end.
    pub fn drain(&mut self) {
        self.run();
        assert!(
            self.input.is_empty(),
            "the stage leaves {} packets in its input",
            self.input.len()
        );
        for _ in 0..100_000 {
            match self.call(Call::Drain) {
                Progress::Done => return,
                Progress::Worked(_) => {}
                // It waits for a time that it names.
                Progress::Idle(Some(until)) if until > self.now => self.advance(until),
                stuck => {
                    panic!("drain says {stuck:?}: room {} and nobody else to wait for", self.room)
                }
            }
        }
        panic!("drain does not end");
    }

    /// Asks a source for packets.
    pub fn poll(&mut self, budget: usize) -> Progress {
        self.call(Call::Poll(budget))
    }

    /// Stops a source.
    pub fn stop(&mut self) {
        if let Body::Source(source) = &mut self.body {
            source.stop();
        }
    }

    fn call(&mut self, call: Call) -> Progress {
        self.fill_up();
        self.told.iter_mut().zip(&self.sent).for_each(|(told, sent)| *told = sent.packets);
        let mut edges = [];
        let mut out = Outputs::new(
            &self.targets,
            &mut self.nodes,
            0,
            &mut edges,
            &mut self.sent,
            &mut self.no_room,
        )
        .mirroring(self.mirrors);
        let room = out.room();
        for (output, told) in self.told.iter_mut().enumerate() {
            *told += out.room_of(OutputId(output)) as u64;
        }
        let mut progress = Progress::Worked(0);
        if room > 0 {
            let mut ctx = StageContext::new(self.now, &mut self.buffers, &mut self.tally);
            match (&mut self.body, call) {
                (Body::Stage(stage), Call::Process) => {
                    if !self.multiplies {
                        self.input.limit(room);
                    }
                    stage.process(&mut self.input, &mut out, &mut ctx);
                    self.input.unlimit();
                }
                (Body::Stage(stage), Call::Tick) => progress = stage.tick(&mut out, &mut ctx),
                (Body::Stage(stage), Call::Drain) => progress = stage.drain(&mut out, &mut ctx),
                (Body::Source(source), Call::Poll(budget)) => {
                    progress = source.poll(budget.min(room), &mut out, &mut ctx);
                }
                _ => panic!("a source does not process, a stage is not polled"),
            }
        }
        self.collect();
        let beyond = self.sent.iter().zip(&self.told).any(|(sent, &told)| sent.packets > told);
        assert!(
            !beyond && self.no_room == Units::default(),
            "the stage sent beyond the room it was told"
        );
        progress
    }

    /// Occupies the outputs so that only `room` packets fit.
    fn fill_up(&mut self) {
        for node in &mut self.nodes {
            for filler in self.fillers.drain(..fillers_of(self.room)) {
                assert!(node.push(filler).is_ok(), "an output was not empty");
            }
        }
    }

    /// Takes what was sent, and the fillers back, which stand in front of it.
    fn collect(&mut self) {
        for (node, out) in self.nodes.iter_mut().zip(&mut self.out) {
            let mut packets = node.drain();
            self.fillers.extend(packets.by_ref().take(fillers_of(self.room)));
            out.extend(packets);
        }
    }

    /// Packets sent so far, over all outputs.
    pub fn sent(&self) -> u64 {
        self.sent.iter().map(|sent| sent.packets).sum()
    }

    /// Packets sent to the next stage since the last call.
    pub fn take(&mut self) -> Vec<Packet> {
        self.take_from(0)
    }

    /// Packets sent to one output since the last call.
    pub fn take_from(&mut self, output: usize) -> Vec<Packet> {
        std::mem::take(&mut self.out[output])
    }

    /// Bytes of the packets sent to the next stage since the last call, which then go home.
    pub fn take_frames(&mut self) -> Vec<Vec<u8>> {
        let packets = self.take();
        packets.into_iter().map(|packet| self.unpack(packet)).collect()
    }

    /// The bytes of a packet, which goes home.
    pub fn unpack(&mut self, packet: Packet) -> Vec<u8> {
        let bytes = packet.parts().flatten().copied().collect();
        self.buffers.release(packet);
        bytes
    }

    /// Sends packets home that a test has looked at.
    pub fn release(&mut self, packets: impl IntoIterator<Item = Packet>) {
        packets.into_iter().for_each(|packet| self.buffers.release(packet));
    }

    /// When the stage wants to be ticked.
    pub fn deadline(&self) -> Option<Time> {
        match &self.body {
            Body::Stage(stage) => stage.next_deadline(),
            Body::Source(_) => None,
        }
    }

    /// Packets waiting in the input.
    pub fn waiting(&self) -> usize {
        self.input.len()
    }

    /// A declared counter by name.
    pub fn counter(&self, name: &str) -> u64 {
        let index = self.info.counters.iter().position(|counter| *counter == name);
        let Some(index) = index else { panic!("{} declares no counter {name}", self.info.name) };
        self.tally.counters[index]
    }

    /// Every counter that is not zero.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let named = self.info.counters.iter().copied().zip(self.tally.counters.iter().copied());
        named.filter(|&(_, n)| n > 0).collect()
    }

    /// Packets dropped for a declared reason.
    pub fn dropped(&self, reason: &str) -> Units {
        let index = self.info.drop_reasons.iter().position(|name| *name == reason);
        let Some(index) = index else { panic!("{} declares no reason {reason}", self.info.name) };
        self.tally.drops[index]
    }

    /// The stage's books.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The books balance now: in + created = out + dropped + absorbed + consumed + held.
    pub fn assert_balanced(&self) {
        let waiting = self.input.iter().fold(Units::default(), |sum, packet| sum + packet.units());
        let held = match &self.body {
            Body::Stage(stage) => stage.held(),
            Body::Source(source) => source.held(),
        };
        let tally = &self.tally;
        let sent = self.sent.iter().fold(Units::default(), |sum, &units| sum + units);
        let came = self.entered - waiting + tally.received + tally.created;
        let went =
            sent + tally.transmitted + tally.dropped() + tally.absorbed + tally.consumed + held;
        assert_eq!(came, went, "{} does not balance (left: came, right: went)", self.info.name);
        assert_eq!(self.buffers.implicit(), Units::default(), "packets fell out of scope");
    }

    /// Drains, then checks the books and that every buffer that was not taken out is home.
    pub fn finish(mut self) {
        if matches!(self.body, Body::Stage(_)) {
            self.drain();
        }
        self.assert_balanced();
        for filler in self.fillers.drain(..) {
            self.buffers.release(filler);
        }
        for output in 0..self.out.len() {
            let packets = self.take_from(output);
            self.release(packets);
        }
        assert_eq!(self.buffers.outstanding(), [0; 3], "buffers are still out");
    }
}

/// What the stage is called for.
#[derive(Clone, Copy)]
enum Call {
    Process,
    Tick,
    Drain,
    Poll(usize),
}

/// Packets that must occupy an output so that `room` more fit: it has a reserve that is not told.
fn fillers_of(room: usize) -> usize {
    const RESERVE: usize = 32;
    (BURST_MAX - RESERVE).saturating_sub(room)
}

fn home(config: &HomeConfig) -> Buffers {
    match Buffers::new(config) {
        Ok(buffers) => buffers,
        Err(error) => panic!("{error}"),
    }
}
