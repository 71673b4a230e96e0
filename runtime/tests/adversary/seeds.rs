//! Three actors, fan-out and fan-in, superpackets that are held and cut, small rings with every policy, small
//! pools, stalls, withheld buffers, panics, and runs cut short at any turn: the books balance to the byte.

use crate::toys::{Toy, home, hush, node, processes, source, stage};
use corelane_runtime::Time;
use corelane_runtime::actor::{Actor, ActorBuilder, NodeBody, NodeConfig, OnPanic};
use corelane_runtime::counters::ActorReport;
use corelane_runtime::edge::{EdgeRx, EdgeTx, OnFull, edge};
use corelane_runtime::exec::Waker;
use corelane_runtime::exec::sim::{self, Random, SimConfig, SimOutcome};
use corelane_runtime::packet::{Burst, CutError, CutPlan, Packet, Units};
use corelane_runtime::stage::{OutputId, Outputs, Progress, Reason, Source, Stage, StageContext};
use corelane_runtime::stage::{Target, spec::Factory};
use std::sync::Arc;

const HEADER: u32 = 20;
const PART: u32 = 100;

/// Makes superpackets of one to nine segments, numbered.
struct Supers {
    next: u16,
    count: u16,
    gap: Time,
}

impl Source for Supers {
    fn poll(
        &mut self,
        budget: usize,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        for made in 0..budget {
            let due = Time::from(self.next) * self.gap;
            if self.next == self.count {
                return if made > 0 { Progress::Worked(made) } else { Progress::Done };
            }
            if due > ctx.now {
                return if made > 0 { Progress::Worked(made) } else { Progress::Idle(Some(due)) };
            }
            let segments = 1 + self.next % 9;
            let payload = u32::from(segments) * PART - u32::from(self.next % 7);
            let bytes = vec![self.next as u8; (HEADER + payload) as usize];
            let Some(mut packet) = ctx.buffers.receive(&bytes) else {
                return if made > 0 { Progress::Worked(made) } else { Progress::Starved };
            };
            packet.set_layers(Default::default(), payload);
            let mut request = packet.segmentation();
            request.count = segments;
            packet.set_segmentation(request);
            ctx.received(&packet);
            out.next(packet);
            self.next += 1;
        }
        Progress::Worked(budget)
    }

    fn stop(&mut self) {
        self.count = self.next;
    }
}

/// Holds packets for a while, as a stage that joins would.
struct Hold {
    kept: Vec<(Time, Packet)>,
    most: usize,
}

impl Hold {
    fn let_go(
        &mut self,
        before: Time,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Progress {
        let mut sent = 0;
        while out.room() > 0 && self.kept.first().is_some_and(|(since, _)| *since <= before) {
            out.next(self.kept.remove(0).1);
            sent += 1;
        }
        // Buffers are out: the oldest goes by another way, and nobody calls that work.
        if ctx.buffers.starved() && out.room() > 0 && !self.kept.is_empty() {
            ctx.drop(self.kept.remove(0).1, Reason(0));
        }
        if sent > 0 { Progress::Worked(sent) } else { Progress::Idle(None) }
    }
}

impl Stage for Hold {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        while !burst.is_empty() && (self.kept.len() < self.most || out.room() > 0) {
            if self.kept.len() == self.most {
                out.next(self.kept.remove(0).1);
            }
            self.kept.extend(burst.pop().map(|packet| (ctx.now, packet)));
        }
    }

