//! What RON says is wrong, said for the person who wrote the file.
//!
//! Every message names the key or word and what to write instead. Positions become byte ranges of the text.

use super::entries::entries;
use corelane_runtime::stage::ConfigError;
use ron::error::{Error, Position, SpannedError};

/// The error, and the byte at which reading stopped.
pub(super) fn translate(error: &SpannedError, text: &str) -> (ConfigError, usize) {
    let start = offset(text, error.span.start);
    let end = offset(text, error.span.end);
    let (start, end) = trim(text, start, end);
    let entry = entries(text).into_iter().find(|entry| entry.all.contains(&start));
    let around = entry.as_ref().map(|entry| &text[entry.key.clone()]);
    let (key, message) = explain(&error.code, around);
    let span = match (&error.code, entry) {
        (Error::MissingStructField { .. }, None) => None,
        (Error::MissingStructField { .. }, Some(entry)) => Some((entry.all.start, entry.all.end)),
        (_, Some(entry))
            if key.as_deref() == Some(&text[entry.key.clone()]) && is_name(&error.code) =>
        {
            Some((entry.key.start, entry.key.end))
        }
        _ => Some((start, end)),
    };
    (ConfigError { span, key, message }, start)
}

/// Whether the key itself is at fault, not its value.
fn is_name(code: &Error) -> bool {
    matches!(code, Error::NoSuchStructField { .. } | Error::DuplicateStructField { .. })
}

/// The key an error is about, and the sentence.
fn explain(code: &Error, around: Option<&str>) -> (Option<String>, String) {
    let of = around.map(|key| format!(" for `{key}`")).unwrap_or_default();
    let key = around.map(str::to_owned);
    match code {
        Error::NoSuchStructField { expected, found, .. } => {
            let message =
                format!("there is no key `{found}`; {}", instead(found, expected, "keys"));
            (Some(found.clone()), message)
        }
        Error::NoSuchEnumVariant { expected, found, .. } => {
            let message =
                format!("`{found}` cannot be written{of}; {}", instead(found, expected, "values"));
            (key, message)
        }
        Error::DuplicateStructField { field, .. } => {
            (Some((*field).to_owned()), format!("`{field}` is given twice; keep one of them"))
        }
        Error::MissingStructField { field, .. } => {
            (Some((*field).to_owned()), format!("`{field}` must be given"))
        }
        Error::InvalidValueForType { expected, found } => {
            (key, format!("expected {expected}{of}, found {found}"))
        }
        Error::Message(message) => (key, format!("{message}{of}")),
        Error::ExpectedComma => (
            key,
            "expected a comma; a value without a key cannot stand beside one with a key".into(),
        ),
        other => (key, format!("{}{of}", lower(&other.to_string()))),
    }
}

/// Names that others give to what is meant, however far in letters: first what may be written, then what is here.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("tcp_dst", &["dport"]),
    ("udp_dst", &["dport"]),
    ("tcp_src", &["sport"]),
    ("udp_src", &["sport"]),
    ("dport", &["udp_dst", "tcp_dst"]),
    ("sport", &["udp_src", "tcp_src"]),
    ("dst_port", &["dport", "udp_dst", "tcp_dst"]),
    ("src_port", &["sport", "udp_src", "tcp_src"]),
    ("tp_dst", &["dport", "udp_dst", "tcp_dst"]),
    ("tp_src", &["sport", "udp_src", "tcp_src"]),
    ("udp_port", &["port", "udp_dst"]),
    ("dst_udp_port", &["port"]),
    ("ip_src", &["src"]),
    ("ip_dst", &["dst"]),
    ("nw_src", &["src"]),
    ("nw_dst", &["dst"]),
    ("src_ip", &["src", "local"]),
    ("dst_ip", &["dst", "remote"]),
    ("src", &["local"]),
    ("dst", &["remote"]),
    ("dl_src", &["eth_src"]),
    ("dl_dst", &["eth_dst"]),
    ("src_mac", &["eth_src", "mac"]),
    ("dst_mac", &["eth_dst", "next_hop"]),
    ("gateway", &["next_hop"]),
    ("hop_limit", &["ttl"]),
    ("vid", &["vlan"]),
    ("id", &["vni"]),
    ("protocol", &["proto"]),
    ("ip_proto", &["proto"]),
    ("eth_type", &["ethertype"]),
    ("otherwise", &["to"]),
];

