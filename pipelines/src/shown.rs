//! Text from a description as it may be shown to people: nothing in it drives a terminal, no line is endless.
//!
//! One character stands for one character, so that columns stay columns. Widths of wide characters are not
//! known here.

/// Columns shown of a line.
const COLUMNS_MAX: usize = 160;
/// Columns shown before the place a message is about, in a line that is too long.
const LEAD_MAX: usize = 60;
/// Stands for what is left out; one character.
const DOTS: &str = "\u{2026}";

/// What is shown of a line for a place behind `column` characters of it, and how many characters of that are
/// before the place.
pub(crate) fn window(line: &str, column: usize) -> (String, usize) {
    if line.chars().nth(COLUMNS_MAX).is_none() {
        return (line.to_owned(), column);
    }
    let from = column.saturating_sub(LEAD_MAX);
    let mut rest = line.chars().skip(from);
    let mut shown = String::from(if from > 0 { DOTS } else { "" });
    shown.extend(rest.by_ref().take(COLUMNS_MAX));
    if rest.next().is_some() {
        shown.push_str(DOTS);
    }
    (shown, column - from + usize::from(from > 0))
}

/// Text without anything that would drive a terminal: a picture stands for each control character.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars().map(picture).collect()
}

/// As [`visible`], tabs kept.
pub(crate) fn visible_line(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { c } else { picture(c) }).collect()
}

fn picture(c: char) -> char {
    match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '\u{2421}',
        // Marks that turn the direction of writing show a line as it is not.
        '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => char::REPLACEMENT_CHARACTER,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}
