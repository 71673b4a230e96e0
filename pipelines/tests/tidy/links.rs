//! Links between documents: every relative one leads to a file that is there, and to a heading that it has.
//!
//! It reads Markdown as far as links go: `[text](target)` outside of code. Links to other sites are not followed.

use crate::{files, none, root};
use std::fs;
use std::path::Path;

/// `text` without blocks and spans of code, line for line.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut kept = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fenced && !fence && !line.starts_with("    ") {
            // Every other piece between backquotes is code, but for what a link shows.
            let pieces = line.split('`').enumerate();
            kept.extend(pieces.map(|(at, piece)| if at % 2 == 0 { piece } else { "" }));
        }
        kept.push('\n');
    }
    kept
}

/// Where the links of a document lead, each with its line.
fn targets(text: &str) -> Vec<(usize, String)> {
    let prose = prose(text);
    let of_line = |(line, text): (usize, &str)| -> Vec<(usize, String)> {
        let behind = text.split("](").skip(1);
        behind.filter_map(|rest| Some((line, rest.split_once(')')?.0.to_owned()))).collect()
    };
    (1..).zip(prose.lines()).flat_map(of_line).collect()
}

/// What headings are called in links.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let named = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let kept = |char: &char| char.is_alphanumeric() || matches!(char, '-' | '_' | ' ');
    named.map(|name| name.chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

/// What is wrong with a link in the document at `path`, if anything is.
fn broken(path: &Path, target: &str) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = path.parent().expect("a folder");
    let leads = if file.is_empty() { path.to_path_buf() } else { folder.join(file) };
    if !leads.exists() {
        return Some("leads nowhere");
    }
    if anchor.is_empty() {
        return None;
    }
    let text = fs::read_to_string(&leads).unwrap_or_default();
    (!anchors(&text).iter().any(|known| known == anchor)).then_some("names no heading there")
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut complaints = Vec::new();
    let mut seen = 0;
    for path in files(&root(), ".md") {
        let text = fs::read_to_string(&path).unwrap();
        for (line, target) in targets(&text) {
            if target.contains("://") {
                continue;
            }
            seen += 1;
            let wrong = broken(&path, &target);
            complaints
                .extend(wrong.map(|it| format!("{}:{line}: `{target}` {it}", path.display())));
        }
    }
    assert!(seen > 50, "found only {seen} links");
    none(complaints);
}

#[test]
fn links_are_told_from_code() {
    let text = "# A b: `c`!\n[`x`](a.md#b) and `[y](z)`\n```\n[n](m)\n```\n    [o](p)\n[q](r)";
    let found = targets(text);
    assert_eq!(found, [(2, "a.md#b".to_owned()), (7, "r".to_owned())]);
    assert_eq!(anchors(text), ["a-b-c"]);
    assert_eq!(broken(&root().join("README.md"), "docs/no-such.md"), Some("leads nowhere"));
    assert_eq!(broken(&root().join("README.md"), "LICENSE#no"), Some("names no heading there"));
    assert_eq!(broken(&root().join("README.md"), "LICENSE"), None);
}
