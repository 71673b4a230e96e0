//! One window: a plan is started, left alone until it is warm, and its books are read at both ends of the window.
//!
//! Promises that nothing of the start, the warm-up and the end is in the figures, and that nobody who measures runs
//! meanwhile: the supervisor sleeps. An input that ends before the window does is an error, and so is a run that
//! fails; both say which step it was.

use super::load::{Disturbance, Proc};
use super::spec::Scaling;
use super::split::{ActorTime, Split};
use crate::error::Failure;
use crate::launch::Handle;
use crate::place::Plan;
use corelane_runtime::counters::ActorReport;
use corelane_runtime::port::{Direction, QueueReport};
use corelane_runtime::{Error, Time};
use serde::Serialize;
use std::time::Duration;

/// One step of an actor in so many is timed. At some 2 us a step and 20 ns a look at the clock, that costs less than
/// half of a percent.
pub(crate) const SAMPLE_EVERY: u32 = 64;
/// Longest that a window passes without a look at whether all is well.
const LOOK: Duration = Duration::from_secs(1);
/// How long a pipeline may take to give out what is inside.
const DRAIN: Duration = Duration::from_secs(5);
/// What a frame takes on the wire beside what is in the buffer: preamble, gap, check sequence (IEEE 802.3, 4.4.2).
const WIRE: u64 = 24;
const SECOND: f64 = 1e9;

/// What a window came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Round {
    /// Frames that came in, all ports together.
    pub frames: u64,
    /// Bytes of those, without check sequence.
    pub bytes: u64,
    /// Seconds, as the threads saw them.
    pub wall_s: f64,
    /// Millions of frames a second.
    pub mpps: f64,
    /// 10^9 bits a second on the wire, preamble, gap and check sequence counted.
    pub gbps_l1: f64,
    /// Processor time of the actors' threads.
    pub cpu_s: f64,
    /// Frames a second of processor time; 0 where that is not known.
    pub frames_per_cpu_s: f64,
    /// Frames of the busiest receive queue over those of the average one of its port.
    pub busiest_queue: f64,
    /// Frames that were dropped inside.
    pub dropped: u64,
    /// The part of the time of the threads in which they could have run and had no CPU.
    pub waiting: f64,
    /// The part of their time in which they had nothing to do.
    pub idle: f64,
    /// What reading the clock for the samples cost, as a part of that time.
    pub sampling: f64,
    /// What else was on the CPUs.
    #[serde(flatten)]
    pub disturbance: Disturbance,
    /// Where the time went.
    #[serde(skip)]
    pub(crate) split: Split,
    /// How busy the busiest thread was, and the least busy one, as parts of the time.
    #[serde(skip)]
    pub(crate) busy: (f64, f64),
}

/// Measures a plan once. `name` says in errors which step it is.
pub(crate) fn measure(plan: Plan, scaling: &Scaling, name: &str) -> Result<Round, Failure> {
    let cpus: Vec<usize> = plan.actors.iter().filter_map(|actor| actor.cpu).collect();
    let mut handle = plan.start_measured(SAMPLE_EVERY)?;
    let round = windowed(&mut handle, scaling, &cpus, name);
    handle.drain();
    if !handle.wait_for(DRAIN) {
        handle.stop();
    }
    let report = handle.wait();
    let round = round?;
    match report.errors.iter().chain(&report.unbalanced).next() {
        None if !report.has_failed() => Ok(round),
        first => {
            let what = first.map_or("a stage panicked", String::as_str);
            Err(Error::system(name, format!("the run failed: {what}")).into())
        }
    }
}

fn windowed(
    handle: &mut Handle,
    scaling: &Scaling,
    cpus: &[usize],
    name: &str,
) -> Result<Round, Failure> {
    let proc = Proc::default();
    pass(handle, scaling.warm_up);
    let before = books(handle, name)?;
    let threads: Vec<u32> =
        before.iter().filter_map(|book| Some(book.profile.as_ref()?.thread)).collect();
    let then = proc.read(cpus, &threads);
    pass(handle, scaling.measure);
    let after = books(handle, name)?;
    let disturbance = proc.read(cpus, &threads).since(&then);
    if handle.is_finished() || before.iter().chain(&after).any(|book| book.ended) {
        let end = (scaling.warm_up + scaling.measure).as_secs_f64();
        let message = format!(
            "the input ended before the window did, {end:.3} s after the start; take `count` or the end of the input \
             away, or choose a shorter `warm_up` and `measure`"
        );
        return Err(Error::user(name, message).into());
    }
    let round = Round { disturbance, ..Round::between(&before, &after) };
    match round.frames {
        0 => Err(Error::user(name, "no packet came in while it was measured").into()),
        _ => Ok(round),
    }
}

