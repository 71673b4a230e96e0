//! `compare` finds every way in which a capture can differ, and nothing where flows are merely reordered.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use corelane_examples::captures::{self, Frame};
use corelane_examples::compare::{Times, What, compare};
use corelane_examples::flow::FlowKey;

fn recorded(name: &str) -> Vec<Frame> {
    captures::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(name))
        .expect("a committed capture")
}

/// What `compare` finds between the recorded IPv4 capture and a changed copy of it.
fn found(change: impl FnOnce(&mut Vec<Frame>)) -> Option<What> {
    let first = recorded("tcp-bulk-v4.pcap");
    let mut second = first.clone();
    change(&mut second);
    compare(&first, &second, Times::Equal).err().map(|difference| difference.what)
}

#[test]
fn a_capture_equals_itself() {
    let frames = recorded("tcp-bulk-v6.pcap");
    let summary = compare(&frames, &frames, Times::Equal).unwrap();
    assert_eq!(
        (summary.frames, summary.flows, summary.equal_times),
        (frames.len(), 4, frames.len())
    );
}

#[test]
fn every_change_is_found() {
    assert_eq!(
        found(|frames| frames[100].data[60] ^= 0x10).map(|what| matches!(what, What::Byte(60, ..))),
        Some(true)
    );
    assert_eq!(found(|frames| frames[100].orig_len += 1), Some(What::OrigLen(1514, 1515)));
    assert_eq!(found(|frames| frames[100].data.truncate(1500)), Some(What::Length(1514, 1500)));
    assert_eq!(found(|frames| frames[100].time += Duration::from_nanos(7)), Some(What::Time(7)));
    assert_eq!(found(|frames| drop(frames.pop())), Some(What::Missing));
    assert_eq!(found(|frames| frames.push(frames[400].clone())), Some(What::Added));
    assert_eq!(found(|_| ()), None);
}

#[test]
fn order_counts_inside_a_flow_only() {
    let first = recorded("tcp-bulk-v6.pcap");
    let flows: Vec<FlowKey> = first.iter().map(|frame| FlowKey::of(&frame.data)).collect();
    let swap_at =
        |same: bool| (1..first.len()).find(|&at| (flows[at] == flows[at - 1]) == same).unwrap();
    for same in [true, false] {
        let mut second = first.clone();
        let at = swap_at(same);
        second.swap(at - 1, at);
        assert_eq!(compare(&first, &second, Times::Free).is_err(), same, "swapped at {at}");
    }
}

#[test]
fn the_program_says_it_by_exit_code() {
    let run = |arguments: &[&str]| {
        let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
        let output = Command::new(env!("CARGO_BIN_EXE_compare_captures"))
            .current_dir(captures)
            .args(arguments)
            .output()
            .unwrap();
        output.status.code()
    };
    assert_eq!(run(&["tcp-bulk-v4.pcap", "tcp-bulk-v4.pcap"]), Some(0));
    assert_eq!(run(&["tcp-bulk-v4.pcap", "tcp-bulk-v6.pcap"]), Some(1));
    assert_eq!(run(&["tcp-bulk-v4.pcap", "README.md"]), Some(2));
    assert_eq!(run(&["tcp-bulk-v4.pcap"]), Some(2));
}
