//! Problems as people read them, in colour or not, and as programs do.
//!
//! Nothing from a file drives the terminal: the only control characters are the colours asked for and line
//! breaks.

use super::{Place, Problems, Severity};
use crate::shown::{visible, visible_line};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::fmt::{self, Write};

/// Shape of the JSON; goes up when a key changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// What colours stand for. Empty where there are none.
#[derive(Clone, Copy)]
struct Colours {
    error: &'static str,
    warning: &'static str,
    /// Of line numbers and the frame around them.
    frame: &'static str,
    bold: &'static str,
    off: &'static str,
}

const PLAIN: Colours = Colours { error: "", warning: "", frame: "", bold: "", off: "" };
const ANSI: Colours = Colours {
    error: "\x1b[1;31m",
    warning: "\x1b[1;33m",
    frame: "\x1b[36m",
    bold: "\x1b[1m",
    off: "\x1b[0m",
};

impl Problems {
    /// All of them as text without a last line break; in colour for terminals that show it.
    pub fn render(&self, colour: bool) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, if colour { ANSI } else { PLAIN });
        text
    }

    fn write(&self, out: &mut dyn Write, colours: Colours) -> fmt::Result {
        let Colours { bold, off, .. } = colours;
        for problem in &self.list {
            let (kind, paint) = match problem.severity {
                Severity::Error => ("error", colours.error),
                Severity::Warning => ("warning", colours.warning),
            };
            let message = visible(&problem.message);
            writeln!(out, "{paint}{kind}[{}]{off}{bold}: {message}{off}", problem.code)?;
            let help = problem.help.as_deref().map(visible);
            match &problem.place {
                Some(place) => {
                    write_place(out, &self.file, place, help.as_deref(), paint, colours)?;
                }
                None => help.iter().try_for_each(|help| writeln!(out, "  {help}"))?,
            }
        }
        if self.more > 0 {
            writeln!(out, "and {} more", self.more)?;
        }
        match (self.errors(), self.warnings()) {
            (0, _) => Ok(()),
            (errors, 0) => write!(out, "{}", counted(errors, "error")),
            (errors, warnings) => {
                write!(out, "{}, {}", counted(errors, "error"), counted(warnings, "warning"))
            }
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, PLAIN)
    }
}

/// The line with the place underlined, as compilers show it.
fn write_place(
    out: &mut dyn Write,
    file: &str,
    place: &Place,
    help: Option<&str>,
    paint: &str,
    colours: Colours,
) -> fmt::Result {
    let Colours { frame, off, .. } = colours;
    let number = place.line.to_string();
    let gutter = " ".repeat(number.len());
    // A tab keeps its width under the line it stands in.
    let lead: String = place.text.chars().take(place.lead).map(blank).collect();
    let marks = "^".repeat(place.width);
    let help = help.map(|help| format!(" {help}")).unwrap_or_default();
    let file = place.file.as_deref().unwrap_or(file);
    writeln!(out, "{gutter}{frame}-->{off} {}:{number}:{}", visible(file), place.column)?;
    writeln!(out, "{frame}{number} |{off} {}", visible_line(&place.text))?;
    writeln!(out, "{gutter}{frame} |{off} {lead}{paint}{marks}{help}{off}")
}

fn blank(c: char) -> char {
    if c == '\t' { '\t' } else { ' ' }
}

/// `schema`, `file`, `errors`, `warnings`, `more`, `problems`; each problem as [`super::Problem`] has it.
impl Serialize for Problems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Problems", 6)?;
        out.serialize_field("schema", &SCHEMA)?;
        out.serialize_field("file", &self.file)?;
        out.serialize_field("errors", &self.errors())?;
        out.serialize_field("warnings", &self.warnings())?;
        out.serialize_field("more", &self.more)?;
        out.serialize_field("problems", &self.list)?;
        out.end()
    }
}
