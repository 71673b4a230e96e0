//! Schedules in which an actor might sleep although what it waits for has happened, or stay awake although
//! nothing can have happened.

use crate::toys::{Count, Toy, books, home, processes, row, sink, source, stage};
use corelane_runtime::Time;
use corelane_runtime::actor::{Actor, ActorBuilder, On, Step};
use corelane_runtime::edge::{EdgeRx, EdgeTx, OnFull, edge};
use corelane_runtime::exec::Waker;
use corelane_runtime::exec::sim::{self, SimConfig};
use corelane_runtime::packet::{Burst, Packet, Units};
use corelane_runtime::stage::{Outputs, Progress, Source, Stage, StageContext, Target};
use std::sync::Arc;

const NEXT: [Target; 1] = [Target::Node(1)];
const RING: [Target; 1] = [Target::Edge(0)];

fn ring(capacity: usize, from: &Arc<Waker>, to: &Arc<Waker>) -> (EdgeTx, EdgeRx) {
    edge("ring", capacity, OnFull::Wait, Arc::clone(from), Arc::clone(to))
}

/// An actor that ends what it reads.
fn reader(edge: EdgeRx, waker: Arc<Waker>) -> Actor {
    let mut builder = ActorBuilder::new("reader", waker);
    builder.node(stage(sink(), &[]));
    builder.read(edge, 0);
    builder.build(home(0, 1, 0)).0
}

/// Steps until there is nothing to do.
fn settle(actor: &mut Actor, now: Time) -> Step {
    for _ in 0..10_000 {
        match actor.step(now) {
            Step::Worked(_) => {}
            step => return step,
        }
    }
    panic!("it works for ever");
}

/// Two rings are full. Whichever gets room between the last step and the decision to sleep, it is seen.
#[test]
fn room_in_either_of_two_full_rings_is_seen() {
    for drained in 0..2 {
        let wakers: [Arc<Waker>; 3] = Default::default();
        let (tx0, rx0) = ring(4, &wakers[0], &wakers[1]);
        let (tx1, rx1) = ring(4, &wakers[0], &wakers[2]);
        let mut builder = ActorBuilder::new("writer", Arc::clone(&wakers[0]));
        builder.node(source(Count { left: 50, at_once: 32 }, &[Target::Edge(0)]));
        builder.node(source(Count { left: 50, at_once: 32 }, &[Target::Edge(1)]));
        builder.feed(tx0);
        builder.feed(tx1);
        let mut writer = builder.build(home(0, 128, 0)).0;
        let mut readers =
            [reader(rx0, Arc::clone(&wakers[1])), reader(rx1, Arc::clone(&wakers[2]))];
        let step = settle(&mut writer, 0);
        assert!(matches!(step, Step::Blocked(On::Edge(_), None)), "{step:?}");
        assert!(!writer.must_wake(0), "nothing has happened yet");
        settle(&mut readers[drained], 0);
        assert!(writer.must_wake(0), "ring {drained} has room, and its reader will not ring again");
    }
}

/// Room for one is not enough for a stage that sends pairs, and no full ring is to be seen.
#[test]
fn a_stage_that_wants_more_room_than_there_is_sees_it_come() {
    let wakers: [Arc<Waker>; 2] = Default::default();
    let (tx, rx) = ring(3, &wakers[0], &wakers[1]);
    let pairs = processes(|burst, out, _| {
        while burst.len() >= 2 && out.room() >= 2 {
            burst.drain().take(2).for_each(|packet| out.next(packet));
        }
    });
    let mut builder = ActorBuilder::new("pairs", Arc::clone(&wakers[0]));
    builder.node(source(Count { left: 40, at_once: 32 }, &NEXT));
    let mut config = stage(pairs, &RING);
    config.multiplies = true;
    builder.node(config);
    builder.feed(tx);
    let mut writer = builder.build(home(0, 128, 0)).0;
    let mut reader = reader(rx, Arc::clone(&wakers[1]));
    settle(&mut writer, 0);
    assert!(!writer.must_wake(0), "nothing has happened yet");
    settle(&mut reader, 0);
    assert!(writer.must_wake(0), "there is room for a pair, and nobody will ring again");
}

/// Keeps all it gets, and drops it all when its time has come, without calling that work.
struct Hoard {
    kept: Vec<Packet>,
    until: Time,
}

impl Stage for Hoard {
    fn process(&mut self, burst: &mut Burst, _: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        self.kept.extend(burst.drain());
    }

