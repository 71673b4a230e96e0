//! How benches are run here: cases interleaved in rounds within one process, medians and minima, ratios.
//!
//! On machines of few, shared cores a single figure means little; two cases measured in turn in one run can
//! be compared. Nothing here asserts a speed.

mod packets;
pub mod peers;

pub use packets::{Cost, Runs, simulate};

use std::time::Instant;

/// One thing to measure.
pub struct Case<'a> {
    /// Name in the table.
    pub name: String,
    /// Packets (or bytes) one call handles.
    pub items: u64,
    /// Does the work once; what it returns is kept from the optimiser.
    pub run: Box<dyn FnMut() -> u64 + 'a>,
}

/// Nanoseconds per item of one case over all rounds.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Name of the case.
    pub name: String,
    /// Best round.
    pub min: f64,
    /// Middle round.
    pub median: f64,
}

/// Runs every case once a round, in turn, after one round that does not count.
pub fn interleave(cases: &mut [Case<'_>], rounds: usize) -> Vec<Figures> {
    let mut times: Vec<Vec<f64>> = vec![Vec::with_capacity(rounds); cases.len()];
    for round in 0..=rounds {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            let start = Instant::now();
            std::hint::black_box((case.run)());
            let nanoseconds = start.elapsed().as_nanos() as f64 / case.items as f64;
            if round > 0 {
                times.push(nanoseconds);
            }
        }
    }
    let figures = cases.iter().zip(&mut times).map(|(case, times)| {
        times.sort_by(f64::total_cmp);
        Figures { name: case.name.clone(), min: times[0], median: times[times.len() / 2] }
    });
    figures.collect()
}

/// Prints a table; the last column is the median's ratio to that of the first case.
pub fn print(title: &str, unit: &str, figures: &[Figures]) {
    println!("{title}");
    println!("  {:<36} {:>10} {:>10} {:>8}", "case", "median", "min", "ratio");
    let base = figures.first().map_or(1.0, |first| first.median);
    for figure in figures {
        let Figures { name, min, median } = figure;
        println!("  {name:<36} {median:>10.2} {min:>10.2} {:>8.2}", median / base);
    }
    println!("  ({unit})");
}
