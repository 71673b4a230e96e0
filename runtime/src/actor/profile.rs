//! Where an actor's time goes, stage by stage: sampled, and only where somebody asked for it.
//!
//! Promises that of the steps that did work one in so many is timed call by call, drawn so that no rhythm of the
//! traffic meets the samples, and that the time of reading the clock is taken off. It decides nothing: an actor does
//! the same whether it is timed or not. The clock comes from outside ([`Meter`]). What the samples stand for is for
//! who reads them.

use crate::Time;

/// A timed step longer than this, ns, was interrupted: by far the most of it was not the stages' work.
const INTERRUPTED: Time = 2_000_000;
/// Readings of the clock to find what one costs.
const TRIALS: usize = 64;

/// The clock of whoever runs actors, and what it knows of the thread.
pub trait Meter: Send {
    /// Now, ns from any start.
    fn now(&self) -> Time;
    /// Processor time that the calling thread has had, ns; 0 where nobody counts it.
    fn cpu(&self) -> Time;
    /// The number by which the system knows the calling thread; 0 where it has none.
    fn thread(&self) -> u32;
}

/// What was measured of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTime {
    /// Calls that were timed.
    pub calls: u64,
    /// Their time, ns.
    pub time: Time,
    /// How much of that was the device's behind the stage.
    pub device: Time,
}

/// What was measured of an actor; a sample, but for `cpu`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Steps that were timed and did work.
    pub steps: u64,
    /// Their time, ns, stages and all between them.
    pub time: Time,
    /// Node by node, in the order of the actor.
    pub nodes: Vec<NodeTime>,
    /// Timed steps that were left out since something interrupted them.
    pub interrupted: u64,
    /// What measuring itself cost, ns.
    pub overhead: Time,
    /// Processor time that the actor's thread has had, ns, when the books were asked for last.
    pub cpu: Time,
    /// The system's number of that thread.
    pub thread: u32,
}

/// Times one step in so many.
pub(crate) struct Stopwatch {
    meter: Box<dyn Meter>,
    every: u32,
    /// Steps until the next one that is timed.
    left: u32,
    random: u64,
    /// What reading the clock costs, ns.
    reading: Time,
    running: bool,
    began: Time,
    /// Times that the clock was read in this step.
    readings: u64,
    /// This step, node by node.
    step: Vec<NodeTime>,
    /// The device's part of the call that is going on.
    device: Time,
    sum: Profile,
}

impl Stopwatch {
    /// Times one in `every` steps, on average, of an actor of so many nodes.
    pub(super) fn new(meter: Box<dyn Meter>, every: u32, nodes: usize) -> Stopwatch {
        let reading = cost_of_reading(&*meter);
        let every = every.max(1);
        let sum = Profile { nodes: vec![NodeTime::default(); nodes], ..Profile::default() };
        Stopwatch {
            meter,
            every,
            left: every,
            random: 0x9e37_79b9_7f4a_7c15,
            reading,
            running: false,
            began: 0,
            readings: 0,
            step: vec![NodeTime::default(); nodes],
            device: 0,
            sum,
        }
    }

    /// A step begins.
    pub(super) fn begin(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return;
        }
        self.left = self.draw();
        self.running = true;
        self.readings = 0;
        self.step.fill(NodeTime::default());
        self.began = self.read();
    }

    /// From 1 to twice the average less one, each as likely as any other.
    fn draw(&mut self) -> u32 {
        // Xorshift: Marsaglia 2003. Never 0, as it does not begin there.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let span = u64::from(self.every) * 2 - 1;
        1 + (((self.random >> 32) * span) >> 32) as u32
    }

    fn read(&mut self) -> Time {
        self.readings += 1;
        self.meter.now()
    }

    /// What lies between two readings, less what reading takes.
    fn since(&mut self, began: Time, readings: u64) -> Time {
        let now = self.read();
        let own = self.reading * (self.readings - readings);
        now.saturating_sub(began).saturating_sub(own)
    }

    /// A stage, or the device behind one, is about to be called; `None`: this step is not timed.
    pub(crate) fn enter(&mut self) -> Option<Mark> {
        if !self.running {
            return None;
        }
        let began = self.read();
        Some(Mark { began, readings: self.readings })
    }

    /// A device has returned.
    pub(crate) fn leave_device(&mut self, mark: Mark) {
        self.device += self.since(mark.began, mark.readings);
    }

    /// A stage has returned.
    pub(super) fn leave(&mut self, node: usize, mark: Mark) {
        let time = self.since(mark.began, mark.readings);
        let device = std::mem::take(&mut self.device).min(time);
        if let Some(node) = self.step.get_mut(node) {
            node.calls += 1;
            node.time += time;
            node.device += device;
        }
    }

    /// The step ends; it is kept if it did work.
    pub(super) fn end(&mut self, worked: bool) {
        if !std::mem::take(&mut self.running) {
            return;
        }
        let time = self.since(self.began, 1);
        self.sum.overhead += self.reading * self.readings;
        if time > INTERRUPTED {
            self.sum.interrupted += 1;
        } else if worked {
            self.keep(time);
        }
    }

    fn keep(&mut self, time: Time) {
        let inside: Time = self.step.iter().map(|node| node.time).sum();
        self.sum.steps += 1;
        // Clocks are coarse: what was between the calls cannot have been less than nothing.
        self.sum.time += time.max(inside);
        for (sum, node) in self.sum.nodes.iter_mut().zip(&self.step) {
            sum.calls += node.calls;
            sum.time += node.time;
            sum.device += node.device;
        }
    }

    /// Looks at the thread: to be called on the actor's own.
    pub(super) fn note_thread(&mut self) {
        (self.sum.cpu, self.sum.thread) = (self.meter.cpu(), self.meter.thread());
    }

    /// What was measured so far; of the thread, as of the last look.
    pub(super) fn profile(&self) -> Profile {
        self.sum.clone()
    }
}

