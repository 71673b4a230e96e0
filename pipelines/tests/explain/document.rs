//! The example of `docs/explain.md` is what is said of the description in it.

use corelane::explain::Style;
use corelane::{Machine, Overrides, Pipeline};
use std::path::Path;

fn block<'t>(text: &'t str, kind: &str) -> &'t str {
    let begin = text.find(kind).expect("a block") + kind.len();
    text[begin..].split("```").next().expect("its end")
}

#[test]
fn the_example_in_the_document_is_what_is_said() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/explain.md");
    let document = std::fs::read_to_string(path).expect("the document");
    let example = document.split("## An example").nth(1).expect("an example");
    let caps = [("a", "one-queue"), ("b", "ixgbe-like")];
    for (port, profile) in caps {
        assert!(example.contains(&format!("--caps {port}={profile}")));
    }
    let caps = caps.map(|(port, profile)| (port.to_owned(), profile.to_owned()));
    let overrides = Overrides { caps: caps.to_vec(), ..Overrides::default() };
    let text = block(example, "```ron\n");
    let pipeline = Pipeline::load("bump.ron", text, &overrides).expect("a description");
    let machine = Machine::from_ron("Machine(packages: 1, cores: 2, threads: 1)");
    let plan = pipeline.plan(&corelane::standard(), &machine.expect("a machine")).expect("a plan");
    let table = plan.explain().table(Style { width: 1000, ..Style::default() });
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = table.lines().map(squeezed).collect();
    let mut from = 0;
    for row in block(example, "```text\n").lines() {
        // Two dots stand for what is left out.
        let parts: Vec<String> = row.split("..").map(squeezed).collect();
        let fits = |line: &String| {
            line.starts_with(&parts[0]) && parts.iter().all(|part| line.contains(part.as_str()))
        };
        let found = lines[from..].iter().position(fits);
        from += found.unwrap_or_else(|| panic!("{row} is not said in this order in\n{table}")) + 1;
    }
}
