//! Any text as a description: a plan, or problems that can be printed.
#![no_main]

use corelane::{Machine, Pipeline};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let machine = Machine::of(Vec::new(), "none");
    match Pipeline::parse(text) {
        Err(problems) => assert!(!problems.to_string().is_empty()),
        Ok(pipeline) => {
            if let Err(failure) = pipeline.plan(&corelane::standard(), &machine) {
                assert!(!failure.to_string().is_empty());
            }
        }
    }
});