    fn tick(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        self.let_go(ctx.now.saturating_sub(500), out, ctx)
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        match self.let_go(Time::MAX, out, ctx) {
            _ if self.kept.is_empty() => Progress::Done,
            progress => progress,
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        self.kept.first().map(|(since, _)| since + 500)
    }

    fn held(&self) -> Units {
        self.kept.iter().fold(Units::default(), |sum, (_, packet)| sum + packet.units())
    }
}

/// Cuts; pauses between any two segments; panics now and then.
struct Cutter {
    current: Option<(Packet, CutPlan)>,
    random: Random,
    panics: u32,
}

impl Cutter {
    fn go_on(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        while let Some((mut packet, mut plan)) = self.current.take() {
            if out.room() == 0 {
                self.current = Some((packet, plan));
                return Progress::Worked(0);
            }
            if packet.segments() == 1 {
                plan.finish(ctx.buffers);
                out.next(packet);
                return Progress::Done;
            }
            let segment = ctx.segment_of(&mut packet, HEADER, PART, 1, &mut plan);
            self.current = Some((packet, plan));
            let segment = segment.expect("set aside");
            assert!(!self.random.chance(self.panics), "on purpose");
            out.next(segment);
        }
        Progress::Done
    }
}

impl Stage for Cutter {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        while self.go_on(out, ctx) == Progress::Done && out.room() > 0 {
            let Some(packet) = burst.first() else { return };
            match CutPlan::reserve(packet, HEADER, PART, false, ctx.buffers) {
                Ok(plan) => self.current = burst.pop().map(|packet| (packet, plan)),
                Err(CutError::Wait) => return,
                Err(CutError::TooMany) => {
                    burst.pop().into_iter().for_each(|packet| ctx.drop(packet, Reason(0)));
                }
            }
        }
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        self.go_on(out, ctx)
    }

    fn next_deadline(&self) -> Option<Time> {
        self.current.is_some().then_some(0)
    }

    fn held(&self) -> Units {
        self.current.as_ref().map_or(Units::default(), |(packet, _)| packet.units())
    }
}

/// Sends packets to one of two outputs by their number; panics at one of them.
fn split(panics: u32, seed: u64) -> Toy {
    let mut random = Random(seed);
    processes(move |burst, out, _| {
        for packet in burst.drain() {
            assert!(!random.chance(panics), "on purpose");
            out.send(OutputId(usize::from(packet.data()[0] % 2)), packet);
        }
    })
}

/// Ends packets slowly, and stands still until its time has come.
struct Slow {
    until: Time,
    at_once: usize,
}

