//! Reading: everything once, in order, with its time and length; shared out and repeated.

use crate::support::*;
use corelane_device::{Pcap, PcapConfig};
use corelane_runtime::packet::{Burst, LARGE_ROOM, Packet};
use corelane_runtime::port::{Port, RxQueue};
use corelane_runtime::stage::Progress;
use proptest::prelude::*;
use std::collections::HashMap;

/// Every packet of a queue, released at once: time, length on the wire, bytes.
fn read_all(bench: &mut Bench, rx: &mut dyn RxQueue) -> Vec<Row> {
    let (mut rows, mut burst) = (Vec::new(), Burst::new());
    loop {
        match bench.poll(rx, &mut burst) {
            Progress::Done => return rows,
            Progress::Worked(_) | Progress::Idle(Some(_)) => {}
            other => panic!("{other:?}"),
        }
        for packet in burst.drain() {
            rows.push(row_of(&packet));
            bench.buffers.release(packet);
        }
    }
}

fn row_of(packet: &Packet) -> Row {
    let data = packet.parts().collect::<Vec<_>>().concat();
    Row { time: packet.time(), orig_len: packet.meta().orig_len, data }
}

#[test]
fn what_comes_in_goes_out_as_it_was() {
    let folder = Folder::new();
    let epoch = 1_700_000_000_123_456_789;
    let huge = (0..2 * LARGE_ROOM + 77).map(|at| at as u8).collect();
    let rows = [
        Row::new(epoch, udp(1, 2, 3)),
        Row { orig_len: 1514, ..Row::new(epoch + 1, vec![7; 96]) },
        Row::new(epoch + 1, vec![8; 2049]),
        Row::new(epoch - 5, huge),
        Row::new(epoch + 9, Vec::new()),
    ];
    let input = folder.write("in.pcap", &rows);
    let output = folder.path("out.pcap");
    let mut rx = reader(&input).open_rx().unwrap();
    let mut tx = writer(&output);
    let mut bench = Bench::new(8, 4);
    bench.run(&mut *rx, &mut *tx);
    assert_eq!(rows_of(&output), rows);
    let (received, sent) = (rx.report(), tx.report());
    let bytes: usize = rows.iter().map(|row| row.data.len()).sum();
    assert_eq!((received.packets, received.bytes, received.wire_packets), (5, bytes as u64, 5));
    assert_eq!((sent.packets, sent.bytes, sent.wire_packets), (5, bytes as u64, 5));
    assert_eq!((received.error, sent.error, sent.drops), (None, None, vec![]));
    assert_eq!((bench.tally.transmitted.packets, bench.tally.copies), (5, 0));
}

#[test]
fn a_wire_length_that_cannot_be_is_that_of_the_bytes() {
    let folder = Folder::new();
    let rows = [Row { orig_len: 0, ..Row::new(1, vec![1; 60]) }];
    let mut rx = reader(&folder.write("in.pcap", &rows)).open_rx().unwrap();
    let read = read_all(&mut Bench::new(4, 0), &mut *rx);
    assert_eq!((read[0].orig_len, read[0].data.len()), (60, 60));
}

#[test]
fn a_starved_queue_reads_the_record_again() {
    let folder = Folder::new();
    let rows: Vec<Row> = (0..9).map(|n| Row::new(u64::from(n), udp(n.into(), 1, n))).collect();
    let mut rx = reader(&folder.write("in.pcap", &rows)).open_rx().unwrap();
    let mut bench = Bench::new(2, 0);
    let (mut burst, mut read) = (Burst::new(), Vec::new());
    let mut starved = 0;
    loop {
        match bench.poll(&mut *rx, &mut burst) {
            Progress::Done => break,
            Progress::Worked(n) => assert!(n <= 2),
            Progress::Starved => {
                starved += 1;
                read.extend(burst.iter().map(row_of));
                burst.drain().for_each(|packet| bench.buffers.release(packet));
            }
            other => panic!("{other:?}"),
        }
    }
    read.extend(burst.iter().map(row_of));
    assert_eq!(read, rows);
    assert!(starved >= 4);
}