    fn tick(&mut self, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        self.kept.drain(..).for_each(|packet| ctx.consume(packet));
        Progress::Idle(None)
    }

    fn drain(&mut self, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> Progress {
        self.tick(out, ctx);
        Progress::Done
    }

    fn next_deadline(&self) -> Option<Time> {
        (!self.kept.is_empty()).then_some(self.until)
    }

    fn held(&self) -> Units {
        self.kept.iter().fold(Units::default(), |sum, packet| sum + packet.units())
    }
}

/// The actor's own release brings no bell.
#[test]
fn buffers_freed_by_the_actor_itself_end_its_wait_for_buffers() {
    let hoard = Hoard { kept: Vec::new(), until: 1000 };
    let nodes = vec![source(Count { left: 50, at_once: 32 }, &NEXT), stage(hoard, &[])];
    let mut actor = row(nodes, home(0, 8, 0));
    let step = settle(&mut actor, 0);
    assert_eq!(step, Step::Blocked(On::Home, Some(1000)));
    assert!(!actor.must_wake(999));
    let (mut actors, outcome) = sim::run(vec![actor], &SimConfig::new(1));
    assert!(outcome.finished, "asleep with free buffers: {outcome:?}");
    assert_eq!(books(&mut actors[0]).stages[1].tally.consumed.packets, 50);
}

/// A due deadline of a stage without room must not keep its actor awake: room rings.
#[test]
fn a_due_deadline_behind_a_full_ring_lets_the_actor_sleep() {
    let wakers: [Arc<Waker>; 2] = Default::default();
    let (tx, rx) = ring(1, &wakers[0], &wakers[1]);
    let due = Toy { deadline: Some(0), ..Toy::default() };
    let mut builder = ActorBuilder::new("due", Arc::clone(&wakers[0]));
    builder.node(source(Count { left: 1000, at_once: 32 }, &NEXT));
    builder.node(stage(due, &RING));
    builder.feed(tx);
    let mut writer = builder.build(home(0, 1024, 0)).0;
    let step = settle(&mut writer, 5);
    assert_eq!(step, Step::Blocked(On::Edge(0), None));
    assert!(!writer.must_wake(6), "spins until there is room");
    let mut reader = reader(rx, Arc::clone(&wakers[1]));
    settle(&mut reader, 5);
    assert!(writer.must_wake(6));
}

/// A full input ring must not keep an actor awake that cannot send.
#[test]
fn packets_that_cannot_be_taken_in_let_the_actor_sleep() {
    let wakers: [Arc<Waker>; 3] = Default::default();
    let (tx0, rx0) = ring(64, &wakers[0], &wakers[1]);
    let (tx1, rx1) = ring(1, &wakers[1], &wakers[2]);
    let mut first = ActorBuilder::new("first", Arc::clone(&wakers[0]));
    first.node(source(Count { left: 2000, at_once: 32 }, &RING));
    first.feed(tx0);
    let mut first = first.build(home(0, 1024, 0)).0;
    let mut middle = ActorBuilder::new("middle", Arc::clone(&wakers[1]));
    middle.node(stage(Toy::default(), &RING));
    middle.read(rx0, 0);
    middle.feed(tx1);
    let mut middle = middle.build(home(0, 1, 0)).0;
    for _ in 0..100 {
        settle(&mut first, 0);
        settle(&mut middle, 0);
    }
    assert!(!middle.must_wake(0), "spins while both its rings are full");
    assert!(!first.must_wake(0), "spins while its ring is full");
    let mut last = reader(rx1, Arc::clone(&wakers[2]));
    settle(&mut last, 0);
    assert!(middle.must_wake(0));
}

/// A stage that waits for buffers with its deadline due, as one that has paused within a packet does.
#[test]
fn a_due_deadline_that_waits_for_buffers_lets_the_actor_sleep() {
    let mut buffers = home(0, 2, 0);
    let out: Vec<Packet> = (0..2).filter_map(|_| buffers.receive(b"out")).collect();
    let wants = Toy {
        tick: Some(Box::new(|_, ctx| match ctx.buffers.receive(b"x") {
            Some(packet) => {
                ctx.buffers.release(packet);
                Progress::Worked(1)
            }
            None => Progress::Starved,
        })),
        drain: Some(Box::new(|_, _| Progress::Idle(None))),
        deadline: Some(0),
        ..Toy::default()
    };
    let mut actor = row(vec![stage(wants, &[])], buffers);
    assert_eq!(actor.step(5), Step::Blocked(On::Home, None));
    assert!(!actor.must_wake(6), "spins until buffers come home");
    out.into_iter().for_each(drop);
    assert!(actor.must_wake(6));
}

/// A stage straight before a ring may fill all of it in one call, and nobody calls that a full ring.
#[test]
fn a_multiplying_stage_sees_the_room_that_is_left_in_the_ring() {
    let wakers: [Arc<Waker>; 2] = Default::default();
    let (tx, rx) = ring(256, &wakers[0], &wakers[1]);
    let mut current: Option<(Packet, usize)> = None;
    let copies = processes(move |burst, out, ctx| {
        loop {
            if current.is_none() {
                current = burst.pop().map(|packet| (packet, 0));
            }
            let Some((packet, made)) = &mut current else { return };
            while *made < 9 {
                if out.room() == 0 {
                    return;
                }
                let copy = ctx.buffers.receive(packet.data()).expect("enough");
                ctx.create(&copy);
                out.next(copy);
                *made += 1;
            }
            if out.room() == 0 {
                return;
            }
            let (packet, _) = current.take().expect("just looked at");
            out.next(packet);
        }
    });
    let mut builder = ActorBuilder::new("copies", Arc::clone(&wakers[0]));
    builder.node(source(Count { left: 20, at_once: 20 }, &NEXT));
    let mut config = stage(copies, &RING);
    config.multiplies = true;
    builder.node(config);
    builder.feed(tx);
    let mut writer = builder.build(home(0, 512, 0)).0;
    writer.step(0);
    let mut reader = reader(rx, Arc::clone(&wakers[1]));
    settle(&mut reader, 0);
    let taken = reader.report().rings_in[0].taken.packets;
    assert_eq!(taken, 200, "20 packets ten times over, in one step");
    assert_eq!(writer.report().rings_out[0].stats.full, 0);
}

/// Two stages of one actor feed one ring: the second is not shut out by what the first has sent.
#[test]
fn two_stages_may_feed_one_ring_in_one_step() {
    let wakers: [Arc<Waker>; 2] = Default::default();
    let (tx, rx) = ring(64, &wakers[0], &wakers[1]);
    let mut builder = ActorBuilder::new("two", Arc::clone(&wakers[0]));
    builder.node(source(Count { left: 8, at_once: 8 }, &RING));
    builder.node(source(Count { left: 8, at_once: 8 }, &RING));
    builder.feed(tx);
    let mut writer = builder.build(home(0, 64, 0)).0;
    writer.step(0);
    let mut reader = reader(rx, Arc::clone(&wakers[1]));
    settle(&mut reader, 0);
    assert_eq!(reader.report().rings_in[0].taken.packets, 16);
    assert_eq!(writer.report().rings_out[0].stats.full, 0, "the ring was never full");
}

/// A drain that asks for time gets it, also where the stage has no deadline of its own.
#[test]
fn a_drain_that_names_a_time_is_called_then() {
    let patient = Toy {
        drain: Some(Box::new(|_, ctx| match ctx.now {
            0..5000 => Progress::Idle(Some(5000)),
            _ => Progress::Done,
        })),
        ..Toy::default()
    };
    let nodes = vec![source(Count { left: 3, at_once: 3 }, &NEXT), stage(patient, &[])];
    let mut nodes = nodes.into_iter();
    let (first, mut second) = (nodes.next().expect("two"), nodes.next().expect("two"));
    second.targets = vec![Target::Node(2)];
    let actor = row(vec![first, second, stage(sink(), &[])], home(0, 8, 0));
    let (_, outcome) = sim::run(vec![actor], &SimConfig::new(3));
    assert!(outcome.finished, "{outcome:?}");
    assert!(outcome.time >= 5000);
}

/// If an actor is lost with its end of a ring, the other end must hear of it.
#[test]
fn the_end_of_a_ring_that_is_dropped_rings_the_other() {
    let wakers: [Arc<Waker>; 2] = Default::default();
    let (tx, rx) = ring(4, &wakers[0], &wakers[1]);
    wakers[1].prepare();
    assert!(!rx.is_finished());
    drop(tx);
    assert!(rx.is_finished());
    assert!(!wakers[1].is_sleeping(), "its reader sleeps for ever");
}

/// A source that is never ready and names no time.
struct Silent;

impl Source for Silent {
    fn poll(&mut self, _: usize, _: &mut Outputs<'_>, _: &mut StageContext<'_>) -> Progress {
        Progress::Idle(None)
    }

