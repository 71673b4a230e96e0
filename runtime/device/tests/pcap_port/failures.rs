//! What cannot be read or written, and whose fault it is.

use crate::support::*;
use corelane_device::{Pcap, PcapConfig};
use corelane_runtime::packet::Burst;
use corelane_runtime::port::Port;

#[test]
fn a_damaged_file_gives_what_comes_before_the_damage_and_says_where() {
    let folder = Folder::new();
    let rows: Vec<Row> = (0..3).map(|n| Row::new(u64::from(n), udp(1, 2, n))).collect();
    let mut file = capture(1, &rows);
    let third = file.len() - 16 - rows[2].data.len();
    file.truncate(file.len() - 5);
    let path = folder.path("in.pcap");
    std::fs::write(&path, file).unwrap();
    for repeat in [false, true] {
        let config = PcapConfig { repeat, ..PcapConfig::new("in").reading(&path) };
        let mut rx = Pcap::open(config).unwrap().open_rx().unwrap();
        let output = folder.path(if repeat { "a.pcap" } else { "b.pcap" });
        let mut tx = writer(&output);
        Bench::new(8, 0).run(&mut *rx, &mut *tx);
        assert_eq!(rows_of(&output), rows[..2]);
        let error = rx.report().error.unwrap();
        assert!(!error.user, "a damaged file is no mistake in the description");
        assert_eq!(error.what, "port in");
        for part in [path.to_str().unwrap(), "record 3", &format!("byte {third}")] {
            assert!(error.message.contains(part), "{part} in {error}");
        }
    }
}

#[test]
fn a_file_that_is_refused_is_the_users() {
    let folder = Folder::new();
    let wifi = folder.path("wifi.pcap");
    std::fs::write(&wifi, capture(127, &[])).unwrap();
    let text = folder.path("text.pcap");
    std::fs::write(&text, "no capture at all").unwrap();
    for path in [wifi.clone(), text, folder.path("missing.pcap")] {
        let error = Pcap::open(PcapConfig::new("in").reading(&path)).unwrap_err();
        assert!(error.user && error.message.contains(path.to_str().unwrap()), "{error}");
    }
    let error = Pcap::open(PcapConfig::new("in").reading(&wifi)).unwrap_err();
    assert!(error.message.contains("127"), "{error}");
}

#[test]
fn a_port_without_a_file_for_the_direction_says_so() {
    let folder = Folder::new();
    let input = folder.write("in.pcap", &[]);
    let mut port = reader(&input);
    assert!(
        port.open_tx().is_err_and(|error| error.user && error.message.contains("no file to write"))
    );
    let mut port = Pcap::open(PcapConfig::new("out").writing(folder.path("out.pcap"))).unwrap();
    assert!(
        port.open_rx().is_err_and(|error| error.user && error.message.contains("no file to read"))
    );
}

#[test]
fn queues_are_as_many_as_asked_for_and_one_writes() {
    let folder = Folder::new();
    let input = folder.write("in.pcap", &[]);
    let config = PcapConfig::new("both").reading(&input).writing(folder.path("out.pcap"));
    let mut port = Pcap::open(PcapConfig { queues: 2, ..config.clone() }).unwrap();
    assert!(port.open_rx().is_ok() && port.open_rx().is_ok());
    assert!(port.open_rx().is_err_and(|error| error.user));
    let first = port.open_tx();
    assert!(first.is_ok() && port.open_tx().is_err_and(|error| error.user));
    assert!(Pcap::open(PcapConfig { queues: 0, ..config }).is_err_and(|error| error.user));
}

#[test]
fn the_file_read_is_not_written() {
    let folder = Folder::new();
    let rows = [Row::new(1, udp(1, 2, 3))];
    let path = folder.write("same.pcap", &rows);
    let mut port = Pcap::open(PcapConfig::new("both").reading(&path).writing(&path)).unwrap();
    assert!(port.open_tx().is_err_and(|error| error.user));
    assert_eq!(rows_of(&path), rows, "not a byte is lost");
}

#[test]
fn a_full_disk_is_one_error_and_counted_losses() {
    let folder = Folder::new();
    let full = folder.path("full.pcap");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let mut tx = writer(&full);
    let mut bench = Bench::new(64, 0);
    let mut sent = 0;
    // More than any buffer holds.
    while tx.report().error.is_none() {
        assert!(sent < 10_000, "an endless disk");
        let mut burst = Burst::new();
        for _ in 0..32 {
            burst.push(bench.buffers.receive(&[1; 1500]).unwrap()).unwrap();
        }
        sent += 32;
        bench.transmit(&mut *tx, &mut burst);
    }
    let error = tx.report().error.unwrap();
    assert!(!error.user && error.message.contains("full.pcap"), "{error}");
    tx.finish();
    tx.finish();
    let report = tx.report();
    assert_eq!(report.error, Some(error));
    assert_eq!((report.packets, report.wire_packets), (sent, 0), "not a byte reached the disk");
    assert_eq!(report.drops, [("write_error", sent)]);
    assert_eq!(bench.tally.transmitted.packets, sent, "for the pipeline they have left");
    assert_eq!(bench.buffers.outstanding(), [0; 3]);
}

#[test]
fn a_failure_at_the_very_end_is_not_silent() {
    let folder = Folder::new();
    let full = folder.path("full.pcap");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let mut tx = writer(&full);
    let mut bench = Bench::new(4, 0);
    let mut burst = Burst::new();
    burst.push(bench.buffers.receive(&[1; 60]).unwrap()).unwrap();
    bench.transmit(&mut *tx, &mut burst);
    assert_eq!(tx.report().error, None);
    tx.finish();
    let report = tx.report();
    assert!(report.error.is_some_and(|error| !error.user));
    assert_eq!((report.packets, report.wire_packets), (1, 0));
    assert_eq!(report.drops, [("write_error", 1)]);
}

#[test]
fn a_pipe_is_the_users_mistake_and_not_waited_for() {
    let folder = Folder::new();
    let pipe = folder.path("pipe.pcap");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut port = Pcap::open(PcapConfig::new("out").writing(&pipe)).unwrap();
    let error = port.open_tx().map(|_| ()).unwrap_err();
    assert!(error.user && error.message.contains("is a pipe"), "{error}");
}