#[test]
fn a_record_no_pool_can_hold_is_counted_and_passed() {
    let folder = Folder::new();
    let rows = [Row::new(1, vec![1; 3 * LARGE_ROOM as usize]), Row::new(2, vec![2; 60])];
    let mut rx = reader(&folder.write("in.pcap", &rows)).open_rx().unwrap();
    assert_eq!(read_all(&mut Bench::new(2, 2), &mut *rx), rows[1..]);
    assert_eq!(rx.report().drops, [("too_large_for_pool", 1)]);
}

fn repeating(path: &std::path::Path, queues: usize) -> Pcap {
    let config = PcapConfig::new("in").reading(path);
    Pcap::open(PcapConfig { repeat: true, queues, ..config }).unwrap()
}

#[test]
fn a_repeated_file_has_growing_times() {
    let folder = Folder::new();
    let rows: Vec<Row> = (0..5).map(|n| Row::new(1000 + 10 * n, udp(1, 2, n as u8))).collect();
    let mut rx = repeating(&folder.write("in.pcap", &rows), 1).open_rx().unwrap();
    let mut bench = Bench::new(64, 0);
    let mut burst = Burst::new();
    assert_eq!(bench.poll(&mut *rx, &mut burst), Progress::Worked(32));
    let read: Vec<Row> = burst.iter().map(row_of).collect();
    assert!(read.windows(2).all(|pair| pair[0].time < pair[1].time), "{read:?}");
    for (number, row) in read.iter().enumerate() {
        assert_eq!(row.data, rows[number % 5].data);
        // The span is 40 ns; the next lap begins 1 ns behind it.
        assert_eq!(row.time, rows[number % 5].time + 41 * (number as u64 / 5));
    }
}

#[test]
fn a_repeated_file_that_gives_nothing_ends() {
    let folder = Folder::new();
    let empty = folder.write("empty.pcap", &[]);
    assert!(
        read_all(&mut Bench::new(4, 0), &mut *repeating(&empty, 1).open_rx().unwrap()).is_empty()
    );
    // One flow belongs to one of two queues; the other has nothing in any lap.
    let one = folder.write("one.pcap", &[Row::new(1, udp(1, 2, 3))]);
    let mut port = repeating(&one, 2);
    let mut queues = [port.open_rx().unwrap(), port.open_rx().unwrap()];
    let mut bench = Bench::new(64, 0);
    let mut burst = Burst::new();
    let ends = queues.iter_mut().map(|rx| bench.poll(&mut **rx, &mut burst) == Progress::Done);
    assert_eq!(ends.filter(|&ended| ended).count(), 1);
}

#[test]
fn queues_share_flows_whole_and_lose_none() {
    let folder = Folder::new();
    let row = |n: u16| Row::new(u64::from(n), udp(1000 + n % 40, 53, n as u8));
    let rows: Vec<Row> = (0..300).map(row).collect();
    let path = folder.write("in.pcap", &rows);
    let config = PcapConfig::new("in").reading(&path);
    let mut port = Pcap::open(PcapConfig { queues: 4, ..config }).unwrap();
    // Only three are opened: they share everything.
    let mut queues: Vec<_> = (0..3).map(|_| port.open_rx().unwrap()).collect();
    let mut bench = Bench::new(64, 0);
    let mut owners: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut seen = Vec::new();
    for (number, rx) in queues.iter_mut().enumerate() {
        for row in read_all(&mut bench, &mut **rx) {
            let flow = row.data[34..38].to_vec();
            assert_eq!(*owners.entry(flow).or_insert(number), number);
            seen.push(row);
        }
    }
    seen.sort_by_key(|row| row.time);
    assert_eq!((seen, owners.len()), (rows, 40));
    assert!((0..3).all(|number| owners.values().any(|&owner| owner == number)));
}

proptest! {
    #[test]
    fn any_frames_come_out_as_they_went_in(
        frames in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u8>(), 0..3000), 0..5_u32), 0..80),
        small in 1..40_u32,
    ) {
        let folder = Folder::new();
        let rows: Vec<Row> = frames.into_iter().map(|(time, data, more)| {
            let row = Row::new(u64::from(time), data);
            Row { orig_len: row.orig_len + more, ..row }
        }).collect();
        let output = folder.path("out.pcap");
        let mut rx = reader(&folder.write("in.pcap", &rows)).open_rx().unwrap();
        let mut tx = writer(&output);
        Bench::new(small, small).run(&mut *rx, &mut *tx);
        prop_assert_eq!(rows_of(&output), rows);
    }
}
