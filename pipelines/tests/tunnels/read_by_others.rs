//! What whole pipelines put into tunnels, tshark reads without a complaint: every checksum that is there is right, and
//! there is no malformed packet, at any level.

use crate::support::{HOP, Lane, recorded};
use corelane_runtime::offload::Caps;
use corelane_runtime::testing::skip;
use std::path::Path;
use std::process::Command;

/// Whether there is a tshark; else the test is skipped by name.
fn tshark(test: &str) -> bool {
    let found = Command::new("tshark").arg("-v").output().is_ok();
    if !found {
        skip(test, "there is no tshark");
    }
    found
}

/// What tshark says of the headers of a capture's frames, and what it complains of.
struct Read {
    frames: usize,
    vnis: Vec<String>,
    /// The state of every checksum, of all levels.
    udp: Vec<String>,
    tcp: Vec<String>,
    ip: Vec<String>,
    /// Warnings and errors, sorted.
    complaints: Vec<String>,
}

/// How tshark numbers a right checksum, and one that is not there.
const GOOD: &str = "1";
const ABSENT: &str = "3";
/// The severity of a warning; errors are above.
const WARNING: u64 = 0x0060_0000;

fn read(file: &Path) -> Read {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-T", "fields", "-E", "aggregator=|"]);
    command.args(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]);
    command.args(["-o", "udp.check_checksum:TRUE"]);
    // The two directions may pass each other in a pipeline, which is no fault of the frames.
    command.args(["-o", "tcp.analyze_sequence_numbers:FALSE"]);
    command.args(["-e", "vxlan.vni", "-e", "udp.checksum.status", "-e", "tcp.checksum.status"]);
    command.args(["-e", "ip.checksum.status"]);
    command.args(["-e", "_ws.expert.severity", "-e", "_ws.expert.message"]);
    let output = command.output().expect("tshark runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let column = |index: usize| -> Vec<String> {
        let cells = lines.iter().filter_map(|line| line.get(index));
        let values = cells.flat_map(|cell| cell.split('|')).filter(|value| !value.is_empty());
        values.map(str::to_owned).collect()
    };
    let severe = |severity: &String| severity.parse().is_ok_and(|number: u64| number >= WARNING);
    let said = column(4).into_iter().zip(column(5)).filter(|(severity, _)| severe(severity));
    let mut complaints: Vec<String> = said.map(|(_, message)| message).collect();
    complaints.sort_unstable();
    let [vnis, udp, tcp, ip] = [0, 1, 2, 3].map(column);
    Read { frames: lines.len(), vnis, udp, tcp, ip, complaints }
}

fn write(path: &Path, frames: &[corelane_device::emulated::Frame]) {
    // The classic format, little endian, ns: magic, version 2.4, no zone, no accuracy, length, Ethernet.
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for frame in frames {
        let len = frame.data.len() as u32;
        let (seconds, rest) = (frame.time_ns / 1_000_000_000, frame.time_ns % 1_000_000_000);
        for word in [seconds as u32, rest as u32, len, frame.orig_len] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&frame.data);
    }
    std::fs::write(path, bytes).expect("a file");
}

#[test]
fn tshark_reads_what_pipelines_put_into_tunnels() {
    if !tshark("tshark_reads_what_pipelines_put_into_tunnels") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.pcap");
    let v4 = "local: \"192.0.2.1\", remote: \"192.0.2.9\"";
    let v6 = "local: \"2001:db8::1\", remote: \"2001:db8::9\"";
    for name in ["tcp-bulk-v6.pcap", "vxlan-bulk-v4-inner.pcap"] {
        let sent = recorded(name);
        write(&file, &sent);
        let before = read(&file);
        assert_eq!(before.frames, sent.len());
        for (ends, sum, outer) in [(v4, "Off", ABSENT), (v4, "On", GOOD), (v6, "Auto", GOOD)] {
            let stages = format!(
                "ChecksumValidate, Gro, Encap(Vxlan(vni: 4711, {ends}, udp_checksum: {sum}, {HOP})),"
            );
            for tx in [Caps::empty(), Caps::asked()] {
                let ran = Lane { tx, ..Lane::new(&stages, sent.clone()) }.simulate();
                ran.assert_lossless(name);
                write(&file, &ran.frames);
                let found = read(&file);
                assert_eq!(found.vnis, vec!["4711"; sent.len()], "{name}: {sum}: all are VXLAN");
                assert_eq!(found.udp, vec![outer; sent.len()], "{name}: {sum}: outer checksums");
                assert_eq!(found.tcp, before.tcp, "{name}: {sum}: inner checksums");
                assert!(found.tcp.len() > 100 && found.tcp.iter().all(|state| state == GOOD));
                assert!(found.ip.iter().all(|state| state == GOOD), "{name}: {sum}");
                // What is odd about the transfer was so before: only that may be said again.
                assert_eq!(found.complaints, before.complaints, "{name}: {sum}");
            }
        }
    }
}
