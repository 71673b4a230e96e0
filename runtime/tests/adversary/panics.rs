//! Stages that panic at the worst moment, and stages that break their contract: the actor lives on, and the
//! books say what was lost.

use crate::toys::{Count, Toy, books, home, hush, node, processes, row, sink, source, stage};
use corelane_runtime::actor::{Actor, NodeBody, NodeConfig, OnPanic, Step};
use corelane_runtime::packet::{Burst, CutPlan, Packet, Units};
use corelane_runtime::stage::{Outputs, Progress, Source, Stage, StageContext, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const NEXT: [Target; 1] = [Target::Node(1)];
const LAST: [Target; 1] = [Target::Node(2)];

/// Steps until the actor is done or has nothing to do.
fn exhaust(actor: &mut Actor) -> Step {
    for now in 0..100_000 {
        match actor.step(now) {
            Step::Worked(_) => {}
            step => return step,
        }
    }
    panic!("it works for ever");
}

/// A stage that can be rebuilt; the rebuilt one passes packets on.
fn restarts(first: Toy) -> NodeConfig {
    let factory: Box<dyn Fn() -> Box<dyn Stage> + Send> = Box::new(|| Box::new(Toy::default()));
    let mut config = node(NodeBody::Stage(Box::new(first), Some(factory)), &LAST);
    config.on_panic = OnPanic::default();
    config
}

#[test]
fn a_multiplying_stage_that_is_bypassed_keeps_to_the_room() {
    hush();
    let mut bypassed = stage(processes(|_, _, _| panic!("on purpose")), &LAST);
    bypassed.multiplies = true;
    bypassed.on_panic = OnPanic::Bypass;
    let slow = processes(|burst, _, ctx| {
        if let Some(packet) = burst.pop() {
            ctx.transmitted(&packet);
            ctx.buffers.release(packet);
        }
    });
    let count = Count { left: 2000, at_once: 32 };
    let nodes = vec![source(count, &NEXT), bypassed, stage(slow, &[])];
    let mut actor = row(nodes, home(0, 1024, 0));
    assert_eq!(exhaust(&mut actor), Step::Done);
    let report = books(&mut actor);
    assert_eq!(report.stages[1].lost.no_room, Units::default());
    assert_eq!(report.stages[2].tally.transmitted.packets, 2000 - 32);
}

#[test]
fn a_tick_that_panics_does_not_cost_packets_the_stage_never_saw() {
    hush();
    let waits = Toy {
        process: Some(Box::new(|_, _, _| {})),
        tick: Some(Box::new(|_, _| panic!("on purpose"))),
        deadline: Some(0),
        ..Toy::default()
    };
    let count = Count { left: 10, at_once: 32 };
    let nodes = vec![source(count, &NEXT), restarts(waits), stage(sink(), &[])];
    let mut actor = row(nodes, home(0, 64, 0));
    assert_eq!(exhaust(&mut actor), Step::Done);
    let report = books(&mut actor);
    assert_eq!(report.stages[1].panics, 1);
    assert_eq!(report.stages[2].tally.transmitted.packets, 10);
}

#[test]
fn a_stage_that_panics_when_asked_what_it_holds_is_a_stage_that_panicked() {
    hush();
    let held = Box::new(|| panic!("on purpose"));
    let broken = Toy { held: Some(held), ..Toy::default() };
    let count = Count { left: 10, at_once: 5 };
    let nodes = vec![source(count, &NEXT), restarts(broken), stage(sink(), &[])];
    let mut actor = row(nodes, home(0, 64, 0));
    assert_eq!(exhaust(&mut actor), Step::Done);
    let report = books(&mut actor);
    assert_eq!(report.stages[1].panics, 1);
}

/// Panics when it works, when it is dropped, and when it is asked about its queue.
struct Spiteful;

impl Stage for Spiteful {
    fn process(&mut self, _: &mut Burst, _: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        panic!("on purpose");
    }

    fn queue_report(&self) -> Option<corelane_runtime::port::QueueReport> {
        panic!("on purpose, once more");
    }
}

impl Drop for Spiteful {
    fn drop(&mut self) {
        panic!("on purpose, at the end");
    }
}

#[test]
fn a_stage_that_panics_at_every_turn_and_cannot_be_rebuilt_ends_the_run_in_order() {
    hush();
    let factory: Box<dyn Fn() -> Box<dyn Stage> + Send> = Box::new(|| panic!("on purpose"));
    let mut config = node(NodeBody::Stage(Box::new(Spiteful), Some(factory)), &LAST);
    config.on_panic = OnPanic::default();
    let count = Count { left: 100, at_once: 10 };
    let nodes = vec![source(count, &NEXT), config, stage(sink(), &[])];
    let mut actor = row(nodes, home(0, 64, 0));
    assert_eq!(exhaust(&mut actor), Step::Done);
    let report = books(&mut actor);
    assert_eq!(report.stages[1].lost.stage_panicked.packets, 100);
    assert!(report.failed.is_some(), "a stage that cannot be rebuilt has failed for good");
}

/// Sends some packets, then panics with one in hand.
struct PanickingSource(usize);

impl Source for PanickingSource {
    fn poll(&mut self, _: usize, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        let packet = ctx.buffers.receive(b"packet").expect("room");
        ctx.received(&packet);
        self.0 += 1;
        assert!(self.0 < 5, "on purpose");
        out.next(packet);
        Progress::Worked(1)
    }

    fn stop(&mut self) {}

    fn queue_report(&self) -> Option<corelane_runtime::port::QueueReport> {
        use corelane_runtime::port::{Direction, QueueReport};
        Some(QueueReport { packets: self.0 as u64, ..QueueReport::new("p", Direction::Rx) })
    }
}

#[test]
fn a_source_that_panics_ends_the_run_whatever_was_asked_for() {
    hush();
    let answers = [OnPanic::default(), OnPanic::Bypass, OnPanic::Drop, OnPanic::Stop];
    for on_panic in answers {
        let mut first = source(PanickingSource(0), &NEXT);
        first.on_panic = on_panic;
        let mut actor = row(vec![first, stage(sink(), &[])], home(0, 64, 0));
        assert_eq!(exhaust(&mut actor), Step::Done, "{on_panic:?}");
        let report = books(&mut actor);
        assert!(report.failed.is_some(), "{on_panic:?}: its queue cannot be opened again");
        assert_eq!(report.stages[1].tally.transmitted.packets, 4);
        assert_eq!(report.stages[0].lost.stage_panicked.packets, 1);
        let queue = report.stages[0].queue.as_ref().expect("what the queue counted is kept");
        assert_eq!(queue.packets, 5, "{on_panic:?}");
    }
}

#[test]
fn a_packet_put_back_into_the_burst_comes_up_again() {
    let turns = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&turns);
    let hesitant = processes(move |burst, out, _| {
        let Some(packet) = burst.pop() else { return };
        if turns.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
            out.next(packet);
        } else {
            burst.push(packet).expect("its slot is free");
        }
    });
    let count = Count { left: 9, at_once: 3 };
    let nodes = vec![source(count, &NEXT), stage(hesitant, &LAST), stage(sink(), &[])];
    let mut actor = row(nodes, home(0, 64, 0));
    for now in 0..1000 {
        actor.step(now);
    }
    let report = books(&mut actor);
    assert_eq!(report.stages[2].tally.transmitted.packets, 9);
    assert!(seen.load(Ordering::Relaxed) >= 27);
}

