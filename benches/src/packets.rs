//! What a packet costs in a pipeline: the difference between a long and a short run, divided by the packets between
//! them, so that mapping pools and building stages does not count.
//!
//! Every pipeline runs on one thread in the simulator, without faults. Cases run in turn, round by round, after one
//! round that does not count.

use corelane::{Machine, Pipeline, Report, SimConfig};
use std::time::Instant;

/// How long and how often every case runs.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// Packets of a short run.
    pub short: u64,
    /// Packets of a long run.
    pub long: u64,
    /// Runs of each kind that count.
    pub rounds: usize,
}

/// ns a packet of one case.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Between the medians of the long and the short runs.
    pub median: f64,
    /// Between the quietest ones.
    pub quietest: f64,
}

impl Runs {
    /// Measures that many cases; `run` is told which, and with how many packets.
    pub fn measure(self, cases: usize, mut run: impl FnMut(usize, u64)) -> Vec<Cost> {
        let mut times = vec![[Vec::new(), Vec::new()]; cases];
        for round in 0..=self.rounds {
            for (case, times) in times.iter_mut().enumerate() {
                for (packets, times) in [self.short, self.long].into_iter().zip(times) {
                    let start = Instant::now();
                    run(case, packets);
                    let nanoseconds = start.elapsed().as_nanos() as f64;
                    if round > 0 {
                        times.push(nanoseconds);
                    }
                }
            }
        }
        times.iter_mut().map(|times| self.cost(times)).collect()
    }

    fn cost(self, times: &mut [Vec<f64>; 2]) -> Cost {
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let [short, long] = times;
        let between = (self.long - self.short) as f64;
        let at = |index: usize| (long[index] - short[index]) / between;
        Cost { median: at(self.rounds / 2), quietest: at(0) }
    }
}

/// Runs a description on one thread and returns its report.
///
/// # Panics
/// With the reason, where the description cannot be run or its books do not balance.
pub fn simulate(description: &str) -> Report {
    let pipeline = Pipeline::parse(description).unwrap_or_else(|problems| panic!("{problems}"));
    let plan = pipeline.plan(&corelane::standard(), &Machine::here());
    let plan = plan.unwrap_or_else(|failure| panic!("{failure}"));
    let config = SimConfig { max_turns: u64::MAX, ..SimConfig::new(1) };
    let (report, _) = plan.simulate_with(&config).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.balanced == Some(true), "{:?}", report.unbalanced);
    report
}
