//! Comments on records: other readers find them, and those that do not ask for them lose nothing.

use crate::support::{ours, theirs};
use corelane_device::capture::{CaptureWriter, Format};
use corelane_runtime::testing::skip;
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::block_common::Block;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use std::path::Path;
use std::process::Command;

/// Comments of every length modulo four, none, one beyond what an option can say, and more than ASCII.
fn comments() -> Vec<String> {
    let mut comments: Vec<String> = (0..9).map(|len| "c".repeat(len)).collect();
    comments.push("outer udp: bad, found 0xdead, right 0x1234".to_owned());
    comments.push("\u{fc}ber".to_owned());
    comments.push(format!("{}\u{20ac}", "x".repeat(65_534)));
    comments
}

fn written(path: &Path, format: Format) -> Vec<Vec<u8>> {
    let mut writer = CaptureWriter::create(path, format).expect("a file");
    let frames: Vec<Vec<u8>> = (0..comments().len()).map(|at| vec![at as u8; 60 + at]).collect();
    for (frame, comment) in frames.iter().zip(comments()) {
        let len = frame.len() as u32;
        writer.write_with(7, len, [&frame[..]], len, &comment).expect("written");
    }
    writer.finish().expect("closed");
    frames
}

/// As many bytes as an option can hold, at the end of a character.
fn kept(comment: &str) -> String {
    let mut end = comment.len().min(65_535);
    while !comment.is_char_boundary(end) {
        end -= 1;
    }
    comment[..end].to_owned()
}

#[test]
fn frames_are_read_back_whatever_stands_beside_them() {
    let dir = tempfile::tempdir().expect("a folder");
    for (format, name) in [(Format::Pcap, "x.pcap"), (Format::PcapNg, "x.pcapng")] {
        let path = dir.path().join(name);
        let frames = written(&path, format);
        let (seen, error) = ours(&path).expect("a capture");
        assert!(error.is_none(), "{error:?}");
        assert_eq!(seen, theirs(&path).expect("a capture"));
        let seen: Vec<Vec<u8>> = seen.into_iter().map(|seen| seen.data).collect();
        assert_eq!(seen, frames);
    }
}

#[test]
fn comments_are_found_by_another_reader() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x.pcapng");
    written(&path, Format::PcapNg);
    let bytes = std::fs::read(&path).expect("a file");
    let mut reader = PcapNgReader::with_capacity(&bytes[..], 2 << 20).expect("a capture");
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        let (block, _) = block.expect("a block");
        let Block::EnhancedPacket(packet) = block else { continue };
        let comment = packet.options.iter().find_map(|option| match option {
            EnhancedPacketOption::Common(CommonOption::Comment(text)) => Some(text.to_string()),
            _ => None,
        });
        found.push(comment.unwrap_or_default());
    }
    let expected: Vec<String> = comments().iter().map(|comment| kept(comment)).collect();
    assert_eq!(found, expected);
}

#[test]
fn comments_are_found_by_tshark() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x.pcapng");
    written(&path, Format::PcapNg);
    let output = Command::new("tshark")
        .args(["-r".as_ref(), path.as_os_str()])
        .args(["-T", "fields", "-e", "frame.comment"])
        .output();
    let Ok(output) = output else {
        skip("capture_files::comments_are_found_by_tshark", "tshark is not installed");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let found: Vec<&str> = text.lines().take(11).collect();
    let expected: Vec<String> = comments().into_iter().take(11).collect();
    assert_eq!(found, expected);
}
