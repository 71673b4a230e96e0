//! `ChecksumValidate` against the truth of every capture of the corpus (`CORELANE_CORPUS`), file by file.
//!
//! The mapping between counters and the keys of `truth.json` is in docs/checksum-counters.md. Every file that
//! differs from it is listed here with the reason; a difference that is not listed fails, and so does a
//! listed one that is none.

use corelane_device::capture::CaptureFile;
use corelane_runtime::stage::Declared;
use corelane_runtime::testing::Harness;
use corelane_stages::checksum_validate::{ChecksumValidate, OnBad};
use corelane_stages::rx::describe;
use serde_json::Value;
use std::path::Path;

/// Files that differ, the counter, by how much (ours minus expected), and why.
const DIFFERENCES: &[(&str, &str, i64, &str)] = &[];

/// A file of the corpus that this test looks at.
fn is_plain(facts: &Value) -> bool {
    let ethernet =
        facts["link_types"].as_array().expect("links").iter().all(|link| link["id"] == 1);
    let none = |value: &Value| value.as_u64() == Some(0);
    let walker = &facts["walker"];
    let opaque = none(&facts["tunnel_packets"]) && none(&walker["mpls"]) && none(&walker["pppoe"]);
    ethernet && opaque && facts.get("disagreements").is_none()
}

/// Runs the stage over a file and gives the counters that are not zero. No byte may change.
fn counters(path: &Path) -> Vec<(&'static str, u64)> {
    let mut file = CaptureFile::open(path).expect("a capture");
    let mut harness =
        Harness::new(ChecksumValidate::new(OnBad::Mark), ChecksumValidate::spec().info());
    let mut records = file.records();
    while let Some(record) = records.next_record() {
        let record = record.expect("a record");
        let mut packet = harness.packet(record.data);
        packet.meta_mut().orig_len = record.orig_len;
        describe(&mut packet, 1, &mut harness.buffers).expect("a buffer");
        harness.push(packet);
        harness.run();
        assert_eq!(harness.take_frames(), [record.data], "the stage changed a frame");
    }
    let counters = harness.counters();
    harness.finish();
    counters
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

/// What `truth.json` says the counters must be.
fn expected(facts: &Value) -> Vec<(String, i64)> {
    let walker = &facts["walker"];
    let bad = number(&walker["bad_ipv4_header"]);
    let mut all = vec![("outer.ipv4.bad".to_owned(), bad)];
    for l4 in ["tcp", "udp"] {
        let named = |name: &str| number(&facts[format!("{name}_{l4}")]);
        let (corrupt, partial, overrun) = (named("corrupt"), named("partial"), named("overrun"));
        // The walker counts what overruns and what was cut among what cannot be verified.
        let unverifiable = number(&walker[format!("unverifiable_{l4}")]) - overrun;
        let zero = match l4 {
            "udp" => number(&walker["zero_udp_v4"]) + number(&walker["zero_udp_v6"]),
            _ => 0,
        };
        let rest = corrupt + partial + overrun + unverifiable + zero;
        let good = number(&walker[format!("{l4}_packets")]) - rest;
        let names = ["corrupt", "partial", "overrun", "unverifiable", "good"];
        let values = [corrupt, partial, overrun, unverifiable, good];
        all.extend(names.iter().zip(values).map(|(name, n)| (format!("outer.{l4}.{name}"), n)));
        if l4 == "udp" {
            all.push(("outer.udp.zero".to_owned(), zero));
        }
    }
    all
}

#[test]
fn counters_are_those_of_the_corpus() {
    let Some(folder) = std::env::var_os("CORELANE_CORPUS").map(std::path::PathBuf::from) else {
        corelane_runtime::testing::skip(
            "counters_are_those_of_the_corpus",
            "CORELANE_CORPUS is unset",
        );
        return;
    };
    let text = std::fs::read_to_string(folder.join("truth.json")).expect("truth.json");
    let truth: Value = serde_json::from_str(&text).expect("truth.json is JSON");
    let files = truth["files"].as_object().expect("files");
    let plain: Vec<_> = files.iter().filter(|(_, facts)| is_plain(facts)).collect();
    assert!(plain.len() >= 25, "only {} files", plain.len());
    let mut found = Vec::new();
    for (name, facts) in plain {
        let counters = counters(&folder.join(name));
        let ours = |counter: &str| {
            counters.iter().find(|(name, _)| *name == counter).map_or(0, |&(_, n)| n as i64)
        };
        for (counter, want) in expected(facts) {
            if ours(&counter) != want {
                found.push((name.clone(), counter.clone(), ours(&counter) - want));
            }
        }
        let inner: Vec<_> = counters.iter().filter(|(name, _)| name.starts_with("inner")).collect();
        assert!(inner.is_empty(), "{name} has no tunnel, yet {inner:?}");
    }
    let listed: Vec<_> = DIFFERENCES
        .iter()
        .map(|&(file, counter, by, _)| (file.to_owned(), counter.to_owned(), by))
        .collect();
    assert_eq!(found, listed);
}
