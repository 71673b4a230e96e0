//! What the documents show is what the program takes: every whole description in them is sound.
//!
//! It does not run them: `make demo` does that for the one that has input.

use corelane::{Machine, Overrides, Pipeline};
use std::path::Path;

/// The blocks marked `ron`.
fn descriptions(text: &str) -> Vec<&str> {
    text.split("```ron\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_description_in_the_documents_is_sound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (file, expected) in [("README.md", 1), ("docs/language.md", 1)] {
        let text = std::fs::read_to_string(root.join(file)).expect("a document");
        let found = descriptions(&text);
        assert_eq!(found.len(), expected, "{file}");
        for description in found {
            let set = [("in".to_owned(), "in.pcap".to_owned())];
            let pipeline = Pipeline::load(file, description, &Overrides::sets(set));
            let pipeline = pipeline.unwrap_or_else(|problems| panic!("{problems}"));
            let plan = pipeline.plan(&corelane::standard(), &Machine::here());
            let plan = plan.unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(plan.warnings().errors(), 0);
            assert_eq!(plan.actors().count(), 2, "{file}");
        }
    }
}

#[test]
fn the_stage_in_the_readme_is_the_one_that_is_built() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("a document");
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let built = std::fs::read_to_string(root.join("examples/src/bin/04_count_stage.rs"));
    assert_eq!(shown, built.ok().as_deref());
}
