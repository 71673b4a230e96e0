//! The profiles' files, read without the code that reads them for the planner: names of capabilities and quoted
//! reasons are looked up in the text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a profile's file says.
pub(crate) struct Profile {
    pub(crate) granted: BTreeSet<String>,
    /// `No` or `Unknown` and the reason, by capability; the first that names it.
    pub(crate) reasons: BTreeMap<String, (String, String)>,
    /// Bytes of the largest packet it cuts.
    pub(crate) tso_bytes: String,
    /// Whether it looks for tunnels behind UDP ports.
    looks: bool,
    /// Whether it need not look, since it is told where they are.
    pub(crate) told: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/device/src/caps")
}

/// Every profile there is a file for.
pub(crate) fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the profiles").filter_map(Result::ok);
    let names = files.filter_map(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        name.strip_suffix(".ron").map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(names.len() >= 10, "{names:?}");
    names
}

impl Profile {
    pub(crate) fn named(name: &str) -> Profile {
        let path = folder().join(format!("{name}.ron"));
        let text = std::fs::read_to_string(path).expect("a profile");
        let code = |line: &&str| !line.trim_start().starts_with("//");
        let text: String = text.lines().filter(code).map(|line| format!("{line}\n")).collect();
        let list = |key: &str| -> Option<BTreeSet<String>> {
            let rest = text.split(&format!("\n    {key}: [")).nth(1)?;
            Some(quoted(rest.split(']').next()?).into_iter().collect())
        };
        let granted = list("granted").or(list("advertised")).expect("what it grants");
        let limit = text.split("tso_bytes: ").nth(1).and_then(|rest| rest.split([',', ')']).next());
        let tso_bytes = limit.unwrap_or("65536").to_owned();
        let told = text.contains("vxlan_ports: \"any\"");
        let looks = told || text.contains("vxlan_ports: [");
        Profile { granted, reasons: reasons(&text), tso_bytes, looks, told }
    }

    pub(crate) fn grants(&self, bit: &str) -> bool {
        self.granted.contains(bit)
    }

    /// Whether it finds tunnels of any kind in what it receives.
    pub(crate) fn finds_tunnels(&self) -> bool {
        self.looks || self.grants("tso_gre") || self.grants("tso_ipip")
    }
}

/// All `No([..], "..")` and `Unknown([..], "..")`.
fn reasons(text: &str) -> BTreeMap<String, (String, String)> {
    let mut found = BTreeMap::new();
    let block = text.split("\n    reasons: [").nth(1).unwrap_or_default();
    let block = block.split("\n    ],").next().unwrap_or_default();
    let mut rest = block;
    while let Some(at) = rest.find("No(").into_iter().chain(rest.find("Unknown(")).min() {
        let word = if rest[at..].starts_with("No(") { "No" } else { "Unknown" };
        rest = &rest[at + word.len() + 1..];
        let (bits, after) = rest.split_once(']').expect("a list");
        let why = quoted(after).into_iter().next().expect("a reason");
        for bit in quoted(bits) {
            found.entry(bit).or_insert((word.to_owned(), why.clone()));
        }
        rest = &after[after.find(&why).expect("it is there") + why.len()..];
    }
    found
}

/// What stands in quotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
