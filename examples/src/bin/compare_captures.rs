//! `compare_captures [--times] [--inside] FIRST.. [--] SECOND..`: whether the second captures hold the frames of the first,
//! flow by flow. Without `--` the last one is the second.
//!
//! Exit 0 where it does, 1 with the first difference where it does not, 2 where a file cannot be read
//! or the arguments make no sense. `--times` compares the times of capture too; `--inside` compares the frames inside of
//! VXLAN tunnels, wherever there are any.

use std::path::PathBuf;
use std::process::ExitCode;

use corelane_examples::captures::{self, Frame, ReadError};
use corelane_examples::compare::{Difference, Summary, Times, compare};
use corelane_examples::inside::inside;

fn main() -> ExitCode {
    let mut times = Times::Free;
    let mut look: fn(Vec<Frame>) -> Vec<Frame> = |frames| frames;
    let (mut paths, mut first) = (Vec::new(), None);
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--times") => times = Times::Equal,
            Some("--inside") => look = inside,
            Some("--") => first = Some(paths.len()),
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    let (first, second) = paths.split_at(first.unwrap_or(paths.len().saturating_sub(1)));
    if first.is_empty() || second.is_empty() {
        eprintln!("usage: compare_captures [--times] [--inside] FIRST.. [--] SECOND..");
        return ExitCode::from(2);
    }
    match judge([first, second], times, look) {
        Err(error) => {
            eprintln!("compare_captures: {error}");
            ExitCode::from(2)
        }
        Ok(Err(difference)) => {
            eprintln!("{} and {} differ: {difference}", names(first), names(second));
            ExitCode::FAILURE
        }
        Ok(Ok(Summary { frames, flows, bytes, equal_times })) => {
            println!(
                "{}\n  equals {}\n  {frames} frames, {flows} flows, {bytes} bytes; {equal_times} times equal",
                names(second),
                names(first),
            );
            ExitCode::SUCCESS
        }
    }
}

type Verdict = Result<Summary, Box<Difference>>;

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(" and ")
}

fn judge(
    sides: [&[PathBuf]; 2],
    times: Times,
    look: fn(Vec<Frame>) -> Vec<Frame>,
) -> Result<Verdict, ReadError> {
    let [mut first, mut second] = [Vec::new(), Vec::new()];
    for (paths, frames) in sides.into_iter().zip([&mut first, &mut second]) {
        for path in paths {
            frames.extend(look(captures::read(path)?));
        }
    }
    Ok(compare(&first, &second, times))
}
