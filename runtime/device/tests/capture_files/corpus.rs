//! Every capture of the corpus that `CORELANE_CORPUS` names, record by record against pcap-file and
//! against the counts of its `truth.json`. Skipped by name where the variable is unset.

use std::path::PathBuf;

use crate::support::{ours, theirs};
use corelane_device::capture::{CaptureError, CaptureFile, Fault, Format, Refusal};
use serde_json::Value;

/// A corpus, and what its `truth.json` says of each file.
struct Corpus {
    folder: PathBuf,
    files: Vec<(String, Value)>,
}

/// The corpus, or a skip of `test`.
fn corpus(test: &str) -> Option<Corpus> {
    let Some(folder) = std::env::var_os("CORELANE_CORPUS").map(PathBuf::from) else {
        corelane_runtime::testing::skip(test, "CORELANE_CORPUS is unset");
        return None;
    };
    let text = std::fs::read_to_string(folder.join("truth.json")).expect("truth.json");
    let truth: Value = serde_json::from_str(&text).expect("truth.json is JSON");
    let files: Vec<_> = truth["files"]
        .as_object()
        .expect("truth.json lists files")
        .iter()
        .map(|(name, facts)| (name.clone(), facts.clone()))
        .collect();
    assert!(files.len() >= 50, "only {} files in the corpus", files.len());
    Some(Corpus { folder, files })
}

/// Link types of a file, by number and name.
fn links(facts: &Value) -> Vec<(u64, &str)> {
    let links = facts["link_types"].as_array().expect("link types");
    links
        .iter()
        .map(|link| (link["id"].as_u64().expect("an id"), link["name"].as_str().expect("a name")))
        .collect()
}

fn is_ethernet(facts: &Value) -> bool {
    links(facts).iter().all(|link| link.0 == 1)
}

#[test]
fn every_ethernet_capture_reads_like_its_truth_and_like_another_reader() {
    let test = "every_ethernet_capture_reads_like_its_truth_and_like_another_reader";
    let Some(corpus) = corpus(test) else { return };
    let mut unread_by_oracle = Vec::new();
    for (name, facts) in corpus.files.iter().filter(|file| is_ethernet(&file.1)) {
        let path = corpus.folder.join(name);
        let (seen, error) = ours(&path).unwrap_or_else(|error| panic!("{error}"));
        assert!(error.is_none(), "{error:?}");
        assert_eq!(Some(seen.len() as u64), facts["packets"].as_u64(), "{name}");
        let file = CaptureFile::open(&path).expect("opened before");
        let format = if file.format() == Format::Pcap { "pcap" } else { "pcapng" };
        assert_eq!(Some(format), facts["format"].as_str(), "{name}");
        assert_eq!(Some(file.interfaces().len() as u64), facts["interfaces"].as_u64(), "{name}");
        match theirs(&path) {
            Ok(expected) => assert!(seen == expected, "{name} reads differently"),
            Err(_) => unread_by_oracle.push(name.as_str()),
        }
    }
    assert_eq!(unread_by_oracle, ["format-modified-magic.pcap"], "the oracle reads all others");
}

#[test]
fn every_other_link_type_is_refused_by_name_and_number() {
    let Some(corpus) = corpus("every_other_link_type_is_refused_by_name_and_number") else {
        return;
    };
    let mut refused = 0;
    for (name, facts) in corpus.files.iter().filter(|file| !is_ethernet(&file.1)) {
        let path = corpus.folder.join(name);
        let error = CaptureFile::open(&path).map(|_| ()).expect_err("not Ethernet");
        assert!(error.is_refusal() && !error.is_damage(), "{error:?}");
        let text = error.to_string();
        let named = links(facts).into_iter().any(|(number, name)| {
            let name = name.split('(').next().unwrap_or_default();
            number != 1 && text.contains(&format!("link type {name} ({number})"))
        });
        assert!(named, "{text}");
        assert!(text.contains(name.as_str()) && !text.contains('\n'), "{text}");
        refused += 1;
    }
    assert!(refused >= 7, "only {refused} files of other link types");
}

#[test]
fn the_cut_record_is_one_error_behind_nothing() {
    let Some(corpus) = corpus("the_cut_record_is_one_error_behind_nothing") else { return };
    // Its link type is NULL, so that it is refused as it is; said to be Ethernet, it is damaged.
    let mut bytes = std::fs::read(corpus.folder.join("malformed-cut-record.pcap")).expect("bytes");
    bytes[20..24].copy_from_slice(&1u32.to_le_bytes());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.pcap");
    std::fs::write(&path, &bytes).expect("written");
    let (seen, error) = ours(&path).expect("opens");
    assert!(seen.is_empty());
    match error {
        Some(CaptureError::Damaged { record: 1, offset: 24, fault, .. }) => {
            assert_eq!(fault, Fault::CapturedOverFile { captured: 524_501, left: 199 });
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_mixed_capture_names_the_first_alien_interface() {
    let Some(corpus) = corpus("a_mixed_capture_names_the_first_alien_interface") else { return };
    let path = corpus.folder.join("format-mixed-links.pcapng");
    match CaptureFile::open(&path) {
        Err(CaptureError::Refused {
            reason: Refusal::Link { interface, interfaces, .. }, ..
        }) => {
            assert!((1..=interfaces).contains(&interface));
            assert_eq!(interfaces, 11);
        }
        other => panic!("{other:?}"),
    }
}
