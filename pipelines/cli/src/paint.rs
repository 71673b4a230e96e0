//! Colours, on a terminal and nowhere else, and not where `NO_COLOR` is set or the terminal is `dumb`.
//!
//! Nothing is said by colour alone. Text is painted when it is whole: widths are reckoned before.

use std::io::IsTerminal;

/// Whether and how to paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint(bool);

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Wrong, failed.
    Bad,
    /// Doubtful.
    Doubt,
    /// As it should be.
    Good,
    /// A heading, a name.
    Strong,
    /// Less important than what is around it.
    Faint,
}

impl Paint {
    /// For text that goes to stdout.
    pub(crate) fn stdout() -> Paint {
        Paint::when(std::io::stdout().is_terminal())
    }

    /// For text that goes to stderr.
    pub(crate) fn stderr() -> Paint {
        Paint::when(std::io::stderr().is_terminal())
    }

    /// No colours.
    pub(crate) fn plain() -> Paint {
        Paint(false)
    }

    fn when(terminal: bool) -> Paint {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_some_and(|term| term == "dumb");
        Paint(terminal && !dumb && set("NO_COLOR").is_none())
    }

    /// Whether there are colours.
    pub(crate) fn is_on(self) -> bool {
        self.0
    }

    /// Text in its tone.
    pub(crate) fn tone(self, tone: Tone, text: &str) -> String {
        if !self.0 || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Bad => "1;31",
            Tone::Doubt => "1;33",
            Tone::Good => "32",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Each line by itself; the end of a line is kept.
    pub(crate) fn lines(self, text: &str, paint: impl Fn(Paint, &str) -> String) -> String {
        if !self.0 {
            return text.to_owned();
        }
        let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
            Some(line) => paint(self, line) + "\n",
            None => paint(self, line),
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_painted_unless_it_is_to_be() {
        assert_eq!(Paint::plain().tone(Tone::Bad, "x"), "x");
        assert_eq!(Paint(true).tone(Tone::Bad, ""), "");
    }

    #[test]
    fn a_tone_goes_around_the_text_and_nothing_is_lost() {
        assert_eq!(Paint(true).tone(Tone::Bad, "x"), "\x1b[1;31mx\x1b[0m");
        let marked = Paint(true).lines("a\nb", |paint, line| paint.tone(Tone::Strong, line));
        assert_eq!(marked, "\x1b[1ma\x1b[0m\n\x1b[1mb\x1b[0m");
    }
}
