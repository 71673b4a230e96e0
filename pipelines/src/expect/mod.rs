//! What a user expects of a run: `drops.bad_checksum == 0`, held against the report.
//!
//! `PATH OP VALUE` with `==`, `!=`, `<`, `<=`, `>`, `>=`; a value is a number, `true`, `false`, or another path. Paths are
//! known before the run, since the reasons and counters of a plan are closed when it is made: a misspelt one is
//! refused then, and never found to hold. What is not in the report in the end was not counted, so it is 0.
//!
//! No arithmetic, no `and`: several expectations are several.

pub(crate) mod view;

#[cfg(test)]
mod tests;

use crate::error::{instead, near};
use crate::place::Plan;
use crate::report::Report;
use corelane_runtime::Error;
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;

/// One expectation, whose paths are known to a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    left: String,
    operator: Operator,
    right: Operand,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Longer ones first, so that `<=` is not read as `<`.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
];

/// What stands on the right.
#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Fixed(Scalar),
    Path(String),
}

/// A value that can be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar {
    Truth(bool),
    Whole(i128),
    Broken(f64),
}

/// Whether an expectation held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// It did.
    pub held: bool,
    /// What was found on the left.
    pub left: String,
    /// What was found on the right, where that is a path.
    pub right: Option<String>,
}

impl Plan {
    /// Reads an expectation of a run of this plan.
    ///
    /// # Errors
    /// Where it is none, or names what the report will not have; it says what may be written.
    pub fn expectation(&self, text: &str) -> Result<Expectation, Error> {
        let wrong = |message: String| Error::user(format!("--expect '{text}'"), message);
        let expectation = parse(text).map_err(wrong)?;
        let known = view::of_plan(self);
        let left = known_scalar(&known, &expectation.left).map_err(wrong)?;
        let right = match &expectation.right {
            Operand::Fixed(value) => *value,
            Operand::Path(path) => known_scalar(&known, path).map_err(wrong)?,
        };
        expectation.comparable(left, right).map_err(wrong)?;
        Ok(expectation)
    }
}

impl Expectation {
    /// Holds it against the report of a run of the plan it was made for.
    pub fn judge(&self, report: &Report) -> Judgement {
        let known = view::of_report(report);
        let value =
            |path: &str| view::find(&known, path).and_then(Scalar::of).unwrap_or(Scalar::Whole(0));
        let left = value(&self.left);
        let (right, shown) = match &self.right {
            Operand::Fixed(value) => (*value, None),
            Operand::Path(path) => (value(path), Some(value(path).to_string())),
        };
        Judgement { held: self.operator.holds(left, right), left: left.to_string(), right: shown }
    }

    fn comparable(&self, left: Scalar, right: Scalar) -> Result<(), String> {
        let is_truth = |value| matches!(value, Scalar::Truth(_));
        let plain = matches!(self.operator, Operator::Equal | Operator::Unequal);
        match (is_truth(left), is_truth(right)) {
            (false, false) => Ok(()),
            (true, true) if plain => Ok(()),
            (true, _) => Err(format!("`{0}` is true or false; write `{0} == true`", self.left)),
            (false, true) => {
                Err(format!("`{0}` is a number; write one to compare it with", self.left))
            }
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word =
            OPERATORS.iter().find(|known| known.1 == self.operator).map_or("", |known| known.0);
        match &self.right {
            Operand::Fixed(value) => write!(f, "{} {word} {value}", self.left),
            Operand::Path(path) => write!(f, "{} {word} {path}", self.left),
        }
    }
}

impl Operator {
    fn holds(self, left: Scalar, right: Scalar) -> bool {
        let Some(order) = left.order(right) else { return false };
        match self {
            Operator::Equal => order == Ordering::Equal,
            Operator::Unequal => order != Ordering::Equal,
            Operator::Less => order == Ordering::Less,
            Operator::AtMost => order != Ordering::Greater,
            Operator::More => order == Ordering::Greater,
            Operator::AtLeast => order != Ordering::Less,
        }
    }
}

impl Scalar {
    fn of(value: &Value) -> Option<Scalar> {
        match value {
            Value::Bool(truth) => Some(Scalar::Truth(*truth)),
            Value::Number(number) => match number.as_i128() {
                Some(whole) => Some(Scalar::Whole(whole)),
                None => number.as_f64().map(Scalar::Broken),
            },
            _ => None,
        }
    }

