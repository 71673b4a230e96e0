//! `check`: whether a stage keeps the rules that every stage must keep, tried on packets that the caller makes.
//!
//! It promises that a stage that loses a packet, makes one of nothing, sends beyond its room, panics, keeps what
//! it should pass on, depends on how packets are split into bursts, or shares state between its copies is found
//! out on packets that show it, with a message that says which rule and on which packets. It knows no protocol,
//! and does not judge what the stage is for.

use super::Harness;
use crate::packet::Packet;
use crate::stage::spec::{StageInfo, Traits};
use crate::stage::{BuildContext, Built, Stage, StageConfig};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes frames that can be compared of the packets that left by one output.
pub type Compare = dyn Fn(Vec<Packet>, &mut Harness) -> Vec<Vec<u8>>;

/// What is tried.
pub struct Trial<'a> {
    /// What the stage is.
    pub info: &'a StageInfo,
    /// How it is configured.
    pub config: &'a dyn StageConfig,
    /// Where it is built.
    pub place: &'a mut dyn BuildContext,
    /// Makes the packets of one round; the same each time.
    pub packets: &'a dyn Fn(&mut Harness) -> Vec<Packet>,
    /// What left by one output, in a form in which it must not depend on how packets were split: most stages
    /// need no more than [`frames`].
    pub compare: &'a Compare,
}

/// The bytes of each packet in order.
pub fn frames(packets: Vec<Packet>, harness: &mut Harness) -> Vec<Vec<u8>> {
    packets.into_iter().map(|packet| harness.unpack(packet)).collect()
}

