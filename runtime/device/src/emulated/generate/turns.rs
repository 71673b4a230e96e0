//! In which order flows take turns, and what share of the traffic falls to one queue.
//!
//! Random turns are drawn from the seed: the same frames in every run. Each queue knows its own flows only.

use crate::emulated::faults::mix;

/// Steepest Zipf distribution; beyond it the second flow hardly ever has a turn.
const ZIPF_MAX: f64 = 10.0;

/// How flows take turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// A frame of each flow in turn.
    RoundRobin,
    /// This many frames of a flow, then as many of the next.
    Trains(u32),
    /// At random; flow number n is drawn in proportion to 1 / n to this power, as few flows make up most of the
    /// traffic of many networks.
    Zipf(f64),
}

impl Order {
    /// Says what is wrong with it.
    pub(super) fn check(self) -> Result<(), String> {
        match self {
            Order::Trains(0) => {
                Err("`order` has trains of 0 frames, which never end; give at least 1".to_owned())
            }
            Order::Zipf(power) if !(power > 0.0 && power <= ZIPF_MAX) => Err(format!(
                "`order` is `Zipf({power})`; give a power over 0 and up to {ZIPF_MAX}, such as 1.1"
            )),
            _ => Ok(()),
        }
    }

    fn weight(self, flow: u32) -> f64 {
        match self {
            Order::Zipf(power) => (f64::from(flow) + 1.0).powf(-power),
            Order::RoundRobin | Order::Trains(_) => 1.0,
        }
    }
}

/// One queue's part of all the traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portion {
    turns: Option<Share>,
    /// What falls to the queues before it.
    before: f64,
    /// What falls to it.
    pub(super) own: f64,
}

/// The flows of a queue, where all flows take equal turns.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// Frames of a flow before the next flow's turn.
    train: u64,
    flows: u64,
    index: u64,
    queues: u64,
}

impl Share {
    /// How many of the first so many flows are the queue's own.
    fn own_of(&self, flows: u64) -> u64 {
        flows.saturating_sub(self.index).div_ceil(self.queues)
    }

    /// How many of the first `count` frames, as one queue would have them, are of its flows.
    fn of_count(&self, count: u64) -> u64 {
        let turn = self.train * self.flows;
        let (whole, rest) = (count / turn, count % turn);
        let (trains, begun) = (rest / self.train, rest % self.train);
        let last = if trains % self.queues == self.index { begun } else { 0 };
        whole * self.train * self.own_of(self.flows) + self.train * self.own_of(trains) + last
    }
}

impl Portion {
    /// The part of queue `index` of `queues`; flow n is queue n modulo `queues`' own.
    pub(super) fn of(order: Order, flows: u32, index: usize, queues: usize) -> Portion {
        let queues = queues.max(1);
        let train = match order {
            Order::RoundRobin => Some(1),
            Order::Trains(frames) => Some(u64::from(frames).max(1)),
            Order::Zipf(_) => None,
        };
        if let Some(train) = train {
            let flows = u64::from(flows).max(1);
            let share = Share { train, flows, index: index as u64, queues: queues as u64 };
            let own = share.own_of(flows) as f64 / flows as f64;
            return Portion { turns: Some(share), before: 0.0, own };
        }
        let mut parts = vec![0.0; queues];
        (0..flows).for_each(|flow| parts[flow as usize % queues] += order.weight(flow));
        let all: f64 = parts.iter().sum();
        let before: f64 = parts[..index].iter().sum();
        Portion { turns: None, before: before / all, own: parts[index] / all }
    }

    /// How many of `count` frames fall to it; those of all queues add up to `count`.
    pub(super) fn of_count(&self, count: u64) -> u64 {
        let up_to = |part: f64| match part {
            // All of it, whatever was lost in adding up parts.
            part if part > 1.0 - 1e-9 => count,
            part => ((count as f64 * part).round() as u64).min(count),
        };
        match self.turns {
            Some(share) => share.of_count(count),
            None if self.own == 0.0 => 0,
            None => up_to(self.before + self.own) - up_to(self.before),
        }
    }
}

/// Whose turn it is, among the flows of one queue.
#[derive(Debug)]
pub(super) struct Turns {
    order: Order,
    flows: usize,
    flow: usize,
    in_train: u32,
    /// For each flow the chance that the turn is its own or one before it; empty where turns are not drawn.
    chances: Vec<f64>,
    seed: u64,
    drawn: u64,
}

impl Turns {
    /// Turns of the flows with these numbers.
    pub(super) fn new(order: Order, own: impl Iterator<Item = u32>, seed: u64) -> Turns {
        let mut flows = 0;
        let mut sum = 0.0;
        let mut chances = Vec::new();
        for flow in own {
            flows += 1;
            if matches!(order, Order::Zipf(_)) {
                sum += order.weight(flow);
                chances.push(sum);
            }
        }
        chances.iter_mut().for_each(|chance| *chance /= sum);
        let mut turns = Turns { order, flows, flow: 0, in_train: 0, chances, seed, drawn: 0 };
        if !turns.chances.is_empty() {
            turns.draw();
        }
        turns
    }

    /// The flow whose turn it is, counted among those of the queue.
    pub(super) fn flow(&self) -> usize {
        self.flow
    }

    /// Goes on to the next turn.
    pub(super) fn advance(&mut self) {
        let train = match self.order {
            Order::RoundRobin => 1,
            Order::Trains(frames) => frames,
            Order::Zipf(_) => return self.draw(),
        };
        self.in_train += 1;
        if self.in_train >= train {
            self.in_train = 0;
            self.flow = (self.flow + 1) % self.flows.max(1);
        }
    }

    fn draw(&mut self) {
        let random = mix(self.seed ^ mix(self.drawn));
        self.drawn += 1;
        // 53 bits are what such a number holds.
        let at = (random >> 11) as f64 / (1_u64 << 53) as f64;
        self.flow = self.chances.partition_point(|chance| *chance <= at).min(self.flows - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zipf_draws_flows_in_proportion() {
        let mut turns = Turns::new(Order::Zipf(1.0), 0..4, 7);
        let mut counts = [0_u32; 4];
        for _ in 0..100_000 {
            counts[turns.flow()] += 1;
            turns.advance();
        }
        // 1, 1/2, 1/3 and 1/4 of 25/12.
        for (count, expected) in counts.iter().zip([48_000.0, 24_000.0, 16_000.0, 12_000.0]) {
            assert!((f64::from(*count) - expected).abs() < 1_000.0, "{counts:?}");
        }
    }

    #[test]
    fn what_is_no_power_is_refused() {
        for power in [0.0, -1.0, f64::NAN, f64::INFINITY, 10.1] {
            assert!(Order::Zipf(power).check().is_err(), "{power}");
        }
        assert_eq!(Order::Zipf(10.0).check(), Ok(()));
    }

    proptest! {
        #[test]
        fn the_parts_of_all_queues_make_the_whole(
            flows in 1..300_u32, queues in 1..9_usize, count in 0..1_000_000_u64,
            order in prop_oneof![
                Just(Order::RoundRobin),
                (1..40_u32).prop_map(Order::Trains),
                (0.1..3.0).prop_map(Order::Zipf),
            ],
        ) {
            let parts = (0..queues).map(|queue| Portion::of(order, flows, queue, queues));
            let (mut all, mut whole) = (0, 0.0);
            for (queue, part) in parts.enumerate() {
                all += part.of_count(count);
                whole += part.own;
                prop_assert!(queue < flows as usize || part.of_count(count) == 0);
            }
            prop_assert_eq!(all, count);
            prop_assert!((whole - 1.0).abs() < 1e-9);
        }
    }
}
