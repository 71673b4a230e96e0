//! The programs with stages of their own: short, complete, and right.
//!
//! What they did to a capture is judged by readers that share no code with corelane: `pcap-file` and
//! etherparse. Lines are counted over whole files, blank ones too.

use corelane::testing::check_stage;
use corelane_examples::captures::{self, Frame};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[expect(dead_code, reason = "its main")]
#[path = "../src/bin/04_count_stage.rs"]
mod count_stage;
#[expect(dead_code, reason = "its main")]
#[path = "../src/bin/scramble.rs"]
mod scramble;

const KEY: &str = "00112233445566778899aabbccddeeff";
const SKIP: usize = 8;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn capture(name: &str) -> PathBuf {
    root().join("captures").join(name)
}

fn scramble(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scramble")).args(arguments).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A description that scrambles a capture, with these stages in front.
fn description(folder: &Path, input: &Path, before: &str) -> PathBuf {
    let text = format!(
        r#"Pipeline(
    name: "scrambled",
    ports: {{
        "in": Pcap({input:?}),
        "out": Pcap(write: {:?}),
        "clear": Pcap(write: {:?}),
    }},
    chains: {{
        "main": [Rx("in"), {before} Scramble(key: "{KEY}", skip: {SKIP}, short: "clear"), Tx("out")],
        "clear": [Count(name: "left_clear"), Tx("clear")],
    }},
)"#,
        folder.join("out.pcap"),
        folder.join("clear.pcap"),
    );
    let file = folder.join("scramble.ron");
    std::fs::write(&file, text).expect("a file");
    file
}

/// Where the TCP payload of a frame starts and ends, after its checksum was found right.
fn payload(frame: &Frame) -> std::ops::Range<usize> {
    let sliced = SlicedPacket::from_ethernet(&frame.data).expect("an Ethernet frame");
    let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("not TCP") };
    let right = match sliced.net.expect("IP") {
        NetSlice::Ipv4(ip) => {
            let ip = ip.header().to_header();
            tcp.calc_checksum_ipv4(ip.source, ip.destination)
        }
        NetSlice::Ipv6(ip) => {
            let ip = ip.header().to_header();
            tcp.calc_checksum_ipv6(ip.source, ip.destination)
        }
        other => panic!("not IP: {other:?}"),
    };
    assert_eq!(tcp.checksum(), right.expect("a TCP length"), "a checksum is wrong");
    let start = tcp.payload().as_ptr() as usize - frame.data.as_ptr() as usize;
    start..start + tcp.payload().len()
}

/// What the program should make of a payload.
fn xored(payload: &[u8]) -> Vec<u8> {
    let key = u128::from_str_radix(KEY, 16).expect("hex").to_be_bytes();
    let byte = |(at, byte): (usize, &u8)| if at < SKIP { *byte } else { byte ^ key[at % 16] };
    payload.iter().enumerate().map(byte).collect()
}

fn run(before: &str, input: &str) -> (Vec<Frame>, Vec<Frame>, serde_json::Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = description(folder.path(), &capture(input), before);
    let ended = scramble(&["run", file.to_str().expect("a path"), "--format", "json"]);
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    let report = serde_json::from_slice(&ended.stdout).expect("JSON");
    let read = |name: &str| captures::read(&folder.path().join(name)).expect("a capture");
    (read("out.pcap"), read("clear.pcap"), report)
}

/// Frames with a payload after the first bytes, and those without.
fn sorted(frames: Vec<Frame>) -> (Vec<Frame>, Vec<Frame>) {
    frames.into_iter().partition(|frame| payload(frame).len() > SKIP)
}

fn is_tcp(frame: &Frame) -> bool {
    let sliced = SlicedPacket::from_ethernet(&frame.data);
    sliced.is_ok_and(|sliced| matches!(sliced.transport, Some(TransportSlice::Tcp(_))))
}

#[test]
fn payloads_are_scrambled_and_every_checksum_is_right() {
    for name in captured() {
        let (long, short) = sorted(captures::read(&capture(&name)).expect("a capture"));
        assert!(!long.is_empty(), "{name}");
        let (out, clear, report) = run("", &name);
        assert_eq!((out.len(), clear.len()), (long.len(), short.len()), "{name}");
        let mut bytes = 0;
        for (sent, came) in out.iter().zip(&long) {
            let (range, before) = (payload(sent), payload(came));
            assert_eq!(range, before);
            assert_eq!(sent.data[range.clone()], xored(&came.data[range.clone()]), "{name}");
            bytes += (range.len() - SKIP) as u64;
        }
        for (sent, came) in clear.iter().zip(&short) {
            assert_eq!(sent.data, came.data, "a packet without payload is left as it is");
        }
        assert_eq!(report["balanced"], true);
        let stages = report["stages"].as_array().expect("a list");
        let stage =
            |kind: &str| stages.iter().find(|stage| stage["kind"] == kind).expect("a stage");
        assert_eq!(stage("Scramble")["counters"]["bytes"], bytes);
        assert_eq!(stage("Count")["counters"]["packets"], short.len());
    }
}

