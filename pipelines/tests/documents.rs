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
    for (file, actors) in [("README.md", 1), ("docs/language.md", 2)] {
        let text = std::fs::read_to_string(root.join(file)).expect("a document");
        let found = descriptions(&text);
        assert_eq!(found.len(), 1, "{file}");
        for description in found {
            let set = [("in".to_owned(), "in.pcap".to_owned())];
            let pipeline = Pipeline::load(file, description, &Overrides::sets(set));
            let pipeline = pipeline.unwrap_or_else(|problems| panic!("{problems}"));
            let plan = pipeline.plan(&corelane::standard(), &Machine::here());
            let plan = plan.unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(plan.warnings().errors(), 0);
            assert_eq!(plan.actors().count(), actors, "{file}");
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

#[test]
fn the_pipeline_in_the_readme_is_the_example_without_its_comments() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("a document");
    let example = std::fs::read_to_string(root.join("examples/03_vxlan.ron")).expect("an example");
    let bare = |line: &str| line.split("//").next().unwrap_or_default().trim_end().to_owned();
    let lines = example.lines().map(bare).filter(|line| !line.is_empty());
    let bare: Vec<String> = lines.collect();
    let shown: Vec<&str> = descriptions(&readme)[0].lines().collect();
    assert_eq!(shown, bare);
}

/// The lines of stages: where they run depends on the machine.
#[test]
fn the_explanation_in_the_readme_is_what_the_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("a document");
    let example = std::fs::read_to_string(root.join("examples/03_vxlan.ron")).expect("an example");
    let overrides = Overrides {
        caps: vec![("out".to_owned(), "i40e-like".to_owned())],
        ..Overrides::sets([("in".to_owned(), "x.pcap".to_owned())])
    };
    let pipeline = Pipeline::load("examples/03_vxlan.ron", &example, &overrides);
    let plan = pipeline
        .unwrap_or_else(|problems| panic!("{problems}"))
        .plan(&corelane::standard(), &Machine::here())
        .unwrap_or_else(|failure| panic!("{failure}"));
    let style = corelane::explain::Style { width: 80, colour: false };
    let printed = plan.explain().brief(style);
    let printed = printed.lines().skip(1).take_while(|line| !line.starts_with("CORES"));
    let shown = readme.split("--caps out=i40e-like --brief\n").nth(1).expect("it is shown");
    let shown = shown.lines().take_while(|line| !line.is_empty());
    let shown: Vec<&str> = shown.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    assert_eq!(shown, printed.collect::<Vec<_>>());
}
