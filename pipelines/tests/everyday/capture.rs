//! What a run writes to capture files: the audit of a file with damaged frames, and a disk that is full.

use crate::{assert_clean, counter, plan};
use corelane::{Machine, Overrides, Pipeline};
use corelane_device::capture::{CaptureFile, CaptureWriter, Format};
use corelane_runtime::testing::skip;
use corelane_wire::testing::{Checksum, FrameBuilder, Ipv4, Tcp, Udp, Vxlan};
use std::path::Path;
use std::process::Command;

const AUDIT: &str = r#"Pipeline(
    name: "audit",
    params: { "file": Required("capture to read"), "bad": Required("capture to write") },
    ports: { "in": Pcap("$file") },
    chains: {
        "audit": [Rx("in"), ChecksumValidate(on_bad: Output("bad")), Drop("audited")],
        "bad":   [Capture("$bad"), Drop("bad_checksum")],
    },
)"#;

/// Frames with a time each; the second and the fourth are wrong.
fn frames() -> Vec<(u64, Vec<u8>)> {
    let udp = |checksum| Udp { checksum, ..Udp::default() };
    let plain = |checksum| {
        FrameBuilder::new().ipv4(Ipv4::default()).udp(udp(checksum)).payload(b"audit").build()
    };
    let tcp = Tcp { checksum: Checksum::Value(0x1234), ..Tcp::default() };
    let inside = FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).payload(b"inside").build();
    let outer = Udp { dst_port: 4789, ..Udp::default() };
    let tunnel = FrameBuilder::new().ipv4(Ipv4::default()).udp(outer).vxlan(Vxlan::default());
    vec![
        (1_000_000_001, plain(Checksum::Right)),
        (1_000_000_002, plain(Checksum::Value(0xdead))),
        (1_000_000_003, plain(Checksum::Value(0))),
        (1_000_000_004, tunnel.payload(&inside).build()),
    ]
}

fn record(path: &Path, frames: &[(u64, Vec<u8>)]) {
    let mut writer = CaptureWriter::create(path, Format::Pcap).expect("a file");
    for (time, frame) in frames {
        let len = frame.len() as u32;
        writer.write(*time, len, [&frame[..]], len).expect("written");
    }
    writer.finish().expect("closed");
}

fn read(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let mut file = CaptureFile::open(path).expect("a capture");
    let (mut records, mut frames) = (file.records(), Vec::new());
    while let Some(record) = records.next_record() {
        let record = record.expect("a record");
        frames.push((record.time_ns, record.data.to_vec()));
    }
    frames
}

/// The right UDP checksum of the second frame.
fn right() -> u16 {
    let frame = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::default()).payload(b"audit");
    let frame = frame.build();
    u16::from_be_bytes([frame[40], frame[41]])
}

#[test]
fn an_audit_keeps_bad_packets_with_what_would_be_right() {
    let dir = tempfile::tempdir().expect("a folder");
    let (input, output) = (dir.path().join("in.pcap"), dir.path().join("bad.pcapng"));
    let frames = frames();
    record(&input, &frames);
    let plan = plan(AUDIT, &[("file", &input), ("bad", &output)]);
    let report = plan.start().unwrap_or_else(|failure| panic!("{failure}")).wait();
    assert_clean(&report);
    assert_eq!(counter(&report, "bad.0", "written"), 2);
    assert_eq!(read(&output), [frames[1].clone(), frames[3].clone()], "times tell which ones");
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.comment"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-r".as_ref(), output.as_os_str()]).args(fields);
    let Ok(told) = tshark.output() else {
        skip("everyday::capture::audit", "tshark is not installed");
        return;
    };
    let told = String::from_utf8(told.stdout).expect("text");
    let lines: Vec<&str> = told.lines().collect();
    let first = format!(
        "1.000000002\tpacket 1; outer ipv4: good; outer udp: bad, found 0xdead, right {:#06x}",
        right()
    );
    assert_eq!(lines[0], first);
    let inner = "packet 2; outer ipv4: good; outer udp: good; inner ipv4: good; inner tcp: bad, found 0x1234, right 0x";
    assert!(lines[1].split('\t').nth(1).is_some_and(|text| text.starts_with(inner)), "{told}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_full_disk_fails_the_run_and_loses_no_packet() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        skip("everyday::capture::full", "there is no /dev/full");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("in.pcap");
    record(&input, &frames());
    let plan = plan(AUDIT, &[("file", &input), ("bad", full)]);
    let report = plan.start().unwrap_or_else(|failure| panic!("{failure}")).wait();
    assert_eq!(report.balanced, Some(true), "{:?}", report.unbalanced);
    let [error] = &report.errors[..] else { panic!("{:?}", report.errors) };
    assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
    let ended = report.stages.iter().find(|stage| stage.id == "bad.1").expect("the last stage");
    assert_eq!(ended.packets_in, 2);
}

#[test]
fn a_file_that_is_read_is_not_written() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("in.pcap");
    record(&input, &frames());
    // By another name, or the extension would tell.
    let linked = dir.path().join("out.pcapng");
    std::fs::hard_link(&input, &linked).expect("a link");
    let sets = [("file", &input), ("bad", &linked)];
    let sets = sets.map(|(key, path)| (key.to_owned(), path.display().to_string()));
    let pipeline = Pipeline::load("everyday.ron", AUDIT, &Overrides::sets(sets)).expect("it loads");
    let planned = pipeline.plan(&corelane::standard(), &Machine::here());
    let Err(failure) = planned else { panic!("it must not be planned") };
    assert!(failure.to_string().contains("out.pcapng"), "{failure}");
    assert_eq!(read(&input), frames(), "not a byte of it is gone");
}
