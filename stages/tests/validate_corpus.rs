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
use std::path::{Path, PathBuf};

/// Files that differ, the counter, by how much (ours minus expected), and why.
const DIFFERENCES: &[(&str, &str, i64, &str)] = &[];

/// Tunnels that the walk follows, and those of them that UDP carries, by the names of `truth.json`.
const FOLLOWED: &[&str] =
    &["vxlan", "geneve", "gre", "gre(key)", "nvgre/gretap(key)", "erspan12", "ipip"];
const IN_UDP: &[&str] = &["vxlan", "geneve"];

/// Files with tunnels in which the two readers disagree, though not on what is compared here: the first
/// fragments of cut tunnel packets, which only one of them looks into.
const AGREED: &[&str] = &["gretap-key-inner-partial.pcap"];

fn is_zero(value: &Value) -> bool {
    value.as_u64() == Some(0)
}

/// The kinds of tunnels in a file.
fn tunnels(facts: &Value) -> Vec<&str> {
    facts["encapsulations"].as_object().expect("kinds").keys().map(String::as_str).collect()
}

/// A file of the corpus that this test looks at.
fn is_compared(name: &str, facts: &Value) -> bool {
    let ethernet =
        facts["link_types"].as_array().expect("links").iter().all(|link| link["id"] == 1);
    let walker = &facts["walker"];
    let opaque = is_zero(&walker["mpls"]) && is_zero(&walker["pppoe"]);
    let followed = tunnels(facts).iter().all(|kind| FOLLOWED.contains(kind));
    let agreed = facts.get("disagreements").is_none() || AGREED.contains(&name);
    ethernet && opaque && followed && agreed
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

fn count(counters: &[(&'static str, u64)], wanted: &str) -> i64 {
    counters.iter().find(|(name, _)| *name == wanted).map_or(0, |&(_, n)| n as i64)
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

/// Sums of counters and what `truth.json` says they must be.
type Expected = Vec<(Vec<String>, i64)>;

/// What `truth.json` says the counters must be.
fn expected(facts: &Value) -> Expected {
    let one = |level: &str, name: &str| vec![format!("{level}.{name}")];
    let mut all = Vec::new();
    for level in ["outer", "inner"] {
        let bad = number(&facts[format!("bad_ipv4_header_{level}")]);
        all.push((one(level, "ipv4.bad"), bad));
    }
    for l4 in ["tcp", "udp"] {
        transport(facts, l4, &mut all);
    }
    all
}

fn transport(facts: &Value, l4: &str, all: &mut Expected) {
    let walker = &facts["walker"];
    let named = |name: &str| number(&facts[name.replace("L4", l4)]);
    let walked = |name: &str| number(&walker[name.replace("L4", l4)]);
    let counter = |level: &str, name: &str| format!("{level}.{l4}.{name}");
    let partial = [named("partial_L4") - named("partial_L4_inner"), named("partial_L4_inner")];
    // Only the walker tells what overruns from what is bad, and only of a whole file; where a file has tunnels
    // none does.
    let overrun = named("overrun_L4");
    let corrupt_outer = named("bad_L4_outer") - partial[0] - overrun;
    let corrupt = [corrupt_outer, walked("bad_L4") - corrupt_outer];
    let unverifiable = walked("unverifiable_L4") - overrun;
    let zero = match l4 {
        "udp" => number(&walker["zero_udp_v4"]) + number(&walker["zero_udp_v6"]),
        _ => 0,
    };
    // A packet with UDP at both levels is one to the walker.
    let in_udp = l4 == "udp" && tunnels(facts).iter().any(|kind| IN_UDP.contains(kind));
    let inner = walked("tunnel_L4");
    let outer = walked("L4_packets") - if in_udp { 0 } else { inner };
    for (index, level) in ["outer", "inner"].into_iter().enumerate() {
        all.push((vec![counter(level, "corrupt")], corrupt[index]));
        all.push((vec![counter(level, "partial")], partial[index]));
    }
    for (name, n) in [("overrun", overrun), ("unverifiable", unverifiable)] {
        all.push((vec![counter("outer", name), counter("inner", name)], n));
    }
    let good = outer - corrupt[0] - partial[0] - overrun - unverifiable - zero;
    all.push((vec![counter("outer", "good")], good));
    let mut fine = vec![counter("inner", "good")];
    if l4 == "udp" {
        all.push((vec![counter("outer", "zero")], zero));
        fine.push(counter("inner", "zero"));
    }
    all.push((fine, inner - corrupt[1] - partial[1]));
}

/// Where the corpus is; without it a test says that it is skipped.
fn corpus(test: &str) -> Option<(PathBuf, Value)> {
    let Some(folder) = std::env::var_os("CORELANE_CORPUS").map(PathBuf::from) else {
        corelane_runtime::testing::skip(test, "CORELANE_CORPUS is unset");
        return None;
    };
    let text = std::fs::read_to_string(folder.join("truth.json")).expect("truth.json");
    let truth: Value = serde_json::from_str(&text).expect("truth.json is JSON");
    Some((folder, truth["files"].clone()))
}

/// Asserts that the counters of a file are those of `truth.json`, and gives them.
fn assert_true(folder: &Path, files: &Value, name: &str) -> Vec<(&'static str, u64)> {
    assert!(is_compared(name, &files[name]), "{name} is one of those compared");
    let counters = counters(&folder.join(name));
    for (names, want) in expected(&files[name]) {
        let ours: i64 = names.iter().map(|name| count(&counters, name)).sum();
        assert_eq!(ours, want, "{name}: {names:?}");
    }
    counters
}

/// Field report A10: IPv6 extension headers hide the transport header.
#[test]
fn a10_transport_headers_are_found_behind_ipv6_extension_headers() {
    let Some((folder, files)) = corpus("a10_transport_headers") else { return };
    let pairs = assert_true(&folder, &files, "checksum-pairs.pcap");
    assert!(count(&pairs, "outer.udp.good") > 0 && count(&pairs, "outer.udp.corrupt") > 0);
    let headers = assert_true(&folder, &files, "ipv6-exthdr.pcap");
    let found: u64 = headers.iter().map(|(_, n)| n).sum();
    assert!(found > 0 && headers.iter().all(|(name, _)| name.ends_with("good")), "{headers:?}");
}

/// Field report A2: what is unfinished is not called corrupt.
#[test]
fn a2_unfinished_is_told_from_corrupt() {
    let Some((folder, files)) = corpus("a2_unfinished") else { return };
    let counters = assert_true(&folder, &files, "udp-wireguard.pcap");
    assert_eq!(count(&counters, "outer.udp.partial"), 289);
    assert_eq!(count(&counters, "outer.udp.corrupt"), 0);
}

/// Field report E8: bad checksums thrown away in silence.
#[test]
fn e8_of_captures_with_offloads_nothing_is_dropped_as_bad() {
    let Some((folder, files)) = corpus("e8_offloads") else { return };
    for (name, partial) in [("tcp-tso-sender-v4.pcap", 46), ("tcp-v6-offload-partial.pcap", 42)] {
        let counters = assert_true(&folder, &files, name);
        assert_eq!(count(&counters, "outer.tcp.partial"), partial, "{name}");
        let mut file = CaptureFile::open(folder.join(name)).expect("a capture");
        let info = ChecksumValidate::spec().info();
        let mut harness = Harness::new(ChecksumValidate::new(OnBad::Drop), info);
        let mut records = file.records();
        let (mut read, mut passed) = (0, 0);
        while let Some(record) = records.next_record() {
            let record = record.expect("a record");
            let mut packet = harness.packet(record.data);
            packet.meta_mut().orig_len = record.orig_len;
            describe(&mut packet, 1, &mut harness.buffers).expect("a buffer");
            harness.push(packet);
            harness.run();
            read += 1;
            passed += harness.take_frames().len();
        }
        assert_eq!(read, passed, "{name}");
        harness.finish();
    }
}

#[test]
fn counters_are_those_of_the_corpus() {
    let Some((folder, files)) = corpus("counters_are_those_of_the_corpus") else { return };
    let files = files.as_object().expect("files");
    let compared: Vec<_> = files.iter().filter(|(name, facts)| is_compared(name, facts)).collect();
    let tunnelled = compared.iter().filter(|(_, facts)| !tunnels(facts).is_empty());
    let (all, with_tunnels) = (compared.len(), tunnelled.count());
    assert!(all >= 40 && with_tunnels >= 10, "only {all} files, {with_tunnels} with tunnels");
    let mut found = Vec::new();
    for (name, facts) in compared {
        let counters = counters(&folder.join(name));
        for (names, want) in expected(facts) {
            let ours: i64 = names.iter().map(|name| count(&counters, name)).sum();
            if ours != want {
                found.push((name.clone(), names.join(" + "), ours - want));
            }
        }
        let inner = counters.iter().any(|(name, _)| name.starts_with("inner"));
        assert!(!inner || !tunnels(facts).is_empty(), "{name} has no tunnel: {counters:?}");
    }
    let listed: Vec<_> = DIFFERENCES
        .iter()
        .map(|&(file, counter, by, _)| (file.to_owned(), counter.to_owned(), by))
        .collect();
    assert_eq!(found, listed);
}