/// When a call began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    began: Time,
    /// How often the clock had been read by then.
    readings: u64,
}

/// The usual time from one reading of the clock to the next, ns.
fn cost_of_reading(meter: &dyn Meter) -> Time {
    let mut gaps: Vec<Time> = (0..TRIALS)
        .map(|_| {
            let began = meter.now();
            meter.now().saturating_sub(began)
        })
        .collect();
    gaps.sort_unstable();
    gaps[gaps.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// A clock that goes on when it is read, by so much, and when somebody works.
    #[derive(Default)]
    struct Hand {
        time: AtomicU64,
        reading: u64,
    }

    impl Hand {
        fn works(&self, time: Time) {
            self.time.fetch_add(time, Relaxed);
        }
    }

    impl Meter for Arc<Hand> {
        fn now(&self) -> Time {
            self.time.fetch_add(self.reading, Relaxed) + self.reading
        }

        fn cpu(&self) -> Time {
            7
        }

        fn thread(&self) -> u32 {
            9
        }
    }

    /// A stopwatch that times every step, and the hand of its clock.
    fn always(reading: u64, nodes: usize) -> (Stopwatch, Arc<Hand>) {
        let hand = Arc::new(Hand { reading, ..Hand::default() });
        (Stopwatch::new(Box::new(Arc::clone(&hand)), 1, nodes), hand)
    }

    #[test]
    fn what_interrupts_a_step_and_what_does_nothing_is_left_out() {
        let (mut watch, hand) = always(5, 1);
        for (time, worked) in [(100, true), (100, false), (INTERRUPTED + 1, true)] {
            watch.begin();
            let mark = watch.enter().expect("every step is timed");
            hand.works(time);
            watch.leave(0, mark);
            watch.end(worked);
        }
        watch.note_thread();
        let expected = Profile {
            steps: 1,
            time: 100,
            nodes: vec![NodeTime { calls: 1, time: 100, device: 0 }],
            interrupted: 1,
            overhead: 3 * 4 * 5,
            cpu: 7,
            thread: 9,
        };
        assert_eq!(watch.profile(), expected);
        assert!(watch.enter().is_none(), "between steps nothing is timed");
    }

    #[test]
    fn one_step_in_so_many_is_timed_and_no_rhythm_is_kept() {
        let hand = Arc::new(Hand::default());
        let mut watch = Stopwatch::new(Box::new(hand), 64, 0);
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..640_000 {
            gap += 1;
            watch.begin();
            if watch.enter().is_some() {
                gaps.push(gap);
                gap = 0;
            }
            watch.end(true);
        }
        assert!((9_500..=10_500).contains(&gaps.len()), "{}", gaps.len());
        let (least, most) = (gaps.iter().min(), gaps.iter().max());
        assert!(least == Some(&1) && most == Some(&127), "{least:?} {most:?}");
        let next_to_each_other = gaps.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(next_to_each_other < gaps.len() / 50, "{next_to_each_other}");
    }

    proptest! {
        /// Against a ledger of what was worked where; the reading is exact, so the sums are.
        #[test]
        fn every_nanosecond_of_a_timed_step_is_where_it_was_worked(
            reading in 0..50_u64,
            steps in prop::collection::vec(
                prop::collection::vec((0..3_usize, 0..500_u64, 0..500_u64, 0..500_u64), 0..6),
                1..20,
            ),
        ) {
            let (mut watch, hand) = always(reading, 3);
            let mut ledger = Profile { nodes: vec![NodeTime::default(); 3], ..Profile::default() };
            for calls in &steps {
                watch.begin();
                for &(node, between, own, device) in calls {
                    hand.works(between);
                    let mark = watch.enter().expect("timed");
                    hand.works(own);
                    let inner = watch.enter().expect("timed");
                    hand.works(device);
                    watch.leave_device(inner);
                    watch.leave(node, mark);
                    ledger.time += between + own + device;
                    ledger.nodes[node].calls += 1;
                    ledger.nodes[node].time += own + device;
                    ledger.nodes[node].device += device;
                }
                watch.end(true);
                ledger.steps += 1;
            }
            let found = watch.profile();
            prop_assert_eq!((found.steps, found.time, found.nodes), (ledger.steps, ledger.time, ledger.nodes));
        }
    }
}
