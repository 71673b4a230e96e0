//! The tables as text, one file for each pipeline and profile. `CORELANE_BLESS=1` writes them anew: then read what
//! changed. Each is held against the model too.

use crate::model::Model;
use crate::profile::{self, Profile};
use crate::{explain, rows};
use corelane::explain::Style;
use corelane::prelude::*;
use std::path::Path;

stage! {
    /// Sends every second packet to another chain.
    pub struct Halve {
        /// the other chain
        to: Output,
    }
    state {
        odd: bool = false,
    }
}

impl Stage for Halve {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs, _: &mut StageContext) {
        for packet in burst.drain() {
            self.odd = !self.odd;
            if self.odd {
                out.next(packet);
            } else {
                out.send(self.to, packet);
            }
        }
    }
}

/// The standard stages, and one with two outputs.
pub(crate) fn registry() -> Registry {
    Registry::standard().with::<Halve>()
}

/// Name and text of the pipelines.
pub(crate) const PIPELINES: [(&str, &str); 2] =
    [("bump", include_str!("bump.ron")), ("fan_out", include_str!("fan_out.ron"))];

/// Names of the ports in a text of these tests: one a line, before `Emulated`.
pub(crate) fn ports(text: &str) -> Vec<String> {
    let named = text.lines().filter_map(|line| line.trim().split_once(": Emulated("));
    named.map(|(name, _)| name.trim_matches('"').to_owned()).collect()
}

#[test]
fn explanations_are_as_they_were_read_and_every_line_is_true() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain/snapshots");
    let bless = std::env::var_os("CORELANE_BLESS").is_some();
    let mut wrong = Vec::new();
    for (pipeline, text) in PIPELINES {
        for profile in profile::names() {
            let table = explain(text, &profile).table(Style::default());
            let file = folder.join(format!("{pipeline}-{profile}.txt"));
            if bless {
                std::fs::write(&file, &table).expect("a snapshot");
            }
            let known = std::fs::read_to_string(&file).unwrap_or_default();
            if known != table {
                wrong.push(format!("{} is not what is said now:\n{table}", file.display()));
            }
            let model = Model { profile: Profile::named(&profile), ports: ports(text) };
            model.check(&rows::read(&table), &format!("{pipeline} on {profile}"));
        }
    }
    assert!(wrong.is_empty(), "{}\nread it, then CORELANE_BLESS=1", wrong.join("\n"));
}

/// A file that no test looks at any more says nothing.
#[test]
fn there_is_a_snapshot_for_each_and_no_other() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain/snapshots");
    let files = std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok);
    let mut found: Vec<String> =
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    found.sort();
    let names = profile::names();
    let expected = PIPELINES.iter().flat_map(|(pipeline, _)| {
        names.iter().map(move |profile| format!("{pipeline}-{profile}.txt"))
    });
    let mut expected: Vec<String> = expected.collect();
    expected.sort();
    assert_eq!(found, expected);
}