/// What is called so elsewhere, of the names that would do.
fn synonyms<'n>(found: &str, expected: &[&'n str]) -> Vec<&'n str> {
    let found = found.to_lowercase();
    let known = SYNONYMS.iter().find(|(name, _)| *name == found);
    let meant = known.map_or(&[][..], |(_, meant)| meant);
    meant.iter().filter_map(|name| expected.iter().find(|known| *known == name).copied()).collect()
}

/// The nearest of the names that would do, or all of them.
pub(super) fn instead(found: &str, expected: &[&str], what: &str) -> String {
    match synonyms(found, expected).as_slice() {
        [] => {}
        [one] => return format!("did you mean `{one}`?"),
        [one, other, ..] => return format!("did you mean `{one}` or `{other}`?"),
    }
    let near =
        |name: &&&str| strsim::damerau_levenshtein(&found.to_lowercase(), &name.to_lowercase());
    let best = expected.iter().min_by_key(near);
    let starts =
        |name: &&&str| found.len() > 2 && (name.starts_with(found) || found.starts_with(**name));
    let close = |name: &&&str| near(name) <= 1 + found.len() / 3;
    let best = expected.iter().find(starts).or(best.filter(close));
    match (best, expected) {
        (Some(best), _) => format!("did you mean `{best}`?"),
        (None, []) => format!("it takes no {what}"),
        (None, _) => {
            let names: Vec<String> = expected.iter().map(|name| format!("`{name}`")).collect();
            format!("the {what} are {}", names.join(", "))
        }
    }
}

fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// ron counts lines and columns from 1, columns in characters.
fn offset(text: &str, position: Position) -> usize {
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if index + 1 == position.line {
            let chars = line.char_indices().nth(position.col.saturating_sub(1));
            return at + chars.map_or(line.len(), |(byte, _)| byte);
        }
        at += line.len();
    }
    text.len()
}

/// Without white space at either end; at least one byte where there is one.
fn trim(text: &str, start: usize, end: usize) -> (usize, usize) {
    let slice = &text[start.min(end)..end.max(start)];
    let lead = slice.len() - slice.trim_start().len();
    let (start, len) = (start.min(end) + lead, slice.trim().len());
    if len > 0 {
        return (start, start + len);
    }
    let start = start.min(text.len());
    let next = text[start..].chars().next().map_or(0, char::len_utf8);
    (start, start + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_otherwise_elsewhere_is_found_where_it_is_meant() {
        let rewrite = ["eth_src", "eth_dst", "src", "dst", "ttl", "sport", "dport"];
        let rule = ["eth_src", "src", "dst", "proto", "tcp_src", "tcp_dst", "udp_src", "udp_dst"];
        let tunnel = ["vni", "local", "remote", "port", "src_port", "next_hop"];
        for (found, expected, right) in [
            ("tcp_dst", &rewrite[..], "did you mean `dport`?"),
            ("udp_src", &rewrite, "did you mean `sport`?"),
            ("hop_limit", &rewrite, "did you mean `ttl`?"),
            ("dport", &rule, "did you mean `udp_dst` or `tcp_dst`?"),
            ("IP_SRC", &rule, "did you mean `src`?"),
            ("udp_port", &tunnel, "did you mean `port`?"),
            ("dst_ip", &tunnel, "did you mean `remote`?"),
            // A name that is there is near to what it is near to.
            ("dts", &rule, "did you mean `dst`?"),
        ] {
            assert_eq!(instead(found, expected, "keys"), right, "{found}");
        }
    }

    #[test]
    fn a_synonym_is_no_name_of_what_it_stands_for() {
        for (name, meant) in SYNONYMS {
            assert!(!meant.is_empty() && !meant.contains(name), "{name}");
            assert_eq!(*name, name.to_lowercase());
        }
    }
}