impl Stage for Slow {
    fn process(&mut self, burst: &mut Burst, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        if ctx.now < self.until {
            return;
        }
        for packet in burst.drain().take(self.at_once) {
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        Some(self.until).filter(|&time| time > 0)
    }

    fn tick(&mut self, _: &mut Outputs<'_>, _: &mut StageContext<'_>) -> Progress {
        self.until = 0;
        Progress::Idle(None)
    }
}

fn supervised(
    make: impl Fn() -> Box<dyn Stage> + Send + 'static,
    targets: &[Target],
    on_panic: OnPanic,
    multiplies: bool,
) -> NodeConfig {
    let first = make();
    let factory: Factory = Box::new(make);
    let body = NodeBody::Stage(first, Some(factory));
    NodeConfig { multiplies, on_panic, ..node(body, targets) }
}

fn build(seed: u64, panics: u32) -> Vec<Actor> {
    let mut random = Random(seed ^ 0x5eed);
    let wakers: [Arc<Waker>; 3] = Default::default();
    let policies = [OnFull::Wait, OnFull::Wait, OnFull::DropNewest, OnFull::DropOldest];
    let answers = [
        OnPanic::Restart { max: u32::MAX, window: 1 },
        OnPanic::Bypass,
        OnPanic::Drop,
        OnPanic::Stop,
    ];
    let mut ring = |from: usize, to: usize| -> (EdgeTx, EdgeRx) {
        let capacity = 1 + random.below(12) as usize;
        let on_full = policies[random.below(4) as usize];
        let name = format!("{from}-{to}");
        edge(&name, capacity, on_full, Arc::clone(&wakers[from]), Arc::clone(&wakers[to]))
    };
    let (to_cut, cut_in) = ring(0, 1);
    let (to_sink, direct_in) = ring(0, 2);
    let (cut_out, sink_in) = ring(1, 2);
    let answer = |n: u64| answers[(seed / n % 4) as usize];

    let mut first = ActorBuilder::new("first", Arc::clone(&wakers[0]));
    let supers = Supers { next: 0, count: 400, gap: seed % 3 * 90 };
    first.node(source(supers, &[Target::Node(1)]));
    let most = 1 + seed as usize % 20;
    let hold = move || Box::new(Hold { kept: Vec::new(), most }) as Box<dyn Stage>;
    first.node(supervised(hold, &[Target::Node(2)], answer(1), true));
    let splits = move || Box::new(split(panics / 8, seed)) as Box<dyn Stage>;
    let both = [Target::Edge(0), Target::Edge(1)];
    first.node(supervised(splits, &both, answer(4), false));
    first.feed(to_cut);
    first.feed(to_sink);

    let mut second = ActorBuilder::new("second", Arc::clone(&wakers[1]));
    let cutter =
        move || Box::new(Cutter { current: None, random: Random(seed), panics }) as Box<dyn Stage>;
    second.node(supervised(cutter, &[Target::Edge(0)], answer(16), true));
    second.read(cut_in, 0);
    second.feed(cut_out);

    let mut third = ActorBuilder::new("third", Arc::clone(&wakers[2]));
    let slow = Slow { until: seed * 300, at_once: 1 + seed as usize % 40 };
    third.node(stage(slow, &[]));
    third.read(sink_in, 0);
    third.read(direct_in, 0);

    let parts = 12 + seed as u32 % 60;
    vec![
        first.build(home(0, parts, 0)).0,
        second.build(home(parts, parts, 0)).0,
        third.build(home(0, 1, 0)).0,
    ]
}

fn check(reports: &[ActorReport], context: &str) {
    let (mut implicit, mut booked) = (Units::default(), Units::default());
    for actor in reports {
        for (index, stage) in actor.stages.iter().enumerate() {
            assert!(stage.is_balanced(), "{context}: {} stage {index}: {stage:?}", actor.name);
            assert_eq!(stage.held, Units::default(), "{context}: {} stage {index}", actor.name);
            assert_eq!(stage.lost.no_room, Units::default(), "{context}: {}", actor.name);
            booked += stage.lost.stage_panicked + stage.lost.stopped;
        }
        assert_eq!(actor.home.outstanding, [0; 3], "{context}: {}", actor.name);
        implicit += actor.home.implicit;
        for out in &actor.rings_out {
            let mut ends = reports.iter().flat_map(|actor| &actor.rings_in);
            let into = ends.find(|end| end.name == out.name).expect("a reader");
            assert!(out.is_balanced(into), "{context}: {out:?} {into:?}");
            booked += out.stopped + into.stopped;
        }
    }
    assert_eq!(implicit, booked, "{context}: what fell out of scope is not what was booked");
}

fn run(seed: u64, panics: u32, max_turns: u64) -> (Vec<ActorReport>, SimOutcome) {
    hush();
    let faults = SimConfig { stall: 30, withhold: 20, max_turns, ..SimConfig::new(seed) };
    let (mut actors, outcome) = sim::run(build(seed, panics), &faults);
    (actors.iter_mut().map(Actor::report).collect(), outcome)
}

#[test]
fn every_seed_ends_and_balances() {
    let mut turns = 0;
    for seed in 0..256 {
        let (reports, outcome) = run(seed, 0, 200_000);
        assert!(outcome.finished, "seed {seed} is stuck: {outcome:?}");
        check(&reports, &format!("seed {seed}"));
        turns += outcome.turns;
    }
    // Some 400 packets, 2000 frames, rings of a few slots: more turns than this is spinning.
    assert!(turns / 256 < 3000, "{} turns a seed", turns / 256);
}

#[test]
fn every_seed_with_panics_ends_and_balances() {
    let mut panicked = 0;
    for seed in 0..256 {
        let (reports, outcome) = run(seed, 40, 200_000);
        assert!(outcome.finished, "seed {seed} is stuck: {outcome:?}");
        check(&reports, &format!("seed {seed}"));
        panicked += reports.iter().flat_map(|actor| &actor.stages).map(|s| s.panics).sum::<u64>();
    }
    assert!(panicked > 1000, "{panicked} panics");
}

#[test]
fn a_run_stopped_at_any_turn_balances() {
    let mut stopped = 0;
    for seed in 0..400 {
        let (reports, _) = run(seed, 20, 1 + seed * 7);
        check(&reports, &format!("seed {seed}"));
        let stages = reports.iter().flat_map(|actor| &actor.stages);
        stopped += stages.filter(|stage| stage.lost.stopped.packets > 0).count();
    }
    assert!(stopped > 80, "{stopped} stages were stopped with packets in them");
}
