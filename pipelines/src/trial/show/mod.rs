//! Outcomes as people read them: what was expected, what came, and frames side by side, in 80 columns.
//!
//! Nothing from a file drives the terminal. Colours are for whoever prints it: what is wrong has a `*` in front.

mod table;

use super::outcome::{Difference, FrameMismatch, LayerView, Mismatch, Outcome};
use crate::shown::visible;
use std::fmt::{self, Write};

/// Columns of the text.
const COLUMNS: usize = 80;

/// `FAIL` or `ok` and the test, then [`Outcome::details`].
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.passed { "ok" } else { "FAIL" };
        paragraph(f, &format!("{word}  {}", self.test), "", "      ")?;
        f.write_str(&self.details())
    }
}

impl Outcome {
    /// The case, and what was not as expected in it, frames side by side.
    pub fn details(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let case = format!("caps {}, seed {}", self.caps, self.seed);
        let _ = paragraph(&mut text, &case, "  ", "    ");
        let _ = self.mismatches.iter().try_for_each(|mismatch| mismatch.write(&mut text));
        text
    }
}

impl Mismatch {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        match self {
            Mismatch::Frame(mismatch) => mismatch.write(out),
            Mismatch::Number { path, expected, received } => {
                let line = format!("{path} is {received}, and {expected} was expected");
                paragraph(out, &line, "  ", "    ")
            }
            Mismatch::Run { message } => paragraph(out, message, "  ", "    "),
        }
    }
}

impl FrameMismatch {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        paragraph(out, &self.sentence(), "  ", "    ")?;
        match (&self.expected, &self.received) {
            (Some(_), Some(_)) => table::write(self, out)?,
            (only, None) | (None, only) => only.iter().try_for_each(|frame| brief(frame, out))?,
        }
        if self.more > 0 {
            let (s, are) = if self.more == 1 { ("", "is") } else { ("s", "are") };
            writeln!(out, "  {} more frame{s} of this port {are} not as expected", self.more)?;
        }
        Ok(())
    }

    fn sentence(&self) -> String {
        let FrameMismatch { port, frame, frames_expected, frames_received, .. } = self;
        let place = format!("port {port}, frame {frame}");
        let counts = format!("{} expected, {frames_received} received", frames(*frames_expected));
        match &self.first {
            Some(difference) if frames_expected == frames_received => {
                format!("{place} of {frames_expected}: {}", difference.sentence())
            }
            Some(difference) => format!("{place} ({counts}): {}", difference.sentence()),
            None if self.received.is_none() => format!("{place} is missing ({counts})"),
            None => format!("{place} was not expected ({counts})"),
        }
    }
}

fn frames(count: usize) -> String {
    if count == 1 { "1 frame".to_owned() } else { format!("{count} frames") }
}

impl Difference {
    /// What differs, where, in a sentence.
    fn sentence(&self) -> String {
        let Difference { byte, expected, received, .. } = self;
        let place = self.place();
        match self.field.as_deref() {
            Some("end") => format!("it is {received} long, and {expected} were expected"),
            None if self.is_header() => {
                format!("at byte {byte} there is {received}, and {expected} was expected")
            }
            _ => format!("byte {byte} ({place}) differs: {received}, and {expected} was expected"),
        }
    }

    /// Whether a whole header is another one, or missing.
    fn is_header(&self) -> bool {
        self.field.is_none() && self.expected == self.layer
    }
}

/// A frame that there is nothing to hold against, a line or two for each header.
fn brief(frame: &[LayerView], out: &mut dyn Write) -> fmt::Result {
    for view in frame {
        let fields = view.fields.iter().map(|(name, value)| format!(" {name} {value}"));
        let line = view.layer.clone() + &fields.collect::<String>();
        paragraph(out, &line, "    ", "      ")?;
    }
    Ok(())
}

/// Text in lines of at most [`COLUMNS`], the first behind `first`, others behind `rest`. Lines of its own stay lines.
fn paragraph(out: &mut dyn Write, text: &str, first: &str, rest: &str) -> fmt::Result {
    let lines = text.lines().enumerate();
    lines
        .map(|(number, line)| (if number == 0 { first } else { rest }, line))
        .try_for_each(|(start, line)| wrapped(out, line, start, rest))
}

/// One line, in as many as it needs.
fn wrapped(out: &mut dyn Write, text: &str, first: &str, rest: &str) -> fmt::Result {
    let text = visible(text);
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            writeln!(out, "{}", line.trim_end())?;
            line = rest.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_not_longer_than_a_terminal_and_no_word_is_lost() {
        let text = "a word ".repeat(40) + &"x".repeat(100);
        let mut out = String::new();
        paragraph(&mut out, &text, "  ", "    ").unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[..lines.len() - 1].iter().all(|line| line.len() <= COLUMNS), "{out}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&out), words(&text));
    }
}
