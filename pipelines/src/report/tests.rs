//! Books that lie, each in one place, and the complaint that each must draw.

use super::make::{Facts, PortFacts, StageFacts};
use super::{Named, balance};
use corelane_runtime::counters::{ActorReport, RingIn, RingOut, StageReport};
use corelane_runtime::edge::EdgeStats;
use corelane_runtime::packet::{HomeReport, Units};
use corelane_runtime::port::{Direction, QueueReport};

fn units(packets: u64) -> Units {
    Units { packets, segments: packets, bytes: 100 * packets }
}

fn queue(port: &str, direction: Direction, packets: u64) -> QueueReport {
    QueueReport { packets, ..QueueReport::new(port, direction) }
}

fn actor(name: &str, stages: Vec<StageReport>) -> ActorReport {
    let home = HomeReport {
        name: name.into(),
        capacity: [9; 3],
        outstanding: [0; 3],
        low_water: [9; 3],
        refused: 0,
        implicit: Units::default(),
        huge: false,
    };
    let (rings_out, rings_in) = (Vec::new(), Vec::new());
    ActorReport {
        name: name.into(),
        stages,
        home,
        steps: [0; 3],
        times: [0; 3],
        cpus: Vec::new(),
        ended: true,
        rings_out,
        rings_in,
        failed: None,
        profile: None,
    }
}

/// Five packets come in by `a` in one actor, cross a ring, and leave by `b` in another.
fn books() -> Vec<ActorReport> {
    let mut rx = StageReport { stage: 0, input: units(5), output: units(5), ..Default::default() };
    rx.tally.received = units(5);
    rx.queue = Some(queue("a", Direction::Rx, 5));
    let mut tx = StageReport { stage: 1, input: units(5), output: units(5), ..Default::default() };
    tx.tally.transmitted = units(5);
    tx.queue = Some(queue("b", Direction::Tx, 5));
    let mut first = actor("first", vec![rx]);
    let mut second = actor("second", vec![tx]);
    first.rings_out.push(RingOut {
        name: "r".into(),
        capacity: 8,
        sent: units(5),
        stopped: Units::default(),
        stats: EdgeStats::default(),
    });
    second.rings_in.push(RingIn { name: "r".into(), taken: units(5), stopped: Units::default() });
    vec![first, second]
}

fn facts() -> Facts {
    let stage = |id: &str| StageFacts::named(id);
    let port = |name: &str| PortFacts { name: name.into(), kind: "Emulated".into() };
    Facts {
        pipeline: "test".into(),
        plan: "0".into(),
        ports: vec![port("a"), port("b")],
        stages: vec![stage("m.0"), stage("m.1")],
        actors: vec!["first".into(), "second".into()],
        cpus: vec![None, None],
        rings: vec![("r".into(), "first".into(), "second".into())],
    }
}

/// Complaints after `lie` has changed the books.
fn after(lie: impl FnOnce(&mut Vec<ActorReport>)) -> Vec<String> {
    let mut books = books();
    lie(&mut books);
    balance::complaints(&facts(), &books)
}

#[test]
fn honest_books_draw_no_complaint() {
    assert_eq!(after(|_| {}), [] as [String; 0]);
}

#[test]
fn each_lie_draws_its_complaint() {
    let stage = "stage m.0 in actor first: 5 packets, 5 frames, 500 payload bytes came, \
                 4 packets, 4 frames, 400 payload bytes went";
    assert_eq!(after(|books| books[0].stages[0].output = units(4)), [stage]);
    let mut odd = units(5);
    odd.bytes += 1;
    assert_eq!(after(|books| books[0].stages[0].output = odd).len(), 1, "bytes count too");

    let ring = after(|books| books[1].rings_in[0].taken = units(4));
    assert_eq!(ring.len(), 1);
    assert!(ring[0].starts_with("ring r: 5 packets"), "{ring:?}");
    assert_eq!(after(|books| books[1].rings_in.clear()), ["ring r: nobody reads it"]);

    let port = after(|books| books[0].stages[0].queue = Some(queue("a", Direction::Rx, 6)));
    assert_eq!(port, ["port a: 6 packets received by the port, 5 by stages"]);
    let port = after(|books| books[1].stages[0].queue = Some(queue("b", Direction::Tx, 4)));
    assert_eq!(port, ["port b: 4 packets sent by the port, 5 by stages"]);

    let home = after(|books| books[1].home.outstanding = [0, 2, 0]);
    let expected = "pool of actor second: 0 shells, 2 small and 0 large buffers are missing";
    assert_eq!(home, [expected]);

    let implicit = after(|books| books[0].home.implicit = units(1));
    assert_eq!(implicit.len(), 1);
    assert!(implicit[0].starts_with("dropped by falling out of scope: 1 packets"), "{implicit:?}");
}

#[test]
fn what_a_panic_or_a_stop_lost_is_accounted_for() {
    let lost = after(|books| {
        let stage = &mut books[0].stages[0];
        stage.output = units(3);
        stage.lost.stage_panicked = units(2);
        books[0].rings_out[0].sent = units(3);
        books[1].rings_in[0].taken = units(3);
        let tx = &mut books[1].stages[0];
        (tx.input, tx.output, tx.tally.transmitted) = (units(3), units(2), units(2));
        tx.lost.stopped = units(1);
        tx.queue = Some(queue("b", Direction::Tx, 2));
        books[0].home.implicit = units(3);
    });
    assert_eq!(lost, [] as [String; 0]);
    let unbooked = after(|books| {
        books[0].stages[0].output = units(4);
        books[0].stages[0].lost.no_room = units(1);
        books[0].rings_out[0].sent = units(5);
        books[0].home.implicit = units(1);
    });
    assert_eq!(unbooked.len(), 1, "a stage that broke its contract leaves the run unbalanced");
}

#[test]
fn names_keep_their_order_in_json() {
    let mut named: Named<u64> = Named::default();
    for name in ["zebra", "ape", "mole"] {
        *named.entry(name) += 1;
    }
    *named.entry("ape") += 1;
    assert_eq!(serde_json::to_string(&named).unwrap(), r#"{"zebra":1,"ape":2,"mole":1}"#);
    assert_eq!((named.get("ape"), named.get("fox"), named.sum()), (Some(&2), None, 4));
}