    /// A value as it is written; `None` for what may be a path.
    fn parse(text: &str) -> Result<Option<Scalar>, String> {
        match text {
            "true" => return Ok(Some(Scalar::Truth(true))),
            "false" => return Ok(Some(Scalar::Truth(false))),
            _ => {}
        }
        if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
            return Ok(None);
        }
        let plain = text.replace('_', "");
        let whole = plain.parse().map(Scalar::Whole).ok();
        let broken =
            || plain.parse().ok().filter(|number: &f64| number.is_finite()).map(Scalar::Broken);
        whole.or_else(broken).map(Some).ok_or_else(|| {
            format!("`{text}` is no number; units are not read here, counts are packets or bytes")
        })
    }

    fn order(self, other: Scalar) -> Option<Ordering> {
        match (self, other) {
            (Scalar::Truth(left), Scalar::Truth(right)) => Some(left.cmp(&right)),
            (Scalar::Whole(left), Scalar::Whole(right)) => Some(left.cmp(&right)),
            (left, right) => left.number()?.partial_cmp(&right.number()?),
        }
    }

    fn number(self) -> Option<f64> {
        match self {
            Scalar::Truth(_) => None,
            Scalar::Whole(whole) => Some(whole as f64),
            Scalar::Broken(number) => Some(number),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Truth(truth) => truth.fmt(f),
            Scalar::Whole(whole) => whole.fmt(f),
            Scalar::Broken(number) => number.fmt(f),
        }
    }
}

/// Splits at the first operator.
fn parse(text: &str) -> Result<Expectation, String> {
    let form = "write PATH OP VALUE, such as drops.bad_checksum == 0; OP is one of == != < <= > >=";
    let start = text.find(['=', '!', '<', '>']).ok_or(form)?;
    let (left, rest) = text.split_at(start);
    let operator =
        OPERATORS.iter().find_map(|(word, operator)| Some((rest.strip_prefix(word)?, *operator)));
    let Some((right, operator)) = operator else {
        let advice = if rest.starts_with('=') { "two equals signs compare: `==`" } else { form };
        return Err(advice.to_owned());
    };
    let (left, right) = (left.trim(), right.trim());
    if left.is_empty() || right.is_empty() {
        return Err(form.to_owned());
    }
    if Scalar::parse(left).is_ok_and(|value| value.is_some()) {
        return Err(format!("the path stands on the left: {right} .. {left}"));
    }
    let right = match Scalar::parse(right)? {
        Some(value) => Operand::Fixed(value),
        None => Operand::Path(right.to_owned()),
    };
    Ok(Expectation { left: left.to_owned(), operator, right })
}

/// The value that a path has before the run.
fn known_scalar(known: &Value, path: &str) -> Result<Scalar, String> {
    match view::find(known, path) {
        Some(value) => Scalar::of(value).ok_or_else(|| {
            let inner: Vec<String> = view::children(value);
            format!("`{path}` is no number but has several; {}", offer(path, &inner))
        }),
        None => {
            Err(format!("the report of this pipeline has no `{path}`; {}", advice(known, path)))
        }
    }
}

/// Letters that may be wrong in a path for another one to be meant.
const TYPOS_MAX: usize = 3;

/// What may be written instead: a near path, or all that goes on from where it is still right.
fn advice(known: &Value, path: &str) -> String {
    let leaves = view::leaves(known);
    let paths = leaves.iter().map(String::as_str);
    let typo = |near: &&str| strsim::damerau_levenshtein(path, near) <= TYPOS_MAX;
    if let Some(near) = near(path, paths).filter(typo) {
        return format!("did you mean `{near}`?");
    }
    // What a stage drops is not its port's, though it may have to do with that.
    let reason = path.split_once(".drops.").map(|(_, reason)| format!(".drops.{reason}"));
    let dropper = leaves.iter().find(|leaf| reason.as_ref().is_some_and(|end| leaf.ends_with(end)));
    if let Some(dropper) = dropper {
        return format!("did you mean `{dropper}`?");
    }
    let dots = path.match_indices('.').map(|(at, _)| at).rev();
    let found =
        dots.map(|at| &path[..at]).find_map(|start| Some((start, view::find(known, start)?)));
    let (start, inner) = found.unwrap_or(("", known));
    let children = view::children(inner);
    let rest = path[start.len()..].trim_start_matches('.');
    let word =
        instead(rest, children.iter().map(String::as_str)).filter(|help| help.starts_with("did"));
    word.unwrap_or_else(|| offer(start, &children))
}

/// Most names that are offered at once.
const OFFERED_MAX: usize = 12;

fn offer(start: &str, children: &[String]) -> String {
    let shown: Vec<String> =
        children.iter().take(OFFERED_MAX).map(|name| format!("`{name}`")).collect();
    let more = match children.len().saturating_sub(OFFERED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match (start, shown.is_empty()) {
        ("", _) => format!("paths begin with {}{more}", shown.join(", ")),
        (start, true) => format!("`{start}` goes no further"),
        (start, false) => format!("behind `{start}.` there are {}{more}", shown.join(", ")),
    }
}
