//! `corelane test`: runs the tests that stand in a description, and shows what was not as expected.
//!
//! Opens no port of the file: all are emulated, in the simulator. The command that reruns one case is that of the
//! call itself, with the case named.

use crate::args::{Format, Given, Output};
use crate::exit::Exit;
use crate::out::Out;
use crate::paint::{Paint, Tone};
use crate::values::assignment;
use clap::Args;
use corelane::{Error, Failure, Outcome, Pipeline, Registry, Selection, visible};
use serde::Serialize;
use std::fmt::Write;

/// Shape of the JSON; goes up when a key changes its meaning or goes away.
const SCHEMA: u32 = 1;
/// Cases of a test that are shown in full; the others tell mostly the same.
const SHOWN_MAX: usize = 1;

/// Arguments of `corelane test`.
#[derive(Debug, Args)]
#[command(after_help = "\
Runs the `tests:` of a description. Every port is an emulated one, with the capabilities of each case, and the run is
simulated: it needs neither root nor the devices, and is the same each time.

corelane test preset:bump                                  all tests of a ready description
corelane test gw.ron --only \"a corrupt packet passes\"      one of them
corelane test gw.ron --caps lan=i40e-like                  with a port as it is recorded

Exit codes: 0 all passed; 1 a test failed; 2 wrong description or arguments, or the file has no tests.")]
pub(crate) struct TestArgs {
    /// The description: a RON file, preset:NAME for a ready one, - for stdin
    file: String,
    /// Value for a parameter of the file; a test that sets it itself goes before
    #[arg(long = "set", value_name = "K=V", value_parser = assignment)]
    sets: Vec<(String, String)>,
    /// Another port in place of the file's; of it only the common keys count here, such as mtu
    #[arg(long = "port", value_name = "NAME=SPEC", value_parser = assignment)]
    ports: Vec<(String, String)>,
    /// What a port can do, in every case: a recorded profile by name, or a file with one
    #[arg(long = "caps", value_name = "PORT=FILE|NAME", value_parser = assignment)]
    caps: Vec<(String, String)>,
    /// Only the test of this name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Only under these capabilities, as a failed test names them
    #[arg(long, value_name = "CASE")]
    caps_case: Option<String>,
    /// Only with this seed of the simulator
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// How the outcomes are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    output: Output,
}

/// Everything that came of it, for programs.
#[derive(Serialize)]
struct Results<'r> {
    schema: u32,
    file: &'r str,
    passed: usize,
    failed: usize,
    outcomes: Vec<Rerun<'r>>,
}

/// An outcome, and how to see it again.
#[derive(Serialize)]
struct Rerun<'r> {
    #[serde(flatten)]
    outcome: &'r Outcome,
    rerun: String,
}

/// Runs the tests of a description.
pub(crate) fn test(args: &TestArgs, registry: &Registry) -> Result<Exit, Failure> {
    let given = args.given();
    let text = given.text()?;
    let pipeline = Pipeline::load(&given.file, &text, &given.overrides())?;
    let selection =
        Selection { test: args.only.clone(), caps: args.caps_case.clone(), seed: args.seed };
    let has_none = pipeline.tests().is_empty();
    // What is wrong with the description goes before that it has no tests.
    let out = Out::open(&given, Some(&pipeline.test_plan(registry)?))?;
    let outcomes = pipeline.run_tests_of(registry, &selection, &mut |_| ())?;
    if has_none {
        let message = "has no tests; add `tests: [Test(name: \"..\", send: {..}, expect: {..})]`";
        return Err(Error::user(visible(&given.file), message).into());
    }
    let written = match args.format {
        Format::Table => table(args, &outcomes, out.paint()),
        Format::Json => json(args, &outcomes)?,
    };
    out.write(&written)?;
    let all_passed = outcomes.iter().all(|outcome| outcome.passed);
    Ok(if all_passed { Exit::Clean } else { Exit::Failed })
}

impl TestArgs {
    fn given(&self) -> Given {
        Given {
            file: self.file.clone(),
            sets: self.sets.clone(),
            ports: self.ports.clone(),
            caps: self.caps.clone(),
            cores: None,
            cpus: None,
            topology: None,
            output: self.output.clone(),
        }
    }

