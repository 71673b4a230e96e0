//! Every capture of the corpus through the main job, from file to file: no panic, balanced, what comes out is
//! what went in; captures of other links are refused in one sentence.

use crate::support::assert_same;
use corelane::{Failure, Machine, Overrides, Pipeline, Report};
use corelane_device::capture::CaptureFile;
use corelane_device::emulated::Frame;
use corelane_runtime::testing::skip;
use serde_json::Value;
use std::path::{Path, PathBuf};

const TEXT: &str = r#"Pipeline(
    name: "corpus",
    params: { "in": Required("capture"), "out": Required("capture") },
    ports: { "in": Pcap(read: "$in"), "out": Pcap(write: "$out") },
    chains: { "main": [
        Rx("in"), ChecksumValidate(on_bad: Mark, on_zero6: Pass), Gro, Ring("cut"), Gso, ChecksumFill, Tx("out"),
    ] },
)"#;

fn corpus(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CORELANE_CORPUS");
    if folder.is_none() {
        skip(test, "CORELANE_CORPUS is unset");
    }
    folder.map(PathBuf::from)
}

fn frames(path: &Path) -> Vec<Frame> {
    let mut file = CaptureFile::open(path).unwrap_or_else(|error| panic!("{error}"));
    let (mut records, mut frames) = (file.records(), Vec::new());
    while let Some(record) = records.next_record() {
        let record = record.unwrap_or_else(|error| panic!("{error}"));
        let (time_ns, orig_len) = (record.time_ns, record.orig_len);
        frames.push(Frame { time_ns, data: record.data.to_vec(), orig_len });
    }
    frames
}

fn run(input: &Path, output: &Path) -> Result<Report, Failure> {
    let set = |key: &str, path: &Path| (key.to_owned(), path.display().to_string());
    let pipeline = Pipeline::load(
        "corpus.ron",
        TEXT,
        &Overrides::sets([set("in", input), set("out", output)]),
    )?;
    let plan = pipeline.plan(&corelane::standard(), &Machine::here())?;
    Ok(plan.start()?.wait())
}

/// Each capture and what `truth.json` says of it.
fn captures(folder: &Path) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(folder.join("truth.json")).expect("truth.json");
    let truth: Value = serde_json::from_str(&text).expect("JSON");
    let files = truth["files"].as_object().expect("files");
    files.iter().map(|(name, facts)| (name.clone(), facts.clone())).collect()
}

fn is_ethernet(facts: &Value) -> bool {
    let links = facts["link_types"].as_array().expect("link types");
    links.iter().all(|link| link["id"] == 1)
}

#[test]
fn every_capture_comes_out_as_it_went_in() {
    let Some(folder) = corpus("every_capture_comes_out_as_it_went_in") else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let (mut done, mut joined) = (0, 0);
    for (name, facts) in captures(&folder) {
        if !is_ethernet(&facts) {
            continue;
        }
        let (input, output) = (folder.join(&name), scratch.path().join("out.pcapng"));
        let report = run(&input, &output).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert!(report.balanced == Some(true), "{name}: {:?}", report.unbalanced);
        assert!(report.errors.is_empty(), "{name}: {:?}", report.errors);
        assert_eq!(report.totals.panics, 0, "{name}");
        assert_eq!(report.totals.rx_packets, facts["packets"].as_u64().expect("a count"), "{name}");
        assert_eq!(report.totals.tx_packets, report.totals.rx_packets, "{name}");
        assert_same(&frames(&output), &frames(&input), &name);
        joined += report.totals.absorbed;
        done += 1;
    }
    assert!(done > 50, "{done} captures");
    assert!(joined > 400, "only {joined} packets were joined in the whole corpus");
}

#[test]
fn other_links_are_refused_in_one_sentence() {
    let Some(folder) = corpus("other_links_are_refused_in_one_sentence") else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let mut refused = 0;
    for (name, facts) in captures(&folder) {
        if is_ethernet(&facts) {
            continue;
        }
        let failure = run(&folder.join(&name), &scratch.path().join("out.pcap"));
        let failure = failure.err().unwrap_or_else(|| panic!("{name} was accepted"));
        assert!(failure.is_user(), "{name}: exit code 2");
        let text = failure.to_string();
        assert!(text.contains(&name) && !text.trim().contains('\n'), "{name}: {text}");
        let number = facts["link_types"].as_array().expect("link types");
        let others = number.iter().filter(|link| link["id"] != 1);
        assert!(others.into_iter().any(|link| text.contains(&link["id"].to_string())), "{text}");
        refused += 1;
    }
    assert!(refused >= 6, "{refused} captures");
}