/// What it took in one call it puts back in the next, beside what has come since.
#[test]
fn a_burst_that_grows_while_it_is_handled_does_not_kill_the_actor() {
    let mut kept: Vec<Packet> = Vec::new();
    let mut calls = 0;
    let grows = processes(move |burst, out, _| {
        calls += 1;
        match calls {
            1 => kept.extend(burst.drain()),
            2 => kept.drain(..).for_each(|packet| burst.push(packet).expect("room")),
            _ => burst.drain().for_each(|packet| out.next(packet)),
        }
    });
    let count = Count { left: 40, at_once: 20 };
    let nodes = vec![source(count, &NEXT), stage(grows, &LAST), stage(sink(), &[])];
    let mut actor = row(nodes, home(0, 64, 0));
    assert_eq!(exhaust(&mut actor), Step::Done);
    assert_eq!(books(&mut actor).stages[2].tally.transmitted.packets, 40);
}

/// Cuts packets in three, one segment a call; panics within the third packet if told so.
struct Cutter {
    current: Option<(Packet, CutPlan)>,
    made: usize,
    panic_at: usize,
}

const PART: u32 = 300;

impl Stage for Cutter {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        if self.current.is_none() {
            let Some(packet) = burst.pop() else { return };
            let plan = CutPlan::reserve(&packet, 20, PART, false, ctx.buffers).expect("enough");
            self.current = Some((packet, plan));
        }
        let Some((mut packet, mut plan)) = self.current.take() else { return };
        if packet.segments() == 1 {
            plan.finish(ctx.buffers);
            return out.next(packet);
        }
        let segment = ctx.segment_of(&mut packet, 20, PART, 1, &mut plan).expect("reserved");
        self.current = Some((packet, plan));
        self.made += 1;
        assert!(self.made != self.panic_at, "on purpose");
        out.next(segment);
    }

    fn held(&self) -> Units {
        self.current.as_ref().map_or(Units::default(), |(packet, _)| packet.units())
    }
}