    /// The command that runs one case of these again.
    fn rerun(&self, outcome: &Outcome) -> String {
        let mut command = format!("corelane test {}", quoted(&self.file));
        let lists = [("set", &self.sets), ("port", &self.ports), ("caps", &self.caps)];
        for (option, values) in lists {
            for (name, value) in values {
                let _ = write!(command, " --{option} {}", quoted(&format!("{name}={value}")));
            }
        }
        let Outcome { test, caps, seed, .. } = outcome;
        let _ = write!(command, " --only {} --caps-case {}", quoted(test), quoted(caps));
        let _ = write!(command, " --seed {seed}");
        command
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A line for each test, the first cases that failed, and how many there were.
fn table(args: &TestArgs, outcomes: &[Outcome], paint: Paint) -> String {
    let mut text = String::new();
    for test in names(outcomes) {
        let cases: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.test == test).collect();
        let failed: Vec<&&Outcome> = cases.iter().filter(|outcome| !outcome.passed).collect();
        let (word, tone) = if failed.is_empty() { ("ok", Tone::Good) } else { ("FAIL", Tone::Bad) };
        let word = paint.tone(tone, &format!("{word:4}"));
        let count = match failed.len() {
            0 => number(cases.len(), "case"),
            some => format!("{some} of {} failed", number(cases.len(), "case")),
        };
        let _ = writeln!(text, "{word}  {}  ({count})", visible(test));
        for outcome in failed.iter().take(SHOWN_MAX) {
            let details = paint.lines(&outcome.details(), wrong);
            let _ = writeln!(text, "{details}  again: {}", visible(&args.rerun(outcome)));
        }
        if failed.len() > SHOWN_MAX {
            let _ = writeln!(text, "  and {}", more(&failed[SHOWN_MAX..]));
        }
        if !failed.is_empty() {
            text.push('\n');
        }
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    let file = visible(&args.file);
    let tests = number(names(outcomes).len(), "test");
    let cases = number(outcomes.len(), "case");
    let end = match failed {
        0 => paint.tone(Tone::Good, "all passed"),
        some => paint.tone(Tone::Bad, &format!("{some} failed")),
    };
    text + &format!("{file}: {tests}, {cases}: {end}\n")
}

/// The lines of an outcome that say what is wrong.
fn wrong(paint: Paint, line: &str) -> String {
    match line.trim_start().starts_with('*') {
        true => paint.tone(Tone::Bad, line),
        false => line.to_owned(),
    }
}

/// The cases that are not shown, by name.
fn more(outcomes: &[&&Outcome]) -> String {
    const NAMED_MAX: usize = 4;
    let named: Vec<String> = outcomes
        .iter()
        .take(NAMED_MAX)
        .map(|outcome| format!("\"{}\"", visible(&outcome.caps)))
        .collect();
    let rest = if outcomes.len() > NAMED_MAX { ", .." } else { "" };
    format!("{} more: {}{rest}", outcomes.len(), named.join(", "))
}

/// The tests in their order.
fn names(outcomes: &[Outcome]) -> Vec<&str> {
    let mut names: Vec<&str> = outcomes.iter().map(|outcome| outcome.test.as_str()).collect();
    names.dedup();
    names
}

fn json(args: &TestArgs, outcomes: &[Outcome]) -> Result<String, Error> {
    let passed = outcomes.iter().filter(|outcome| outcome.passed).count();
    let rerun = |outcome| Rerun { outcome, rerun: args.rerun(outcome) };
    let results = Results {
        schema: SCHEMA,
        file: &args.file,
        passed,
        failed: outcomes.len() - passed,
        outcomes: outcomes.iter().map(rerun).collect(),
    };
    let text = serde_json::to_string_pretty(&results);
    text.map(|text| text + "\n").map_err(|error| Error::system("outcomes", error.to_string()))
}

/// `1 case`, `2 cases`.
fn number(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_word_that_was_meant() {
        for word in ["plain", "two words", "it's", "", "$x \"y\" `z`", "wan=Pcap(\"x.pcap\")"] {
            let script = format!("printf %s {}", quoted(word));
            let out = std::process::Command::new("sh").arg("-c").arg(script).output();
            let out = out.expect("a shell").stdout;
            assert_eq!(String::from_utf8_lossy(&out), word);
        }
    }
}
