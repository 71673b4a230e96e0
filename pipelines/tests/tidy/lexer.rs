//! A lexer just good enough to tell code from comments, strings and characters, and to find functions.
//!
//! Promises that what it blanks keeps its line, and that any text ends. Does not parse: a brace inside a
//! const generic argument between a name and its body would be taken for the body.

/// `text` with every comment, string and character blanked out, line for line and column for column.
pub(crate) fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let len = blank_len(&chars, at);
        for &char in &chars[at..at + len.max(1)] {
            code.push(if len > 0 && char != '\n' { ' ' } else { char });
        }
        at += len.max(1);
    }
    code
}

/// Length of the comment, string or character that starts at `at`; 0 where code does.
fn blank_len(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let inside_word = at > 0 && is_word(chars[at - 1]);
    match rest {
        ['/', '/', ..] => rest.iter().position(|&char| char == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => block_comment_len(rest),
        ['"', ..] => string_len(rest),
        ['\'', ..] => char_len(rest),
        ['b' | 'c', '"', ..] if !inside_word => 1 + string_len(&rest[1..]),
        ['b', '\'', ..] if !inside_word => 1 + char_len(&rest[1..]),
        ['r', ..] if !inside_word => raw_string_len(&rest[1..]).map_or(0, |len| 1 + len),
        ['b' | 'c', 'r', ..] if !inside_word => raw_string_len(&rest[2..]).map_or(0, |len| 2 + len),
        _ => 0,
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Block comments nest.
fn block_comment_len(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string_len(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// `#*"..."#*` behind an `r`; `None` where it is a raw identifier or a plain name.
fn raw_string_len(rest: &[char]) -> Option<usize> {
    let hashes = rest.iter().take_while(|&&char| char == '#').count();
    if rest.get(hashes) != Some(&'"') {
        return None;
    }
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = &rest[hashes + 1..];
    let closing = body.windows(end.len()).position(|window| window == end);
    Some(closing.map_or(rest.len(), |at| hashes + 1 + at + end.len()))
}

/// A character, or 0 for the quote of a lifetime.
fn char_len(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', _, ..] => {
            rest.iter().skip(3).position(|&char| char == '\'').map_or(rest.len(), |at| at + 4)
        }
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

/// Where `word` stands alone in `code`, as offsets in bytes.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = code[..at].chars().next_back().is_some_and(is_word);
        let after = code[at + word.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}

/// Number of the line that offset `at` is on, from 1.
pub(crate) fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// The first line and the length in lines of every function that has a body.
pub(crate) fn functions(code: &str) -> Vec<(usize, usize)> {
    words(code, "fn")
        .filter(|&at| {
            // A function has a name, or one that a macro fills in; `fn(u8)` is a type.
            let name = code[at + 2..].trim_start().chars().next();
            name.is_some_and(|char| is_word(char) || char == '$')
        })
        .filter_map(|at| Some((at, body_end(code, at)?)))
        .map(|(at, end)| {
            let first = line_of(code, at);
            (first, line_of(code, end) - first + 1)
        })
        .collect()
}

/// Offset of the brace that closes the body of the function at `at`; `None` where it has no body.
fn body_end(code: &str, at: usize) -> Option<usize> {
    let (mut parentheses, mut braces) = (0i32, 0i32);
    for (offset, char) in code[at..].char_indices() {
        match char {
            '(' | '[' => parentheses += 1,
            ')' | ']' => parentheses -= 1,
            ';' if parentheses == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => continue,
        }
        if char == '}' && braces <= 0 {
            return (braces == 0).then_some(at + offset);
        }
    }
    None
}

#[test]
fn the_lexer_tells_code_from_the_rest() {
    assert_eq!(code_of("a // fn\nb"), "a      \nb");
    assert_eq!(
        code_of(r#"x("unsafe\"", 'u', '\u{7f}') r#unsafe"#),
        r#"x(          ,    ,         ) r#unsafe"#
    );
    assert_eq!(functions("trait T { fn a(); fn b(x: fn(u8)) {\n} }"), [(1, 2)]);
}
