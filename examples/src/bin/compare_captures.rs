//! `compare_captures [--times] [--inside] FIRST.. LAST`: whether the last capture holds the frames of all others, flow by
//! flow.
//!
//! Exit 0 where it does, 1 with the first difference where it does not, 2 where a file cannot be read
//! or the arguments make no sense. `--times` compares the times of capture too; `--inside` compares the frames inside of
//! VXLAN tunnels, wherever there are any.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use corelane_examples::captures::{self, Frame, ReadError};
use corelane_examples::compare::{Difference, Summary, Times, compare};
use corelane_examples::inside::inside;

fn main() -> ExitCode {
    let mut times = Times::Free;
    let mut look: fn(Vec<Frame>) -> Vec<Frame> = |frames| frames;
    let mut paths = Vec::new();
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--times") => times = Times::Equal,
            Some("--inside") => look = inside,
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    let Some((last, first)) = paths.split_last().filter(|(_, first)| !first.is_empty()) else {
        eprintln!("usage: compare_captures [--times] [--inside] FIRST.. LAST");
        return ExitCode::from(2);
    };
    let names: Vec<String> = first.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(" and ");
    match judge(first, last, times, look) {
        Err(error) => {
            eprintln!("compare_captures: {error}");
            ExitCode::from(2)
        }
        Ok(Err(difference)) => {
            eprintln!("{names} and {} differ: {difference}", last.display());
            ExitCode::FAILURE
        }
        Ok(Ok(Summary { frames, flows, bytes, equal_times })) => {
            println!(
                "{} equals {names}: {frames} frames, {flows} flows, {bytes} bytes; {equal_times} times equal",
                last.display(),
            );
            ExitCode::SUCCESS
        }
    }
}

type Verdict = Result<Summary, Box<Difference>>;

fn judge(
    first: &[PathBuf],
    last: &Path,
    times: Times,
    look: fn(Vec<Frame>) -> Vec<Frame>,
) -> Result<Verdict, ReadError> {
    let mut frames = Vec::new();
    for path in first {
        frames.extend(look(captures::read(path)?));
    }
    Ok(compare(&frames, &look(captures::read(last)?), times))
}
