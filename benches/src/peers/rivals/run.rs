//! The command: arguments, the table as it grows, the lines at the end.

use super::Bench;
use crate::peers::row::Row;
use crate::peers::{other_core, own_core};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

/// Pairs of windows, unless said otherwise.
const ROUNDS: usize = 15;
/// Fewer give no interval.
const ROUNDS_MIN: usize = 9;

struct Arguments {
    rounds: usize,
    only: String,
    out: Option<String>,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut found = Arguments { rounds: ROUNDS, only: String::new(), out: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
        match word.as_str() {
            "--rounds" => found.rounds = value.parse::<usize>()?.max(ROUNDS_MIN),
            "--only" => found.only = value,
            "--out" => found.out = Some(value),
            _ => return Err(format!("{word}: --rounds N, --only TEXT or --out FILE").into()),
        }
    }
    Ok(found)
}

/// Runs every case whose names contain what `--only` says.
///
/// # Errors
/// Wrong arguments, what DPDK says, what writing the lines says.
pub fn run() -> Result<(), Box<dyn Error>> {
    let Arguments { rounds, only, out } = arguments()?;
    let core = own_core().ok_or("no core to run on")?;
    let other = other_core().map_or_else(|| "none".to_owned(), |core| core.id.to_string());
    let mut bench = Bench::new(core.id, rounds, &only)?;
    core_affinity::set_for_current(core);
    println!("{}; core {}, for rings also core {other}", dpdk_sys::version(), core.id);
    println!("{rounds} pairs of windows a row; medians, less is better\n{}", Row::heading());
    let result = bench.run();
    if let Some(path) = out {
        let mut file = BufWriter::new(File::create(&path)?);
        bench.rows().iter().try_for_each(|row| row.write(&mut file))?;
        file.flush()?;
        println!("{} rows in {path}", bench.rows().len());
    }
    let (repeated, disturbed) = bench.repeated_and_disturbed();
    println!(
        "windows repeated because the core was taken away: {repeated}; kept all the same: {disturbed}"
    );
    Ok(result?)
}
