//! Columns, wrapping and colours: rows become lines of text.
//!
//! Widths are counted in characters. No line ends in a space.

use super::{Row, Style};
use crate::negotiate::Where;

/// Columns that even a narrow table has.
const WIDTH_MIN: usize = 60;
/// Columns of the first column at most.
pub(super) const LABEL_MAX: usize = 44;
/// Columns of the second column.
const PLACE: usize = 8;
/// Between columns.
const GAP: usize = 2;
/// Columns of the margin below the stages.
pub(super) const MARGIN: usize = 7;

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Where columns begin.
pub(super) struct Columns {
    label: usize,
    why: usize,
    colour: bool,
}

impl Columns {
    /// Wide enough for these rows.
    pub(super) fn for_rows<'r>(rows: impl Iterator<Item = &'r Row>, style: Style) -> Columns {
        let widest = rows.map(|row| row.label.chars().count()).max().unwrap_or(0);
        let label = widest.clamp(20, LABEL_MAX);
        let before = label + GAP + PLACE + GAP;
        let why = style.width.max(WIDTH_MIN).saturating_sub(before).max(WIDTH_MIN / 3);
        Columns { label, why, colour: style.colour }
    }

    /// The first line: a title, and what the columns hold.
    pub(super) fn head(&self, title: &str) -> String {
        let label = self.label;
        if title.chars().count() > label {
            return format!("{title}\n{:label$}  {:PLACE$}  why\n", "", "where");
        }
        format!("{title:label$}  {:PLACE$}  why\n", "where")
    }

    /// A row, with as many lines as its reason needs.
    pub(super) fn row(&self, row: &Row) -> String {
        let (label, place) = (self.label, row.place.map_or("", Where::word));
        let mut out = String::new();
        let labels = self.label_lines(&row.label);
        let lines = wrapped(&row.why, self.why);
        for number in 0..lines.len().max(labels.len()) {
            let why = lines.get(number).map_or("", String::as_str);
            let left = labels.get(number).map_or("", String::as_str);
            let middle = if number == 0 { place } else { "" };
            let middle = self.paint(row.place.map_or("", colour), &format!("{middle:PLACE$}"));
            let line = format!("{left:label$}  {middle}  {}", self.paint(DIM, why));
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// A label in lines of its column; all but the first stand a little further in.
    fn label_lines(&self, label: &str) -> Vec<String> {
        if label.chars().count() <= self.label {
            return vec![label.to_owned()];
        }
        let text = label.trim_start();
        let indent = label.chars().count() - text.chars().count();
        let lines = wrapped(text, self.label.saturating_sub(indent + GAP).max(1));
        let lines = lines.iter().enumerate().map(|(number, line)| {
            let indent = if number == 0 { indent } else { indent + GAP };
            format!("{:indent$}{line}", "")
        });
        lines.collect()
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        let blank = text.trim().is_empty() || colour.is_empty();
        if self.colour && !blank { format!("{colour}{text}{PLAIN}") } else { text.to_owned() }
    }
}

fn colour(place: Where) -> &'static str {
    match place {
        Where::Hardware => GREEN,
        Where::Software | Where::Both => YELLOW,
        Where::Nothing => "",
    }
}

/// A word in a margin of so many columns, and text beside it.
pub(in crate::explain) fn beside(word: &str, margin: usize, text: &str, style: Style) -> String {
    // What goes on below stands a little further in.
    let lines = wrapped(text, style.width.max(WIDTH_MIN) - margin - GAP);
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        let (word, hang) = if number == 0 { (word, "") } else { ("", "  ") };
        out.push_str(format!("{word:margin$}{hang}{line}").trim_end());
        out.push('\n');
    }
    out
}

/// Text in lines of at most so many characters, broken between words, or inside one that is longer.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let long = word.chars().count();
        if used > 0 && used + 1 + long > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 || (lines.is_empty() && line.is_empty() && word.is_empty()) {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            if used == width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += 1;
        }
    }
    lines.push(line);
    lines.retain(|line| !line.trim().is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wrapping_keeps_every_word_and_the_width(text in "[a-z ]{0,200}", width in 1usize..60) {
            let lines = wrapped(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width + 1));
            let squeezed = |text: &str| text.replace(' ', "");
            prop_assert_eq!(squeezed(&lines.concat()), squeezed(&text));
        }

        #[test]
        fn words_that_fit_are_not_broken(words in prop::collection::vec("[a-z]{1,9}", 1..30)) {
            let lines = wrapped(&words.join(" "), 10);
            let found: Vec<&str> = lines.iter().flat_map(|line| line.split(' ')).collect();
            prop_assert_eq!(found, words);
        }
    }

    #[test]
    fn colours_are_around_words_only_and_take_no_columns() {
        let row = Row { label: "0 Rx".into(), place: Some(Where::Hardware), why: "yes".into() };
        let style = |colour| Style { width: 80, colour };
        let plain = Columns::for_rows([&row].into_iter(), style(false)).row(&row);
        let painted = Columns::for_rows([&row].into_iter(), style(true)).row(&row);
        assert_eq!(painted.replace(GREEN, "").replace(DIM, "").replace(PLAIN, ""), plain);
        assert!(painted.contains("\x1b[32mhardware\x1b[0m"));
        assert!(!plain.contains('\x1b'));
    }
}