/// What a round came to: output by output, and what was counted.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    outputs: Vec<Vec<Vec<u8>>>,
    counters: Vec<(&'static str, u64)>,
    drops: Vec<(&'static str, u64)>,
}

/// How a round goes.
#[derive(Clone, Copy, Debug)]
struct Round {
    name: &'static str,
    split: &'static [usize],
    room: Option<usize>,
    /// Buffers are withheld while packets come, for a while.
    withhold: bool,
}

const ROUNDS: &[Round] = &[
    // First, so that a message can show the one packet it is about.
    Round { name: "one packet at a time", split: &[1], room: None, withhold: false },
    Round { name: "all packets in bursts of 256", split: &[256], room: None, withhold: false },
    Round { name: "bursts of 1, 32 and 7", split: &[1, 32, 7], room: None, withhold: false },
    Round { name: "outputs with room for one", split: &[256], room: Some(1), withhold: false },
    Round { name: "outputs with room for three", split: &[5, 64], room: Some(3), withhold: false },
    Round { name: "no buffers to be had at first", split: &[32], room: None, withhold: true },
];

/// Tries a stage in every way; panics, as assertions do, where it breaks a rule.
pub fn check(trial: &mut Trial<'_>) {
    let name = trial.info.name;
    let traits = trial.config.traits();
    let mut first: Option<(Outcome, &str)> = None;
    // Copies are done without where buffers are out, so what leaves then is not always the same.
    for round in ROUNDS.iter().filter(|round| !(round.withhold && traits.mirrors)) {
        let stage = build(trial, name);
        let outcome = run(trial, &traits, stage, round);
        match &first {
            None => first = Some((outcome, round.name)),
            Some((known, other)) => {
                compare(name, traits.coalesces, (known, other), (&outcome, round.name))
            }
        }
    }
    let Some((known, other)) = first else { return };
    for (copy, what) in copies(trial, name) {
        let outcome = run(trial, &traits, copy, &ROUNDS[0]);
        compare(name, traits.coalesces, (&known, other), (&outcome, what));
    }
}

fn build(trial: &mut Trial<'_>, name: &str) -> Box<dyn Stage> {
    match trial.config.build(trial.place) {
        Ok(Built::Stage(stage, _)) => stage,
        Ok(Built::Source(_)) => panic!("`{name}` is a source; only stages are tried"),
        Err(error) => panic!("`{name}` cannot be built: {error}"),
    }
}

/// Copies made by one factory, the second after the first has worked.
fn copies(trial: &mut Trial<'_>, name: &str) -> Vec<(Box<dyn Stage>, &'static str)> {
    match trial.config.build(trial.place) {
        Ok(Built::Stage(_, Some(again))) => vec![
            (again(), "a fresh copy, as after a panic"),
            (again(), "another copy, made beside the first"),
        ],
        Ok(_) => Vec::new(),
        Err(error) => panic!("`{name}` cannot be built: {error}"),
    }
}

fn run(trial: &mut Trial<'_>, traits: &Traits, stage: Box<dyn Stage>, round: &Round) -> Outcome {
    let name = trial.info.name;
    let mut harness =
        Harness::built(Built::Stage(stage, None), trial.info).outputs(outputs(trial.info, traits));
    if traits.multiplies {
        harness = harness.multiplies();
    }
    if traits.mirrors {
        harness = harness.mirrors();
    }
    if let Some(room) = round.room {
        harness.set_room(room);
    }
    let packets = (trial.packets)(&mut harness);
    let shown: Vec<String> = packets.iter().map(show).collect();
    let mut done = 0;
    let ended = catch_unwind(AssertUnwindSafe(|| drive(&mut harness, packets, round, &mut done)));
    if let Err(panic) = ended {
        std::mem::forget(harness); // it may be in any state
        let (from, to) = (done.saturating_sub(WINDOW).min(shown.len()), done.min(shown.len()));
        let around = shown[from..to].join("\n  ");
        panic!("`{name}`, {}: {}\nthe last packets it got:\n  {around}", round.name, said(&*panic));
    }
    judge(trial, harness, round)
}

/// Packets of which a message shows the bytes.
const WINDOW: usize = 2;

fn drive(harness: &mut Harness, packets: Vec<Packet>, round: &Round, done: &mut usize) {
    if round.withhold {
        harness.buffers.withhold([u32::MAX / 2; 3]);
    }
    let mut sizes = round.split.iter().copied().cycle();
    let mut packets = packets.into_iter().peekable();
    while packets.peek().is_some() {
        let room = crate::packet::BURST_MAX - harness.waiting();
        let size = sizes.next().unwrap_or(1).min(room.max(1));
        if room == 0 {
            harness.buffers.withhold([0; 3]);
            settle(harness);
            assert!(
                harness.waiting() < crate::packet::BURST_MAX,
                "it takes none of the packets it is shown, though there is room"
            );
            continue;
        }
        for packet in packets.by_ref().take(size) {
            harness.push(packet);
            *done += 1;
        }
        settle(harness);
        harness.assert_balanced();
    }
    harness.buffers.withhold([0; 3]);
    settle(harness);
    harness.drain();
    harness.assert_balanced();
}

/// Calls the stage while it takes or sends anything: one that cuts may work long on one packet.
fn settle(harness: &mut Harness) {
    loop {
        let before = harness.sent();
        if harness.step() == 0 && harness.sent() == before {
            return;
        }
    }
}

/// What left and what was counted; every buffer is home afterwards.
fn judge(trial: &Trial<'_>, mut harness: Harness, round: &Round) -> Outcome {
    let (name, info) = (trial.info.name, trial.info);
    let count = outputs(info, &trial.config.traits());
    let outputs = (0..count)
        .map(|output| {
            let packets = harness.take_from(output);
            (trial.compare)(packets, &mut harness)
        })
        .collect();
    let counters = harness.counters();
    let drops = info.drop_reasons.iter().map(|reason| (*reason, harness.dropped(reason).packets));
    let drops = drops.filter(|&(_, n)| n > 0).collect();
    let ended = catch_unwind(AssertUnwindSafe(|| harness.finish()));
    if let Err(panic) = ended {
        panic!("`{name}`, {}: at the end: {}", round.name, said(&*panic));
    }
    Outcome { outputs, counters, drops }
}

/// Outputs of a stage: the next one, unless it ends its chain, and those its arguments name.
fn outputs(info: &StageInfo, traits: &Traits) -> usize {
    usize::from(info.role != crate::stage::spec::Role::Sink) + traits.outputs.len()
}

fn compare(
    name: &str,
    joins: bool,
    (left, one): (&Outcome, &str),
    (right, other): (&Outcome, &str),
) {
    for (output, (a, b)) in left.outputs.iter().zip(&right.outputs).enumerate() {
        if a == b {
            continue;
        }
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let shown =
            |frames: &[Vec<u8>]| frames.get(same).map_or("nothing".to_owned(), |frame| hex(frame));
        panic!(
            "`{name}` does not always do the same: output {output} had {} packets with {one}, and {} with \
             {other}; the first difference is packet {same}:\n  {}\n  {}",
            a.len(),
            b.len(),
            shown(a),
            shown(b),
        );
    }
    assert!(
        left.drops == right.drops,
        "`{name}` does not always drop the same: {:?} with {one}, {:?} with {other}",
        left.drops,
        right.drops
    );
    // What is counted of joining depends on what comes together.
    assert!(
        joins || left.counters == right.counters,
        "`{name}` does not always count the same: {:?} with {one}, {:?} with {other}",
        left.counters,
        right.counters
    );
}

fn show(packet: &Packet) -> String {
    let bytes: Vec<u8> = packet.parts().flatten().copied().collect();
    format!("{} bytes, {} segments: {}", bytes.len(), packet.segments(), hex(&bytes))
}

/// The first bytes of a frame.
fn hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 80;
    let mut text = String::new();
    for byte in bytes.iter().take(SHOWN) {
        let _ = write!(text, "{byte:02x}");
    }
    if bytes.len() > SHOWN { text + ".." } else { text }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned()
}
