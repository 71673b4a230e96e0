//! The smallest things in RON text: where a space, a string, a name or a number ends.
//!
//! Each function takes the text and a place in it, looks at nothing before that place, and never panics on
//! any text. Escapes inside strings and the values of numbers are left to `ron`.

/// Something that was begun and does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed {
    /// Where it was begun.
    pub(super) at: usize,
    /// What it is.
    pub(super) what: &'static str,
}

/// A character as messages show it: what cannot be printed by its number.
pub(super) fn shown(c: char) -> String {
    let invisible = c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if invisible { format!("U+{:04X}", c as u32) } else { format!("`{c}`") }
}

fn rest(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// The end of white space and comments.
pub(super) fn skip_space(text: &str, mut at: usize) -> Result<usize, Unclosed> {
    loop {
        let here = rest(text, at);
        let trimmed = here.trim_start();
        at += here.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
        } else if trimmed.starts_with("/*") {
            at = block_comment(text, at)?;
        } else {
            return Ok(at);
        }
    }
}

/// The end of a comment that begins here; such comments nest.
fn block_comment(text: &str, start: usize) -> Result<usize, Unclosed> {
    let mut depth = 0_usize;
    let mut at = start;
    while at < text.len() {
        let here = rest(text, at);
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Ok(at);
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    Err(Unclosed { at: start, what: "comment" })
}

/// The end of a string of any kind that begins here; `None` if none does.
pub(super) fn string(text: &str, at: usize) -> Option<Result<usize, Unclosed>> {
    let here = rest(text, at);
    let prefix = if here.starts_with("br") { 2 } else { usize::from(here.starts_with(['b', 'r'])) };
    let raw = here.get(..prefix)?.ends_with('r');
    let body = &here[prefix..];
    let hashes = if raw { body.len() - body.trim_start_matches('#').len() } else { 0 };
    let inside = body[hashes..].strip_prefix('"')?;
    let start = at + prefix + hashes + 1;
    let end = if raw {
        let close = format!("\"{}", "#".repeat(hashes));
        inside.find(&close).map(|found| start + found + close.len())
    } else {
        quoted(inside, '"').map(|length| start + length)
    };
    Some(end.ok_or(Unclosed { at, what: "string" }))
}

/// Bytes up to and including the closing quote, escapes respected.
fn quoted(inside: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The end of a character that begins here; `None` if none does.
pub(super) fn character(text: &str, at: usize) -> Option<Result<usize, Unclosed>> {
    let here = rest(text, at);
    let prefix = usize::from(here.starts_with("b'"));
    let inside = here.get(prefix..)?.strip_prefix('\'')?;
    let end = quoted(inside, '\'').map(|length| at + prefix + 1 + length);
    Some(end.ok_or(Unclosed { at, what: "character" }))
}

/// The end of a name that begins here; `None` if none does.
pub(super) fn name(text: &str, at: usize) -> Option<usize> {
    let here = rest(text, at);
    let raw = if here.starts_with("r#") { 2 } else { 0 };
    let body = here.get(raw..)?;
    let first = body.chars().next()?;
    if !(first.is_alphabetic() || first == '_') {
        return None;
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let length = body.find(|c| !is_part(c)).unwrap_or(body.len());
    Some(at + raw + length)
}

/// The end of a number, or of a range of numbers, that begins here; `None` if none does.
pub(super) fn number(text: &str, at: usize) -> Option<usize> {
    let here = rest(text, at);
    let first = here.chars().next()?;
    if !(first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return None;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-' | '=');
    Some(at + here.find(|c| !is_part(c)).unwrap_or(here.len()))
}