/// The captures of TCP alone; that they hold nothing else is what `captures.rs` beside this checks.
fn captured() -> Vec<String> {
    let folder = std::fs::read_dir(root().join("captures")).expect("a folder");
    let names =
        folder.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".pcap")).collect();
    names.sort();
    names.retain(|name| captures::read(&capture(name)).expect("a capture").iter().all(is_tcp));
    assert!(names.len() >= 2, "{names:?}");
    names
}

#[test]
fn joined_packets_are_scrambled_like_single_ones() {
    for name in captured() {
        let plain = run("", &name).0;
        let joined = run("ChecksumValidate(on_bad: Drop), Gro,", &name);
        let stages = joined.2["stages"].as_array().expect("a list");
        let merged = stages.iter().find(|stage| stage["kind"] == "Gro").expect("Gro");
        assert!(merged["absorbed"].as_u64() > Some(0), "{name}: nothing was joined");
        let bytes = |frames: &[Frame]| {
            let mut bytes: Vec<_> = frames.iter().map(|frame| frame.data.clone()).collect();
            bytes.sort();
            bytes
        };
        // A segment that is all header and `skip` may travel inside of a joined packet.
        let all = [joined.0, joined.1].concat();
        let all: Vec<Frame> = all.into_iter().filter(|f| payload(f).len() > SKIP).collect();
        assert_eq!(bytes(&all), bytes(&plain), "{name}");
    }
}

#[test]
fn every_subcommand_knows_the_stage() {
    let page = text(&scramble(&["stages", "Scramble"]).stdout);
    for said in [
        "XORs each payload with a key, so that it looks encrypted.",
        "Doing it twice restores the payload.",
        "16 bytes in hex",
        "what payloads are XORed with",
        "whole number",
        "default 0",
        "where packets go that have no payload after `skip`",
        "bytes",
    ] {
        assert!(page.contains(said), "{said:?} is not in:\n{page}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let names = captured();
    let file = description(folder.path(), &capture(&names[0]), "");
    let file = file.to_str().expect("a path");
    let checked = scramble(&["check", file]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
    let explained = scramble(&["explain", file]);
    assert_eq!(explained.status.code(), Some(0), "{}", text(&explained.stderr));
    assert!(text(&explained.stdout).contains("Scramble"), "{}", text(&explained.stdout));
}

#[test]
fn every_mistake_in_its_arguments_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.ron");
    let text_of = r#"Pipeline(
    name: "wrong",
    ports: { "in": Emulated(), "out": Emulated() },
    chains: {
        "main": [Rx("in"), Scramble(key: "0011", skipp: 8, skip: "no"), Tx("out")],
    },
)"#;
    std::fs::write(&file, text_of).expect("a file");
    let checked = scramble(&["check", file.to_str().expect("a path")]);
    let said = text(&checked.stdout) + &text(&checked.stderr);
    assert_eq!(checked.status.code(), Some(2), "{said}");
    for part in ["`short`", "skipp", "did you mean `skip`", "32 hexadecimal digits", "5:"] {
        assert!(said.contains(part), "{part:?} is not in:\n{said}");
    }
}

#[test]
fn the_stages_keep_every_rule() {
    check_stage::<scramble::Scramble>(&format!("Scramble(key: \"{KEY}\", skip: 8, short: \"b\")"));
    check_stage::<scramble::Scramble>(&format!("Scramble(key: \"{KEY}\", short: \"b\")"));
    check_stage::<count_stage::Sizes>("Sizes");
    check_stage::<count_stage::Sizes>("Sizes(large: 100)");
}

#[test]
fn the_counting_program_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = &captured()[0];
    let file = folder.path().join("count.ron");
    let input = capture(name);
    let text_of = format!(
        "Pipeline(name: \"c\", ports: {{ \"in\": Pcap({input:?}) }}, \
         chains: {{ \"main\": [Rx(\"in\"), Sizes(large: 200), Drop(\"counted\")] }})"
    );
    std::fs::write(&file, text_of).expect("a file");
    let ended = Command::new(env!("CARGO_BIN_EXE_04_count_stage"))
        .args(["run", file.to_str().expect("a path"), "--format", "json"])
        .output()
        .expect("it starts");
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    let report: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let frames = captures::read(&input).expect("a capture");
    let small = frames.iter().filter(|frame| frame.data.len() < 200).count();
    let stages = report["stages"].as_array().expect("a list");
    let sizes = stages.iter().find(|stage| stage["kind"] == "Sizes").expect("the stage");
    assert_eq!(sizes["counters"]["small"], small);
    assert_eq!(sizes["counters"]["large"], frames.len() - small);
}

#[test]
fn the_programs_are_short() {
    for (name, most) in [("scramble.rs", 40), ("04_count_stage.rs", 25)] {
        let text = std::fs::read_to_string(root().join("src/bin").join(name)).expect("source");
        let lines = text.lines().count();
        assert!(lines <= most, "{name} has {lines} lines; {most} are allowed");
        let wide = text.lines().map(|line| line.chars().count()).max();
        assert!(wide <= Some(110), "{name} has a line of {wide:?} characters");
    }
}
