//! Writing: parts in order, lengths on the wire, and nothing that is not a finished frame.

use crate::support::*;
use corelane_runtime::packet::{Burst, Csum, SegKind, Segmentation, Units};
use corelane_runtime::stage::StageContext;

fn one(bench: &mut Bench, bytes: &[u8]) -> Burst {
    let mut burst = Burst::new();
    burst.push(bench.buffers.receive(bytes).unwrap()).unwrap();
    burst
}

#[test]
fn parts_are_written_in_order_under_the_time_of_the_first() {
    let folder = Folder::new();
    let path = folder.path("out.pcap");
    let mut tx = writer(&path);
    let mut bench = Bench::new(8, 0);
    let mut head = bench.buffers.receive(b"one ").unwrap();
    head.set_time(5_000_000_001);
    for part in ["two ", "three"] {
        let part = bench.buffers.receive(part.as_bytes()).unwrap();
        StageContext::new(0, &mut bench.buffers, &mut bench.tally).absorb(&mut head, part, 0);
    }
    let mut burst = Burst::new();
    burst.push(head).unwrap();
    bench.transmit(&mut *tx, &mut burst);
    tx.finish();
    assert_eq!(rows_of(&path), [Row::new(5_000_000_001, b"one two three".to_vec())]);
}

#[test]
fn a_wire_length_below_that_of_the_packet_is_not_kept() {
    let folder = Folder::new();
    let path = folder.path("out.pcap");
    let mut tx = writer(&path);
    let mut bench = Bench::new(8, 0);
    for orig_len in [0, 59, 60, 61] {
        let mut burst = one(&mut bench, &[1; 60]);
        burst.first_mut().unwrap().meta_mut().orig_len = orig_len;
        bench.transmit(&mut *tx, &mut burst);
    }
    tx.finish();
    let lengths: Vec<u32> = rows_of(&path).iter().map(|row| row.orig_len).collect();
    assert_eq!(lengths, [60, 60, 60, 61]);
}

#[test]
fn a_finished_file_takes_nothing_more() {
    let folder = Folder::new();
    let path = folder.path("out.pcap");
    let mut tx = writer(&path);
    let mut bench = Bench::new(8, 0);
    tx.finish();
    tx.finish();
    let mut late = one(&mut bench, &[1; 60]);
    bench.transmit(&mut *tx, &mut late);
    assert_eq!(tx.report().drops, [("write_error", 1)]);
    assert_eq!(tx.report().error, None);
    assert!(rows_of(&path).is_empty());
}

#[test]
fn what_is_no_finished_frame_is_counted_not_written() {
    let folder = Folder::new();
    let path = folder.path("out.pcap");
    let mut tx = writer(&path);
    let mut bench = Bench::new(8, 0);
    let mut partial = one(&mut bench, &udp(1, 2, 3));
    partial.first_mut().unwrap().meta_mut().l4[0] = Csum::Partial;
    let mut joined = one(&mut bench, &udp(1, 2, 3));
    let request = Segmentation { kind: SegKind::Udp4, gso_size: 1, count: 2, ..Default::default() };
    joined.first_mut().unwrap().set_segmentation(request);
    bench.transmit(&mut *tx, &mut partial);
    bench.transmit(&mut *tx, &mut joined);
    let mut plain = one(&mut bench, &udp(1, 2, 3));
    bench.transmit(&mut *tx, &mut plain);
    tx.finish();
    let report = tx.report();
    assert_eq!(report.drops, [("unsupported_request", 2)]);
    assert_eq!((report.packets, report.wire_packets), (3, 1));
    assert_eq!(rows_of(&path).len(), 1);
    assert_eq!(bench.tally.transmitted, Units { packets: 3, segments: 4, bytes: 0 });
}