/// Makes superpackets of three segments.
struct Supers(usize);

impl Source for Supers {
    fn poll(&mut self, _: usize, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        if self.0 == 0 {
            return Progress::Done;
        }
        let Some(mut packet) = ctx.buffers.receive(&[7; 920]) else { return Progress::Starved };
        packet.set_layers(Default::default(), 900);
        let mut request = packet.segmentation();
        request.count = 3;
        packet.set_segmentation(request);
        ctx.received(&packet);
        out.next(packet);
        self.0 -= 1;
        Progress::Worked(1)
    }

    fn stop(&mut self) {
        self.0 = 0;
    }
}

fn cutting(panic_at: usize, supers: usize) -> Actor {
    let cutter = move || Cutter { current: None, made: 0, panic_at };
    let factory: Box<dyn Fn() -> Box<dyn Stage> + Send> = Box::new(move || Box::new(cutter()));
    let mut config = node(NodeBody::Stage(Box::new(cutter()), Some(factory)), &LAST);
    config.multiplies = true;
    config.on_panic = OnPanic::Restart { max: u32::MAX, window: 1 };
    let nodes = vec![source(Supers(supers), &NEXT), config, stage(sink(), &[])];
    row(nodes, home(32, 16, 0))
}

#[test]
fn a_panic_between_two_segments_costs_the_rest_in_all_three_units_and_no_buffers() {
    hush();
    let mut actor = cutting(2, 200);
    assert_eq!(exhaust(&mut actor), Step::Done, "buffers set aside are lost with the stage");
    let report = books(&mut actor);
    let lost = report.stages[1].lost.stage_panicked;
    let out = report.stages[2].tally.transmitted;
    assert_eq!(lost.segments + out.segments, 600, "{lost:?} {out:?}");
    assert_eq!(lost.bytes + out.bytes, 600 * u64::from(PART));
    // Each packet: the first segment leaves, the second is in hand, the rest is held.
    assert_eq!(report.stages[1].panics, 200);
    assert_eq!(lost.packets, 400);
}

#[test]
fn a_forced_stop_between_two_segments_books_the_rest_as_stopped() {
    let mut actor = cutting(usize::MAX, 200);
    for now in 0..7 {
        actor.step(now);
    }
    let report = books(&mut actor);
    assert!(report.stages.iter().any(|stage| stage.lost.stopped.packets > 0));
}
