//! The files that show what the language is to be: what of them does not exist yet is named, once each, and
//! with that swapped for what exists they load.
//!
//! They stand beside the corpus, not in this project. What is expected of each is written here.

use crate::scramble::Scramble;
use crate::support::{machine, marked, registry};
use corelane::{Failure, Overrides, Pipeline, Problems, Severity};
use corelane_runtime::testing::skip;
use std::path::Path;

/// The files in the order they stand there.
const NAMES: [&str; 6] =
    ["vxlan_gateway", "vtep", "bump", "checksum_audit", "monitor", "scale_encap"];

/// What each of them names that does not exist yet: errors, then warnings, in the order of the file.
const MISSING: [(&[&str], &[&str]); 6] = [
    (&["Dpdk", "dpdk"], &[]),
    (&["AfXdp"], &[]),
    (&[], &[]),
    (&[], &[]),
    (&["AfPacket", "Erspan"], &[]),
    (&[], &[]),
];

/// The blocks marked `ron`.
fn files(test: &str) -> Option<Vec<String>> {
    let Some(corpus) = std::env::var_os("CORELANE_CORPUS") else {
        skip(test, "CORELANE_CORPUS is unset");
        return None;
    };
    let path = Path::new(&corpus).join("../reference/ux.md");
    let Ok(text) = std::fs::read_to_string(path) else {
        skip(test, "the files that show the language are not beside the captures");
        return None;
    };
    let blocks = text.split("```ron\n").skip(1).filter_map(|rest| rest.split("```").next());
    let blocks: Vec<String> = blocks.map(str::to_owned).collect();
    for (block, name) in blocks.iter().zip(NAMES) {
        assert!(block.contains(&format!("name: \"{name}\"")), "{name} is not\n{block}");
    }
    assert_eq!(blocks.len(), NAMES.len());
    Some(blocks)
}

fn sets(name: &str) -> Overrides {
    let file = ("file".to_owned(), "x.pcap".to_owned());
    if name == "checksum_audit" { Overrides::sets([file]) } else { Overrides::default() }
}

fn problems(name: &str, text: &str) -> Problems {
    let pipeline = Pipeline::load("gw.ron", text, &sets(name)).map_err(Failure::from);
    let registry = registry().with::<Scramble>();
    match pipeline.and_then(|pipeline| pipeline.plan(&registry, &machine())) {
        Ok(plan) => plan.warnings().clone(),
        Err(Failure::Description(problems)) => problems,
        Err(Failure::Error(error)) => panic!("{name}: {error}"),
    }
}

#[test]
fn the_files_as_they_stand_name_what_does_not_exist_yet_once_each() {
    let Some(files) = files("language::target::originals") else { return };
    for ((text, name), (errors, warnings)) in files.iter().zip(NAMES).zip(MISSING) {
        let problems = problems(name, text);
        let named = |severity: Severity| -> Vec<String> {
            let list = problems.list.iter().filter(|problem| problem.severity == severity);
            list.map(|problem| {
                // The name in it, which is what is underlined too.
                let marked = marked(problem);
                // A kind of tunnel is a value, and the stage says which there are.
                let code = if marked == "Erspan" { "bad-value" } else { "not-yet" };
                assert_eq!(problem.code, code, "{name}\n{problems}");
                assert!(problem.message.contains(&format!("`{marked}`")), "{name}\n{problems}");
                marked
            })
            .collect()
        };
        assert_eq!(named(Severity::Error), errors, "{name}\n{problems}");
        assert_eq!(named(Severity::Warning), warnings, "{name}\n{problems}");
    }
}

/// What stands in for what does not exist yet, in each file: pieces of it and what to put there.
const SWAPS: [&[(&str, &str)]; 6] = [
    &[
        (
            "Dpdk(pci: \"0000:03:00.0\", mtu",
            "Pcap(read: \"wan.pcap\", write: \"wan.out.pcap\", mac: \"02:00:00:00:00:01\", mtu",
        ),
        (
            "Dpdk(pci: \"0000:03:00.1\", mtu",
            "Pcap(read: \"lan.pcap\", write: \"lan.out.pcap\", mtu",
        ),
        ("    dpdk: (", "    /* ("),
        ("huge_pages: Auto),", "*/"),
    ],
    &[
        (
            "AfXdp(interface: \"eth0\", mtu",
            "Pcap(read: \"a.pcap\", write: \"b.pcap\", mac: \"02:00:00:00:00:01\", mtu",
        ),
        ("AfXdp(\"eth1\")", "Pcap(read: \"c.pcap\", write: \"d.pcap\", mtu: 1500)"),
    ],
    &[],
    &[],
    &[
        ("AfPacket(\"eth0\")", "Pcap(\"in.pcap\")"),
        ("AfPacket(\"eth1\")", "Emulated"),
        (
            "AfPacket(interface: \"eth2\", addresses",
            "Pcap(write: \"mon.pcap\", mac: \"02:00:00:00:00:01\", addresses",
        ),
        (
            "Encap(Erspan(version: 2, session: 100, local: Own(\"mon\"), remote: \"203.0.113.9\"))",
            "Count",
        ),
    ],
    &[],
];

#[test]
fn with_what_exists_in_place_of_the_rest_they_load() {
    let Some(files) = files("language::target::swapped") else { return };
    for ((text, name), swaps) in files.iter().zip(NAMES).zip(SWAPS) {
        let mut swapped = text.clone();
        for (piece, with) in swaps {
            assert!(swapped.contains(piece), "{name} has no {piece}\n{swapped}");
            swapped = swapped.replace(piece, with);
        }
        let pipeline = Pipeline::load(name, &swapped, &sets(name));
        let pipeline = pipeline.unwrap_or_else(|problems| panic!("{name}: {problems}\n{swapped}"));
        let plan = pipeline.plan(&registry().with::<Scramble>(), &machine());
        let plan = plan.unwrap_or_else(|failure| panic!("{name}: {failure}\n{swapped}"));
        let warned: Vec<_> = plan.warnings().list.iter().map(|problem| problem.code).collect();
        // That a key does nothing yet, that what `lan` brings does not fit `wan`, and that nobody checks what is cut to
        // fit, where the port is one that does not, are right to be told.
        let may = ["not-yet", "mtu", "unchecked"];
        assert!(warned.iter().all(|code| may.contains(code)), "{name}: {}", plan.warnings());
    }
}