/// Lets time pass. Whoever looked more often would be a load of its own.
fn pass(handle: &mut Handle, time: Duration) {
    let mut left = time;
    while !left.is_zero() && !handle.is_finished() {
        let piece = left.min(LOOK);
        std::thread::sleep(piece);
        handle.wait_for(Duration::ZERO);
        left -= piece;
    }
}

fn books(handle: &mut Handle, name: &str) -> Result<Vec<ActorReport>, Failure> {
    handle.books().map_err(|late| {
        let late = late.join(", ");
        Error::system(name, format!("{late} did not say in time how far it is")).into()
    })
}

impl Round {
    /// What lies between two readings of the books.
    pub(crate) fn between(before: &[ActorReport], after: &[ActorReport]) -> Round {
        let pairs = || before.iter().zip(after);
        let times: Vec<ActorTime> =
            pairs().map(|(old, new)| ActorTime::between(old, new)).collect();
        let split = Split::of(&times);
        let mut round = Round { busiest_queue: busiest(before, after), ..Round::default() };
        for ((old, new), time) in pairs().zip(&times) {
            let (frames, bytes) = received(old, new);
            round.frames += frames;
            round.bytes += bytes;
            round.dropped += dropped(new).saturating_sub(dropped(old));
            // Each over its own window: they are not read at the same instant.
            let rate = SECOND / time.wall.max(1) as f64;
            round.mpps += frames as f64 * rate / 1e6;
            round.gbps_l1 += (bytes + frames * WIRE) as f64 * 8.0 * rate / 1e9;
            round.wall_s = round.wall_s.max(seconds(time.wall));
        }
        round.set_times(&times, split);
        round
    }

    fn set_times(&mut self, times: &[ActorTime], split: Split) {
        let part = |time: Time| time as f64 / split.total.max(1) as f64;
        (self.waiting, self.idle) = (part(split.waiting), part(split.idle));
        self.sampling = part(times.iter().map(|time| time.sample.overhead).sum());
        self.cpu_s = seconds(threads(times).map(|time| time.cpu).sum());
        if self.cpu_s > 0.0 {
            self.frames_per_cpu_s = self.frames as f64 / self.cpu_s;
        }
        let busy = threads(times).map(|first| {
            let crew = times.iter().filter(|time| time.thread == first.thread);
            let worked: Time = crew.map(|time| time.worked).sum();
            worked as f64 / first.wall.max(1) as f64
        });
        let (most, least) =
            busy.fold((0.0_f64, 1.0_f64), |(most, least), busy| (most.max(busy), least.min(busy)));
        self.busy = (most, least.min(most));
        self.split = split;
    }
}

fn seconds(time: Time) -> f64 {
    time as f64 / SECOND
}

/// One actor of each thread.
fn threads(times: &[ActorTime]) -> impl Iterator<Item = &ActorTime> {
    times.iter().enumerate().filter_map(|(number, time)| {
        let again = times[..number].iter().any(|other| other.thread == time.thread);
        (time.thread == 0 || !again).then_some(time)
    })
}

fn queues(book: &ActorReport) -> impl Iterator<Item = &QueueReport> {
    let queues = book.stages.iter().filter_map(|stage| stage.queue.as_ref());
    queues.filter(|queue| queue.direction == Direction::Rx)
}

/// Frames and bytes that an actor received.
fn received(before: &ActorReport, after: &ActorReport) -> (u64, u64) {
    let sum = |book: &ActorReport, of: fn(&QueueReport) -> u64| queues(book).map(of).sum::<u64>();
    let new = |of| sum(after, of).saturating_sub(sum(before, of));
    (new(|queue| queue.wire_packets), new(|queue| queue.bytes))
}

fn dropped(book: &ActorReport) -> u64 {
    let stages =
        book.stages.iter().map(|stage| (stage.tally.dropped() + stage.lost.total()).segments);
    let rings = book.rings_out.iter().map(|ring| ring.stats.dropped.segments);
    stages.chain(rings).sum()
}

/// Frames of the busiest queue over the average of its port, where that is most.
fn busiest(before: &[ActorReport], after: &[ActorReport]) -> f64 {
    let mut ports: Vec<(&str, Vec<u64>)> = Vec::new();
    for (old, new) in before.iter().zip(after) {
        for (old, new) in queues(old).zip(queues(new)) {
            let frames = new.wire_packets.saturating_sub(old.wire_packets);
            match ports.iter_mut().find(|(port, _)| *port == new.port) {
                Some((_, queues)) => queues.push(frames),
                None => ports.push((&new.port, vec![frames])),
            }
        }
    }
    let uneven = ports.iter().map(|(_, queues)| {
        let (all, most) = (queues.iter().sum::<u64>(), queues.iter().max().copied().unwrap_or(0));
        if all == 0 { 1.0 } else { most as f64 * queues.len() as f64 / all as f64 }
    });
    uneven.fold(1.0, f64::max)
}