    fn stop(&mut self) {}
}

/// Packets that wait in a dropping edge's stash still leave when the ring gets room, and a forced stop
/// finds them.
#[test]
fn the_stash_of_a_dropping_ring_is_neither_lost_nor_forgotten() {
    for stop in [false, true] {
        let wakers: [Arc<Waker>; 2] = Default::default();
        let [from, to] = &wakers;
        let (tx, rx) = edge("ring", 4, OnFull::DropOldest, Arc::clone(from), Arc::clone(to));
        let mut builder = ActorBuilder::new("writer", Arc::clone(from));
        builder.node(source(Count { left: 1000, at_once: 32 }, &RING));
        builder.node(source(Silent, &RING));
        builder.feed(tx);
        let mut writer = builder.build(home(0, 1024, 0)).0;
        let mut reader = reader(rx, Arc::clone(to));
        let step = settle(&mut writer, 0);
        assert_eq!(step, Step::Idle(None));
        assert!(!writer.must_wake(0));
        settle(&mut reader, 0);
        assert!(writer.must_wake(0), "the stash has packets and the ring has room");
        while !stop && writer.must_wake(0) {
            settle(&mut writer, 0);
            settle(&mut reader, 0);
        }
        [&mut writer, &mut reader].into_iter().for_each(|actor| actor.abandon());
        [&mut writer, &mut reader].into_iter().for_each(|actor| actor.discard_rest());
        let (out, into) = (writer.report(), reader.report());
        assert!(out.rings_out[0].is_balanced(&into.rings_in[0]));
        assert_eq!(out.home.outstanding, [0; 3]);
        assert_eq!(out.rings_out[0].stopped.packets, if stop { 128 } else { 0 });
    }
}

/// A stage may want to be ticked before its first packet, and after it was rebuilt.
#[test]
fn a_deadline_counts_before_the_first_packet() {
    let ticked = Toy { deadline: Some(700), ..Toy::default() };
    let mut actor = row(vec![source(Silent, &NEXT), stage(ticked, &[])], home(0, 1, 0));
    assert_eq!(actor.step(0), Step::Idle(Some(700)));
    assert!(!actor.must_wake(699) && actor.must_wake(700));
}

/// Room and buffers that nobody waits for are no reason to be woken.
#[test]
fn a_reader_does_not_wake_a_writer_that_only_waits_for_time() {
    let wakers: [Arc<Waker>; 2] = Default::default();
    let (tx, rx) = ring(64, &wakers[0], &wakers[1]);
    let mut builder = ActorBuilder::new("writer", Arc::clone(&wakers[0]));
    builder.node(source(Count { left: 32, at_once: 32 }, &RING));
    builder.node(source(Silent, &RING));
    builder.feed(tx);
    let mut writer = builder.build(home(0, 64, 0)).0;
    let mut reader = reader(rx, Arc::clone(&wakers[1]));
    assert_eq!(settle(&mut writer, 0), Step::Idle(None));
    wakers[0].prepare_for(writer.wants());
    settle(&mut reader, 0);
    assert!(wakers[0].is_sleeping(), "woken by room and by 32 buffers, with nothing to do");
    assert!(!writer.must_wake(0));
    wakers[0].wake();
    assert!(!wakers[0].is_sleeping());
}

/// What was refused in one class is not forgotten for what is refused later in another.
#[test]
fn relief_is_seen_in_the_class_that_was_refused_first() {
    use corelane_runtime::packet::Class;
    let mut buffers = home(0, 1, 1);
    let small = buffers.alloc(Class::Small).expect("one");
    let mut large = buffers.alloc(Class::Large);
    let wants = Toy {
        tick: Some(Box::new(move |_, ctx| {
            if let Some(packet) = ctx.buffers.alloc(Class::Large) {
                ctx.buffers.release(packet);
                return Progress::Worked(1);
            }
            large.take().into_iter().for_each(|packet| ctx.buffers.release(packet));
            assert!(ctx.buffers.alloc(Class::Small).is_none());
            Progress::Starved
        })),
        drain: Some(Box::new(|_, _| Progress::Idle(None))),
        deadline: Some(0),
        ..Toy::default()
    };
    let mut actor = row(vec![stage(wants, &[])], buffers);
    assert_eq!(actor.step(5), Step::Blocked(On::Home, None));
    assert!(actor.must_wake(5), "the large buffer is free again");
    assert!(matches!(actor.step(5), Step::Worked(_)));
    drop(small);
}
