//! `compare_captures [--times] FIRST SECOND`: whether both hold the same frames, flow by flow.
//!
//! Exit 0 where they do, 1 with the first difference where they do not, 2 where a file cannot be read
//! or the arguments make no sense. `--times` compares the times of capture too.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use corelane_examples::captures::{self, ReadError};
use corelane_examples::compare::{Difference, Summary, Times, compare};

fn main() -> ExitCode {
    let mut times = Times::Free;
    let mut paths = Vec::new();
    for argument in std::env::args_os().skip(1) {
        if argument == "--times" {
            times = Times::Equal;
        } else {
            paths.push(PathBuf::from(argument));
        }
    }
    let [first, second] = paths.as_slice() else {
        eprintln!("usage: compare_captures [--times] FIRST SECOND");
        return ExitCode::from(2);
    };
    match judge(first, second, times) {
        Err(error) => {
            eprintln!("compare_captures: {error}");
            ExitCode::from(2)
        }
        Ok(Err(difference)) => {
            eprintln!("{} and {} differ: {difference}", first.display(), second.display());
            ExitCode::FAILURE
        }
        Ok(Ok(Summary { frames, flows, bytes, equal_times })) => {
            println!(
                "{} equals {}: {frames} frames, {flows} flows, {bytes} bytes; {equal_times} times equal",
                second.display(),
                first.display()
            );
            ExitCode::SUCCESS
        }
    }
}

type Verdict = Result<Summary, Box<Difference>>;

fn judge(first: &Path, second: &Path, times: Times) -> Result<Verdict, ReadError> {
    Ok(compare(&captures::read(first)?, &captures::read(second)?, times))
}
