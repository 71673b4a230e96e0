//! The two documents that are written by the program are what it would write now.
//!
//! `CORELANE_BLESS=1` writes them anew. What they say comes from the stages themselves, whose own tests hold it;
//! beside that, this holds that nothing registered is missing from them.

mod offloads;
mod reference;

use std::path::{Path, PathBuf};

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

/// Fails where the document is not `text`; writes it where that is asked for.
fn is(name: &str, text: &str) {
    let path = document(name);
    if std::env::var_os("CORELANE_BLESS").is_some() {
        std::fs::write(&path, text).expect("docs/ can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = there.lines().zip(text.lines()).position(|(old, new)| old != new);
    assert!(
        there == text,
        "docs/{name} is not what the program says, from line {}; run this test with CORELANE_BLESS=1 and read the diff",
        differing.unwrap_or(there.lines().count().min(text.lines().count())) + 1
    );
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[test]
fn the_reference_is_what_the_program_says() {
    is("PIPELINES.md", &reference::text());
}

#[test]
fn the_matrix_of_offloads_is_what_the_program_says() {
    is("OFFLOADS.md", &offloads::text());
}

#[test]
fn nothing_registered_is_missing() {
    let reference = std::fs::read_to_string(document("PIPELINES.md")).expect("it is there");
    for spec in corelane::standard().iter() {
        let info = spec.info();
        let heading = format!("\n### {}\n", info.name);
        let (_, section) = reference.split_once(&heading).unwrap_or_else(|| panic!("{heading}"));
        let section = section.split("\n### ").next().unwrap_or_default();
        for name in info.keys.iter().map(|key| key.name).chain(info.drop_reasons.iter().copied()) {
            assert!(section.contains(&format!("`{name}`")), "{}: {name}", info.name);
        }
    }
    let matrix = std::fs::read_to_string(document("OFFLOADS.md")).expect("it is there");
    for profile in corelane_device::caps::profiles() {
        assert!(matrix.contains(&format!("| {profile} |")), "{profile}");
    }
}
